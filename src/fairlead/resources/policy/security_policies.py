"""The behaviour of PodSecurityPolicy: the security settings that pods may use."""

from __future__ import annotations

import re
from collections.abc import Sequence

from fairlead.codec.types.names import dns_subdomain
from fairlead.resources.behaviour import Behaviour, Object
from fairlead.resources.causes import Causes, GoValue, quote
from fairlead.resources.columns.cell_text import field, items, joined
from fairlead.resources.columns.model import NAME, Value, table, text
from fairlead.resources.context import Context
from fairlead.resources.core.pods.security import PROC_MOUNTS

ANY = "*"
MAX_DRIVER_NAME_LENGTH = 63
LAST_PORT = 65535
VOLUMES = (
    "*",
    "awsElasticBlockStore",
    "azureDisk",
    "azureFile",
    "cephFS",
    "cinder",
    "configMap",
    "csi",
    "downwardAPI",
    "emptyDir",
    "ephemeral",
    "fc",
    "flexVolume",
    "flocker",
    "gcePersistentDisk",
    "gitRepo",
    "glusterfs",
    "hostPath",
    "iscsi",
    "local",
    "nfs",
    "persistentVolumeClaim",
    "photonPersistentDisk",
    "portworxVolume",
    "projected",
    "quobyte",
    "rbd",
    "scaleIO",
    "secret",
    "storageos",
    "vsphereVolume",
)
GROUP_RULES = ("MustRunAs", "RunAsAny", "MayRunAs")
# The strategies whose rule is required, and their rules in the order of messages.
RULES = {
    "runAsUser": ("MustRunAs", "MustRunAsNonRoot", "RunAsAny"),
    "seLinux": ("MustRunAs", "RunAsAny"),
    "supplementalGroups": ("MayRunAs", "MustRunAs", "RunAsAny"),
    "fsGroup": ("MayRunAs", "MustRunAs", "RunAsAny"),
}
# Fields behind feature gates.
GATED = {
    "allowedProcMountTypes": "ProcMountType",
    "runAsGroup": "RunAsGroup",
    "allowedCSIDrivers": "CSIInlineVolume",
}


class SecurityPolicyBehaviour(Behaviour):
    def prepare_create(self, value: Object, context: Context) -> None:
        _drop_disabled(value["spec"], {}, context)

    def prepare_update(self, value: Object, old: Object, context: Context) -> None:
        _drop_disabled(value["spec"], old["spec"], context)

    def check(self, value: Object, causes: Causes, context: Context) -> None:
        check_profile_annotations(value["metadata"].get("annotations") or {}, causes, context)
        spec = value["spec"]
        _check_strategy(spec, "runAsUser", causes)
        _check_group_strategy(spec.get("runAsGroup"), causes)
        for name in ("seLinux", "supplementalGroups", "fsGroup"):
            _check_strategy(spec, name, causes)
        for volume in spec.get("volumes") or ():
            if volume not in VOLUMES:
                causes.unsupported("spec.volumes", volume, VOLUMES)
        _check_capabilities(spec, causes)
        _check_escalation(spec, causes)
        for index, kind in enumerate(spec.get("allowedProcMountTypes") or ()):
            if kind not in PROC_MOUNTS:
                path = f"spec.allowedProcMountTypes[{index}]"
                causes.unsupported(path, kind, PROC_MOUNTS)
        _check_host_paths(spec.get("allowedHostPaths") or (), causes)
        _check_host_ports(spec.get("hostPorts") or (), causes)
        _check_drivers(spec, causes)
        check_sysctls(spec, causes)
        _check_runtime_class(spec.get("runtimeClass"), "spec.runtimeClass", causes)


def _drop_disabled(spec: Object, old: Object, context: Context) -> None:
    for name, gate in GATED.items():
        if not context.gates[gate] and not old.get(name):
            spec.pop(name, None)


def _check_strategy(spec: Object, name: str, causes: Causes) -> None:
    strategy, path = spec[name], f"spec.{name}"
    rule = strategy.get("rule", "")
    if rule not in RULES[name]:
        causes.unsupported(f"{path}.rule", rule, RULES[name])
    needed = "seLinuxOptions" if name == "seLinux" else "ranges"
    if rule == "MustRunAs" and not strategy.get(needed):
        causes.required(f"{path}.{needed}", "must be given with the rule MustRunAs")
    _check_ranges(strategy.get("ranges") or (), f"{path}.ranges", causes)


def _check_group_strategy(strategy: Object | None, causes: Causes) -> None:
    if strategy is None:
        return
    path, ranges = "spec.runAsGroup.ranges", strategy.get("ranges") or []
    if strategy["rule"] not in GROUP_RULES:
        causes.unsupported("spec.runAsGroup.rule", strategy["rule"], GROUP_RULES)
    elif strategy["rule"] == "RunAsAny":
        if ranges:
            causes.invalid(path, _ranges_shown(ranges), "Ranges must be empty")
    else:
        if not ranges:
            causes.invalid(path, _ranges_shown(ranges), "must provide at least one range")
        _check_ranges(ranges, path, causes)


