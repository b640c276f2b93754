"""Kinds of the storage group."""

from fairlead.kinds.behaviour import Behaviour
from fairlead.kinds.storage.csi_drivers import CSIDriverBehaviour
from fairlead.kinds.storage.csi_nodes import CSINodeBehaviour
from fairlead.kinds.storage.csi_storage_capacities import CSIStorageCapacityBehaviour
from fairlead.kinds.storage.storage_classes import StorageClassBehaviour
from fairlead.kinds.storage.volume_attachments import VolumeAttachmentBehaviour

BEHAVIOURS: dict[str, type[Behaviour]] = {
    "storage/v1/csidrivers": CSIDriverBehaviour,
    "storage/v1/csinodes": CSINodeBehaviour,
    "storage/v1/csistoragecapacities": CSIStorageCapacityBehaviour,
    "storage/v1/storageclasses": StorageClassBehaviour,
    "storage/v1/volumeattachments": VolumeAttachmentBehaviour,
}
