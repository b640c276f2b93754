"""Checks a pod, with a policy's defaults applied, against the policy."""

from __future__ import annotations

from fairlead.admission.plugins.pod_security.baseline import SAFE_SYSCTLS
from fairlead.admission.plugins.pod_security_policy.defaults import context_of, effective
from fairlead.admission.plugins.pod_security_policy.policy import (
    ANY,
    NON_ROOT,
    Ids,
    Profiles,
    SecurityPolicy,
    covers,
)
from fairlead.admission.plugins.pod_security_policy.volumes import check_volumes
from fairlead.base.dialect import Dialect
from fairlead.base.errors import TooManyCauses
from fairlead.codec.types.model import Object
from fairlead.resources.causes import Causes, GoValue, quote
from fairlead.resources.core.pods.annotations import LOCALHOST, RUNTIME_DEFAULT, UNCONFINED, keys
from fairlead.resources.core.pods.container_lists import containers_with_paths

_HOST = {"hostNetwork": "network", "hostPID": "PID", "hostIPC": "IPC"}
_POD_CONTEXT = "spec.securityContext"
_ANNOTATIONS = "pod.metadata.annotations"


def faults(policy: SecurityPolicy, pod: Object, dialect: Dialect) -> Causes:
    causes = Causes()
    try:
        _check_pod(policy, pod, dialect, causes)
        for container, path in containers_with_paths(pod["spec"], "spec"):
            _check_container(policy, pod, container, path, dialect, causes)
    except TooManyCauses as error:
        causes = error.causes
    return causes


def _check_pod(policy: SecurityPolicy, pod: Object, dialect: Dialect, causes: Causes) -> None:
    spec, context = pod["spec"], context_of(pod["spec"])
    fs_group = context.get("fsGroup")
    groups = [fs_group] if fs_group is not None else []
    _check_groups(policy.fs_group, groups, f"{_POD_CONTEXT}.fsGroup", causes)
    supplemental = context.get("supplementalGroups") or []
    path = f"{_POD_CONTEXT}.supplementalGroups"
    _check_groups(policy.supplemental_groups, supplemental, path, causes)
    key = keys(dialect).seccomp_pod
    value = (pod["metadata"].get("annotations") or {}).get(key) or _seccomp_name(context)
    _check_seccomp(policy.seccomp, value, f"{_ANNOTATIONS}[{key}]", causes)
    _check_selinux(policy, context.get("seLinuxOptions"), _POD_CONTEXT, causes)
    for name, word in _HOST.items():
        if spec.get(name) and not policy.spec.get(name):
            causes.invalid(f"{_POD_CONTEXT}.{name}", True, f"Host {word} is not allowed to be used")
    _check_sysctls(policy, context.get("sysctls") or [], causes)
    check_volumes(policy, spec, dialect.ca_config_map, causes)
    runtime, allowed = spec.get("runtimeClassName"), policy.spec.get("runtimeClass")
    if runtime is not None and allowed is not None:
        names = allowed.get("allowedRuntimeClassNames") or []
        if ANY not in names and runtime not in names:
            causes.invalid("spec.runtimeClassName", runtime, "")


def _check_groups(ids: Ids, groups: list[int], path: str, causes: Causes) -> None:
    for group in groups:
        if not ids.allows(group):
            shown = GoValue(f"[]int64{{{', '.join(map(str, groups))}}}")
            causes.invalid(path, shown, f"group {group} must be in the ranges: {ids}")


def _seccomp_name(context: Object) -> str:
    """The profile of a security context, in the notation of annotations."""
    profile = context.get("seccompProfile") or {}
    names = {"Unconfined": UNCONFINED, "RuntimeDefault": RUNTIME_DEFAULT}
    if profile.get("type") == "Localhost":
        return f"{LOCALHOST}{profile.get('localhostProfile', '')}"
    return names.get(profile.get("type", ""), "")


def _check_seccomp(profiles: Profiles, profile: str, path: str, causes: Causes) -> None:
    if not profiles.allowed:
        if profile:
            causes.forbidden(path, "seccomp may not be set")
    elif not profiles.allows(profile):
        message = f"{profile} is not an allowed seccomp profile. Valid values are {profiles.text}"
        causes.forbidden(path, message)


def _check_selinux(
    policy: SecurityPolicy, options: Object | None, path: str, causes: Causes
) -> None:
    expected = policy.selinux
    if expected is None:
        return
    for name in ("level", "role", "type", "user"):
        actual, needed = (options or {}).get(name, ""), expected.get(name, "")
        same = _same_level(actual, needed) if name == "level" else actual == needed
        if not same:
            causes.invalid(f"{path}.seLinuxOptions.{name}", actual, f"must be {needed}")


def _same_level(left: str, other: str) -> bool:
    """Compare levels regardless of the order of their categories; `s0-s0` equals `s0`."""
    return left == other or (":" in left and _level_parts(left) == _level_parts(other))


def _level_parts(level: str) -> tuple[frozenset[str], frozenset[str]]:
    sensitivity, _, categories = level.partition(":")
    return frozenset(sensitivity.split("-")), frozenset(categories.split(","))


