"""Kinds of the storage group."""

BEHAVIOURS: dict[str, str] = {
    "storage/v1/csidrivers": "csi_drivers.CSIDriverBehaviour",
    "storage/v1/csinodes": "csi_nodes.CSINodeBehaviour",
    "storage/v1/csistoragecapacities": "csi_storage_capacities.CSIStorageCapacityBehaviour",
    "storage/v1/storageclasses": "storage_classes.StorageClassBehaviour",
    "storage/v1/volumeattachments": "volume_attachments.VolumeAttachmentBehaviour",
}
