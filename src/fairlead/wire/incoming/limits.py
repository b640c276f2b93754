"""Limits on the resources that a client may use, and on the memory of all clients together."""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import Iterable
from time import monotonic
from typing import Generic, NamedTuple, Protocol, TypeVar

from fairlead.base.logs import Logger
from fairlead.base.metrics import REGISTRY

KIB, MIB = 1024, 1024 * 1024
MAX_CONNECTIONS, MAX_CONNECTIONS_OF_AN_ADDRESS = 10_000, 5_000


class Limits(NamedTuple):
    """Limits of a server; times are in seconds. A connection holds at most a head, a body, and a
    piece of the answer being sent; the total over all connections is limited as well."""

    head_bytes: int = 64 * KIB
    header_fields: int = 200
    body_bytes: int = 3 * MIB
    chunk_overhead_bytes: int = 64 * KIB  # sizes, extensions, trailers; plus 16 per body byte
    small_body_bytes: int = 4 * KIB  # not counted against the totals
    body_bytes_in_all: int = 64 * MIB  # of requests being read or answered
    body_bytes_of_an_owner: int = 16 * MIB
    waiting_body_bytes_of_an_owner: int = 8 * MIB  # received of bodies that wait for memory
    unwanted_body_bytes: int = 64 * KIB  # buffered before the application reads the body
    skipped_body_bytes: int = 256 * KIB  # skipped after an answer that did not need them
    unread_bytes: int = 4 * KIB  # write buffer size at which writing pauses
    unread_bytes_in_all: int = 64 * MIB  # of all connections whose clients do not read
    linger_bytes: int = 192 * MIB  # discarded after a refusal, so that the client can read it

    handshake_seconds: float = 10.0
    head_seconds: float = 30.0
    request_seconds: float = 60.0  # from the head to the end of the answer, the body included
    idle_seconds: float = 120.0
    unread_seconds: float = 30.0
    linger_seconds: float = 10.0

    connections: int = MAX_CONNECTIONS
    connections_of_an_address: int = MAX_CONNECTIONS_OF_AN_ADDRESS

    @property
    def tick(self) -> float:
        """Seconds between two checks of deadlines."""
        times = (
            self.handshake_seconds, self.head_seconds, self.request_seconds, self.idle_seconds,
            self.unread_seconds, self.linger_seconds,
        )  # fmt: skip
        return min(1.0, max(0.02, min(times) / 4))


# Memory that clients make the server hold: answers they do not read, and bodies they send. One
# connection may hold some hundred kilobytes of either, too much if thousands do, so all connections
# share a total. Above it, the owners that hold most lose connections or wait. The owner of a
# connection is the user of its last request, or its address before the first one.

logger = Logger("fairlead.wire.incoming")

CONNECTIONS_CUT_OFF = REGISTRY.counter(
    "fairlead_http_unread_connections_cut_off",
    "Connections closed because the client did not read its answers.",
)
_SHARE_KEPT = 0.75  # share of the limit that remains after making room
_WARN_INTERVAL = 60.0


class Holder(Protocol):
    """A connection. `unread` is the number of bytes it holds because a peer does not read."""

    owner: str

    @property
    def unread(self) -> int: ...

    def abort_soon(self) -> None:
        """Abort in the next iteration of the event loop."""


H = TypeVar("H", bound=Holder)


