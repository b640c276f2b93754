"""A work queue of keys with delays and exponential back-off."""

from __future__ import annotations

import asyncio
from collections import deque
from functools import partial
from time import monotonic
from typing import Any, Generic, TypeVar
from weakref import WeakSet

from fairlead.base import clock
from fairlead.base.metrics import Labels
from fairlead.controllers.metrics import ADDS, DEPTH, LONGEST, RETRIES, UNFINISHED, WAITED

Key = TypeVar("Key")

_FIRST_PAUSE, _MAX_PAUSE = 0.005, 60.0


class WorkQueue(Generic[Key]):
    """Holds each key at most once and gives it to one worker at a time. A key that is added while a
    worker has it is queued again when that worker is done. Use on the event loop only."""

    def __init__(self, name: str = "", *, is_steady: bool = False) -> None:
        """`is_steady`: `add_later` uses the monotonic clock instead of the wall clock."""
        self.name = name
        self._labels = (name,)
        self._is_steady = is_steady
        self._waiting: deque[Key] = deque()
        self._queued: set[Key] = set()
        self._working: dict[Key, float] = {}  # since when (monotonic)
        self._since: dict[Key, float] = {}  # when the keys were queued
        self._failures: dict[Key, int] = {}
        self._timers: dict[Key, clock.Timer] = {}
        self._retries: set[Key] = set()
        self._wake = asyncio.Event()
        self._is_closed = False
        self._is_paused = False
        self.unmapped = 0  # changes that are not mapped to keys yet
        _QUEUES.add(self)

    def __len__(self) -> int:
        return len(self._waiting)

    @property
    def working(self) -> int:
        """How many keys are being worked on, plus changes not mapped to keys yet."""
        return len(self._working) + self.unmapped

    @property
    def retries(self) -> int:
        """How many keys wait for a retry after a failure."""
        return len(self._retries)

    @property
    def is_paused(self) -> bool:
        return self._is_paused

    def pause(self) -> None:
        """Hold back all keys until `resume`."""
        self._is_paused = True

    def resume(self) -> None:
        self._is_paused = False
        self._wake.set()

    def add(self, key: Key) -> None:
        if key in self._queued or self._is_closed:
            return
        self._queued.add(key)
        ADDS.add(of=self._labels)
        if key not in self._working:
            self._queue(key)

    def _queue(self, key: Key) -> None:
        self._waiting.append(key)
        self._since[key] = monotonic()
        DEPTH.set(len(self._waiting), of=self._labels)
        self._wake.set()

    def add_later(self, key: Key, delay: float) -> None:
        """Add a key after a delay; replaces an earlier delay of the same key."""
        if (timer := self._timers.pop(key, None)) is not None:
            timer.cancel()
        if self._is_closed:
            return
        self._timers[key] = clock.call_later(
            delay, partial(self._due, key), is_steady=self._is_steady
        )

    def _due(self, key: Key) -> None:
        del self._timers[key]
        self.add(key)

    async def get(self) -> Key:
        """Wait for the next key. The caller must call `done` or `failed` with it."""
        while not self._waiting or self._is_paused:
            self._wake.clear()
            await self._wake.wait()
        key = self._waiting.popleft()
        DEPTH.set(len(self._waiting), of=self._labels)
        self._queued.discard(key)
        now = self._working[key] = monotonic()
        WAITED.observe(now - self._since.pop(key, now), self._labels)
        return key

    def done(self, key: Key) -> None:
        """Finish a key and reset its back-off."""
        self._failures.pop(key, None)
        self._release(key)

    def failed(self, key: Key) -> float:
        """Finish a key that failed; returns the pause until its retry: 5 ms, doubled each time, at
        most 60 s."""
        RETRIES.add(of=self._labels)
        count = self._failures.get(key, 0)
        self._failures[key] = count + 1
        pause = min(_FIRST_PAUSE * float(1 << min(count, 30)), _MAX_PAUSE)
        self._release(key)
        self._retries.add(key)
        asyncio.get_running_loop().call_later(pause, self._retry, key)
        return pause

    def _retry(self, key: Key) -> None:
        self._retries.discard(key)
        self.add(key)

    def _release(self, key: Key) -> None:
        self._working.pop(key, None)
        if key in self._queued:
            self._queue(key)

    @property
    def labels(self) -> Labels:
        return self._labels

    def begun(self) -> list[float]:
        """Since when its keys are worked on (monotonic)."""
        return list(self._working.values())

    def close(self) -> None:
        """Drop all keys and timers; later adds are ignored."""
        self._is_closed = True
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()
        self._waiting.clear()
        self._since.clear()
        self._queued.clear()
        DEPTH.set(0, of=self._labels)


_QUEUES: WeakSet[WorkQueue[Any]] = WeakSet()


def _unfinished() -> dict[Labels, float]:
    now = monotonic()
    return {queue.labels: sum(now - since for since in queue.begun()) for queue in _QUEUES}


def _longest() -> dict[Labels, float]:
    now = monotonic()
    return {
        queue.labels: max((now - since for since in queue.begun()), default=0.0)
        for queue in _QUEUES
    }


UNFINISHED.read, LONGEST.read = _unfinished, _longest
