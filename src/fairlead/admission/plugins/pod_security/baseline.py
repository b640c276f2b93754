"""The checks of the level `baseline`: they prevent known privilege escalations."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from fairlead.admission.plugins.pod_security.pods import (
    Pod,
    Violation,
    named,
    plural,
    quoted,
    setters,
)
from fairlead.codec.types.model import Object
from fairlead.resources.causes import quote
from fairlead.resources.core.pods.annotations import DOCKER_DEFAULT, LOCALHOST, RUNTIME_DEFAULT

DEFAULT_CAPABILITIES = frozenset(
    {
        *("AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD"),
        *("NET_BIND_SERVICE", "SETFCAP", "SETGID", "SETPCAP", "SETUID", "SYS_CHROOT"),
    }
)
Check = Callable[[Pod], Violation | None]
SAFE_SYSCTLS = frozenset(
    {
        "kernel.shm_rmid_forced",
        "net.ipv4.ip_local_port_range",
        "net.ipv4.ip_unprivileged_port_start",
        "net.ipv4.ping_group_range",
        "net.ipv4.tcp_syncookies",
    }
)
# Sysctls that are safe too, from these versions of the standards on.
_LATER_SYSCTLS = {
    27: ("net.ipv4.ip_local_reserved_ports",),
    29: (
        "net.ipv4.tcp_fin_timeout",
        "net.ipv4.tcp_keepalive_intvl",
        "net.ipv4.tcp_keepalive_probes",
        "net.ipv4.tcp_keepalive_time",
    ),
    32: ("net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem"),
}
SECCOMP_TYPES = ("RuntimeDefault", "Localhost")
_SELINUX_TYPES = ("", "container_t", "container_init_t", "container_kvm_t")
_ENGINE_TYPE = "container_engine_t"
_APP_ARMOR_FIELDS = 30  # minor number of the release since which the profiles have fields
_PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
_HANDLERS = ("postStart", "preStop")
_HOST_NAMESPACES = ("hostNetwork", "hostPID", "hostIPC")


def app_armor_profile(pod: Pod) -> Violation | None:
    if pod.release.minor >= _APP_ARMOR_FIELDS:
        return _app_armor_fields(pod)
    bad = _app_armor_annotations(pod)
    if not bad:
        return None
    return Violation(plural("forbidden AppArmor profile", bad), ", ".join(bad))


def _app_armor_annotations(pod: Pod) -> list[str]:
    if not pod.annotations:
        return []
    prefix = pod.keys.app_armor
    return sorted(
        f"{key}={quote(profile)}"
        for key, profile in pod.annotations.items()
        if key.startswith(prefix)
        and profile not in ("", RUNTIME_DEFAULT)
        and not profile.startswith(LOCALHOST)
    )


def _app_armor_fields(pod: Pod) -> Violation | None:
    def bad_type(context: Object) -> str | None:
        profile = context.get("appArmorProfile")
        kind: str = "" if profile is None else profile.get("type", "")
        return None if profile is None or kind in SECCOMP_TYPES else kind

    contexts = (pod.context, *(container.context for container in pod.containers))
    types = {kind for context in contexts if (kind := bad_type(context)) is not None}
    bad = pod.names(lambda container: bad_type(container.context) is not None)
    subjects = [setters(bad_type(pod.context) is not None, bad)] if types else []
    annotations = _app_armor_annotations(pod)
    if annotations:
        subjects.append(plural("annotation", annotations))
    if not subjects:
        return None
    values = [*sorted(types), *annotations]
    return Violation(
        plural("forbidden AppArmor profile", values),
        f"{' and '.join(subjects)} must not set AppArmor profile type to {quoted(values)}",
    )


def added(context: Object) -> list[str]:
    """The capabilities that a security context adds."""
    return (context.get("capabilities") or {}).get("add") or []


def capabilities(pod: Pod) -> Violation | None:
    bad = pod.names(lambda container: not DEFAULT_CAPABILITIES.issuperset(added(container.context)))
    if not bad:
        return None
    added_names = {name for container in pod.containers for name in added(container.context)}
    return Violation(
        "non-default capabilities",
        not_added(bad, sorted(added_names - DEFAULT_CAPABILITIES)),
    )


def not_added(containers: list[str], names: list[str]) -> str:
    subject = named("container", containers)
    return f"{subject} must not include {quoted(names)} in securityContext.capabilities.add"


def host_namespaces(pod: Pod) -> Violation | None:
    bad = [f"{name}=true" for name in _HOST_NAMESPACES if pod.spec.get(name)]
    return Violation("host namespaces", ", ".join(bad)) if bad else None


def host_path_volumes(pod: Pod) -> Violation | None:
    volumes = pod.spec.get("volumes") or ()
    bad = [volume["name"] for volume in volumes if volume.keys() & {"hostPath", "local"}]
    return Violation("hostPath volumes", named("volume", bad)) if bad else None


def host_ports(pod: Pod) -> Violation | None:
    bad, ports = _users(pod, _host_ports)
    if not bad:
        return None
    uses = "uses" if len(bad) == 1 else "use"
    listed = f"{plural('hostPort', ports)} {', '.join(sorted(ports))}"
    return Violation("hostPort", f"{named('container', bad)} {uses} {listed}")


def host_handlers(pod: Pod) -> Violation | None:
    """Probes and lifecycle handlers must not name a host."""
    names, hosts = _users(pod, _handler_hosts)
    if not names:
        return None
    bad = sorted(set(names))
    uses = "uses" if len(bad) == 1 else "use"
    listed = f"{plural('probe or lifecycle host', hosts)} {quoted(sorted(hosts))}"
    return Violation("probe or lifecycle host", f"{named('container', bad)} {uses} {listed}")


def _users(pod: Pod, find: Callable[[Object], set[str]]) -> tuple[list[str], set[str]]:
    """The names of the containers in which `find` finds values, and all of these values."""
    names: list[str] = []
    values: set[str] = set()
    for container in pod.containers:
        if used := find(container.value):
            names.append(container.name)
            values |= used
    return names, values


def _host_ports(container: Object) -> set[str]:
    ports = container.get("ports") or ()
    return {str(port["hostPort"]) for port in ports if port.get("hostPort")}


def _handler_hosts(container: Object) -> set[str]:
    lifecycle = container.get("lifecycle") or {}
    handlers = [container.get(name) or {} for name in _PROBES]
    handlers += [lifecycle.get(name) or {} for name in _HANDLERS]
    return {
        host
        for handler in handlers
        for action in ("httpGet", "tcpSocket")
        if (host := (handler.get(action) or {}).get("host"))
    }


def except_with_own_users(check: Check) -> Check:
    """Skip a check for pods in user namespaces, as since v1.35."""

    def checked(pod: Pod) -> Violation | None:
        return None if pod.has_own_users else check(pod)

    return checked


def privileged(pod: Pod) -> Violation | None:
    bad = pod.names(lambda container: container.context.get("privileged"))
    if not bad:
        return None
    subject = named("container", bad)
    return Violation("privileged", f"{subject} must not set securityContext.privileged=true")


def proc_mount(pod: Pod) -> Violation | None:
    bad, kinds = [], set()
    for container in pod.containers:
        kind = container.context.get("procMount")
        if kind is not None and kind != "Default":
            bad.append(container.name)
            kinds.add(kind)
    if not bad:
        return None
    subject, kinds_text = named("container", bad), quoted(sorted(kinds))
    return Violation(
        "procMount", f"{subject} must not set securityContext.procMount to {kinds_text}"
    )


def selinux_options(pod: Pod) -> Violation | None:
    return _selinux_violation(pod, _SELINUX_TYPES)


def selinux_options_with_engine(pod: Pod) -> Violation | None:
    """As since v1.31."""
    return _selinux_violation(pod, (*_SELINUX_TYPES, _ENGINE_TYPE))


def _selinux_violation(pod: Pod, allowed: tuple[str, ...]) -> Violation | None:
    faults: list[tuple[str, str]] = []

    def is_bad(context: Object) -> bool:
        options = context.get("seLinuxOptions")
        if options is None:
            return False
        before = len(faults)
        if options.get("type", "") not in allowed:
            faults.append(("type", options["type"]))
        faults.extend((name, "") for name in ("user", "role") if options.get(name))
        return len(faults) > before

    pod_too = is_bad(pod.context)
    subject = setters(pod_too, pod.names(lambda container: is_bad(container.context)))
    if not subject:
        return None
    types = sorted({text for name, text in faults if name == "type"})
    details = [named("type", types)] if types else []
    details += [f"{name} may not be set" for name in ("user", "role") if (name, "") in faults]
    detail = f"{subject} set forbidden securityContext.seLinuxOptions: {'; '.join(details)}"
    return Violation("seLinuxOptions", detail)


def seccomp_annotations(pod: Pod) -> Violation | None:
    """Before v1.19 annotations named the profiles."""
    annotation_names = [pod.keys.seccomp_pod]
    annotation_names += [
        pod.keys.seccomp_container + container.name for container in pod.containers
    ]
    present = {key: pod.annotations[key] for key in annotation_names if key in pod.annotations}
    bad = sorted(
        f"{key}={quote(profile)}"
        for key, profile in present.items()
        if profile not in (RUNTIME_DEFAULT, DOCKER_DEFAULT) and not profile.startswith(LOCALHOST)
    )
    if not bad:
        return None
    return Violation("seccompProfile", f"forbidden {plural('annotation', bad)} {', '.join(bad)}")


def seccomp_type(context: Object) -> str | None:
    """The type of the profile that a security context sets; None if it sets none."""
    profile = context.get("seccompProfile")
    return profile.get("type", "") if profile is not None else None


def seccomp_profile(pod: Pod) -> Violation | None:
    def is_bad(context: Object) -> bool:
        kind = seccomp_type(context)
        return kind is not None and kind not in SECCOMP_TYPES

    bad = pod.names(lambda container: is_bad(container.context))
    subject = setters(is_bad(pod.context), bad)
    if not subject:
        return None
    contexts = (pod.context, *(container.context for container in pod.containers))
    kinds = sorted({seccomp_type(context) or "" for context in contexts if is_bad(context)})
    detail = f"{subject} must not set securityContext.seccompProfile.type to {quoted(kinds)}"
    return Violation("seccompProfile", detail)


def _sysctls(safe: frozenset[str]) -> Check:
    def check(pod: Pod) -> Violation | None:
        names = [sysctl.get("name", "") for sysctl in pod.context.get("sysctls") or ()]
        bad = [name for name in names if name not in safe]
        return Violation("forbidden sysctls", ", ".join(bad)) if bad else None

    return check


def _sysctl_checks() -> Iterator[tuple[int, Check]]:
    safe = SAFE_SYSCTLS
    yield 0, _sysctls(safe)
    for minor, names in _LATER_SYSCTLS.items():
        safe = safe.union(names)
        yield minor, _sysctls(safe)


SYSCTL_CHECKS = tuple(_sysctl_checks())


def windows_host_process(pod: Pod) -> Violation | None:
    def is_bad(context: Object) -> bool:
        return bool((context.get("windowsOptions") or {}).get("hostProcess"))

    bad = pod.names(lambda container: is_bad(container.context))
    subject = setters(is_bad(pod.context), bad)
    if not subject:
        return None
    detail = f"{subject} must not set securityContext.windowsOptions.hostProcess=true"
    return Violation("hostProcess", detail)
