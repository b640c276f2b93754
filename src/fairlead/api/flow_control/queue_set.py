"""The queues of a priority level: decides which request gets the next seats. Does not wait and
reads no clock; callers pass the time.

Fair queuing by virtual time: each busy queue advances as if all of them were served at once with
equal shares of the seats. The request that would finish first in that model is seated next.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

GUESS: Final = 0.003  # seconds that a request is assumed to last until it has ended

QUEUE_FULL, NO_SEAT, TOO_LATE, LEFT = "queue-full", "concurrency-limit", "time-out", "cancelled"


@dataclass(frozen=True, slots=True)
class Shape:
    """The number of queues, their hand size and their length. Without queues, requests never
    wait."""

    queues: int = 0
    hand: int = 0
    length: int = 0  # of one queue


NO_QUEUES: Final = Shape()


class Work:
    """The cost of a request: `initial` seats while it runs, and `final` seats for `seconds` after
    that. It holds the larger number, `seats`, throughout. `large`: it keeps the event loop busy for
    longer than a plain read."""

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
        """Seat-seconds, if the request takes this time."""
        return self.initial * seconds + self.final * self.seconds


class Ticket:
    """A request that waits and then holds seats. `owner` belongs to the caller."""

    __slots__ = ("arrived", "guess", "owner", "queue", "started", "work")

    def __init__(self, work: Work, owner: Any = None) -> None:
        self.work = work
        self.owner = owner
        self.guess = work.lasting(GUESS)
        self.queue: Queue | None = None
        self.arrived = 0.0
        self.started: float | None = None  # when it was seated


class Queue:
    """Waiting requests of some flows, oldest first. `next_r` is the virtual time at which the next
    one may start."""

    __slots__ = ("executing", "index", "next_r", "seats", "served", "waiting", "work")

    def __init__(self, index: int) -> None:
        self.index = index
        self.next_r = 0.0
        self.waiting: OrderedDict[Ticket, None] = OrderedDict()
        self.work = 0.0  # seat-seconds that are waiting
        self.executing = 0
        self.seats = 0
        self.served = 0  # sequence number of the last request seated from it

    @property
    def oldest(self) -> Ticket:
        return next(iter(self.waiting))


def _end(queue: Queue) -> tuple[float, int]:
    """The virtual time at which the oldest request would finish; ties go to the queue served least
    recently."""
    return queue.next_r + queue.oldest.guess, queue.served


class QueueSet:
    """The queues of a level. A request that finds free seats while none waits takes them without a
    queue (`take`, `give_back`). Others `enter` a queue and hold their seats once `seated` yields
    them, until `finish`."""

    def __init__(self, limit: int, shape: Shape = NO_QUEUES) -> None:
        self.limit = limit
        self.shape = shape
        self.in_use = 0  # seats
        self.executing = 0  # requests
        self.waiting = 0
        self.r = 0.0  # virtual time
        self._at = 0.0
        self._wanted = 0  # seats of waiting requests
        self._served = 0
        self._queues: dict[int, Queue] = {}  # those with waiting or running requests

    @property
    def queues(self) -> Mapping[int, Queue]:
        return self._queues

    @property
    def is_idle(self) -> bool:
        return not self.executing and not self.waiting

    def reshape(self, limit: int, shape: Shape, now: float) -> None:
        """Change the limit and shape. Waiting requests keep their places."""
        self._advance(now)
        self.limit, self.shape = limit, shape

    def take(self, seats: int) -> bool:
        """Take seats at once if enough are free and no request waits."""
        if self.waiting or not self._fits(seats):
            return False
        self.in_use += seats
        self.executing += 1
        return True

    def _fits(self, seats: int) -> bool:
        """Whether the seats are free. A request that needs more than all seats runs alone."""
        return self.in_use + seats <= self.limit or not self.executing

    def give_back(self, seats: int, now: float) -> None:
        if self.waiting:
            self._advance(now)
        self.in_use -= seats
        self.executing -= 1

    def enter(self, ticket: Ticket, hand: Sequence[int], now: float) -> str:
        """Wait in the queue of the hand that has the least work. Returns the reason for a
        rejection, or the empty string."""
        if not self.shape.queues:
            return NO_SEAT
        self._advance(now)
        queue = self._shortest(hand)
        if len(queue.waiting) >= self.shape.length:
            return QUEUE_FULL
        self._queues[queue.index] = queue
        ticket.queue, ticket.arrived = queue, now
        if not queue.waiting:  # an idle queue accumulates no credit
            queue.next_r = max(queue.next_r, self._start())
        queue.waiting[ticket] = None
        queue.work += ticket.guess
        self.waiting += 1
        self._wanted += ticket.work.seats
        return ""

    def _start(self) -> float:
        """The virtual start of a queue that was idle. Not later than that of queues that fell
        behind while seats were kept free for wide requests; otherwise it would wait for their whole
        backlog."""
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
        """Seat waiting requests while seats are free. A request that needs more seats than are free
        is not overtaken, because it might starve."""
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
        """Release the seats and charge the queue for the actual duration."""
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
        """Remove a ticket that no longer waits."""
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
        """Advance virtual time at the rate at which each queue would be served."""
        if self._queues:
            busy = min(self.limit, self.in_use + self._wanted)
            self.r += max(now - self._at, 0.0) * busy / len(self._queues)
        self._at = now
