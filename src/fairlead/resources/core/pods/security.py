"""Validation of the security contexts of pods and containers."""

from __future__ import annotations

import re

from fairlead.resources.behaviour import Object
from fairlead.resources.causes import Causes
from fairlead.resources.core.pods.go_text import SECCOMP_PROFILE, SECURITY_CONTEXT, go_struct
from fairlead.resources.core.pods.windows import check_windows_options
from fairlead.resources.core.volumes.paths import descending_path
from fairlead.resources.gates import Gates

MAX_ID = 2**31 - 1
ID_RANGE = f"must be between 0 and {MAX_ID}, inclusive"
SECCOMP_TYPES = ("Localhost", "RuntimeDefault", "Unconfined")
PROC_MOUNTS = ("Default", "Unmasked")
FS_GROUP_POLICIES = ("Always", "OnRootMismatch")
SUPPLEMENTAL_GROUPS_POLICIES = ("Merge", "Strict")
SELINUX_CHANGE_POLICIES = ("MountOption", "Recursive")
APP_ARMOR_TYPES = ("Localhost", "RuntimeDefault", "Unconfined")
MAX_APP_ARMOR_LENGTH = 4095

_SYSCTL = r"^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$"
_SYSCTL_NAME = re.compile(_SYSCTL, re.ASCII)
_MAX_SYSCTL_LENGTH = 253
SYSCTL_ERROR = f"must have at most {_MAX_SYSCTL_LENGTH} characters and match regex {_SYSCTL}"


def check_id(value: int | None, path: str, causes: Causes) -> None:
    if value is not None and not 0 <= value <= MAX_ID:
        causes.invalid(path, value, ID_RANGE)


def check_security_context(
    context: Object, spec: Object, path: str, causes: Causes, gates: Gates
) -> None:
    """Check the security context of a container in the pod with `spec`."""
    check_id(context.get("runAsUser"), f"{path}.runAsUser", causes)
    check_id(context.get("runAsGroup"), f"{path}.runAsGroup", causes)
    mount = context.get("procMount")
    if mount is not None and mount not in PROC_MOUNTS:
        causes.unsupported(f"{path}.procMount", mount, PROC_MOUNTS)
    if mount == "Unmasked" and gates["UserNamespacesSupport"] and spec.get("hostUsers", True):
        detail = "`hostUsers` must be false to use `Unmasked`"
        causes.invalid(f"{path}.procMount", mount, detail)
    check_seccomp_profile(context.get("seccompProfile"), f"{path}.seccompProfile", causes)
    if context.get("allowPrivilegeEscalation") is False:
        _check_escalation(context, path, causes)
    check_windows_options(context.get("windowsOptions"), f"{path}.windowsOptions", causes)
    if "appArmorProfile" in context:
        check_app_armor_profile(context["appArmorProfile"], f"{path}.appArmorProfile", causes)


def check_app_armor_profile(profile: Object, path: str, causes: Causes) -> None:
    kind, name = profile["type"], profile.get("localhostProfile")
    if not kind:
        causes.required(f"{path}.type", "type is required when appArmorProfile is set")
    elif kind not in APP_ARMOR_TYPES:
        causes.unsupported(f"{path}.type", kind, APP_ARMOR_TYPES)
    elif kind != "Localhost":
        if name is not None:
            detail = "can only be set when AppArmor type is Localhost"
            causes.invalid(f"{path}.localhostProfile", name, detail)
    elif not name:
        causes.required(f"{path}.localhostProfile", "must be set when AppArmor type is Localhost")
    else:
        if name != name.strip():
            detail = "must not be padded with whitespace"
            causes.invalid(f"{path}.localhostProfile", name, detail)
        if len(name.encode()) > MAX_APP_ARMOR_LENGTH:
            causes.too_long(f"{path}.localhostProfile", MAX_APP_ARMOR_LENGTH)


def _check_escalation(context: Object, path: str, causes: Causes) -> None:
    """Escalation cannot be denied to a container that has every privilege already."""
    refused = "cannot set `allowPrivilegeEscalation` to false and"
    fields = SECURITY_CONTEXT if causes.has_later_wording else SECURITY_CONTEXT[:-1]
    shown = go_struct("SecurityContext", context, fields)
    if context.get("privileged"):
        causes.invalid(path, shown, f"{refused} `privileged` to true")
    for capability in (context.get("capabilities") or {}).get("add") or ():
        if capability == "CAP_SYS_ADMIN":
            causes.invalid(path, shown, f"{refused} `capabilities.Add` CAP_SYS_ADMIN")


