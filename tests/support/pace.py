"""Time limits that hold on any machine: they are scaled by how slow it is at the moment."""

from __future__ import annotations

import re
import sys
from time import process_time

_USUAL_SECONDS = 0.0034  # of the sample, on the machine on which the limits were set
_WHILE_TRACED = 4.0  # tracing slows down the measured code, but not the sample
_WORD = re.compile(r"[a-z]+(\d+)")


def _sample() -> float:
    """Return the CPU seconds of a small workload like those that are measured."""
    started = process_time()
    result: dict[str, list[int]] = {}
    for number in range(6_000):
        text = f"key{number % 100}"
        match = _WORD.match(text)
        assert match is not None
        result.setdefault(text, []).append(int(match[1]) + number)
    sum(sum(numbers) for numbers in result.values())
    return process_time() - started


def in_time(spent: float, maximum: float) -> bool:
    """Return whether work that took so many seconds would have taken less than `maximum` on an idle
    machine. Call it right after the work, while the machine is equally slow."""
    if spent < maximum:
        return True
    slowness = max(1.0, sorted(_sample() for _ in range(5))[2] / _USUAL_SECONDS)
    traced = _WHILE_TRACED if sys.gettrace() is not None else 1.0
    return spent < maximum * slowness * traced
