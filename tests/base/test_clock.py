"""The clock: timers that become due when it is moved fire at once."""

from __future__ import annotations

import asyncio
import time

import pytest
from support.process import MOVABLE_CLOCK, FreshServer
from support.waiting import eventually

from fairlead.base import clock

YEAR = 365 * 24 * 3600.0


@pytest.fixture(autouse=True)
def _put_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clock, "_ahead", 0.0)


def test_time_goes_on_from_where_it_was_moved_to() -> None:
    before = clock.time()

    async def move() -> None:
        clock.advance(YEAR)

    asyncio.run(move())
    assert YEAR <= clock.time() - before < YEAR + 5
    assert abs(clock.now().timestamp() - clock.time()) < 5


def test_a_sleeper_wakes_when_the_clock_is_moved() -> None:
    async def work() -> None:
        sleeper = asyncio.create_task(clock.sleep(YEAR))
        await asyncio.sleep(0)
        clock.advance(YEAR - 60)
        await asyncio.sleep(0.01)
        assert not sleeper.done()
        clock.advance(61)
        await asyncio.wait_for(sleeper, 5)

    asyncio.run(work())


def test_a_clock_that_is_put_back_lets_sleepers_wait_no_longer_than_before() -> None:
    async def work() -> None:
        clock.advance(YEAR)
        sleeper = asyncio.create_task(clock.sleep(60))
        steady = asyncio.create_task(clock.sleep(60, is_steady=True))
        await asyncio.sleep(0)
        age = clock.steady()
        clock.reset()
        assert clock.ahead() == 0.0
        assert clock.steady() >= age
        clock.advance(59)
        await asyncio.sleep(0.01)
        assert not sleeper.done()
        assert not steady.done()
        clock.advance(2)
        await asyncio.wait_for(asyncio.gather(sleeper, steady), 5)

    asyncio.run(work())


def set_machine_clock(monkeypatch: pytest.MonkeyPatch, ahead: float) -> None:
    monkeypatch.setattr(clock, "_machine_time", lambda: time.time() + ahead)


def test_a_delay_passes_though_the_machine_was_set_back(monkeypatch: pytest.MonkeyPatch) -> None:
    async def work() -> None:
        sleeper = asyncio.create_task(clock.sleep(0.05))
        await asyncio.sleep(0)
        set_machine_clock(monkeypatch, -3600)
        await asyncio.wait_for(sleeper, 5)

    asyncio.run(work())


def test_a_long_delay_ends_when_the_machine_was_set_forward(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(clock, "_MAX_DELAY", 0.05)

    async def work() -> None:
        sleeper = asyncio.create_task(clock.sleep(3600))
        steady = asyncio.create_task(clock.sleep(3600, is_steady=True))
        await asyncio.sleep(0)
        set_machine_clock(monkeypatch, 86_400)
        await asyncio.wait_for(sleeper, 5)
        assert not steady.done()
        steady.cancel()

    asyncio.run(work())


def test_a_cancelled_timer_is_silent() -> None:
    rung: list[int] = []

    async def work() -> None:
        clock.call_later(60, lambda: rung.append(1)).cancel()
        clock.call_later(60, lambda: rung.append(2))
        clock.advance(61)
        await asyncio.sleep(0.01)

    asyncio.run(work())
    assert rung == [2]


def test_a_running_server_follows_its_clock(fresh_server: FreshServer) -> None:
    server = fresh_server("--controllers=*,tokencleaner", prelude=MOVABLE_CLOCK)
    client = server.client()
    secret = {
        "metadata": {"name": "bootstrap-token-aaaaaa"},
        "type": "bootstrap.kubernetes.io/token",
        "stringData": {
            "token-id": "aaaaaa",
            "token-secret": "0123456789abcdef",
            "expiration": "2099-01-01T00:00:00Z",
        },
    }
    secrets = "/api/v1/namespaces/kube-system/secrets"
    assert client.post(secrets, secret).status == 201
    server.advance(100 * YEAR)
    gone = f"{secrets}/bootstrap-token-aaaaaa"
    eventually(lambda: client.get(gone).status == 404, "an expired token is gone")


def test_a_timer_may_lie_farther_off_than_an_event_loop_can_wait() -> None:
    rung: list[int] = []

    async def work() -> None:
        clock.call_later(1e18, lambda: rung.append(1))
        clock.call_later(2 * YEAR, lambda: rung.append(2))
        clock.advance(2 * YEAR + 1)
        await asyncio.sleep(0.01)

    asyncio.run(work())
    assert rung == [2]


def test_a_timer_of_a_loop_that_has_ended_does_not_hinder_the_clock() -> None:
    async def work() -> None:
        clock.call_later(YEAR, lambda: None)

    asyncio.run(work())
    clock.advance(1)
