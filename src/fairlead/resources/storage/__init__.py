"""Kinds of the storage group."""

BEHAVIOURS: dict[str, str] = {
    "storage/v1/csidrivers": "csi.CSIDriverBehaviour",
    "storage/v1/csinodes": "csi.CSINodeBehaviour",
    "storage/v1/csistoragecapacities": "csi.CSIStorageCapacityBehaviour",
    "storage/v1/storageclasses": "storage_classes.StorageClassBehaviour",
    "storage/v1/volumeattachments": "volume_attachments.VolumeAttachmentBehaviour",
    "storage/v1/volumeattributesclasses": "storage_classes.VolumeAttributesClassBehaviour",
}
