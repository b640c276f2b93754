"""`/debug/api_priority_and_fairness/`: dumps levels, queues and waiting requests as text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from time import time

from fairlead.api.answers import Answer, text_answer
from fairlead.api.chain import Page
from fairlead.api.flow_control.configuration import Configuration, Level
from fairlead.api.flow_control.gate import Gate, Waiter
from fairlead.api.flow_control.queue_set import Queue, Ticket
from fairlead.api.request import Request

PATH = "/debug/api_priority_and_fairness/"

_LEVELS = (
    "PriorityLevelName", "ActiveQueues", "IsIdle", "IsQuiescing", "WaitingRequests",
    "ExecutingRequests",
)  # fmt: skip
_QUEUES = (
    "PriorityLevelName", "Index", "PendingRequests", "ExecutingRequests", "SeatsInUse",
    "NextDispatchR", "InitialSeatsSum", "MaxSeatsSum", "TotalWorkSum",
)  # fmt: skip
_REQUESTS = (
    "PriorityLevelName", "FlowSchemaName", "QueueIndex", "RequestIndexInQueue", "FlowDistingsher",
    "ArriveTime", "InitialSeats", "FinalSeats", "AdditionalLatency",
)  # fmt: skip
_DETAILS = (
    "UserName", "Verb", "APIPath", "Namespace", "Name", "APIVersion", "Resource", "SubResource",
)  # fmt: skip
_MAX_ROWS = 1024  # of idle queues, per level
_MIN_WIDTH = 8

Row = tuple[str, ...]


def pages(gate: Gate) -> dict[str, Page]:
    """The pages by path."""
    configuration = gate.configuration

    async def levels(request: Request) -> Answer:
        return text_answer(200, _table(_LEVELS, map(_level, _sorted(configuration))))

    async def queues(request: Request) -> Answer:
        rows = (row for level in _sorted(configuration) for row in _queues(level))
        return text_answer(200, _table(_QUEUES, rows))

    async def requests(request: Request) -> Answer:
        details = bool(request.parameter("includeRequestDetails"))
        head = _REQUESTS + _DETAILS if details else _REQUESTS
        now = time() - gate.clock()
        rows = (row for level in _sorted(configuration) for row in _waiting(level, now, details))
        return text_answer(200, _table(head, rows))

    return {
        f"{PATH}dump_priority_levels": levels,
        f"{PATH}dump_queues": queues,
        f"{PATH}dump_requests": requests,
    }


def _sorted(configuration: Configuration) -> list[Level]:
    return sorted(configuration.levels.values(), key=lambda level: level.name)


def _level(level: Level) -> Row:
    queues = level.queues
    if queues is None:
        return (level.name, *("<none>",) * (len(_LEVELS) - 1))
    active = sum(bool(queue.waiting) for queue in queues.queues.values())
    return (
        level.name,
        str(active),
        str(queues.is_idle).lower(),
        str(level.quiescing).lower(),
        str(queues.waiting),
        str(queues.executing),
    )


def _queues(level: Level) -> Iterator[Row]:
    if level.queues is None:
        yield (level.name, *("<none>",) * (len(_QUEUES) - 1))
        return
    queues, count = level.queues.queues, level.shape.queues
    shown = set(queues) | set(range(count if count <= _MAX_ROWS else 0))
    for index in sorted(shown):
        queue = queues.get(index) or Queue(index)
        works = [ticket.work for ticket in queue.waiting]
        yield (
            level.name,
            str(index),
            str(len(works)),
            str(queue.executing),
            str(queue.seats),
            _seat_seconds(queue.next_r),
            str(sum(work.initial for work in works)),
            str(sum(work.seats for work in works)),
            _seat_seconds(queue.work),
        )


def _waiting(level: Level, epoch: float, details: bool) -> Iterator[Row]:
    if level.queues is None:
        return
    for index, queue in sorted(level.queues.queues.items()):
        for place, ticket in enumerate(queue.waiting):
            waiter: Waiter = ticket.owner
            row = (
                level.name,
                waiter.flow.schema.name,
                str(index),
                str(place),
                waiter.flow.distinguisher,
                *_ticket(ticket, epoch),
            )
            yield (*row, *_details(waiter.request)) if details else row


def _ticket(ticket: Ticket, epoch: float) -> Row:
    arrived = datetime.fromtimestamp(epoch + ticket.arrived, UTC)
    return (
        arrived.isoformat().replace("+00:00", "Z"),
        str(ticket.work.initial),
        str(ticket.work.final),
        f"{ticket.work.seconds * 1000:g}ms" if ticket.work.seconds else "0s",
    )


def _details(request: Request) -> Row:
    target = request.target
    version = f"{target.group}/{target.version}" if target.group else target.version
    return (
        request.user.name,
        target.verb,
        target.path,
        target.namespace,
        target.name,
        version,
        target.resource_name,
        target.subresource,
    )


def _seat_seconds(value: float) -> str:
    return f"{value:.8f}ss"


def _table(head: Row, rows: Iterable[Row]) -> str:
    """Format rows as columns separated by commas, each as wide as its widest cell."""
    lines = [head, *rows]
    widths = [max(_MIN_WIDTH, *(len(line[at]) + 2 for line in lines)) for at in range(len(head))]
    return "".join(
        "".join(f"{cell},".ljust(width) for cell, width in zip(line[:-1], widths, strict=False))
        + f"{line[-1]}\n"
        for line in lines
    )
