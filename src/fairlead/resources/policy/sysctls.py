"""The kernel parameters that a PodSecurityPolicy allows or forbids, by name or by prefix."""

from __future__ import annotations

import re
from collections.abc import Sequence

from fairlead.resources.behaviour import Object
from fairlead.resources.causes import Causes

ALLOWED, FORBIDDEN = "allowedUnsafeSysctls", "forbiddenSysctls"
LONGEST_NAME = 253
_SEGMENT = "[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
PATTERN = rf"({_SEGMENT}\.)*([a-z0-9][-_a-z0-9]*)?[a-z0-9*]"
_IS_PATTERN = re.compile(rf"\A(?:{PATTERN})\Z", re.ASCII)


def check_sysctls(spec: Object, causes: Causes) -> None:
    allowed, forbidden = spec.get(ALLOWED) or [], spec.get(FORBIDDEN) or []
    _check_names(allowed, f"spec.{ALLOWED}", causes)
    _check_names(forbidden, f"spec.{FORBIDDEN}", causes)
    equal = set(allowed) & set(forbidden)
    for mine, own, others in ((ALLOWED, allowed, forbidden), (FORBIDDEN, forbidden, allowed)):
        patterns = set(others) if mine == ALLOWED else set(others) - equal
        for index, name in enumerate(own):
            other = _covering(patterns, name)
            if other is not None:
                detail = f"sysctl overlaps with {other}"
                causes.invalid(f"spec.{mine}[{index}]", name, detail)


def _covering(patterns: set[str], name: str) -> str | None:
    """The pattern under which a name, or everything that a prefix stands for, falls."""
    if name in patterns:
        return name
    stem = name.removesuffix("*")[:LONGEST_NAME]
    prefixes = (f"{stem[:length]}*" for length in range(len(stem) + 1))
    return next((prefix for prefix in prefixes if prefix in patterns), None)


def _check_names(names: Sequence[str], path: str, causes: Causes) -> None:
    for index, name in enumerate(names):
        if not name:
            causes.invalid(f"{path}[{index}]", name, "empty sysctl not allowed")
        elif len(name) > LONGEST_NAME or not _IS_PATTERN.match(name):
            detail = f"must have at most {LONGEST_NAME} characters and match regex {PATTERN}"
            causes.invalid(f"{path}[{index}]", name, detail)
    if len(names) > 1 and any(name.startswith("*") for name in names):
        causes.forbidden(f"{path}.items", "if '*' is present, must not specify other sysctls")
