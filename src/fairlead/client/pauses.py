"""How long to wait before something that failed is tried again."""

from __future__ import annotations

from random import uniform


class Pauses:
    """Each is about twice as long as the one before, up to a limit; `reset` when it went well."""

    def __init__(self, first: float = 0.1, longest: float = 30.0) -> None:
        self._first = first
        self._longest = longest
        self._length = first

    def next(self) -> float:
        """Spread, so that many that failed together do not come back together."""
        length = self._length
        self._length = min(2 * length, self._longest)
        return uniform(0.5, 1) * length

    def reset(self) -> None:
        self._length = self._first
