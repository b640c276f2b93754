"""Bounds of time that hold on any machine: they are stretched by how slow this one is just now."""

from __future__ import annotations

import re
import sys
from time import process_time

_USUAL_SECONDS = 0.0034  # what the sample takes on the machine that the bounds were set on
_WHILE_TRACED = 4.0  # what is measured is slowed down by tracing its lines; the sample is not
_WORD = re.compile(r"[a-z]+(\d+)")


def _sample() -> float:
    """The seconds of a little work of the kind that is measured."""
    started = process_time()
    found: dict[str, list[int]] = {}
    for number in range(6_000):
        text = f"key{number % 100}"
        match = _WORD.match(text)
        assert match is not None
        found.setdefault(text, []).append(int(match[1]) + number)
    sum(sum(numbers) for numbers in found.values())
    return process_time() - started


def in_time(spent: float, most: float) -> bool:
    """Whether something that took so many seconds would have taken less than `most` on a quiet
    machine. Ask at once: what slowed it down is likely still there."""
    if spent < most:
        return True
    slowness = max(1.0, sorted(_sample() for _ in range(5))[2] / _USUAL_SECONDS)
    traced = _WHILE_TRACED if sys.gettrace() is not None else 1.0
    return spent < most * slowness * traced
