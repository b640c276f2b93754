"""Knowledge about volume plugins.

The reference has built-in plugins; here storage is always external. Where a built-in plugin would
fail for lack of a cloud or node, the same message is returned.
"""

from __future__ import annotations

import re

from fairlead.base.dialect import Dialect
from fairlead.controllers.volumes.names import Annotations, annotations_of
from fairlead.operations.api import Object

# Built-in plugins that migrated to CSI: the field of a volume's spec, and the driver.
_MIGRATED = {
    "@/aws-ebs": ("awsElasticBlockStore", "ebs.csi.aws.com"),
    "@/azure-disk": ("azureDisk", "disk.csi.azure.com"),
    "@/azure-file": ("azureFile", "file.csi.azure.com"),
    "@/cinder": ("cinder", "cinder.csi.openstack.org"),
    "@/gce-pd": ("gcePersistentDisk", "pd.csi.storage.gke.io"),
    "@/vsphere-volume": ("vsphereVolume", "csi.vsphere.vmware.com"),
}
# Built-in plugins that the reference's volume controller knows but that cannot provision.
_NOT_PROVISIONING = ("@/nfs", "@/local-volume", "@/csi")
_HOST_PATH = "@/host-path"
# Volume sources that the reference's volume controller has a plugin for.
_KNOWN_SOURCES = (
    "csi",
    "glusterfs",
    "local",
    "nfs",
    "portworxVolume",
    "rbd",
    *(source for source, _ in _MIGRATED.values()),
)
_DELETABLE_PATH = re.compile("/tmp/.+")


class Plugins:
    """The reference's plugins, with names in a dialect."""

    def __init__(self, dialect: Dialect, names: Annotations) -> None:
        self._names = names
        self._drivers = {dialect.label(name): driver for name, (_, driver) in _MIGRATED.items()}
        self._moved = {source: dialect.label(name) for name, (source, _) in _MIGRATED.items()}
        self._unable = frozenset(dialect.label(name) for name in _NOT_PROVISIONING)
        self._host_path = dialect.label(_HOST_PATH)

    def driver(self, provisioner: str) -> str:
        """The CSI driver that replaced a built-in provisioner, or empty."""
        return self._drivers.get(provisioner, "")

    def migrated_plugin(self, volume: Object) -> str:
        """The migrated built-in plugin of a volume, or empty."""
        spec = volume["spec"]
        return next((name for field, name in self._moved.items() if spec.get(field)), "")

    def migration(self, value: Object, provisioner: str | None) -> dict[str, str | None]:
        """Changes to the annotation that names the CSI driver of a provisioner."""
        if provisioner is None:
            return {}
        driver = self.driver(provisioner) or None
        migrated_to = annotations_of(value).get(self._names.migrated_to)
        return {self._names.migrated_to: driver} if (driver or "") != (migrated_to or "") else {}

    def is_host_path(self, provisioner: str) -> bool:
        return provisioner == self._host_path

    def provisioning_refusal(self, provisioner: str) -> str:
        """Why a provisioner cannot be used; empty if it is external, migrated or hostPath (which
        fails later)."""
        if self.driver(provisioner) or self.is_host_path(provisioner):
            return ""
        return self._refusal(provisioner, "provisionable")

    def _refusal(self, name: str, action: str) -> str:
        if not name.startswith(self._names.built_in):
            return ""
        if name in self._unable:
            return f"no {action} volume plugin matched"
        return f"no volume plugin matched name: {name}"

    def is_deleted_by_others(self, volume: Object) -> bool:
        provisioner = annotations_of(volume).get(self._names.provisioned_by, "")
        return provisioner != "" and not provisioner.startswith(self._names.built_in)

    def deleting_refusal(self, volume: Object) -> str:
        """Why the storage of a volume cannot be deleted; empty if there is nothing to delete. A
        hostPath below /tmp counts as deleted, since the nodes are not real."""
        provisioner = annotations_of(volume).get(self._names.provisioned_by, "")
        if provisioner and not self.is_host_path(provisioner):
            return self._refusal(provisioner, "deletable")
        path = (volume["spec"].get("hostPath") or {}).get("path")
        if path is not None:
            if _DELETABLE_PATH.search(path):
                return ""
            return f"host_path deleter only supports /tmp/.+ but received provided {path}"
        is_known = any(volume["spec"].get(source) is not None for source in _KNOWN_SOURCES)
        why = "no deletable volume plugin matched" if is_known else "no volume plugin matched"
        name = volume["metadata"]["name"]
        return f'Error getting deleter volume plugin for volume "{name}": {why}'
