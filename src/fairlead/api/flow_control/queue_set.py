"""The queues of a priority level: who gets the next seat. Nothing here waits or looks at a clock.

Fair queuing by virtual time: each queue that has something to do advances as if all of them were
served at once, in equal parts of the seats. The request that would be done first in that world is
the next one to be seated in ours.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

GUESS = 0.003  # seconds that a request is taken to last before it has ended

QUEUE_FULL, NO_SEAT, TOO_LATE, LEFT = "queue-full", "concurrency-limit", "time-out", "cancelled"


@dataclass(frozen=True, slots=True)
class Shape:
    """How requests wait. With no queues nobody does."""

    queues: int = 0
    hand: int = 0
    length: int = 0  # of one queue


NO_QUEUES = Shape()


class Work:
    """What a request takes: seats while it is answered, and seats for a time after that. It holds
    the larger number, `seats`, all the time. `large` is what keeps the only thread busy for longer
    than a plain read does."""

    __slots__ = ("final", "initial", "large", "seats", "seconds")

    def __init__(
        self, initial: int = 1, final: int = 0, seconds: float = 0.0, *, large: bool = False
    ) -> None:
        self.initial = initial
        self.final = final
        self.seconds = seconds
        self.large = large
        self.seats = max(initial, final)

    def lasting(self, seconds: float) -> float:
        """Seat-seconds, if it is answered within that time."""
        return self.initial * seconds + self.final * self.seconds


class Ticket:
    """A request that has to wait, and then holds seats. `owner` is the caller's."""

    __slots__ = ("arrived", "guess", "owner", "queue", "started", "work")

    def __init__(self, work: Work, owner: Any = None) -> None:
        self.work = work
        self.owner = owner
        self.guess = work.lasting(GUESS)
        self.queue: Queue | None = None
        self.arrived = 0.0
        self.started: float | None = None  # when it was seated


class Queue:
    """Some flows have their requests in it, oldest first. `next_r` is when, in virtual time, the
    next one may start."""

    __slots__ = ("executing", "index", "next_r", "seats", "served", "waiting", "work")

    def __init__(self, index: int) -> None:
        self.index = index
        self.next_r = 0.0
        self.waiting: OrderedDict[Ticket, None] = OrderedDict()
        self.work = 0.0  # seat-seconds that wait
        self.executing = 0
        self.seats = 0
        self.served = 0  # when a request of it was seated last, counted in requests

    @property
    def oldest(self) -> Ticket:
        return next(iter(self.waiting))


def _end(queue: Queue) -> tuple[float, int]:
    """When the oldest request of a queue would be done, and who goes first among equals."""
    return queue.next_r + queue.oldest.guess, queue.served