def check_seccomp_profile(profile: Object | None, path: str, causes: Causes) -> None:
    if profile is None:
        return
    kind, file = profile["type"], profile.get("localhostProfile")
    if not kind:
        causes.required(f"{path}.type", "type is required when seccompProfile is set")
    elif kind not in SECCOMP_TYPES:
        causes.unsupported(f"{path}.type", kind, SECCOMP_TYPES)
    if kind != "Localhost":
        if file is not None:
            shown = go_struct("SeccompProfile", profile, SECCOMP_PROFILE)
            detail = "can only be set when seccomp type is Localhost"
            causes.invalid(f"{path}.localhostProfile", shown, detail)
    elif file is None:
        detail = "must be set when seccomp type is Localhost"
        causes.required(f"{path}.localhostProfile", detail)
    else:
        descending_path(file, f"{path}.localhostProfile", causes)


def check_pod_security(spec: Object, spec_path: str, causes: Causes, gates: Gates) -> None:
    """Check the security context of a pod, and the host namespaces."""
    context: Object = spec.get("securityContext") or {}
    if not context and not spec.get("shareProcessNamespace"):
        return
    path = f"{spec_path}.securityContext"
    for name in ("fsGroup", "runAsUser", "runAsGroup"):
        check_id(context.get(name), f"{path}.{name}", causes)
    for index, group in enumerate(context.get("supplementalGroups") or ()):
        check_id(group, f"{path}.supplementalGroups[{index}]", causes)
    if spec.get("shareProcessNamespace") and spec.get("hostPID"):
        detail = "ShareProcessNamespace and HostPID cannot both be enabled"
        causes.invalid(f"{path}.shareProcessNamespace", True, detail)
    sysctls: list[Object] | None = context.get("sysctls")
    if sysctls:
        _check_sysctls(sysctls, spec, f"{path}.sysctls", causes, gates)
    policy = context.get("fsGroupChangePolicy")
    if policy is not None and policy not in FS_GROUP_POLICIES:
        causes.unsupported(f"{path}.fsGroupChangePolicy", policy, FS_GROUP_POLICIES)
    check_seccomp_profile(context.get("seccompProfile"), f"{path}.seccompProfile", causes)
    check_windows_options(context.get("windowsOptions"), f"{path}.windowsOptions", causes)
    if "appArmorProfile" in context:
        check_app_armor_profile(context["appArmorProfile"], f"{path}.appArmorProfile", causes)
    selinux_policies = SELINUX_CHANGE_POLICIES if gates["SELinuxMount"] else ("Recursive",)
    for name, supported in (
        ("supplementalGroupsPolicy", SUPPLEMENTAL_GROUPS_POLICIES),
        ("seLinuxChangePolicy", selinux_policies),
    ):
        if name in context and context[name] not in supported:
            causes.unsupported(f"{path}.{name}", context[name], supported)


def check_host_network(spec: Object, is_pod: bool, path: str, causes: Causes, gates: Gates) -> None:
    """Check that the ports of containers on the host's network are ports of the host. `path` is
    that of the containers."""
    is_filled_in_templates = gates["DefaultHostNetworkHostPortsInPodTemplates"]
    for index, container in enumerate(spec["containers"] or ()):
        for number, port in enumerate(container.get("ports") or ()):
            host, inner = port.get("hostPort", 0), port["containerPort"]
            if host == inner:
                continue
            field = f"{path}[{index}].ports[{number}]"
            if is_filled_in_templates:
                detail = "must match `hostPort` when `hostNetwork` is true"
                causes.invalid(f"{field}.containerPort", inner, detail)
            elif is_pod or host:
                detail = "must match `containerPort` when `hostNetwork` is true"
                causes.invalid(f"{field}.hostPort", host, detail)


_NETWORK_SYSCTLS = ("net.",)
_IPC_SYSCTLS = ("kernel.sem", "kernel.shm", "kernel.msg", "fs.mqueue.")


def _check_sysctls(
    sysctls: list[Object], spec: Object, path: str, causes: Causes, gates: Gates
) -> None:
    seen: set[str] = set()
    for index, sysctl in enumerate(sysctls):
        name = sysctl["name"]
        if not name:
            causes.required(f"{path}[{index}].name")
        elif len(name) > _MAX_SYSCTL_LENGTH or not _SYSCTL_NAME.match(name):
            causes.invalid(f"{path}[{index}].name", name, SYSCTL_ERROR)
        elif name in seen:
            causes.duplicate(f"{path}[{index}].name", name)
        if gates["HostSysctlsRefused"]:
            _check_host_sysctl(name, spec, f"{path}[{index}].name", causes)
        seen.add(name)


def _check_host_sysctl(name: str, spec: Object, path: str, causes: Causes) -> None:
    """A pod in a namespace of the host cannot set the parameters of that namespace."""
    dotted = name.replace("/", ".")
    if spec.get("hostNetwork") and dotted.startswith(_NETWORK_SYSCTLS):
        causes.invalid(path, name, "may not be specified when 'hostNetwork' is true")
    elif spec.get("hostIPC") and dotted.startswith(_IPC_SYSCTLS):
        causes.invalid(path, name, "may not be specified when 'hostIPC' is true")
