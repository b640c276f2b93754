"""A group version that an extension server serves, from its APIService."""

from __future__ import annotations

from typing import Any, NamedTuple

Object = dict[str, Any]
_DEFAULT_PORT = 443


class Extension(NamedTuple):
    """`available` is the status of the condition Available."""

    name: str
    group: str
    version: str
    service_namespace: str
    service_name: str
    service_port: int
    ca_bundle: str
    insecure: bool
    group_priority: int
    version_priority: int
    available: bool
    revision: int

    @property
    def group_version(self) -> tuple[str, str]:
        return (self.group, self.version)

    @property
    def path(self) -> str:
        """The URL prefix; the core group has a path of its own."""
        return f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"

    @property
    def host(self) -> str:
        """The host name that its certificate must have."""
        return f"{self.service_name}.{self.service_namespace}.svc"


def extension_of(value: Object) -> Extension | None:
    """Parse an APIService; None for a local one."""
    metadata, spec = value["metadata"], value.get("spec") or {}
    service = spec.get("service")
    if service is None:
        return None
    conditions = (value.get("status") or {}).get("conditions") or ()
    return Extension(
        metadata["name"],
        spec.get("group", ""),
        spec.get("version", ""),
        service.get("namespace", ""),
        service.get("name", ""),
        service.get("port") or _DEFAULT_PORT,
        spec.get("caBundle") or "",
        spec.get("insecureSkipTLSVerify", False),
        spec.get("groupPriorityMinimum", 0),
        spec.get("versionPriority", 0),
        any(
            condition["type"] == "Available" and condition["status"] == "True"
            for condition in conditions
        ),
        int(metadata["resourceVersion"]),
    )
