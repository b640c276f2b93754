"""How long a schema may keep the server busy. Conditions multiply: thousands of them on each of
thousands of items are within all other limits."""

from __future__ import annotations

from time import monotonic

LONGEST = 2.0  # seconds
TOO_LONG_TO_CHECK = "takes too long to check, try with fewer conditions and patterns"


class OutOfPatience(Exception):
    """Somebody else waits."""


class Patience:
    """Counts from `start`; whoever does something that there may be much of calls `check`."""

    def __init__(self) -> None:
        self.start()

    def start(self) -> None:
        self._until = monotonic() + LONGEST

    def check(self) -> None:
        if monotonic() > self._until:
            raise OutOfPatience
