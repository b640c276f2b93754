"""Admits requests: each takes seats, waits for them in a queue, or is rejected with 429."""

from __future__ import annotations

import asyncio
from bisect import bisect_left
from collections import OrderedDict, deque
from collections.abc import Awaitable, Callable, Hashable
from functools import partial
from time import monotonic

from fairlead.api.answers import Answer
from fairlead.api.chain import is_long_running
from fairlead.api.flow_control.configuration import Configuration, Flow
from fairlead.api.flow_control.metrics import (
    EXECUTION,
    NO_ROOM,
    QUEUE_LENGTH,
    REJECTED,
    SEATS,
    WAITED,
)
from fairlead.api.flow_control.queue_set import LEFT, TOO_LATE, QueueSet, Ticket, Work
from fairlead.api.flow_control.seats import ONE, Estimator
from fairlead.api.request import Request
from fairlead.base.errors import StatusError, too_many_requests
from fairlead.wire.incoming.exchange import ClientGone

_TOO_MANY = "the server has received too many requests and has asked us to try again later"
_LONGEST_START = 1.0  # seconds that a watch with a slow client may hold its seat
_SEATED = ""
_BOUNDS = EXECUTION.bounds
_SEAT_BOUNDS = SEATS.bounds

Respond = Callable[[Request], Awaitable[Answer]]


class Waiter:
    """A request that waits for seats, and the future that receives the outcome."""

    __slots__ = ("flow", "request", "told")

    def __init__(self, request: Request, flow: Flow, told: asyncio.Future[str]) -> None:
        self.request = request
        self.flow = flow
        self.told = told

    def tell(self, outcome: str) -> None:
        if not self.told.done():
            self.told.set_result(outcome)


class Seat:
    """The seats that a request holds. `leave` is idempotent."""

    __slots__ = ("_flow", "_gate", "_started", "_ticket", "_timer", "_type", "_work")

    def __init__(self, gate: Gate, flow: Flow, work: Work, ticket: Ticket | None) -> None:
        self._gate: Gate | None = gate
        self._flow = flow
        self._work = work
        self._ticket = ticket
        self._type = "regular"
        self._started = gate.clock()
        self._timer: asyncio.TimerHandle | None = None

    def keep(self) -> None:
        """Hold the seats of a watch until its first events are sent, for a second at most."""
        self._type = "watch"
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(_LONGEST_START, self.leave)

    def leave(self) -> None:
        gate, self._gate = self._gate, None
        if gate is None:
            return
        if self._timer is not None:
            self._timer.cancel()
        flow, work = self._flow, self._work
        now = gate.clock()
        EXECUTION.observe(now - self._started, (*flow.counts.labels, self._type))
        flow.counts.executing -= 1
        if work.seconds and flow.level.queues is not None:
            free = partial(gate.free, flow, work, self._ticket)
            asyncio.get_running_loop().call_later(work.seconds, free)
        else:
            gate.free(flow, work, self._ticket)


