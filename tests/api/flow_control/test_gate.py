"""The gate under load: short requests are answered between slices of long ones."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

import pytest
from orjson import dumps

from fairlead.api.flow_control.configuration import Configuration
from fairlead.api.flow_control.gate import ONE, Estimator, Gate
from fairlead.api.flow_control.queue_set import Work
from fairlead.api.flow_control.turns import wait_for_turn
from fairlead.api.request import Request
from fairlead.api.routing import Target
from fairlead.auth.authentication.user import AUTHENTICATED, User
from fairlead.base.dialect import KUBERNETES
from fairlead.base.errors import StatusError
from fairlead.storage.version import Version, existing
from fairlead.wire.incoming.connections import Connections
from fairlead.wire.incoming.exchange import NOBODY, Exchange
from fairlead.wire.incoming.limits import Limits
from fairlead.wire.incoming.parser import Head
from fairlead.wire.incoming.protocol import HttpProtocol

LARGE = Work(10, large=True)
SPECS: dict[str, dict[str, Any]] = {
    "level": {
        "type": "Limited",
        "limited": {
            "assuredConcurrencyShares": 1,
            "limitResponse": {
                "type": "Queue",
                "queuing": {"queues": 8, "handSize": 2, "queueLengthLimit": 5},
            },
        },
    },
    "schema": {
        "priorityLevelConfiguration": {"name": "level"},
        "matchingPrecedence": 500,
        "distinguisherMethod": {"type": "ByUser"},
        "rules": [
            {
                "subjects": [{"kind": "Group", "group": {"name": "*"}}],
                "resourceRules": [
                    {
                        "verbs": ["*"],
                        "apiGroups": ["*"],
                        "resources": ["*"],
                        "namespaces": ["*"],
                    }
                ],
            }
        ],
    },
}


class ByVerb(Estimator):
    """All lists are large."""

    def __init__(self) -> None:
        pass

    def work_of(self, request: Request, flow: object) -> Work:
        return LARGE if request.target.verb == "list" else ONE


async def _unasked(exchange: Exchange) -> None:
    raise AssertionError("nothing is read here")


class Door:
    """A gate, and requests that pass it without a server."""

    def __init__(self, seats: int, patience: float = 60.0) -> None:
        self.configuration = Configuration(KUBERNETES, seats)
        for name, follow in (
            ("level", self.configuration.level_changed),
            ("schema", self.configuration.schema_changed),
        ):
            value = {"metadata": {"name": name, "uid": name}, "spec": SPECS[name]}
            follow(existing("x", Version(name, 1, "v1", dumps(value)[1:])))
        self.gate = Gate(self.configuration, ByVerb(), patience)
        self._connections = Connections(Limits(), _unasked)

    def request(self, user: str, verb: str) -> Request:
        created = Request("GET")
        created.user = User(user, "", (AUTHENTICATED,))
        created.target = Target("/", verb, True, "", "v1", "pods", "", "default")
        connection = HttpProtocol(self._connections, asyncio.get_running_loop())
        created.exchange = Exchange(connection, Head(b"GET", b"/", [], {}, {}), NOBODY, 0.0)
        return created

    async def pass_through(
        self, request: Request, work: Callable[[Request], Awaitable[None]]
    ) -> None:
        self.gate.classify(request)
        seat = await wait_for_turn(self.gate, request, self.gate.enter(request))
        try:
            await work(request)
        finally:
            seat.leave()

    @property
    def in_use(self) -> int:
        queues = self.configuration.levels["level"].queues
        assert queues is not None
        return queues.in_use


def run(play: Callable[[], Coroutine[Any, Any, None]]) -> None:
    asyncio.run(play())


def test_a_short_request_waits_for_one_piece_of_all_the_long_ones_at_most() -> None:
    pieces = 0
    waited: list[int] = []

    async def list_slowly(request: Request) -> None:
        nonlocal pieces
        pieces += 1
        for _ in range(20):
            assert request.exchange.turn is not None
            await request.exchange.turn(1)
            pieces += 1
            await asyncio.sleep(0)

    async def get(request: Request) -> None:
        pass

    async def play() -> None:
        door = Door(seats=6000)
        loop = asyncio.get_running_loop()
        gets: list[asyncio.Task[None]] = []

        async def ask(seen: int) -> None:
            await door.pass_through(door.request("quiet", "get"), get)
            waited.append(pieces - seen)

        def arrive() -> None:
            """As bytes do, at the end of a round; a task answers them."""
            gets.append(loop.create_task(ask(pieces)))
            if not all(task.done() for task in noisy):
                loop.call_soon(loop.call_soon, arrive)

        noisy = [
            loop.create_task(door.pass_through(door.request("noisy", "list"), list_slowly))
            for _ in range(20)
        ]
        loop.call_soon(arrive)
        await asyncio.gather(*noisy)
        await asyncio.gather(*gets)
        assert door.in_use == 0

    run(play)
    assert pieces == 20 * 21
    assert len(waited) > 100
    assert max(waited) <= 1


def test_a_request_that_is_cancelled_while_it_waits_leaves_nothing_behind() -> None:
    async def play() -> None:
        door = Door(seats=1)
        end = asyncio.Event()

        async def hold(request: Request) -> None:
            await end.wait()

        tasks = [
            asyncio.create_task(door.pass_through(door.request("a", "get"), hold)) for _ in range(4)
        ]
        await asyncio.sleep(0)
        tasks[1].cancel()  # it waits
        tasks[0].cancel()  # it has the seat, which is the third one's by then
        await asyncio.sleep(0)
        tasks[2].cancel()
        await asyncio.sleep(0)
        end.set()
        done = await asyncio.gather(*tasks, return_exceptions=True)
        assert [type(item) for item in done[:3]] == [asyncio.CancelledError] * 3
        assert done[3] is None
        assert door.in_use == 0
        queues = door.configuration.levels["level"].queues
        assert queues is not None
        assert queues.is_idle

    run(play)


def test_the_seat_of_a_request_that_is_cancelled_as_it_gets_it_is_the_next_ones() -> None:
    async def play() -> None:
        door = Door(seats=1)
        end = asyncio.Event()

        async def hold(request: Request) -> None:
            await end.wait()

        async def first() -> None:
            await door.pass_through(door.request("a", "get"), hold)
            second.cancel()  # it was told of its seat, and has not run since

        running = asyncio.create_task(first())
        await asyncio.sleep(0)
        request = door.request("a", "get")
        second = asyncio.create_task(door.pass_through(request, hold))
        await asyncio.sleep(0)
        third = asyncio.create_task(door.pass_through(door.request("a", "get"), hold))
        await asyncio.sleep(0)
        end.set()
        done = await asyncio.gather(running, second, return_exceptions=True)
        assert [type(item) for item in done] == [type(None), asyncio.CancelledError]
        await asyncio.wait_for(third, 5)
        assert door.in_use == 0
        assert request.flow is not None
        assert request.flow.counts.waiting == 0
        queues = door.configuration.levels["level"].queues
        assert queues is not None
        assert queues.is_idle

    run(play)


def test_nobody_waits_longer_than_their_patience() -> None:
    async def play() -> None:
        door = Door(seats=1, patience=0.01)
        end = asyncio.Event()

        async def hold(request: Request) -> None:
            await end.wait()

        first = asyncio.create_task(door.pass_through(door.request("a", "get"), hold))
        await asyncio.sleep(0)
        with pytest.raises(StatusError) as refused:
            await door.pass_through(door.request("b", "get"), hold)
        assert (refused.value.code, refused.value.retry_after) == (429, 1)
        end.set()
        await first
        assert door.in_use == 0

    run(play)
