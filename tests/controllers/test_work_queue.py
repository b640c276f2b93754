"""The queue of keys and the workers on it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest
from support.logged import logged

from fairlead.base import clock
from fairlead.base.logs import described
from fairlead.base.slices import TimeSlices
from fairlead.controllers import framework
from fairlead.controllers import queue as queue_module
from fairlead.controllers.framework import Keys
from fairlead.controllers.queue import WorkQueue
from fairlead.storage.backend import StorageError


@pytest.fixture(autouse=True)
def _put_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clock, "_ahead", 0.0)
    monkeypatch.setattr(clock, "_steadily_ahead", 0.0)


def test_work_queue_has_a_key_once() -> None:
    async def work() -> None:
        queue = WorkQueue[str]()
        for key in ("a", "b", "a", "a"):
            queue.add(key)
        assert len(queue) == 2
        assert [await queue.get(), await queue.get()] == ["a", "b"]

    asyncio.run(work())


def test_work_queue_keeps_the_last_delay_of_a_key() -> None:
    async def work() -> None:
        queue = WorkQueue[str]()
        queue.add_later("a", 60)
        queue.add_later("a", 120)
        clock.advance(61)
        await asyncio.sleep(0.01)
        assert len(queue) == 0
        clock.advance(60)
        assert await asyncio.wait_for(queue.get(), 5) == "a"

    asyncio.run(work())


def test_a_key_is_worked_on_by_one_worker_and_comes_again() -> None:
    async def work() -> None:
        queue = WorkQueue[str]()
        queue.add("a")
        assert await queue.get() == "a"
        queue.add("a")
        queue.add("a")
        assert len(queue) == 0
        queue.done("a")
        assert await queue.get() == "a"
        queue.done("a")
        assert len(queue) == 0

    asyncio.run(work())


def test_work_queue_get_waits_for_a_key() -> None:
    async def work() -> None:
        queue = WorkQueue[str]()
        getting = asyncio.create_task(queue.get())
        await asyncio.sleep(0.01)
        assert not getting.done()
        queue.add("a")
        assert await asyncio.wait_for(getting, 1) == "a"

    asyncio.run(work())


def test_work_queue_backoff_grows_and_resets_after_success() -> None:
    async def work() -> None:
        queue = WorkQueue[str]()
        assert [queue.failed("a") for _ in range(4)] == [0.005, 0.01, 0.02, 0.04]
        queue.done("a")
        assert queue.failed("a") == 0.005
        for _ in range(100):
            longest = queue.failed("a")
        assert longest == queue_module._MAX_PAUSE

    asyncio.run(work())


class Flaky:
    """Fails a number of times."""

    workers = 1

    def __init__(self, failures: int) -> None:
        self.failures = failures
        self.calls: list[str] = []

    def follows(self) -> Mapping[str, Keys]:
        return {}

    async def sync(self, key: str) -> float | None:
        self.calls.append(key)
        if len(self.calls) <= self.failures:
            raise RuntimeError("not now")
        return 0.01 if len(self.calls) == self.failures + 1 else None


def test_worker_retries_failed_work(caplog: pytest.LogCaptureFixture) -> None:
    async def work() -> Flaky:
        controller = Flaky(3)
        queue = WorkQueue[str]("flaky")
        queue.add("ns")
        working = asyncio.create_task(framework._work(controller, queue, TimeSlices()))
        for _ in range(200):
            await asyncio.sleep(0.01)
            if len(controller.calls) == 5:
                break
        working.cancel()
        await asyncio.gather(working, return_exceptions=True)
        return controller

    done: Any = asyncio.run(work())
    assert done.calls == ["ns"] * 5  # three failures, a success, and the other look it asked for
    assert logged(caplog).count('controller="flaky" key="ns"') == 3


class Slow:
    """Says when it wants to look again, and has something to do before it returns."""

    workers = 1

    def __init__(self) -> None:
        self.busy, self.released = asyncio.Event(), asyncio.Event()
        self.calls = 0

    def follows(self) -> Mapping[str, Keys]:
        return {}

    async def sync(self, key: str) -> float | None:
        self.calls += 1
        self.busy.set()
        await self.released.wait()
        return 3600.0 if self.calls == 1 else None


def test_a_clock_that_moves_during_the_work_is_not_missed() -> None:
    async def work() -> None:
        controller, queue = Slow(), WorkQueue[str]()
        queue.add("ns")
        working = asyncio.create_task(framework._work(controller, queue, TimeSlices()))
        await controller.busy.wait()
        controller.busy.clear()
        clock.advance(7200)
        controller.released.set()
        await asyncio.wait_for(controller.busy.wait(), 60)
        working.cancel()
        await asyncio.gather(working, return_exceptions=True)

    asyncio.run(work())


def test_worker_logs_an_unwritable_store_in_one_line(
    caplog: pytest.LogCaptureFixture,
) -> None:
    framework._report("flaky", "ns", StorageError("the disk is full"), 5.0)
    (record,) = caplog.records
    fields = 'controller="flaky" key="ns" err="the disk is full" retry_seconds=5.0'
    assert described(record) == f"a key could not be reconciled {fields}"
    assert record.exc_info is None


def test_work_queue_has_one_timer_per_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clock, "_ahead", 0.0)
    monkeypatch.setattr(clock, "_steadily_ahead", 0.0)

    async def work() -> None:
        queue = WorkQueue[str]()
        queue.add_later("a", 60)
        queue.add_later("a", 600)
        clock.advance(100)
        await asyncio.sleep(0.01)
        assert len(queue) == 0
        clock.advance(501)
        assert await asyncio.wait_for(queue.get(), 5) == "a"

    asyncio.run(work())
