"""Measures how fast the machine is at the moment. Other tenants slow it down by up to a half, for
seconds or minutes, and distort measurements meanwhile."""

from __future__ import annotations

import time

REFERENCE_TURN = 243  # ns, at best, on the machines on which the reference was measured
_TURNS = 20_000
_SLOW = 1.15  # times the fastest loop
_FIRST_LOOKS = 100
_NAP = 0.3


def turn_seconds() -> float:
    """Return the CPU time of one iteration of a fixed loop: look-ups, calls and texts, as in a
    request."""
    known: dict[str, int] = {}
    began = time.process_time()
    for turn in range(_TURNS):
        key = f"key-{turn & 1023}"
        known[key] = known.get(key, 0) + len(key)
    return (time.process_time() - began) / _TURNS


class Pace:
    """Compares the current time of the loop with the least seen, in seconds per iteration."""

    def __init__(self) -> None:
        self.minimum = min(turn_seconds() for _ in range(_FIRST_LOOKS))

    def is_quick(self) -> bool:
        now = turn_seconds()
        self.minimum = min(self.minimum, now)
        return now <= _SLOW * self.minimum

    def wait(self, patience: float) -> None:
        """Wait until the machine is fast, at most `patience` seconds."""
        end = time.monotonic() + patience
        while not self.is_quick() and time.monotonic() < end:
            time.sleep(_NAP)
