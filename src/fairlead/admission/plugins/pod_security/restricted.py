"""The checks that the level `restricted` adds: current hardening practice."""

from __future__ import annotations

from collections.abc import Callable

from fairlead.admission.plugins.pod_security.baseline import (
    added,
    not_added,
    seccomp_profile,
    seccomp_type,
)
from fairlead.admission.plugins.pod_security.pods import (
    Pod,
    Violation,
    named,
    plural,
    quoted,
    setters,
)
from fairlead.codec.types.model import Object

ADDABLE = "NET_BIND_SERVICE"
_VOLUMES = frozenset(
    {
        *("configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "persistentVolumeClaim"),
        *("projected", "secret", "image"),
    }
)


def except_for_windows(
    check: Callable[[Pod], Violation | None],
) -> Callable[[Pod], Violation | None]:
    """Skip a Linux-only check for Windows pods, as since v1.25."""

    def checked(pod: Pod) -> Violation | None:
        return None if pod.is_for_windows else check(pod)

    return checked


def privilege_escalation(pod: Pod) -> Violation | None:
    bad = pod.names(
        lambda container: container.context.get("allowPrivilegeEscalation") is not False
    )
    if not bad:
        return None
    subject = named("container", bad)
    detail = f"{subject} must set securityContext.allowPrivilegeEscalation=false"
    return Violation("allowPrivilegeEscalation != false", detail)


def capabilities(pod: Pod) -> Violation | None:
    def keeps_some(context: Object) -> bool:
        return "ALL" not in ((context.get("capabilities") or {}).get("drop") or ())

    keeping = [container.name for container in pod.containers if keeps_some(container.context)]
    added_names = {name for container in pod.containers for name in added(container.context)}
    forbidden = added_names - {ADDABLE}
    details = []
    if keeping:
        subject = named("container", keeping)
        details.append(f'{subject} must set securityContext.capabilities.drop=["ALL"]')
    if forbidden:
        adding = pod.names(lambda container: not forbidden.isdisjoint(added(container.context)))
        details.append(not_added(adding, sorted(forbidden)))
    return Violation("unrestricted capabilities", "; ".join(details)) if details else None


def volumes(pod: Pod) -> Violation | None:
    bad, kinds = [], set()
    for volume in pod.spec.get("volumes") or ():
        sources = [name for name, source in volume.items() if source is not None]
        if _VOLUMES.isdisjoint(sources):
            bad.append(volume["name"])
            kinds.update([name for name in sources if name != "name"] or ["unknown"])
    if not bad:
        return None
    uses = "uses" if len(bad) == 1 else "use"
    types_text = f"{plural('restricted volume type', kinds)} {quoted(sorted(kinds))}"
    return Violation("restricted volume types", f"{named('volume', bad)} {uses} {types_text}")


def run_as_non_root(pod: Pod) -> Violation | None:
    reason, value = "runAsNonRoot != true", pod.context.get("runAsNonRoot")
    bad = pod.names(lambda container: container.context.get("runAsNonRoot") is False)
    subject = setters(value is False, bad)
    if subject:
        return Violation(reason, f"{subject} must not set securityContext.runAsNonRoot=false")
    if value:
        return None
    silent = pod.names(lambda container: container.context.get("runAsNonRoot") is None)
    if not silent:
        return None
    subject = named("container", silent)
    return Violation(reason, f"pod or {subject} must set securityContext.runAsNonRoot=true")


def run_as_user(pod: Pod) -> Violation | None:
    bad = pod.names(lambda container: container.context.get("runAsUser") == 0)
    subject = setters(pod.context.get("runAsUser") == 0, bad)
    return Violation("runAsUser=0", f"{subject} must not set runAsUser=0") if subject else None


def seccomp(pod: Pod) -> Violation | None:
    """Every container must have a profile, its own or the pod's."""
    violation = seccomp_profile(pod)
    if violation is not None or seccomp_type(pod.context) is not None:
        return violation
    silent = pod.names(lambda container: seccomp_type(container.context) is None)
    if not silent:
        return None
    detail = (
        f"pod or {named('container', silent)} must set securityContext.seccompProfile.type to"
        ' "RuntimeDefault" or "Localhost"'
    )
    return Violation("seccompProfile", detail)
