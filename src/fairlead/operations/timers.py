"""Alarms for very many that wait: those that are due at about the same time share a timer."""

from __future__ import annotations

import asyncio
from math import ceil, frexp
from typing import Protocol

_LATE = 6  # an alarm is late by at most 1/2**6 of the time until it
_A_TURN = 50  # ring before other work of the loop gets its turn


class Sleeper(Protocol):
    """Who can set an alarm, one at a time."""

    def ring(self) -> None: ...


class Alarms:
    """All alarms of one loop; times are of its clock."""

    def __init__(self) -> None:
        self._sleepers: dict[float, set[Sleeper]] = {}
        self._timers: dict[float, asyncio.TimerHandle] = {}

    def __len__(self) -> int:
        return len(self._timers)

    def set(self, due: float, sleeper: Sleeper) -> float:
        """Have somebody rung when it is time, and not before; gives what `cancel` is to be told."""
        loop = asyncio.get_running_loop()
        at = _rounded(due, max(due - loop.time(), 0.0))
        sleepers = self._sleepers.get(at)
        if sleepers is None:
            sleepers = self._sleepers[at] = set()
            self._timers[at] = loop.call_at(at, self._ring, at)
        sleepers.add(sleeper)
        return at

    def cancel(self, at: float, sleeper: Sleeper) -> None:
        """Nothing happens if it has rung."""
        sleepers = self._sleepers.get(at)
        if sleepers is None:
            return
        sleepers.discard(sleeper)
        if not sleepers:
            self._forget(at)

    def _forget(self, at: float) -> None:
        self._sleepers.pop(at, None)
        timer = self._timers.pop(at, None)
        if timer is not None:
            timer.cancel()

    def _ring(self, at: float) -> None:
        sleepers = self._sleepers[at]
        turn = [sleepers.pop() for _ in range(min(_A_TURN, len(sleepers)))]
        if sleepers:
            loop = asyncio.get_running_loop()
            self._timers[at] = loop.call_later(0, self._ring, at)
        else:
            self._forget(at)
        for sleeper in turn:
            sleeper.ring()


def _rounded(due: float, left: float) -> float:
    """The next full step, and the longer it takes until then the longer steps are."""
    step = 2.0 ** (frexp(left)[1] - 1 - _LATE) if left else 1 / 256
    return ceil(due / step) * step