class QueueSet:
    """Requests that find a seat while nobody waits take it without a queue (`take`, `give_back`).
    All others `enter`, and hold theirs once `seated` names them, until `finish`."""

    def __init__(self, limit: int, shape: Shape = NO_QUEUES) -> None:
        self.limit = limit
        self.shape = shape
        self.in_use = 0  # seats
        self.executing = 0  # requests
        self.waiting = 0
        self.r = 0.0  # virtual time
        self._at = 0.0
        self._wanted = 0  # seats of those who wait
        self._served = 0
        self._queues: dict[int, Queue] = {}  # that have something to do

    @property
    def queues(self) -> Mapping[int, Queue]:
        return self._queues

    @property
    def is_idle(self) -> bool:
        return not self.executing and not self.waiting

    def reshape(self, limit: int, shape: Shape, now: float) -> None:
        """From now on. Whoever waits keeps their place."""
        self._advance(now)
        self.limit, self.shape = limit, shape

    def take(self, seats: int) -> bool:
        """Take seats at once, if there are so many and nobody waits."""
        if self.waiting or not self._fits(seats):
            return False
        self.in_use += seats
        self.executing += 1
        return True

    def _fits(self, seats: int) -> bool:
        """A request that is wider than all seats runs alone."""
        return self.in_use + seats <= self.limit or not self.executing

    def give_back(self, seats: int, now: float) -> None:
        if self.waiting:
            self._advance(now)
        self.in_use -= seats
        self.executing -= 1

    def enter(self, ticket: Ticket, hand: Sequence[int], now: float) -> str:
        """Wait in the queue of the hand in which there is least to do; gives why that cannot be,
        or nothing."""
        if not self.shape.queues:
            return NO_SEAT
        self._advance(now)
        queue = self._shortest(hand)
        if len(queue.waiting) >= self.shape.length:
            return QUEUE_FULL
        self._queues[queue.index] = queue
        ticket.queue, ticket.arrived = queue, now
        if not queue.waiting:  # what it did not use meanwhile it does not get later
            queue.next_r = max(queue.next_r, self._start())
        queue.waiting[ticket] = None
        queue.work += ticket.guess
        self.waiting += 1
        self._wanted += ticket.work.seats
        return ""

    def _start(self) -> float:
        """Where a queue begins that had nothing to do: not behind those who fell back because
        seats were kept free for wide requests, or it would wait for all that they are owed."""
        behind = (queue.next_r for queue in self._queues.values() if queue.waiting)
        return min(self.r, min(behind, default=self.r))

    def _shortest(self, hand: Sequence[int]) -> Queue:
        best: Queue | None = None
        for index in hand:
            queue = self._queues.get(index)
            if queue is None:
                return Queue(index)
            if best is None or queue.work < best.work:
                best = queue
        assert best is not None
        return best

    def seated(self, now: float) -> Iterator[Ticket]:
        """Seat as many of those who wait as there is room for. One that needs more seats than are
        free is not overtaken, or it might wait for ever."""
        self._advance(now)
        while self.waiting:
            queue = min(
                (found for found in self._queues.values() if found.waiting),
                key=_end,
            )
            ticket = queue.oldest
            if not self._fits(ticket.work.seats):
                return
            self._remove(ticket, queue)
            self._seat(ticket, queue, now)
            yield ticket

    def _seat(self, ticket: Ticket, queue: Queue, now: float) -> None:
        seats = ticket.work.seats
        ticket.started = now
        queue.next_r += ticket.guess
        queue.executing += 1
        queue.seats += seats
        self._served += 1
        queue.served = self._served
        self.in_use += seats
        self.executing += 1

    def finish(self, ticket: Ticket, now: float) -> None:
        """Seats are free again; the flow is charged for the time that it really took."""
        queue = ticket.queue
        assert queue is not None
        assert ticket.started is not None
        self._advance(now)
        seats, lasted = ticket.work.seats, now - ticket.started - ticket.work.seconds
        queue.next_r += ticket.work.lasting(max(lasted, 0.0)) - ticket.guess
        queue.executing -= 1
        queue.seats -= seats
        self.in_use -= seats
        self.executing -= 1
        self._forget(queue)

    def leave(self, ticket: Ticket, now: float) -> None:
        """Somebody waits no longer."""
        self._advance(now)
        queue = ticket.queue
        assert queue is not None
        self._remove(ticket, queue)
        self._forget(queue)

    def _remove(self, ticket: Ticket, queue: Queue) -> None:
        del queue.waiting[ticket]
        queue.work = queue.work - ticket.guess if queue.waiting else 0.0
        self.waiting -= 1
        self._wanted -= ticket.work.seats

    def _forget(self, queue: Queue) -> None:
        if not queue.waiting and not queue.executing:
            del self._queues[queue.index]

    def _advance(self, now: float) -> None:
        """Let virtual time pass, as fast as each queue would be served."""
        if self._queues:
            busy = min(self.limit, self.in_use + self._wanted)
            self.r += max(now - self._at, 0.0) * busy / len(self._queues)
        self._at = now
