"""Timeouts that share timers."""

from __future__ import annotations

import asyncio

import pytest

from fairlead.operations.api import TimerGroup


class Bell:
    """Notes when it rings."""

    def __init__(self) -> None:
        self.rang: list[float] = []
        self.heard = asyncio.Event()

    def ring(self) -> None:
        self.rang.append(asyncio.get_running_loop().time())
        self.heard.set()


@pytest.mark.parametrize("wait", [-1.0, 0.0, 0.001, 0.05, 0.2])
def test_an_alarm_rings_once_and_not_before_its_time(wait: float) -> None:
    async def main() -> None:
        bell, alarms = Bell(), TimerGroup()
        due = asyncio.get_running_loop().time() + wait
        alarms.set(due, bell)
        await bell.heard.wait()
        await asyncio.sleep(0.05)
        assert len(bell.rang) == 1
        assert bell.rang[0] >= due
        assert not alarms

    asyncio.run(main())


@pytest.mark.parametrize("wait", [0.01, 1.0, 59.9, 3600.0, 1e8])
def test_an_alarm_is_late_by_a_small_part_of_its_time_at_most(wait: float) -> None:
    async def main() -> None:
        due = asyncio.get_running_loop().time() + wait
        at = TimerGroup().set(due, Bell())
        assert due <= at <= due + wait / 32

    asyncio.run(main())


def test_timer_group_shares_a_timer_between_alarms_of_about_the_same_time() -> None:
    async def main() -> None:
        alarms = TimerGroup()
        now = asyncio.get_running_loop().time()
        for number in range(1000):
            alarms.set(now + 1800 + number, Bell())
        assert len(alarms) < 100

    asyncio.run(main())


def test_alarm_that_was_cancelled_does_not_ring_and_others_of_its_timer_do() -> None:
    async def main() -> None:
        alarms, first, other = TimerGroup(), Bell(), Bell()
        due = asyncio.get_running_loop().time() + 0.02
        at = alarms.set(due, first)
        assert alarms.set(due, other) == at
        alarms.cancel(at, first)
        await other.heard.wait()
        alarms.cancel(at, other)
        assert (first.rang, len(other.rang)) == ([], 1)

    asyncio.run(main())


def test_timer_group_drops_a_timer_without_alarms() -> None:
    async def main() -> None:
        alarms, bell = TimerGroup(), Bell()
        alarms.cancel(alarms.set(asyncio.get_running_loop().time() + 60, bell), bell)
        assert not alarms

    asyncio.run(main())


def test_alarms_that_are_due_at_once_yield_to_the_event_loop() -> None:
    async def main() -> None:
        alarms, bells = TimerGroup(), [Bell() for _ in range(500)]
        due = asyncio.get_running_loop().time() + 0.01
        for bell in bells:
            alarms.set(due, bell)
        turns = 0
        while not all(bell.rang for bell in bells):
            turns += any(bell.rang for bell in bells)
            await asyncio.sleep(0)
        assert turns > 3

    asyncio.run(main())