class UnreadOutput(Generic[H]):
    """Connections whose clients do not read, and the bytes that wait for them. Above `max_bytes`
    in total, the owners that hold most lose connections, the longest unread first."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._unread: dict[H, int] = {}  # longest unread first
        self.total = 0
        self._warned_at = float("-inf")

    def note(self, holder: H, size: int) -> None:
        """Set the number of bytes that a connection holds."""
        self.total += size - self._unread.get(holder, 0)
        if size:
            self._unread[holder] = size
        else:
            self._unread.pop(holder, None)
        if self.total > self._max_bytes:
            self._make_room()

    def refresh(self) -> None:
        """Refresh all sizes: they shrink without notice as data is sent."""
        for holder in self._unread:
            self._unread[holder] = holder.unread
        self.total = sum(self._unread.values())
        if self.total > self._max_bytes:
            self._make_room()

    def _make_room(self) -> None:
        bytes_by_owner: Counter[str] = Counter()
        for holder, size in self._unread.items():
            bytes_by_owner[holder.owner] += size
        share = max_min_share(bytes_by_owner.values(), int(self._max_bytes * _SHARE_KEPT))
        closed = []
        for holder, size in self._unread.items():
            if bytes_by_owner[holder.owner] > share:
                bytes_by_owner[holder.owner] -= size
                closed.append(holder)
        for holder in closed:
            self.total -= self._unread.pop(holder)
            holder.abort_soon()
        CONNECTIONS_CUT_OFF.add(len(closed))
        self._warn(len(closed))

    def _warn(self, count: int) -> None:
        now = monotonic()
        if now - self._warned_at >= _WARN_INTERVAL:
            self._warned_at = now
            logger.warning(
                "too many bytes wait for clients that do not read: closing connections", count=count
            )


def max_min_share(amounts_held: Iterable[int], room: int) -> int:
    """Return the equal share per owner that fits in `room`; owners below it leave their rest to
    others (max-min fairness)."""
    amounts = sorted(amounts_held)
    for index, amount in enumerate(amounts):
        share = room // (len(amounts) - index)
        if amount > share:
            return share
        room -= amount
    return room


class TooManyBodies(Exception):
    """Too many bytes of the owner's other bodies wait already."""


class BodyMemory:
    """Memory for request bodies, reserved before they are read and released after the answer.

    An owner may reserve up to `max_owner_bytes` as long as the total stays below `max_bytes`, and
    one body in any case. Further bodies of the owner wait in a queue, until `max_waiting_bytes`
    of them have arrived; then TooManyBodies is raised.
    """

    def __init__(self, max_bytes: int, max_owner_bytes: int, max_waiting_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._max_owner_bytes = max_owner_bytes
        self._max_waiting_bytes = max_waiting_bytes
        self._reserved: Counter[str] = Counter()
        self._waiting: dict[str, deque[tuple[asyncio.Future[None], int]]] = {}
        self._waiting_bytes: Counter[str] = Counter()
        self.total = 0

    def try_to_reserve(self, owner: str, size: int) -> bool:
        """Reserve without waiting; False if that is not possible."""
        if owner in self._waiting or not self._fits(owner, size):
            return False
        self._add(owner, size)
        return True

    async def reserve(
        self, owner: str, size: int, arrived: int, granted: asyncio.Future[None]
    ) -> None:
        """Wait for memory for a body that has arrived in part. Raises TooManyBodies, or
        the exception that another party sets on `granted`."""
        if self._waiting_bytes[owner] + arrived > self._max_waiting_bytes:
            raise TooManyBodies
        self._waiting_bytes[owner] += arrived
        self._waiting.setdefault(owner, deque()).append((granted, size))
        try:
            await granted
        except asyncio.CancelledError:
            if granted.done() and not granted.cancelled():
                self.release(owner, size)
            raise
        finally:
            self._waiting_bytes[owner] -= arrived
            self._grant_waiting(owner)

    def release(self, owner: str, size: int) -> None:
        self.total -= size
        self._reserved[owner] -= size
        if not self._reserved[owner]:
            del self._reserved[owner]
        if owner in self._waiting:
            self._grant_waiting(owner)

    def _grant_waiting(self, owner: str) -> None:
        """Grant waiting reservations that fit; drops those whose client is gone."""
        waiting = self._waiting.get(owner)
        while waiting and (waiting[0][0].done() or self._fits(owner, waiting[0][1])):
            granted, size = waiting.popleft()
            if not granted.done():
                self._add(owner, size)
                granted.set_result(None)
        if not waiting:
            self._waiting.pop(owner, None)
            if not self._waiting_bytes[owner]:
                del self._waiting_bytes[owner]

    def _fits(self, owner: str, size: int) -> bool:
        owner_bytes = self._reserved.get(owner, 0)
        if not owner_bytes:
            return True
        return owner_bytes + size <= self._max_owner_bytes and self.total + size <= self._max_bytes

    def _add(self, owner: str, size: int) -> None:
        self.total += size
        self._reserved[owner] += size
