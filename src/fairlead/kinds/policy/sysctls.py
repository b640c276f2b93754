"""The kernel parameters that a PodSecurityPolicy allows or forbids, by name or by prefix."""

from __future__ import annotations

import re
from collections.abc import Sequence

from fairlead.kinds.behaviour import Object
from fairlead.kinds.causes import Causes

ALLOWED, FORBIDDEN = "allowedUnsafeSysctls", "forbiddenSysctls"
LONGEST_NAME = 253
_SEGMENT = "[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
PATTERN = rf"({_SEGMENT}\.)*([a-z0-9][-_a-z0-9]*)?[a-z0-9*]"
_IS_PATTERN = re.compile(rf"\A(?:{PATTERN})\Z", re.ASCII)


def check_sysctls(spec: Object, causes: Causes) -> None:
    allowed, forbidden = spec.get(ALLOWED) or [], spec.get(FORBIDDEN) or []
    _check_names(allowed, f"spec.{ALLOWED}", causes)
    _check_names(forbidden, f"spec.{FORBIDDEN}", causes)
    for index, name in enumerate(allowed):
        for other_index, other in enumerate(forbidden):
            if _covers(other, name):
                detail = f"sysctl overlaps with {other}"
                causes.invalid(f"spec.{ALLOWED}[{index}]", name, detail)
            elif _covers(name, other):
                detail = f"sysctl overlaps with {name}"
                causes.invalid(f"spec.{FORBIDDEN}[{other_index}]", other, detail)


def _covers(pattern: str, name: str) -> bool:
    """Whether a name, or everything that a prefix stands for, falls under a pattern."""
    if not pattern.endswith("*"):
        return pattern == name
    return name.removesuffix("*").startswith(pattern[:-1])


def _check_names(names: Sequence[str], path: str, causes: Causes) -> None:
    for index, name in enumerate(names):
        if not name:
            causes.invalid(f"{path}[{index}]", name, "empty sysctl not allowed")
        elif len(name) > LONGEST_NAME or not _IS_PATTERN.match(name):
            detail = f"must have at most {LONGEST_NAME} characters and match regex {PATTERN}"
            causes.invalid(f"{path}[{index}]", name, detail)
    if len(names) > 1 and any(name.startswith("*") for name in names):
        causes.forbidden(f"{path}.items", "if '*' is present, must not specify other sysctls")
