"""Work that is begun at once, and goes on in a task only if it has to wait."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextvars import ContextVar

import pytest

from fairlead.wire.incoming.eager_tasks import Work, begin

_said: ContextVar[str] = ContextVar("said", default="nothing")


def begun(work: Callable[[], Work]) -> asyncio.Task[None] | None:
    """Begin something outside of any task, as what comes from a client is."""

    async def run() -> None:
        loop = asyncio.get_running_loop()
        told: asyncio.Future[asyncio.Task[None] | None] = loop.create_future()
        loop.call_soon(lambda: told.set_result(begin(work(), loop)))
        task = await told
        results.append(task)
        if task is not None:
            await asyncio.gather(task, return_exceptions=True)

    results: list[asyncio.Task[None] | None] = []
    asyncio.run(run())
    return results[0]


def test_what_does_not_wait_is_done_without_a_task() -> None:
    done = []

    async def work() -> None:
        done.append(1)

    assert begun(work) is None
    assert done == [1]


@pytest.mark.parametrize("wait", [lambda: asyncio.sleep(0), lambda: asyncio.sleep(0.001)])
def test_what_waits_goes_on_in_a_task(wait: Callable[[], Awaitable[None]]) -> None:
    done = []

    async def work() -> None:
        done.append("begun")
        await wait()
        await wait()
        done.append("ended")

    task = begun(work)
    assert task is not None
    assert task.done()
    assert done == ["begun", "ended"]


def test_a_limit_of_time_that_was_set_at_once_holds_in_the_task() -> None:
    caught = []

    async def work() -> None:
        try:
            async with asyncio.timeout(0.001):
                await asyncio.Event().wait()
        except TimeoutError as error:
            caught.append(error)

    task = begun(work)
    assert caught
    assert task is not None
    assert not task.cancelled()
    assert not task.cancelling()


def test_a_limit_of_time_that_was_not_needed_does_no_harm() -> None:
    async def work() -> None:
        async with asyncio.timeout(0.001):
            await nothing()

    async def nothing() -> None:
        pass

    assert begun(work) is None


def test_work_is_cancelled_with_its_task() -> None:
    ended = []

    async def work() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(1)

    async def run() -> None:
        loop = asyncio.get_running_loop()
        told: asyncio.Future[asyncio.Task[None] | None] = loop.create_future()
        loop.call_soon(lambda: told.set_result(begin(work(), loop)))
        task = await told
        assert task is not None
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert task.cancelled()

    asyncio.run(run())
    assert ended == [1]


def test_what_fails_at_once_fails_where_it_was_begun() -> None:
    async def work() -> None:
        raise LookupError("no")

    async def run() -> None:
        loop = asyncio.get_running_loop()
        told: asyncio.Future[str] = loop.create_future()

        def start() -> None:
            with pytest.raises(LookupError):
                begin(work(), loop)
            told.set_result("failed")

        loop.call_soon(start)
        await told

    asyncio.run(run())


def test_what_fails_later_fails_in_the_task() -> None:
    async def work() -> None:
        await asyncio.sleep(0)
        raise LookupError("no")

    task = begun(work)
    assert task is not None
    assert isinstance(task.exception(), LookupError)


def test_variables_of_the_context_stay_with_the_work() -> None:
    heard = []

    async def work() -> None:
        _said.set("something")
        await asyncio.sleep(0)
        heard.append(_said.get())

    begun(work)
    assert heard == ["something"]
    assert _said.get() == "nothing"


def test_within_a_task_nothing_is_begun_at_once() -> None:
    done = []

    async def work() -> None:
        done.append(1)

    async def run() -> None:
        task = begin(work(), asyncio.get_running_loop())
        assert not done
        assert task is not None
        await task

    asyncio.run(run())
    assert done == [1]
