"""Waiting that costs little where it is not needed: within a time, and for one's turn."""

from __future__ import annotations

import asyncio
from collections import deque
from types import TracebackType

_TICK = 0.05  # seconds by which a time limit may be exceeded


class TimeLimits:
    """Time limits of the tasks of one loop. All share one timer, which runs while they are in use:
    most are over long before their end, and a timer for each would cost more than it is for."""

    def __init__(self) -> None:
        self._running: set[TimeLimit] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._used = False

    def begin(self, limit: TimeLimit) -> None:
        self._running.add(limit)
        self._used = True
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(_TICK, self._look)

    def end(self, limit: TimeLimit) -> None:
        self._running.discard(limit)

    def _look(self) -> None:
        loop = asyncio.get_running_loop()
        now = loop.time()
        for limit in [limit for limit in self._running if limit.end <= now]:
            self._running.discard(limit)
            limit.exceed()
        self._timer = loop.call_later(_TICK, self._look) if self._used else None
        self._used = bool(self._running)

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


class TimeLimit:
    """As `asyncio.timeout`: within it a task has so many seconds, then it gets a TimeoutError."""

    __slots__ = ("_cancelling", "_exceeded", "_limits", "_task", "end")

    def __init__(self, limits: TimeLimits, seconds: float) -> None:
        self._limits = limits
        self._exceeded = False
        self.end = asyncio.get_running_loop().time() + seconds

    def __enter__(self) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._task = task
        self._cancelling = task.cancelling()
        self._limits.begin(self)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._limits.end(self)
        if not self._exceeded or self._task.uncancel() > self._cancelling:
            return  # it was in time, or somebody else has cancelled it too
        if kind is asyncio.CancelledError:
            raise TimeoutError from error

    def exceed(self) -> None:
        self._exceeded = True
        self._task.cancel()


class Room:
    """Lets so many in at the same time, the others in their order. Whoever finds it free just takes
    a place; whoever has one must leave."""

    def __init__(self, places: int) -> None:
        self._free = places
        self._waiting: deque[asyncio.Future[None]] = deque()

    def take(self) -> bool:
        """Whether there was a place."""
        if self._free:
            self._free -= 1
            return True
        return False

    async def wait(self) -> None:
        """Until one has a place."""
        turn = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self.leave()
            else:
                self._waiting.remove(turn)
            raise

    def leave(self) -> None:
        """The place is that of who waits, if anybody does."""
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                return
        self._free += 1
