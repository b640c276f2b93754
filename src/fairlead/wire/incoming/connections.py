"""All connections of a server: their number, their addresses and their deadlines."""

from __future__ import annotations

import asyncio
import resource
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Protocol

from fairlead.base.logs import Logger
from fairlead.wire.incoming.exchange import ClientGone, date_line
from fairlead.wire.incoming.limits import BodyMemory, Limits, UnreadOutput

if TYPE_CHECKING:
    from fairlead.wire.incoming.exchange import Exchange
    from fairlead.wire.incoming.protocol import HttpProtocol

logger = Logger("fairlead.wire.incoming")

# Answers a request at once, or returns an awaitable that does.
Application = Callable[["Exchange"], Awaitable[None] | None]

_SPARE_DESCRIPTORS = 128  # for the store, outgoing calls and files
_DRAIN_DELAY = 0.1  # seconds to read requests sent before a drain
_WARN_INTERVAL = 60.0


class Shared(Protocol):
    """Counters that the processes of one server share."""

    @property
    def connections(self) -> int:
        """Connections of all processes."""

    def connections_from(self, address: str) -> int:
        """Connections of all processes from one address."""

    def count_connection(self, address: str, change: int) -> None: ...


class Connections:
    """The registry of open connections. `application` answers all requests. With `shared`, the
    limits apply to all processes together."""

    def __init__(
        self, limits: Limits, application: Application, shared: Shared | None = None
    ) -> None:
        self.limits = limits
        self.timer_threshold = 10 * limits.tick  # seconds; longer deadlines need no timer
        self.application = application
        self.unread_output: UnreadOutput[HttpProtocol] = UnreadOutput(limits.unread_bytes_in_all)
        self.body_memory = BodyMemory(
            limits.body_bytes_in_all,
            limits.body_bytes_of_an_owner,
            limits.waiting_body_bytes_of_an_owner,
        )
        self._shared = shared
        self.date = date_line()
        self.draining = False
        self._open: set[HttpProtocol] = set()
        self._by_address: dict[str, int] = {}
        self._empty = asyncio.Event()
        available = _raise_descriptor_limit() - _SPARE_DESCRIPTORS
        self._max_open = min(limits.connections or available, available)
        self._warned_at = float("-inf")

    def __len__(self) -> int:
        return len(self._open)

    def add(self, connection: HttpProtocol, address: str) -> bool:
        """Register a connection; False if there are too many."""
        own_count = self._by_address.get(address, 0)
        total, count = len(self._open), own_count
        if self._shared is not None:
            total, count = self._shared.connections, self._shared.connections_from(address)
        if len(self._open) >= self._max_open or total >= self.limits.connections > 0:
            self._warn(f"{total} connections are open")
            return False
        if count >= self.limits.connections_of_an_address > 0:
            self._warn(f"{count} connections of {address} are open")
            return False
        self._by_address[address] = own_count + 1
        self._open.add(connection)
        if self._shared is not None:
            self._shared.count_connection(address, 1)
        return True

    def remove(self, connection: HttpProtocol, address: str) -> None:
        self._open.discard(connection)
        if self._shared is not None:
            self._shared.count_connection(address, -1)
        remaining = self._by_address[address] - 1
        if remaining:
            self._by_address[address] = remaining
        else:
            del self._by_address[address]
        if not self._open:
            self._empty.set()

    def _warn(self, reason: str) -> None:
        now = asyncio.get_running_loop().time()
        if now - self._warned_at >= _WARN_INTERVAL:
            self._warned_at = now
            logger.warning("connections are refused", reason=reason)

    async def enforce_deadlines(self) -> None:
        """Enforce deadlines and refresh the Date header, forever."""
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(self.limits.tick)
            self.date = date_line()
            now = loop.time()
            for connection in list(self._open):
                connection.check_time(now)
            self.unread_output.refresh()

    async def drain(self, grace: float, hurry: asyncio.Event) -> None:
        """Finish requests that were already sent, accept no more, and cut off the remaining
        connections after `grace` seconds or when `hurry` is set."""
        self.draining = True
        await first_of(hurry, asyncio.sleep(_DRAIN_DELAY))
        for connection in list(self._open):
            connection.end_when_idle()
        self._empty.clear()
        if self._open:
            await first_of(hurry, asyncio.wait_for(self._empty.wait(), grace))
        if self._open:
            logger.warning("closing connections", count=len(self._open))
        for connection in list(self._open):
            connection.cancel()


async def first_of(event: asyncio.Event, other_event: Awaitable[object]) -> None:
    """Wait for the first of the two."""
    tasks = [asyncio.ensure_future(other_event), asyncio.ensure_future(event.wait())]
    await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def _raise_descriptor_limit() -> int:
    """Raise the limit on open files as far as possible and return it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
            soft = hard
        except (OSError, ValueError):
            pass
    return soft if soft != resource.RLIM_INFINITY else 1 << 20


async def answer(connection: HttpProtocol, exchange: Exchange, waiting: Awaitable[None]) -> None:
    """Await the application's answer to a request. Aborts the connection if it leaves the answer
    incomplete."""
    try:
        await waiting
    except ClientGone:
        pass
    except Exception:
        logger.exception("cannot answer a request")
    finally:
        exchange.forget_body()
        if not exchange.disconnected and not exchange.detached:
            connection.abort()


# A connection whose protocol was switched.


class UpgradedProtocol(asyncio.Protocol):
    """Forwards everything to the successor. `on_full` is called when the write buffer fills and
    drains, `on_lost` at the end, after the successor."""

    def __init__(
        self,
        successor: asyncio.Protocol,
        on_full: Callable[[bool], None],
        on_lost: Callable[[Exception | None], None],
    ) -> None:
        self._successor = successor
        self._on_full = on_full
        self._on_lost = on_lost

    def data_received(self, data: bytes) -> None:
        self._successor.data_received(data)

    def eof_received(self) -> bool | None:
        return self._successor.eof_received()

    def pause_writing(self) -> None:
        self._successor.pause_writing()
        self._on_full(True)

    def resume_writing(self) -> None:
        self._successor.resume_writing()
        self._on_full(False)

    def connection_lost(self, error: Exception | None) -> None:
        self._successor.connection_lost(error)
        self._on_lost(error)