class Gate:
    """Lets requests through with a seat each; those of exempt levels need none. A request waits for
    at most `patience` seconds."""

    def __init__(
        self,
        configuration: Configuration,
        estimator: Estimator,
        patience: float,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self.configuration = configuration
        self.clock = clock
        self._known = configuration.known
        self._estimator = estimator
        self._patience = patience
        self._turns = Turns(asyncio.get_running_loop())
        configuration.resized = self._resized

    def classify(self, request: Request) -> None:
        """Set the flow of a request and add its header lines to the response."""
        target, user = request.target, request.user
        if target.is_resource:
            key: tuple[object, ...] = (
                user.name,
                user.groups,
                target.verb,
                target.group,
                target.resource_name,
                target.subresource,
                target.namespace,
            )
        else:
            key = (user.name, user.groups, target.verb, target.path)
        flow = self._known(key)
        if flow is None:
            if target.verb != "watch" and target.is_resource and is_long_running(target):
                return  # long-running requests hold no seat
            flow = self.configuration.flow_of(user, target, key)
        if request.flow is None:
            request.exchange.lines += flow.lines
        request.flow = flow

    async def pass_through(self, request: Request, respond: Respond) -> Answer:
        """Run `respond` while holding a seat; raises StatusError if the request is rejected."""
        flow: Flow | None = request.flow
        if flow is None:
            return await respond(request)
        target = request.target
        if target.is_resource and target.verb != "get":
            work = self._estimator.work_of(request, flow)
            if work is not ONE or target.verb == "watch":
                return await self._pass_widely(request, flow, work, respond)
        queues = flow.level.queues
        if queues is not None and not queues.take(1):
            return await self._pass_late(request, flow, ONE, respond)
        self._turns.others += 1
        # The fast path for requests that do not wait: a Seat, inlined.
        clock, counts = self.clock, flow.counts
        counts.dispatched += 1
        counts.executing += 1
        counts.in_use += 1
        started = clock()
        try:
            return await respond(request)
        finally:
            now = clock()
            row = counts.execution
            row[bisect_left(_BOUNDS, now - started)] += 1
            row[-1] += now - started
            counts.seats[0] += 1
            counts.seats[-1] += 1
            counts.executing -= 1
            counts.in_use -= 1
            if queues is not None:
                queues.give_back(1, now)
                if queues.waiting or flow.level.quiescing:
                    self._hand_out(flow, queues)

    async def _pass_widely(
        self, request: Request, flow: Flow, work: Work, respond: Respond
    ) -> Answer:
        """As `pass_through`, for requests that need several seats or hold them after the
        response."""
        queues = flow.level.queues
        if queues is not None and not queues.take(work.seats):
            return await self._pass_late(request, flow, work, respond)
        return await self._seated(request, flow, work, None, respond)

    async def _pass_late(
        self, request: Request, flow: Flow, work: Work, respond: Respond
    ) -> Answer:
        NO_ROOM.add(of=flow.counts.labels)
        ticket = await self._wait(request, flow, work)
        return await self._seated(request, flow, work, ticket, respond)

    async def _seated(
        self, request: Request, flow: Flow, work: Work, ticket: Ticket | None, respond: Respond
    ) -> Answer:
        counts = flow.counts
        counts.dispatched += 1
        counts.executing += 1
        counts.in_use += work.seats
        counts.seats[bisect_left(_SEAT_BOUNDS, work.seats)] += 1
        counts.seats[-1] += work.seats
        seat = Seat(self, flow, work, ticket)
        kept = False
        try:
            if work.large:
                request.exchange.turn = partial(self._turns.wait, flow.key)
                await self._turns.wait(flow.key, WHOLE)
            answer = await respond(request)
            if request.target.verb == "watch" and answer.code == 200:
                seat.keep()
                request.seat, kept = seat, True
            return answer
        finally:
            if not kept:
                seat.leave()

    # Waiting

    async def _wait(self, request: Request, flow: Flow, work: Work) -> Ticket:
        """Wait in a queue and return a ticket that holds its seats. Raises StatusError if the queue
        is full or the wait too long, and ClientGone if the client disconnects."""
        queues = flow.level.queues
        assert queues is not None
        loop = asyncio.get_running_loop()
        waiter = Waiter(request, flow, loop.create_future())
        ticket = Ticket(work, waiter)
        refusal = queues.enter(ticket, flow.hand(), self.clock())
        if refusal:
            raise self._turned_away(flow, refusal)
        counts = flow.counts
        counts.waiting += 1
        assert ticket.queue is not None
        QUEUE_LENGTH.observe(len(ticket.queue.waiting), counts.labels)
        self._hand_out(flow, queues)
        timer = loop.call_later(self._patience, waiter.tell, TOO_LATE)
        request.exchange.when_gone(partial(waiter.tell, LEFT))
        outcome = LEFT
        try:
            outcome = await waiter.told
        finally:
            timer.cancel()
            request.exchange.when_gone(_nothing)
            counts.waiting -= 1
            if outcome != _SEATED:
                self._give_up(ticket, flow, queues)
            waited = self.clock() - ticket.arrived
            executes = "true" if outcome == _SEATED else "false"
            WAITED.observe(waited, (*counts.labels, executes))
        if outcome == LEFT:
            REJECTED.add(of=(*counts.labels, LEFT))
            raise ClientGone
        if outcome:
            raise self._turned_away(flow, outcome)
        return ticket

    def _give_up(self, ticket: Ticket, flow: Flow, queues: QueueSet) -> None:
        """Release a ticket whose request was cancelled, possibly just after it got its seats."""
        if ticket.started is not None:
            queues.finish(ticket, self.clock())
        else:
            queues.leave(ticket, self.clock())
        self._hand_out(flow, queues)

    def _turned_away(self, flow: Flow, reason: str) -> StatusError:
        REJECTED.add(of=(*flow.counts.labels, reason))
        return too_many_requests(_TOO_MANY)

    # Seats

    def free(self, flow: Flow, work: Work, ticket: Ticket | None) -> None:
        flow.counts.in_use -= work.seats
        queues = flow.level.queues
        if queues is None:
            return
        if ticket is None:
            queues.give_back(work.seats, self.clock())
        else:
            queues.finish(ticket, self.clock())
        if queues.waiting or flow.level.quiescing:
            self._hand_out(flow, queues)

    def _hand_out(self, flow: Flow, queues: QueueSet) -> None:
        for ticket in queues.seated(self.clock()):
            ticket.owner.tell(_SEATED)
        if flow.level.quiescing:
            self.configuration.drained(flow.level)

    def _resized(self) -> None:
        for level in list(self.configuration.levels.values()):
            if level.queues is not None and level.queues.waiting:
                for ticket in level.queues.seated(self.clock()):
                    ticket.owner.tell(_SEATED)


def _nothing() -> None:
    pass


# Turns on the event loop for long work.
#
# Seats limit how many requests run, but all of them share a thread: while a list is encoded,
# nothing else runs. So the pieces of large answers take turns, and after a few pieces the loop runs
# often enough to read and answer the requests that have arrived.

WHOLE = 4  # pieces that run in one turn while no other requests arrive

_Turn = tuple[asyncio.Future[None], int]


class Turns:
    """Schedules pieces of work on the event loop round-robin among flows, however many requests
    each flow has. The caller increments `others` for each request that takes no turns."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.others = 0
        self._loop = loop
        self._waiting: OrderedDict[Hashable, deque[_Turn]] = OrderedDict()
        self._resting = False  # a turn was taken and the next may not begin yet
        self._left = 0  # pieces left in the current turn
        self._seen = 0  # `others` at the last turn

    async def wait(self, flow: Hashable, pieces: int) -> None:
        """Return when the flow may run its next piece of work, or `pieces` at once."""
        if pieces <= self._left:
            self._left -= pieces
        elif not self._resting:
            self._begin(pieces)
        else:
            turn = self._loop.create_future()
            self._waiting.setdefault(flow, deque()).append((turn, pieces))
            await turn

    def _begin(self, pieces: int) -> None:
        """Start a turn. Requests that arrive during it are read at the end of this iteration of the
        loop and answered in the next; the following turn begins in the iteration after that."""
        self._left = WHOLE - pieces if self._seen == self.others else 0
        self._seen = self.others
        self._resting = True
        self._loop.call_soon(self._go_round)

    def _go_round(self) -> None:
        self._loop.call_soon(self._next)

    def _next(self) -> None:
        self._left = 0
        self._resting = False
        waiting = self._waiting
        while waiting:
            flow, turns = waiting.popitem(last=False)
            turn, pieces = turns.popleft()
            if turns:
                waiting[flow] = turns
            if not turn.done():  # the waiter may have been cancelled
                turn.set_result(None)
                self._begin(pieces)
                return
