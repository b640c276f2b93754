"""Waiting within a time, and for one's turn."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest

from fairlead.outgoing.waiting import Room, TimeLimit, TimeLimits


def run(work: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(work, 30))


def test_who_takes_too_long_gets_a_timeout() -> None:
    async def test() -> None:
        limits = TimeLimits()
        with pytest.raises(TimeoutError), TimeLimit(limits, 0.01):
            await asyncio.Event().wait()
        await asyncio.sleep(0)  # it is not cancelled any more
        limits.close()

    run(test())


def test_who_is_in_time_goes_on() -> None:
    async def test() -> None:
        limits = TimeLimits()
        with TimeLimit(limits, 0.01):
            pass
        await asyncio.sleep(0.2)  # beyond the end of the limit, and of the timer
        with TimeLimit(limits, 30):
            await asyncio.sleep(0.2)
        limits.close()

    run(test())


def test_each_has_a_limit_of_its_own() -> None:
    async def late(limits: TimeLimits, seconds: float) -> str:
        try:
            with TimeLimit(limits, seconds):
                await asyncio.sleep(0.5)
        except TimeoutError:
            return "late"
        return "in time"

    async def test() -> None:
        limits = TimeLimits()
        found = await asyncio.gather(*(late(limits, seconds) for seconds in (0.01, 30, 0.02, 30)))
        assert found == ["late", "in time", "late", "in time"]
        limits.close()

    run(test())


def test_who_is_cancelled_by_others_stays_cancelled() -> None:
    async def work(limits: TimeLimits) -> None:
        with TimeLimit(limits, 0.01):
            try:
                await asyncio.Event().wait()
            finally:
                current = asyncio.current_task()
                assert current is not None
                current.cancel()

    async def test() -> None:
        limits = TimeLimits()
        with pytest.raises(asyncio.CancelledError):
            await asyncio.create_task(work(limits))
        limits.close()

    run(test())


def test_an_error_within_a_limit_is_the_error() -> None:
    async def test() -> None:
        limits = TimeLimits()
        with pytest.raises(KeyError), TimeLimit(limits, 30):
            raise KeyError
        limits.close()

    run(test())


async def _stay(room: Room, name: str, let_go: asyncio.Event, inside: list[str]) -> None:
    if not room.take():
        await room.wait()
    inside.append(name)
    try:
        await let_go.wait()
    finally:
        inside.remove(name)
        room.leave()


async def _turns(times: int = 5) -> None:
    for _ in range(times):
        await asyncio.sleep(0)


def test_a_room_lets_so_many_in_and_the_others_in_their_order() -> None:
    async def test() -> None:
        room, inside = Room(2), list[str]()
        doors = {name: asyncio.Event() for name in "abcd"}
        tasks = [asyncio.create_task(_stay(room, name, doors[name], inside)) for name in "abcd"]
        await _turns()
        assert inside == ["a", "b"]
        doors["a"].set()
        await _turns()
        assert inside == ["b", "c"]
        assert not room.take()
        for door in doors.values():
            door.set()
        await asyncio.gather(*tasks)
        assert [room.take(), room.take(), room.take()] == [True, True, False]

    run(test())


@pytest.mark.parametrize("handed_over", [False, True])
def test_who_gives_up_waiting_takes_no_place(handed_over: bool) -> None:
    async def test() -> None:
        room, inside, door = Room(1), list[str](), asyncio.Event()
        first = asyncio.create_task(_stay(room, "first", door, inside))
        await _turns()
        second = asyncio.create_task(_stay(room, "second", asyncio.Event(), inside))
        await _turns()
        if handed_over:
            door.set()
            await asyncio.wait([first])
        second.cancel()
        door.set()
        await asyncio.gather(first, second, return_exceptions=True)
        assert inside == []
        assert room.take()

    run(test())
