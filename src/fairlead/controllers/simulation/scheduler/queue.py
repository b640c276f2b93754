"""The queue of pending pods, with back-off and event-driven retries."""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush

from fairlead.base import clock
from fairlead.controllers.simulation.scheduler.cluster import Event

_FIRST_PAUSE, _MAX_PAUSE = 1.0, 10.0
_RETRY_SECONDS = 300.0  # seconds until an unschedulable pod is retried without an event


class _Entry:
    __slots__ = ("attempts", "due", "order", "ready", "tried", "until")

    def __init__(self, order: tuple[int, int]) -> None:
        self.order = order
        self.attempts = 0
        self.ready = True  # in the active heap
        self.until = Event.NOTHING
        self.tried = 0.0  # time of the last try
        self.due = 0.0  # time of the next try


class PodQueue:
    """Keys of pods. Ordered by rank, then by priority and arrival. The rank of a pod may grow while
    it waits."""

    def __init__(self, rank: Callable[[str], int] = lambda key: 0) -> None:
        self._rank = rank
        self._entries: dict[str, _Entry] = {}
        self._next: list[tuple[int, tuple[int, int], str]] = []
        self._later: list[tuple[float, str]] = []
        # Unschedulable pods by the events they wait for.
        self._parked: dict[Event, dict[str, _Entry]] = {}
        self._count = 0

    def __contains__(self, key: str) -> bool:
        return key in self._entries

    def __len__(self) -> int:
        return len(self._entries)

    def add(self, key: str, priority: int) -> None:
        """Add a new pod, or retry one that changed."""
        entry = self._entries.get(key)
        if entry is None:
            self._count += 1
            entry = self._entries[key] = _Entry((-priority, self._count))
            heappush(self._next, (self._rank(key), entry.order, key))
        elif not entry.ready:
            entry.attempts = 0
            self._wake(key, entry)

    def drop(self, key: str) -> None:
        entry = self._entries.pop(key, None)
        if entry is not None:
            self._unpark(key, entry)

    def take(self) -> str | None:
        """The next pod to try, or None. The caller must then drop it or put it off."""
        moment = clock.time()
        while self._later and self._later[0][0] <= moment:
            due, key = heappop(self._later)
            entry = self._entries.get(key)
            if entry is not None and not entry.ready and entry.due == due:
                self._wake(key, entry)
        while self._next:
            rank, order, key = heappop(self._next)
            entry = self._entries.get(key)
            if entry is not None and entry.ready and entry.order == order:
                if self._rank(key) > rank:
                    heappush(self._next, (self._rank(key), order, key))
                    continue
                entry.ready = False
                entry.due = 0.0
                return key
        return None

    def put_off(self, key: str, until: Event) -> None:
        """No node fits: retry after one of these events, with back-off."""
        entry = self._entries.get(key)
        if entry is None or entry.ready:  # dropped or changed meanwhile
            return
        entry.attempts += 1
        self._park(key, entry, until)

    def wait_for(self, key: str, event: Event, seconds: float = _RETRY_SECONDS) -> None:
        """Retry as soon as this event happens, without back-off, or after so many seconds."""
        entry = self._entries.get(key)
        if entry is not None and not entry.ready:
            entry.attempts = 0
            self._park(key, entry, event, seconds)

    def _park(self, key: str, entry: _Entry, until: Event, seconds: float = _RETRY_SECONDS) -> None:
        entry.until = until
        entry.tried = clock.time()
        self._parked.setdefault(until, {})[key] = entry
        self._set(key, entry, entry.tried + seconds)

    def fail(self, key: str) -> None:
        """Scheduling or binding failed: retry after the back-off."""
        entry = self._entries.get(key)
        if entry is not None and not entry.ready:
            entry.attempts += 1
            self._set(key, entry, clock.time() + _pause(entry.attempts))

    def wake(self, event: Event) -> bool:
        """Reschedule pods that wait for this event; returns whether there are any."""
        concerned = [until for until in self._parked if until & event]
        moment = clock.time()
        for until in concerned:
            for key, entry in self._parked.pop(until).items():
                entry.until = Event.NOTHING
                self._set(key, entry, max(moment, entry.tried + _pause(entry.attempts)))
        return bool(concerned)

    def pause(self) -> float | None:
        """Seconds until the next retry, or None."""
        while self._later:
            due, key = self._later[0]
            entry = self._entries.get(key)
            if entry is not None and not entry.ready and entry.due == due:
                return max(0.0, due - clock.time())
            heappop(self._later)
        return None

    def _wake(self, key: str, entry: _Entry) -> None:
        self._unpark(key, entry)
        entry.ready = True
        heappush(self._next, (self._rank(key), entry.order, key))

    def _unpark(self, key: str, entry: _Entry) -> None:
        parked = self._parked.get(entry.until)
        entry.until = Event.NOTHING
        if parked is not None:
            parked.pop(key, None)
            if not parked:
                self._parked = {until: keys for until, keys in self._parked.items() if keys}

    def _set(self, key: str, entry: _Entry, due: float) -> None:
        entry.due = due
        heappush(self._later, (due, key))


def _pause(attempts: int) -> float:
    if not attempts:
        return 0.0
    return min(_FIRST_PAUSE * float(1 << min(attempts - 1, 10)), _MAX_PAUSE)