def _check_sysctls(policy: SecurityPolicy, sysctls: list[Object], causes: Causes) -> None:
    for index, sysctl in enumerate(sysctls):
        name, path = sysctl.get("name", ""), f"pod.spec.securityContext.sysctls[{index}]"
        if covers(policy.spec.get("forbiddenSysctls"), name):
            causes.forbidden(path, f"sysctl {quote(name)} is not allowed")
        elif name not in SAFE_SYSCTLS and not covers(policy.spec.get("allowedUnsafeSysctls"), name):
            causes.forbidden(path, f"unsafe sysctl {quote(name)} is not allowed")


def _check_container(
    policy: SecurityPolicy,
    pod: Object,
    container: Object,
    place: str,
    dialect: Dialect,
    causes: Causes,
) -> None:
    spec, context, path = pod["spec"], context_of(container), f"{place}.securityContext"
    _check_ids(policy, spec, container, path, causes)
    _check_selinux(policy, effective(spec, container, "seLinuxOptions"), path, causes)
    _check_profiles(policy, pod, container, dialect, causes)
    if context.get("privileged") and not policy.spec.get("privileged"):
        causes.invalid(f"{path}.privileged", True, "Privileged containers are not allowed")
    mount = context.get("procMount") or "Default"
    if mount not in (policy.spec.get("allowedProcMountTypes") or ("Default",)):
        causes.invalid(f"{path}.procMount", mount, "ProcMountType is not allowed")
    _check_capabilities(policy, context, path, causes)
    _check_ports(policy, container, place, causes)
    if policy.spec.get("readOnlyRootFilesystem") and not context.get("readOnlyRootFilesystem"):
        message = "ReadOnlyRootFilesystem must be set to true"
        causes.invalid(f"{path}.readOnlyRootFilesystem", False, message)
    if context.get("allowPrivilegeEscalation") and not policy.allows_escalation:
        message = "Allowing privilege escalation for containers is not allowed"
        causes.invalid(f"{path}.allowPrivilegeEscalation", True, message)


def _check_ids(
    policy: SecurityPolicy, spec: Object, container: Object, path: str, causes: Causes
) -> None:
    user = effective(spec, container, "runAsUser")
    if policy.user.rule == NON_ROOT:
        if effective(spec, container, "runAsNonRoot") is False:
            causes.invalid(f"{path}.runAsNonRoot", False, "must be true")
        if user == 0:
            causes.invalid(f"{path}.runAsUser", user, "running with the root UID is forbidden")
    elif user is not None and not policy.user.allows(user):
        causes.invalid(f"{path}.runAsUser", user, f"must be in the ranges: {policy.user}")
    group = effective(spec, container, "runAsGroup")
    groups = [group] if group is not None else []
    _check_groups(policy.group, groups, f"{path}.runAsGroup", causes)


def _check_profiles(
    policy: SecurityPolicy, pod: Object, container: Object, dialect: Dialect, causes: Causes
) -> None:
    annotations, annotation_keys = pod["metadata"].get("annotations") or {}, keys(dialect)
    key = annotation_keys.app_armor + container["name"]
    profile, path = annotations.get(key, ""), f"{_ANNOTATIONS}[{key}]"
    app_armor = policy.app_armor
    if app_armor.allowed is not None and not profile:
        causes.forbidden(path, "AppArmor profile must be set")
    elif app_armor.allowed is not None and profile not in app_armor.allowed:
        allowed = quote(app_armor.text)
        causes.forbidden(path, f"{profile} is not an allowed profile. Allowed values: {allowed}")
    key = annotation_keys.seccomp_container + container["name"]
    profile = (
        _seccomp_name(context_of(container))
        or annotations.get(key, "")
        or _seccomp_name(context_of(pod["spec"]))
        or annotations.get(annotation_keys.seccomp_pod, "")
    )
    _check_seccomp(policy.seccomp, profile, f"{_ANNOTATIONS}[{key}]", causes)


def _check_capabilities(policy: SecurityPolicy, context: Object, path: str, causes: Causes) -> None:
    allowed = set(policy.spec.get("allowedCapabilities") or ())
    if ANY in allowed:
        return
    allowed.update(policy.spec.get("defaultAddCapabilities") or ())
    for capability in (context.get("capabilities") or {}).get("add") or ():
        if capability not in allowed:
            causes.invalid(f"{path}.capabilities.add", capability, "capability may not be added")


def _check_ports(policy: SecurityPolicy, container: Object, path: str, causes: Causes) -> None:
    ranges = [(item["min"], item["max"]) for item in policy.spec.get("hostPorts") or ()]
    for declared in container.get("ports") or ():
        port = declared.get("hostPort") or 0
        if port > 0 and not any(low <= port <= high for low, high in ranges):
            shown = ",".join(f"{low}" if low == high else f"{low}-{high}" for low, high in ranges)
            message = f"Host port {port} is not allowed to be used. Allowed ports: [{shown}]"
            causes.invalid(f"{path}.hostPort", port, message)
