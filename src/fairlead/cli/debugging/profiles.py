"""What a container for debugging may do: the profiles of `debug`."""

from __future__ import annotations

from copy import deepcopy
from typing import Any, NamedTuple

Object = dict[str, Any]
EPHEMERAL, COPY, NODE = "ephemeral", "copy", "node"


class Profile(NamedTuple):
    """The security context of the container. `capabilities` are added on pods, `on_nodes` are those
    for nodes; a pod on a node may also get the namespaces and the root of its host."""

    clears: bool = False
    security: Object = {}
    capabilities: tuple[str, ...] = ()
    on_nodes: tuple[str, ...] = ()
    host_namespaces: bool = False
    host_root: bool = False


_NETWORK = ("NET_ADMIN", "NET_RAW")
_RESTRICTED = {
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "runAsNonRoot": True,
    "seccompProfile": {"type": "RuntimeDefault"},
}
PROFILES = {
    "general": Profile(capabilities=("SYS_PTRACE",), host_namespaces=True, host_root=True),
    "baseline": Profile(clears=True),
    "restricted": Profile(clears=True, security=_RESTRICTED),
    "netadmin": Profile(capabilities=_NETWORK, on_nodes=_NETWORK, host_namespaces=True),
    "sysadmin": Profile(security={"privileged": True}, host_namespaces=True, host_root=True),
}
_HOST_ROOT = "host-root"


def with_profile(container: Object, profile: Profile, style: str) -> Object:
    """The container with the security context of a profile."""
    context = {} if profile.clears else deepcopy(container.get("securityContext") or {})
    context |= deepcopy(profile.security)
    added = profile.on_nodes if style == NODE else profile.capabilities
    if added:
        capabilities = context.setdefault("capabilities", {})
        capabilities["add"] = [*(capabilities.get("add") or ()), *added]
    result = {name: value for name, value in container.items() if name != "securityContext"}
    return {**result, "securityContext": context} if context else result


def give_host(spec: Object, profile: Profile) -> None:
    """Give the first container of a pod on a node what the profile grants of the host."""
    if profile.host_namespaces:
        spec |= {"hostNetwork": True, "hostPID": True, "hostIPC": True}
    if profile.host_root:
        spec["volumes"] = [{"name": _HOST_ROOT, "hostPath": {"path": "/"}}]
        mount = {"name": _HOST_ROOT, "mountPath": "/host"}
        spec["containers"][0].setdefault("volumeMounts", []).append(mount)
