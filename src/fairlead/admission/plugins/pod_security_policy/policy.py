"""A stored PodSecurityPolicy, parsed for checks."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from fairlead.base.dialect import Dialect
from fairlead.codec.types.model import Object
from fairlead.resources.core.pods.annotations import DOCKER_DEFAULT, RUNTIME_DEFAULT
from fairlead.resources.policy.security_policies import ANY_PROFILE, APPARMOR, SECCOMP
from fairlead.storage.version import Version

ANY = "*"
MUST_RUN_AS, RUN_AS_ANY, NON_ROOT = "MustRunAs", "RunAsAny", "MustRunAsNonRoot"
_DEFAULTS = frozenset({RUNTIME_DEFAULT, DOCKER_DEFAULT})


@dataclass(frozen=True, slots=True)
class Ids:
    """The allowed user or group ids."""

    rule: str = RUN_AS_ANY
    ranges: tuple[tuple[int, int], ...] = ()

    @property
    def default(self) -> int | None:
        """The id for pods that set none; None if none is needed."""
        return self.ranges[0][0] if self.rule == MUST_RUN_AS else None

    def allows(self, number: int) -> bool:
        if self.rule in (RUN_AS_ANY, NON_ROOT):
            return True
        return any(low <= number <= high for low, high in self.ranges)

    def __str__(self) -> str:
        """The ranges as shown in messages."""
        return f"[{' '.join(f'{{{low} {high}}}' for low, high in self.ranges)}]"


def _ids(strategy: Object | None) -> Ids:
    if strategy is None:
        return Ids()
    ranges = tuple((item["min"], item["max"]) for item in strategy.get("ranges") or ())
    return Ids(strategy.get("rule", RUN_AS_ANY), ranges)


@dataclass(frozen=True, slots=True)
class Profiles:
    """The profiles that a policy's annotations allow; `allowed` is None without an annotation."""

    default: str
    allowed: frozenset[str] | None
    text: str  # the raw annotation

    def allows(self, profile: str) -> bool:
        """Whether a profile is allowed; the two names of the runtime's default profile are
        equivalent."""
        allowed = self.allowed or frozenset()
        if ANY_PROFILE in allowed or profile in allowed:
            return True
        return profile in _DEFAULTS and not _DEFAULTS.isdisjoint(allowed)


def _profiles(annotations: dict[str, str], prefix: str) -> Profiles:
    text = annotations.get(f"{prefix}/allowedProfileNames")
    allowed = None if text is None else frozenset(text.split(","))
    return Profiles(annotations.get(f"{prefix}/defaultProfileName", ""), allowed, text or "")


@dataclass(frozen=True, slots=True)
class SecurityPolicy:
    name: str
    spec: Object
    user: Ids
    group: Ids
    fs_group: Ids
    supplemental_groups: Ids
    app_armor: Profiles
    seccomp: Profiles

    @property
    def selinux(self) -> Object | None:
        """The required options; None if any are allowed."""
        strategy = self.spec["seLinux"]
        if strategy.get("rule") != MUST_RUN_AS:
            return None
        options: Object = strategy.get("seLinuxOptions") or {}
        return options

    @property
    def allows_escalation(self) -> bool:
        return self.spec.get("allowPrivilegeEscalation") is not False


def policy_of(entry: Version, dialect: Dialect) -> SecurityPolicy:
    value = entry.object()
    spec, annotations = value["spec"], value["metadata"].get("annotations") or {}
    return SecurityPolicy(
        entry.name,
        spec,
        user=_ids(spec["runAsUser"]),
        group=_ids(spec.get("runAsGroup")),
        fs_group=_ids(spec["fsGroup"]),
        supplemental_groups=_ids(spec["supplementalGroups"]),
        app_armor=_profiles(annotations, dialect.label(APPARMOR)),
        seccomp=_profiles(annotations, dialect.label(SECCOMP)),
    )


def policies_of(entries: Iterable[Version], dialect: Dialect) -> list[SecurityPolicy]:
    """All policies, sorted by name."""
    policies = [policy_of(entry, dialect) for entry in entries]
    return sorted(policies, key=lambda policy: policy.name)


def covers(patterns: Iterable[str] | None, name: str) -> bool:
    """Whether a name matches a pattern, which may end in `*`."""
    return any(
        name.startswith(pattern[:-1]) if pattern.endswith(ANY) else name == pattern
        for pattern in patterns or ()
    )
