"""How fast the machine is at the moment. Its neighbours slow it down to a half, for seconds or for
minutes, and what is measured meanwhile tells of them."""

from __future__ import annotations

import time

REFERENCE_TURN = 243  # ns, on the machines that the reference was measured on, at their best
_TURNS = 20_000
_SLOW = 1.15  # times what the loop takes at its quickest
_FIRST_LOOKS = 100
_NAP = 0.3


def turn_seconds() -> float:
    """CPU time of one turn of a fixed loop: look-ups, calls and texts, as in a request."""
    known: dict[str, int] = {}
    began = time.process_time()
    for turn in range(_TURNS):
        key = f"key-{turn & 1023}"
        known[key] = known.get(key, 0) + len(key)
    return (time.process_time() - began) / _TURNS


class Pace:
    """Holds how long the loop takes against the least that was seen, in seconds a turn."""

    def __init__(self) -> None:
        self.least = min(turn_seconds() for _ in range(_FIRST_LOOKS))

    def is_quick(self) -> bool:
        now = turn_seconds()
        self.least = min(self.least, now)
        return now <= _SLOW * self.least

    def wait(self, patience: float) -> None:
        """Wait for a quick moment, but not for ever."""
        end = time.monotonic() + patience
        while not self.is_quick() and time.monotonic() < end:
            time.sleep(_NAP)