def _ranges_shown(ranges: Sequence[Object]) -> GoValue:
    if not ranges:
        return GoValue("[]policy.IDRange(nil)")
    texts = (f"policy.IDRange{{Min:{item['min']}, Max:{item['max']}}}" for item in ranges)
    return GoValue(f"[]policy.IDRange{{{', '.join(texts)}}}")


def _check_ranges(ranges: Sequence[Object], path: str, causes: Causes) -> None:
    for index, item in enumerate(ranges):
        for name in ("min", "max"):
            if item[name] < 0:
                causes.invalid(f"{path}[{index}].{name}", item[name], f"{name} cannot be negative")
        if item["min"] > item["max"]:
            detail = "min cannot be greater than max"
            causes.invalid(f"{path}[{index}].min", item["min"], detail)


def _check_capabilities(spec: Object, causes: Causes) -> None:
    dropped = spec.get("requiredDropCapabilities") or []
    if dropped and ANY in (spec.get("allowedCapabilities") or ()):
        shown = GoValue(f"[]core.Capability{{{', '.join(map(quote, dropped))}}}")
        detail = "must be empty when all capabilities are allowed by a wildcard"
        causes.invalid("spec.requiredDropCapabilities", shown, detail)
    for name in ("defaultAddCapabilities", "allowedCapabilities"):
        for capability in spec.get(name) or ():
            if capability in dropped:
                detail = f"capability is listed in {name} and requiredDropCapabilities"
                causes.invalid(f"spec.{name}", capability, detail)


def _check_escalation(spec: Object, causes: Causes) -> None:
    if spec.get("defaultAllowPrivilegeEscalation") and not spec.get("allowPrivilegeEscalation"):
        causes.invalid(
            "spec.defaultAllowPrivilegeEscalation",
            True,
            "Cannot set DefaultAllowPrivilegeEscalation to true without also setting"
            " AllowPrivilegeEscalation to true",
        )


def _check_host_paths(paths: Sequence[Object], causes: Causes) -> None:
    for index, item in enumerate(paths):
        prefix_path, prefix = (
            f"spec.allowedHostPaths[{index}].pathPrefix",
            item.get("pathPrefix", ""),
        )
        if not prefix:
            causes.required(prefix_path)
        if ".." in prefix.split("/"):
            causes.invalid(prefix_path, prefix, "must not contain '..'")
        if ANY in prefix:
            causes.invalid(prefix_path, prefix, "must not contain '*'")


def _check_host_ports(ranges: Sequence[Object], causes: Causes) -> None:
    for index, item in enumerate(ranges):
        port_path = f"spec.hostPorts[{index}]"
        for name in ("min", "max"):
            if not 0 <= item[name] <= LAST_PORT:
                detail = f"must be between 0 and {LAST_PORT}, inclusive"
                causes.invalid(f"{port_path}.{name}", item[name], detail)
        if item["min"] > item["max"]:
            causes.invalid(f"{port_path}.min", item["min"], "min cannot be greater than max")


def _check_drivers(spec: Object, causes: Causes) -> None:
    for index, volume in enumerate(spec.get("allowedFlexVolumes") or ()):
        if not volume["driver"]:
            path = f"spec.allowedFlexVolumes[{index}].driver"
            causes.required(path, "must specify a driver")
    for index, driver in enumerate(spec.get("allowedCSIDrivers") or ()):
        path, name = f"spec.allowedCSIDrivers[{index}].name", driver["name"]
        if not name:
            causes.required(path)
        if len(name) > MAX_DRIVER_NAME_LENGTH:
            causes.too_long(path, MAX_DRIVER_NAME_LENGTH)
        causes.invalid_each(path, name, dns_subdomain(name.lower()))


def _check_runtime_class(strategy: Object | None, path: str, causes: Causes) -> None:
    if strategy is None:
        return
    names, names_path = (
        strategy["allowedRuntimeClassNames"] or [],
        f"{path}.allowedRuntimeClassNames",
    )
    seen: set[str] = set()
    for index, name in enumerate(names):
        if name != ANY:
            causes.invalid_each(f"{names_path}[{index}]", name, dns_subdomain(name))
        if name in seen:
            causes.duplicate(f"{names_path}[{index}]", name)
        seen.add(name)
    default = strategy.get("defaultRuntimeClassName")
    if default is not None:
        causes.invalid_each(f"{path}.defaultRuntimeClassName", default, dns_subdomain(default))
        if default not in names and ANY not in names:
            causes.required(names_path, f"default {quote(default)} must be allowed")
    if ANY in names and len(names) > 1:
        shown = GoValue(f"[]string{{{', '.join(map(quote, names))}}}")
        causes.invalid(
            names_path, shown, "if '*' is present, must not specify other RuntimeClass names"
        )


# Kernel parameters that a PodSecurityPolicy allows or forbids, by name or by prefix

ALLOWED, FORBIDDEN = "allowedUnsafeSysctls", "forbiddenSysctls"
MAX_SYSCTL_LENGTH = 253
_SEGMENT = "[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
PATTERN = rf"({_SEGMENT}\.)*([a-z0-9][-_a-z0-9]*)?[a-z0-9*]"
_IS_PATTERN = re.compile(rf"\A(?:{PATTERN})\Z", re.ASCII)


