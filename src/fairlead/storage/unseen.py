"""Writes that were taken and have not come back through the feed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from heapq import heappop, heappush

from fairlead.storage.pending import Pending

Group = Sequence[Pending]


class Unseen:
    """Kept by their revisions. `on_late` is told of those that do not come back in so many
    seconds; one timer does for all."""

    def __init__(self, longest: float, on_late: Callable[[Group], None]) -> None:
        self._longest = longest
        self._on_late = on_late
        self._waiting: list[tuple[int, int, float, Group, Sequence[int]]] = []  # a heap
        self._count = 0  # tells those of one revision apart
        self._timer: asyncio.TimerHandle | None = None

    def __bool__(self) -> bool:
        return bool(self._waiting)

    @property
    def last(self) -> int:
        """The newest revision that is waited for."""
        return max((one[0] for one in self._waiting), default=0)

    def add(self, group: Group, revisions: Sequence[int]) -> None:
        loop = asyncio.get_running_loop()
        self._count += 1
        heappush(self._waiting, (max(revisions), self._count, loop.time(), group, revisions))
        if self._timer is None:
            self._timer = loop.call_later(self._longest, self._look)

    def take(self, revision: int) -> Iterator[tuple[Group, Sequence[int]]]:
        """Those that come back with a revision, in their order."""
        while self._waiting and self._waiting[0][0] <= revision:
            *_, group, revisions = heappop(self._waiting)
            yield group, revisions

    def _look(self) -> None:
        loop = asyncio.get_running_loop()
        self._timer = None
        oldest = loop.time() - self._longest
        late = [one for one in self._waiting if one[2] <= oldest]
        self._waiting = sorted(one for one in self._waiting if one[2] > oldest)
        if self._waiting:
            next_one = min(one[2] for one in self._waiting)
            self._timer = loop.call_at(next_one + self._longest, self._look)
        for one in late:
            self._on_late(one[3])

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
