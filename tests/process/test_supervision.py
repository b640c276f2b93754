"""Background tasks are supervised."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest
from support.logged import logged
from support.process import ServerProcess
from support.waiting import eventually

from fairlead.process import tasks
from fairlead.process.tasks import Supervisor


@pytest.fixture(autouse=True)
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tasks, "MIN_PAUSE", 0.001)
    monkeypatch.setattr(tasks, "MAX_PAUSE", 0.002)


class Work:
    """Fails, or ends, a number of times, and then runs until cancelled."""

    def __init__(self, *ends: Exception | None) -> None:
        self.ends = list(ends)
        self.lasting = asyncio.Event()
        self.cancelled = False

    async def __call__(self) -> None:
        if self.ends:
            end = self.ends.pop(0)
            if end is not None:
                raise end
            return
        self.lasting.set()
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            self.cancelled = True
            raise


def test_a_work_that_fails_is_started_again(caplog: pytest.LogCaptureFixture) -> None:
    async def run() -> None:
        work = Work(ValueError("the first"), ValueError("the second"))
        supervisor = Supervisor(pytest.fail)
        supervisor.start("counting", work)
        await asyncio.wait_for(work.lasting.wait(), 5)
        await supervisor.stop()
        assert work.cancelled

    asyncio.run(run())
    assert logged(caplog).count('a task failed task="counting"') == 2
    assert "the second" in caplog.text


def test_a_work_that_ends_is_started_again(caplog: pytest.LogCaptureFixture) -> None:
    async def run() -> None:
        work = Work(None)
        supervisor = Supervisor(pytest.fail)
        supervisor.start("counting", work)
        await asyncio.wait_for(work.lasting.wait(), 5)
        await supervisor.stop()

    asyncio.run(run())
    assert 'a task has ended task="counting"' in logged(caplog)


def test_a_work_that_cannot_be_kept_running_stops_the_server() -> None:
    async def run() -> str:
        future: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        supervisor = Supervisor(future.set_result)
        supervisor.start("counting", Work(*[ValueError() for _ in range(100)]))
        why = await asyncio.wait_for(future, 5)
        await supervisor.stop()
        return why

    assert asyncio.run(run()) == "counting cannot be kept running"


BROKEN = (
    "import fairlead.process.tasks as s; s.MIN_PAUSE = 0.01; s.MAX_PAUSE = 0.02;"
    " import fairlead.wire.incoming.connections as c;"
    " c.Connections.enforce_deadlines = lambda self: (_ for _ in ()).throw(ValueError('broken'))"
)


def test_a_server_that_has_to_stop_says_why_in_a_line(
    fresh_server: Callable[..., ServerProcess],
) -> None:
    server = fresh_server(prelude=BROKEN)
    assert server.wait(20) == 1
    last = server.log.read_text().splitlines()[-1]
    assert last == "fairlead: looking after connections cannot be kept running"


def test_a_server_goes_on_when_a_work_recovers(fresh_server: Callable[..., ServerProcess]) -> None:
    once = (
        "import fairlead.controllers.framework as f; run = f.Controllers.run; left = [1, 2];"
        " f.Controllers.run = lambda self: run(self) if left.pop() == 1 else run(None)"
    )
    server = fresh_server(prelude=once)
    eventually(lambda: "a task failed" in server.log.read_text(), "it has failed")
    client = server.client()
    assert client.post("/api/v1/namespaces", {"metadata": {"name": "n"}}).status == 201
    path = "/api/v1/namespaces/n/serviceaccounts/default"
    eventually(lambda: client.get(path).status == 200, "controllers work")
