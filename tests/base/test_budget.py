"""Budgets of requests, and where their work runs."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable

import pytest

from fairlead.base import budget, meter
from fairlead.base.meter import MAX_BYTES_ON_LOOP, SizeLimitExceeded, TimeLimitExceeded


def _thread_of_work() -> int:
    return threading.get_ident()


def _endless() -> None:
    while True:
        meter.spend(100)


def _on_thread_only() -> int:
    """Work without end on the loop, and short in a thread."""
    while meter.is_on_loop():
        meter.spend(100)
    return threading.get_ident()


async def _begun(owner: str, size: int, work: Callable[[], object]) -> object:
    meter.begin(owner)
    return await budget.run(size, work)


def test_work_on_little_is_done_on_the_loop() -> None:
    assert asyncio.run(budget.run(MAX_BYTES_ON_LOOP, _thread_of_work)) == threading.get_ident()


def test_work_on_much_is_done_in_a_thread() -> None:
    assert asyncio.run(budget.run(MAX_BYTES_ON_LOOP + 1, _thread_of_work)) != threading.get_ident()


def test_work_that_uses_up_the_time_of_the_loop_starts_again_in_a_thread() -> None:
    assert asyncio.run(budget.run(0, _on_thread_only)) != threading.get_ident()


def test_work_that_uses_up_the_time_of_its_request_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("fairlead.base.meter.THREAD_SECONDS", 0.05)
    with pytest.raises(TimeLimitExceeded, match="takes too long"):
        asyncio.run(budget.run(0, _endless))


def test_others_get_their_turn_when_the_work_of_a_request_has_used_up_the_loops_time() -> None:
    turns = 0

    async def other() -> None:
        nonlocal turns
        while True:
            await asyncio.sleep(0)
            turns += 1

    def work() -> None:
        ends = time.perf_counter() + 0.015  # less than what one call may take
        while time.perf_counter() < ends:
            meter.spend(100)

    async def many() -> int:
        background = asyncio.create_task(other())
        meter.begin("a")
        await asyncio.sleep(0)
        before = turns
        for _ in range(6):
            await budget.run(0, work)
        background.cancel()
        return turns - before

    assert asyncio.run(many()) >= 3


def test_the_time_of_a_request_is_shared_by_all_its_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fairlead.base.meter.THREAD_SECONDS", 0.3)

    async def twice() -> None:
        meter.begin("a")
        with pytest.raises(TimeLimitExceeded):
            await budget.run(MAX_BYTES_ON_LOOP + 1, _endless)
        with pytest.raises(TimeLimitExceeded):
            await budget.run(MAX_BYTES_ON_LOOP + 1, meter.spend, 1000)
        meter.begin("a")
        await budget.run(MAX_BYTES_ON_LOOP + 1, meter.spend, 1000)

    asyncio.run(twice())


def test_bytes_are_refused_before_they_are_made() -> None:
    allocated: list[bytes] = []

    def multiply() -> None:
        while True:
            meter.allocate(1 << 19)
            allocated.append(bytes(1 << 19))

    with pytest.raises(SizeLimitExceeded, match="too large"):
        asyncio.run(budget.run(0, multiply))
    assert sum(map(len, allocated)) <= meter.MAX_ALLOCATED


def test_what_work_made_counts_for_the_rest_of_its_request() -> None:
    async def requests() -> tuple[int, int]:
        meter.begin("a")
        await budget.run(0, lambda: meter.allocate(1000))
        first = meter.allocated()
        meter.begin("a")
        return first, meter.allocated()

    assert asyncio.run(requests()) == (1000, 0)


def test_a_request_that_is_given_up_stops_its_thread() -> None:
    ended = threading.Event()

    def work() -> None:
        try:
            _endless()
        finally:
            ended.set()

    async def give_up() -> None:
        async with asyncio.timeout(0.05):
            await _begun("a", MAX_BYTES_ON_LOOP + 1, work)

    with pytest.raises(TimeoutError):
        asyncio.run(give_up())
    assert ended.wait(10)


def test_one_owner_has_one_thread_at_a_time_and_others_have_the_rest() -> None:
    held, release = threading.Event(), threading.Event()

    def hold() -> str:
        held.set()
        release.wait(10)
        return "held"

    async def both() -> list[object]:
        first = asyncio.create_task(_begun("greedy", MAX_BYTES_ON_LOOP + 1, hold))
        second = asyncio.create_task(_begun("greedy", MAX_BYTES_ON_LOOP + 1, hold))
        await asyncio.to_thread(held.wait, 10)
        assert await _begun("other", MAX_BYTES_ON_LOOP + 1, lambda: "served") == "served"
        held.clear()
        assert not await asyncio.to_thread(held.wait, 0.05)  # the second one has not begun
        release.set()
        return list(await asyncio.gather(first, second))

    assert asyncio.run(both()) == ["held", "held"]


def test_work_that_is_nobodys_request_is_metered_each_time_anew() -> None:
    async def many() -> None:
        for _ in range(10):
            await budget.run(0, lambda: meter.allocate(meter.MAX_ALLOCATED // 2))

    asyncio.run(many())


def test_many_steps_at_once_are_not_begun_on_the_loop() -> None:
    begun: list[int] = []

    def work() -> None:
        meter.spend(1_000_000)
        begun.append(threading.get_ident())

    asyncio.run(budget.run(0, work))
    assert begun != [threading.get_ident()]
    assert len(begun) == 1