def check_sysctls(spec: Object, causes: Causes) -> None:
    allowed, forbidden = spec.get(ALLOWED) or [], spec.get(FORBIDDEN) or []
    _check_names(allowed, f"spec.{ALLOWED}", causes)
    _check_names(forbidden, f"spec.{FORBIDDEN}", causes)
    equal = set(allowed) & set(forbidden)
    for field_name, own, others in ((ALLOWED, allowed, forbidden), (FORBIDDEN, forbidden, allowed)):
        patterns = set(others) if field_name == ALLOWED else set(others) - equal
        for index, name in enumerate(own):
            other = _covering(patterns, name)
            if other is not None:
                detail = f"sysctl overlaps with {other}"
                causes.invalid(f"spec.{field_name}[{index}]", name, detail)


def _covering(patterns: set[str], name: str) -> str | None:
    """The pattern that covers a name, or all names with a prefix."""
    if name in patterns:
        return name
    stem = name.removesuffix("*")[:MAX_SYSCTL_LENGTH]
    prefixes = (f"{stem[:length]}*" for length in range(len(stem) + 1))
    return next((prefix for prefix in prefixes if prefix in patterns), None)


def _check_names(names: Sequence[str], path: str, causes: Causes) -> None:
    for index, name in enumerate(names):
        if not name:
            causes.invalid(f"{path}[{index}]", name, "empty sysctl not allowed")
        elif len(name) > MAX_SYSCTL_LENGTH or not _IS_PATTERN.match(name):
            detail = f"must have at most {MAX_SYSCTL_LENGTH} characters and match regex {PATTERN}"
            causes.invalid(f"{path}[{index}]", name, detail)
    if len(names) > 1 and any(name.startswith("*") for name in names):
        causes.forbidden(f"{path}.items", "if '*' is present, must not specify other sysctls")


# Annotations in which a PodSecurityPolicy names AppArmor and seccomp profiles

APPARMOR = "apparmor.security.beta.@"
SECCOMP = "seccomp.security.alpha.@"
LOCAL = "localhost/"
ANY_PROFILE = "*"


def check_profile_annotations(
    annotations: dict[str, str], causes: Causes, context: Context
) -> None:
    def annotation(name: str) -> tuple[str, str]:
        key = context.dialect.label(name)
        return f"metadata.annotations[{key}]", annotations.get(key, "")

    path, profile = annotation(f"{APPARMOR}/defaultProfileName")
    if profile and not _is_apparmor(profile):
        causes.invalid(path, profile, f"invalid AppArmor profile name: {quote(profile)}")
    path, profiles = annotation(f"{APPARMOR}/allowedProfileNames")
    for profile in profiles.split(","):
        if not _is_apparmor(profile):
            causes.invalid(path, profiles, f"invalid AppArmor profile name: {quote(profile)}")
    path, profile = annotation(f"{SECCOMP}/defaultProfileName")
    if profile:
        _check_seccomp(profile, path, causes)
    path, profiles = annotation(f"{SECCOMP}/allowedProfileNames")
    for profile in profiles.split(",") if profiles else ():
        if profile != ANY_PROFILE:
            _check_seccomp(profile, path, causes)


def _is_apparmor(profile: str) -> bool:
    return profile in ("", "runtime/default", "unconfined") or profile.startswith(LOCAL)


def _check_seccomp(profile: str, path: str, causes: Causes) -> None:
    if profile in ("runtime/default", "docker/default", "unconfined"):
        return
    if not profile.startswith(LOCAL):
        causes.invalid(path, profile, "must be a valid seccomp profile")
        return
    file = profile.removeprefix(LOCAL)
    if file.startswith("/"):
        causes.invalid(path, file, "must be a relative path")
    if ".." in file.split("/"):
        causes.invalid(path, file, "must not contain '..'")


# Columns of pod security policies


def _list(path: str) -> Value:
    return lambda policy: joined(items(policy, path))


def _privileged(policy: Object) -> str:
    return "true" if field(policy, "spec.privileged") else "false"


PRINTERS = {
    "policy/v1beta1/podsecuritypolicies": table(
        NAME,
        text("Priv", _privileged, "Whether pods may be privileged"),
        text("Caps", _list("spec.allowedCapabilities"), "Capabilities pods may add"),
        text("SELinux", "spec.seLinux.rule", "Rule for SELinux labels"),
        text("RunAsUser", "spec.runAsUser.rule", "Rule for user ids"),
        text("FsGroup", "spec.fsGroup.rule", "Rule for the group of volumes"),
        text("SupGroup", "spec.supplementalGroups.rule", "Rule for further groups"),
        text(
            "ReadOnlyRootFs",
            "spec.readOnlyRootFilesystem",
            "Whether the root file system must be read-only",
            missing=False,
        ),
        text("Volumes", _list("spec.volumes"), "Kinds of volume pods may use"),
    ),
}
