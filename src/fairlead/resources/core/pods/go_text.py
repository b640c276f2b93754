"""Formats values for messages as Go structs, as the reference prints them."""

from __future__ import annotations

from fairlead.resources.behaviour import Object
from fairlead.resources.causes import GoValue, go_composite, go_pointer, quote

# The fields of a struct in their order: the Go name, our name, and the type if it is a pointer.
Fields = tuple[tuple[str, str, str], ...]

TOLERATION: Fields = (
    ("Key", "key", ""),
    ("Operator", "operator", ""),
    ("Value", "value", ""),
    ("Effect", "effect", ""),
    ("TolerationSeconds", "tolerationSeconds", "int64"),
)
SECCOMP_PROFILE: Fields = (
    ("Type", "type", ""),
    ("LocalhostProfile", "localhostProfile", "string"),
)
SECURITY_CONTEXT: Fields = (
    ("Capabilities", "capabilities", "core.Capabilities"),
    ("Privileged", "privileged", "bool"),
    ("SELinuxOptions", "seLinuxOptions", "core.SELinuxOptions"),
    ("WindowsOptions", "windowsOptions", "core.WindowsSecurityContextOptions"),
    ("RunAsUser", "runAsUser", "int64"),
    ("RunAsGroup", "runAsGroup", "int64"),
    ("RunAsNonRoot", "runAsNonRoot", "bool"),
    ("ReadOnlyRootFilesystem", "readOnlyRootFilesystem", "bool"),
    ("AllowPrivilegeEscalation", "allowPrivilegeEscalation", "bool"),
    ("ProcMount", "procMount", "core.ProcMountType"),
    ("SeccompProfile", "seccompProfile", "core.SeccompProfile"),
    ("AppArmorProfile", "appArmorProfile", "core.AppArmorProfile"),  # of later releases
)


def go_struct(name: str, value: Object, fields: Fields) -> GoValue:
    """A struct of strings and pointers."""
    parts = {label: _field(value, key, kind) for label, key, kind in fields}
    return go_composite(f"core.{name}", parts)


def _field(value: Object, key: str, pointer: str) -> str:
    if pointer:
        return go_pointer(pointer, value.get(key))
    return quote(value.get(key, ""))


def go_pod_ips(addresses: list[str]) -> GoValue:
    listed = ", ".join(f"core.PodIP{{IP:{quote(address)}}}" for address in addresses)
    return GoValue(f"[]core.PodIP{{{listed}}}")


def go_pod_ip(address: str) -> GoValue:
    return GoValue(f"core.PodIP{{IP:{quote(address)}}}")
