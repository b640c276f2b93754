"""The table of checks by level and version."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import NamedTuple

from fairlead.admission.plugins.pod_security import baseline, restricted
from fairlead.admission.plugins.pod_security.levels import (
    BASELINE,
    PRIVILEGED,
    RESTRICTED,
    Standard,
)
from fairlead.admission.plugins.pod_security.pods import Pod, Violation
from fairlead.base.release import Release

Check = Callable[[Pod], Violation | None]


class _Entry(NamedTuple):
    """One check: its implementations by the minor version since which they apply, the baseline
    check that it replaces, and the security context field without which it can be skipped (empty:
    never)."""

    name: str
    level: str
    history: tuple[tuple[int, Check], ...]
    instead_of: str = ""
    about: str = ""

    def at(self, minor: int) -> Check | None:
        return next((check for since, check in reversed(self.history) if since <= minor), None)


_linux = restricted.except_for_windows
_with_own_users = baseline.except_with_own_users
# In the order in which messages list violations.
_CHECKS = (
    _Entry("appArmorProfile", BASELINE, ((0, baseline.app_armor_profile),)),
    _Entry("capabilities_baseline", BASELINE, ((0, baseline.capabilities),), about="capabilities"),
    _Entry("hostNamespaces", BASELINE, ((0, baseline.host_namespaces),)),
    _Entry("hostPathVolumes", BASELINE, ((0, baseline.host_path_volumes),)),
    _Entry("hostPorts", BASELINE, ((0, baseline.host_ports),)),
    _Entry("hostProbesAndHostLifecycle", BASELINE, ((34, baseline.host_handlers),)),
    _Entry("privileged", BASELINE, ((0, baseline.privileged),), about="privileged"),
    _Entry(
        "procMount",
        BASELINE,
        ((0, baseline.proc_mount), (35, _with_own_users(baseline.proc_mount))),
        about="procMount",
    ),
    _Entry(
        "seLinuxOptions",
        BASELINE,
        ((0, baseline.selinux_options), (31, baseline.selinux_options_with_engine)),
        about="seLinuxOptions",
    ),
    _Entry(
        "seccompProfile_baseline",
        BASELINE,
        ((0, baseline.seccomp_annotations), (19, baseline.seccomp_profile)),
    ),
    _Entry("sysctls", BASELINE, baseline.SYSCTL_CHECKS, about="sysctls"),
    _Entry(
        "windowsHostProcess",
        BASELINE,
        ((0, baseline.windows_host_process),),
        about="windowsOptions",
    ),
    _Entry(
        "allowPrivilegeEscalation",
        RESTRICTED,
        ((8, restricted.privilege_escalation), (25, _linux(restricted.privilege_escalation))),
    ),
    _Entry(
        "capabilities_restricted",
        RESTRICTED,
        ((22, restricted.capabilities), (25, _linux(restricted.capabilities))),
        instead_of="capabilities_baseline",
    ),
    _Entry(
        "procMount_restricted",
        RESTRICTED,
        ((35, baseline.proc_mount),),
        instead_of="procMount",
        about="procMount",
    ),
    _Entry("restrictedVolumes", RESTRICTED, ((0, restricted.volumes),), "hostPathVolumes"),
    _Entry(
        "runAsNonRoot",
        RESTRICTED,
        ((0, restricted.run_as_non_root), (35, _with_own_users(restricted.run_as_non_root))),
    ),
    _Entry(
        "runAsUser",
        RESTRICTED,
        ((23, restricted.run_as_user), (35, _with_own_users(restricted.run_as_user))),
        about="runAsUser",
    ),
    _Entry(
        "seccompProfile_restricted",
        RESTRICTED,
        ((19, restricted.seccomp), (25, _linux(restricted.seccomp))),
        instead_of="seccompProfile_baseline",
    ),
)
# Later versions equal this one.
LAST_CHANGE = max(since for entry in _CHECKS for since, _ in entry.history)


def checks_of(standard: Standard, release: Release) -> tuple[tuple[str, Check], ...]:
    """The checks of a standard, each with the field it depends on. A release has no checks of
    later versions."""
    return _checks(standard.level, min(standard.minor, release.minor, LAST_CHANGE))


@cache
def _checks(level: str, minor: int) -> tuple[tuple[str, Check], ...]:
    if level == PRIVILEGED:
        return ()
    levels = (BASELINE,) if level == BASELINE else (BASELINE, RESTRICTED)
    checks = {entry: check for entry, check in _checks_at(minor) if entry.level in levels}
    superfluous = {entry.instead_of for entry in checks}
    return tuple(
        (entry.about, check) for entry, check in checks.items() if entry.name not in superfluous
    )


def _checks_at(minor: int) -> Iterator[tuple[_Entry, Check]]:
    for entry in _CHECKS:
        check = entry.at(minor)
        if check is not None:
            yield entry, check


def violations(standard: Standard, pod: Pod) -> list[Violation]:
    """All violations of a standard by a pod."""
    settings = pod.settings
    return [
        violation
        for about, check in checks_of(standard, pod.release)
        if (not about or about in settings) and (violation := check(pod)) is not None
    ]


def listed(violations: list[Violation]) -> str:
    return ", ".join(map(str, violations))
