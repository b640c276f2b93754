"""Gives requests their seats and queues those that must wait. `turns.wait_for_turn` does the
waiting."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from math import ceil
from time import monotonic
from typing import Final

from fairlead.api.flow_control.borrowing import PERIOD
from fairlead.api.flow_control.configuration import MAX_SEATS, Configuration, Flow
from fairlead.api.flow_control.metrics import (
    EXECUTION,
    NO_ROOM,
    QUEUE_LENGTH,
    REJECTED,
    SEATS,
    WAITED,
    WATCHERS,
)
from fairlead.api.flow_control.queue_set import QueueSet, Ticket, Work
from fairlead.api.flow_control.turns import Turns
from fairlead.api.request import Request
from fairlead.api.routing import Target, is_long_running
from fairlead.base import clock as server_clock
from fairlead.base.compiled import mypyc_attr
from fairlead.base.errors import StatusError, too_many_requests
from fairlead.operations.api import Api
from fairlead.resources.registry import Resource

_TOO_MANY: Final = "the server has received too many requests and has asked us to try again later"
_LONGEST_START: Final = 1.0  # seconds that a watch with a slow client may hold its seat
SEATED: Final = ""


class Waiter:
    """A request that waits for seats, and the future that receives the outcome."""

    __slots__ = ("decided", "flow", "request")

    def __init__(self, request: Request, flow: Flow, decided: asyncio.Future[str]) -> None:
        self.request = request
        self.flow = flow
        self.decided = decided

    def decide(self, outcome: str) -> None:
        if not self.decided.done():
            self.decided.set_result(outcome)


class Seat:
    """The seats that a request holds. `leave` is idempotent."""

    __slots__ = ("_flow", "_gate", "_is_watch", "_started", "_ticket", "_timer", "work")

    def __init__(
        self, gate: Gate, flow: Flow, work: Work, ticket: Ticket | None, now: float
    ) -> None:
        self._gate: Gate | None = gate
        self._flow = flow
        self.work = work
        self._ticket = ticket
        self._is_watch = False
        self._started = now
        self._timer: asyncio.TimerHandle | None = None

    def keep(self) -> None:
        """Hold the seats of a watch until its first events are sent, for a second at most."""
        self._is_watch = True
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(_LONGEST_START, self.leave)

    def leave(self) -> None:
        gate, self._gate = self._gate, None
        if gate is None:
            return
        if self._timer is not None:
            self._timer.cancel()
        flow, work = self._flow, self.work
        now = gate.clock()
        if self._is_watch:
            EXECUTION.observe(now - self._started, (*flow.counts.labels, "watch"))
        else:
            EXECUTION.observe_in(flow.counts.execution, now - self._started)
        flow.counts.executing -= 1
        if work.seconds and flow.level.queues is not None:
            free = partial(gate.free, flow, work, self._ticket)
            asyncio.get_running_loop().call_later(work.seconds, free)
        else:
            gate.free(flow, work, self._ticket)


class Gate:
    """Gives each request its seats; those of exempt levels need none. A request waits for at most
    `patience` seconds."""

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
        self.patience = patience
        self.turns = Turns(asyncio.get_running_loop())
        configuration.resized = self._resized
        if configuration.lends:
            server_clock.call_later(PERIOD, self._adjust, is_steady=True)

    def _adjust(self) -> None:
        self.configuration.adjust(self.clock())
        server_clock.call_later(PERIOD, self._adjust, is_steady=True)

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

    def enter(self, request: Request) -> Seat | None:
        """Take the seats that a classified request needs; None if it has to wait for them."""
        flow: Flow = request.flow
        target = request.target
        work = ONE
        if target.is_resource and target.verb != "get":
            work = self._estimator.work_of(request, flow)
        queues = flow.level.queues
        if queues is not None and not queues.take(work.seats):
            return None
        if work is ONE and target.verb != "watch":
            self.turns.others += 1
        return self.seat(flow, work, None)

    def seat(self, flow: Flow, work: Work, ticket: Ticket | None) -> Seat:
        counts = flow.counts
        counts.dispatched += 1
        counts.executing += 1
        counts.in_use += work.seats
        SEATS.observe_in(counts.seats, work.seats)
        now = self.clock()
        if ticket is None and flow.level.seats is not None:
            flow.level.seats.change(work.seats, now)
        return Seat(self, flow, work, ticket, now)

    # Waiting

    def join_queue(self, request: Request, decided: asyncio.Future[str]) -> Ticket:
        """Queue a request, whose future gets the outcome. Raises StatusError if the queue is
        full."""
        flow: Flow = request.flow
        queues = flow.level.queues
        assert queues is not None
        NO_ROOM.add(of=flow.counts.labels)
        ticket = Ticket(self._estimator.work_of(request, flow), Waiter(request, flow, decided))
        refusal = queues.enter(ticket, flow.hand(), self.clock())
        if refusal:
            raise self.reject(flow, refusal)
        flow.counts.waiting += 1
        flow.counts.waiting_seats += ticket.work.seats
        if flow.level.seats is not None:
            flow.level.seats.change(ticket.work.seats, ticket.arrived)
        assert ticket.queue is not None
        QUEUE_LENGTH.observe(len(ticket.queue.waiting), flow.counts.labels)
        self._hand_out(flow, queues)
        return ticket

    def leave_queue(self, ticket: Ticket, flow: Flow, outcome: str) -> None:
        """Count a wait that is over, and release the ticket unless it got its seats."""
        queues = flow.level.queues
        assert queues is not None
        flow.counts.waiting -= 1
        flow.counts.waiting_seats -= ticket.work.seats
        if outcome != SEATED:
            self._give_up(ticket, flow, queues)
        executes = "true" if outcome == SEATED else "false"
        WAITED.observe(self.clock() - ticket.arrived, (*flow.counts.labels, executes))

    def _give_up(self, ticket: Ticket, flow: Flow, queues: QueueSet) -> None:
        """Release a ticket whose request was cancelled, possibly just after it got its seats."""
        if ticket.started is not None:
            queues.finish(ticket, self.clock())
        else:
            queues.leave(ticket, self.clock())
        if flow.level.seats is not None:
            flow.level.seats.change(-ticket.work.seats, self.clock())
        self._hand_out(flow, queues)

    def reject(self, flow: Flow, reason: str) -> StatusError:
        REJECTED.add(of=(*flow.counts.labels, reason))
        return too_many_requests(_TOO_MANY)

    # Seats

    def free(self, flow: Flow, work: Work, ticket: Ticket | None) -> None:
        flow.counts.in_use -= work.seats
        queues, now = flow.level.queues, self.clock()
        if flow.level.seats is not None:
            flow.level.seats.change(-work.seats, now)
        if queues is None:
            return
        if ticket is None:
            queues.give_back(work.seats, now)
        else:
            queues.finish(ticket, now)
        if queues.waiting or flow.level.quiescing:
            self._hand_out(flow, queues)

    def _hand_out(self, flow: Flow, queues: QueueSet) -> None:
        for ticket in queues.seated(self.clock()):
            ticket.owner.decide(SEATED)
        if flow.level.quiescing:
            self.configuration.drained(flow.level)

    def _resized(self) -> None:
        for level in list(self.configuration.levels.values()):
            if level.queues is not None and level.queues.waiting:
                for ticket in level.queues.seated(self.clock()):
                    ticket.owner.decide(SEATED)


# Estimates how many seats a request takes.

_OBJECTS_A_SEAT: Final = 100
_LARGE: Final = 25  # objects; reading that many takes about as long as two single reads
_WATCHERS_A_SEAT: Final = 10
_EVENT_SECONDS: Final = 0.005  # seconds that a seat is held for the watchers of one seat

ONE: Final = Work()
_READS: Final = [Work(seats, large=True) for seats in range(MAX_SEATS + 1)]
_WRITES: Final[tuple[str, ...]] = ("create", "update", "patch", "delete")


@mypyc_attr(allow_interpreted_subclasses=True)
class Estimator:
    """Estimates work by the number of objects to read or watchers to notify."""

    def __init__(self, api: Api) -> None:
        self._api = api

    def work_of(self, request: Request, flow: Flow) -> Work:
        target = request.target
        verb, resource = target.verb, target.resource
        if resource is None or "watch" not in resource.main.verbs:
            return ONE
        if verb == "list":
            return _reading(self._listed(request, resource), flow)
        if verb == "watch":
            return _reading(self._first_events(request, resource), flow)
        if verb in _WRITES:
            return self._writing(target, resource, flow)
        return ONE

    def _listed(self, request: Request, resource: Resource) -> int:
        stored = self._stored(request, resource)
        query = request.query
        if stored <= _LARGE or "labelSelector" in query or "fieldSelector" in query:
            return stored  # selectors examine all objects
        limit = request.parameter("limit") if query else ""
        if limit.isascii() and limit.isdigit() and len(limit) < 10:
            return min(stored, int(limit) or stored)
        return stored

    def _first_events(self, request: Request, resource: Resource) -> int:
        """The number of initial events. A watch that resumes from a version has few."""
        if request.target.name or request.parameter("resourceVersion") not in ("", "0"):
            return 0
        return self._stored(request, resource)

    def _stored(self, request: Request, resource: Resource) -> int:
        collection = self._api.collection(resource)
        total = len(collection)
        if total > _LARGE and resource.namespaced and request.target.namespace:
            return collection.count_in(request.target.namespace)
        return total

    def _writing(self, target: Target, resource: Resource, flow: Flow) -> Work:
        collection = self._api.collection(resource)
        if not collection.audience:
            return ONE
        key = resource.main.storage_key(target.namespace, target.name)
        watchers = collection.audience.count(key)
        WATCHERS.observe(watchers, flow.counts.labels)
        if watchers < _WATCHERS_A_SEAT:
            return ONE
        wanted = ceil(watchers / _WATCHERS_A_SEAT)
        final = min(wanted, flow.level.max_seats)
        return Work(1, final, wanted * _EVENT_SECONDS / final)


def _reading(objects: int, flow: Flow) -> Work:
    if objects <= _LARGE:
        return ONE
    return _READS[min(ceil(objects / _OBJECTS_A_SEAT), flow.level.max_seats)]
