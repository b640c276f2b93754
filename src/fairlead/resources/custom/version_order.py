"""The order of preference of versions."""

from __future__ import annotations

import re

_RELEASE = re.compile(r"v([1-9][0-9]*)(?:(alpha|beta)([1-9][0-9]*))?", re.ASCII)
_STAGES = {None: 2, "beta": 1, "alpha": 0}


def priority(version: str) -> tuple[object, ...]:
    """Sort key by preference: stable versions before betas before alphas, newer before older, names
    of another form last, in alphabetical order."""
    found = _RELEASE.fullmatch(version)
    if found is None:
        return (1, version)
    major, stage, minor = found.groups()
    return (0, -_STAGES[stage], -int(major), -int(minor or 0))
