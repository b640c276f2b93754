"""The levels and versions of the standards, and the policy in a namespace's labels."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from fairlead.base.dialect import Dialect
from fairlead.resources.causes import Causes

PRIVILEGED, BASELINE, RESTRICTED = LEVELS = ("privileged", "baseline", "restricted")
LATEST = "latest"
_NEWEST = 2**63  # newer than any version that can be named
_VERSION = re.compile(r"\Av1\.(0|[1-9][0-9]{0,18})\Z", re.ASCII)
WRONG_LEVEL = f"must be one of {', '.join(LEVELS)}"
WRONG_VERSION = 'must be "latest" or "v1.x"'


class Standard(NamedTuple):
    """A level in a version, given by its minor number."""

    level: str = PRIVILEGED
    minor: int = _NEWEST

    def __str__(self) -> str:
        version = LATEST if self.minor == _NEWEST else f"v1.{self.minor}"
        return f"{self.level}:{version}"

    @property
    def allows_all(self) -> bool:
        return self.level == PRIVILEGED

    def is_like(self, other: Standard) -> bool:
        return self == other or (self.allows_all and other.allows_all)

    def is_stricter_than(self, other: Standard) -> bool:
        """Whether the level is higher; both standards must have the same version."""
        return LEVELS.index(self.level) > LEVELS.index(other.level)


class Policy(NamedTuple):
    """The standards that are enforced, recorded in the audit log, and warned about."""

    enforce: Standard = Standard()
    audit: Standard = Standard()
    warn: Standard = Standard()

    @property
    def allows_all(self) -> bool:
        return all(standard.allows_all for standard in self)

    @property
    def is_silent(self) -> bool:
        return self.audit.allows_all and self.warn.allows_all

    def is_like(self, other: Policy) -> bool:
        return all(
            policy.is_like(other_policy) for policy, other_policy in zip(self, other, strict=True)
        )

    def __str__(self) -> str:
        """The modes that restrict pods."""
        modes = zip(self._fields, self, strict=True)
        return ", ".join(
            f"{mode}={standard}" for mode, standard in modes if standard.level != PRIVILEGED
        )


def minor_of(version: str) -> int | None:
    """The minor number of a version such as `v1.25` or `latest`; None if it is invalid."""
    if version == LATEST:
        return _NEWEST
    match = _VERSION.match(version)
    minor = int(match[1]) if match else _NEWEST
    return minor if minor < _NEWEST else None


class Labels:
    """Parses the pod security labels of namespaces in one dialect."""

    def __init__(self, dialect: Dialect, defaults: Policy) -> None:
        self._defaults = defaults
        prefix = dialect.label("pod-security.@/")
        self._modes = [(f"{prefix}{mode}", f"{prefix}{mode}-version") for mode in Policy._fields]

    def policy(self, labels: Mapping[str, str], causes: Causes) -> Policy:
        """The policy in the labels. Errors go into `causes`: an invalid level counts as
        `restricted` for enforce and as `privileged` for the other modes, an invalid version as the
        latest."""
        if not labels:
            return self._defaults
        standards: list[Standard] = []
        for (level_label, version_label), (level, minor) in zip(
            self._modes, self._defaults, strict=True
        ):
            label = labels.get(level_label)
            if label in LEVELS:
                level = label
            elif label is not None:
                level = PRIVILEGED if standards else RESTRICTED
                causes.invalid(f"metadata.labels[{level_label}]", label, WRONG_LEVEL)
            version = labels.get(version_label)
            if version is not None:
                parsed = minor_of(version)
                minor = _NEWEST if parsed is None else parsed
                if parsed is None:
                    causes.invalid(f"metadata.labels[{version_label}]", version, WRONG_VERSION)
            standards.append(Standard(level, minor))
        return Policy(*standards)
