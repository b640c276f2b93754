"""The volume with the account's token that pods get to talk to the server."""

from __future__ import annotations

import random

from fairlead.admission.plugins.base import Object
from fairlead.base.dialect import Dialect
from fairlead.codec.types.names import SUFFIX_LETTERS

# An hour, and a little more so that the node agent's own requests can be told apart.
LIFETIME = 3607
_MODE = 0o644


class TokenVolume:
    def __init__(self, dialect: Dialect) -> None:
        self._prefix = f"{dialect.system_prefix}-api-access-"
        self._path = dialect.label("/var/run/secrets/@/serviceaccount")
        self._ca_config_map = dialect.ca_config_map

    def mount(self, spec: Object) -> None:
        """Mount the volume in every container that has nothing at its path."""
        volumes = spec.get("volumes") or []
        present = next((v["name"] for v in volumes if v["name"].startswith(self._prefix)), "")
        name = present or self._new_name()
        mounted = False
        for containers in ("initContainers", "containers"):
            for container in spec.get(containers) or ():
                mounted |= self._mount_in(container, name)
        if mounted and not present:
            spec["volumes"] = [*volumes, self._volume(name)]

    def _new_name(self) -> str:
        return self._prefix + "".join(random.choices(SUFFIX_LETTERS, k=5))

    def _mount_in(self, container: Object, name: str) -> bool:
        mounts = container.get("volumeMounts") or []
        if any(mount["mountPath"] == self._path for mount in mounts):
            return False
        added = {"name": name, "readOnly": True, "mountPath": self._path}
        container["volumeMounts"] = [*mounts, added]
        return True

    def _volume(self, name: str) -> Object:
        namespace = {"apiVersion": "v1", "fieldPath": "metadata.namespace"}
        sources = [
            {"serviceAccountToken": {"expirationSeconds": LIFETIME, "path": "token"}},
            {
                "configMap": {
                    "name": self._ca_config_map,
                    "items": [{"key": "ca.crt", "path": "ca.crt"}],
                }
            },
            {"downwardAPI": {"items": [{"path": "namespace", "fieldRef": namespace}]}},
        ]
        return {"name": name, "projected": {"sources": sources, "defaultMode": _MODE}}
