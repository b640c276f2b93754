"""Waiting: for seats in a queue, and for a turn on the event loop."""

from __future__ import annotations

import asyncio
from collections import OrderedDict, deque
from collections.abc import Hashable
from functools import partial
from typing import TYPE_CHECKING

from fairlead.api.flow_control.queue_set import LEFT, TOO_LATE
from fairlead.api.request import Request
from fairlead.wire.incoming.exchange import ClientGone

if TYPE_CHECKING:
    from fairlead.api.flow_control.gate import Gate, Seat


async def wait_for_turn(gate: Gate, request: Request, seat: Seat | None) -> Seat:
    """Wait for the seats of a request in a queue if it has none, and before a large piece of work
    for a turn on the event loop."""
    if seat is None:
        seat = await _wait_for_seats(gate, request)
    if seat.work.large:
        request.exchange.turn = partial(gate.turns.wait, request.flow.key)
        try:
            await gate.turns.wait(request.flow.key, WHOLE)
        except BaseException:
            seat.leave()
            raise
    return seat


async def _wait_for_seats(gate: Gate, request: Request) -> Seat:
    """Wait in a queue. Raises StatusError if the queue is full or the wait too long, and ClientGone
    if the client disconnects."""
    loop, flow, exchange = asyncio.get_running_loop(), request.flow, request.exchange
    decided: asyncio.Future[str] = loop.create_future()
    ticket = gate.join_queue(request, decided)
    timer = loop.call_later(gate.patience, ticket.owner.decide, TOO_LATE)
    exchange.on_disconnect(partial(ticket.owner.decide, LEFT))
    outcome = LEFT
    try:
        outcome = await decided
    finally:
        timer.cancel()
        exchange.on_disconnect(_ignore)
        gate.leave_queue(ticket, flow, outcome)
    if outcome == LEFT:
        gate.reject(flow, LEFT)
        raise ClientGone
    if outcome:
        raise gate.reject(flow, outcome)
    return gate.seat(flow, ticket.work, ticket)


def _ignore() -> None:
    pass


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
        self._loop.call_soon(self._pass_iteration)

    def _pass_iteration(self) -> None:
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
