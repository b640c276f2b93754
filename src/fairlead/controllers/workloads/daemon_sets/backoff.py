"""Daemons that fail again and again on a node are replaced ever more slowly."""

from __future__ import annotations

from fairlead.base import clock
from fairlead.base.caches import Bounded
from fairlead.base.records import dataclass

_FIRST, _LONGEST = 1.0, 900.0
_FORGOTTEN = 2 * _LONGEST  # after so much time without a failure
_MOST_KNOWN = 10_000

Key = tuple[str, int, str]


@dataclass(frozen=True, slots=True)
class _Pause:
    since: float
    seconds: float


class Backoff:
    """By set, its generation, and node. It is forgotten with the process: then the next pod is
    replaced at once."""

    def __init__(self) -> None:
        self._pauses: Bounded[Key, _Pause] = Bounded(_MOST_KNOWN)

    def left(self, key: Key) -> float:
        """The seconds until a failed pod may be replaced."""
        pause = self._pauses.get(key)
        return 0.0 if pause is None else max(0.0, pause.since + pause.seconds - clock.time())

    def replaced(self, key: Key) -> None:
        """A failed pod is being replaced: the next one has to wait longer."""
        pause, now = self._pauses.get(key), clock.time()
        seconds = _FIRST
        if pause is not None and now - pause.since < _FORGOTTEN:
            seconds = min(2 * pause.seconds, _LONGEST)
        self._pauses.keep(key, _Pause(now, seconds), len(key[0]) + len(key[2]))
