"""Keep-alive connections to other servers."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from time import monotonic

from fairlead.wire.outgoing.connection import Connection
from fairlead.wire.outgoing.dialer import SECONDS_TO_CONNECT, dial
from fairlead.wire.outgoing.request import Route
from fairlead.wire.outgoing.response import MAX_RESPONSE_BYTES, Lost, Response

_SECONDS_IDLE = 60.0
_MAX_IDLE = 64  # per route
_SAFE = (b"GET", b"HEAD", b"OPTIONS")  # methods that can be repeated


Dial = Callable[[Route, Callable[[], Connection], float], Awaitable[Connection]]


class Pool:
    """Connections by route; callers limit their own concurrency. Used on one event loop; callers
    return each connection with `release` or abort it. `dial` opens the connections."""

    def __init__(self, seconds_to_connect: float = SECONDS_TO_CONNECT, dial: Dial = dial) -> None:
        self._seconds_to_connect = seconds_to_connect
        self._dial = dial
        self._idle: dict[Route, list[Connection]] = {}
        self._open: dict[Connection, Route] = {}
        self._sweep: asyncio.TimerHandle | None = None
        self._closed = False

    async def call(
        self, route: Route, method: bytes, content: bytes, max_bytes: int = MAX_RESPONSE_BYTES
    ) -> Response:
        """Send an encoded request, with its head, and return the whole response; raises
        CallError."""
        connection = await self.request(route, method, content)
        try:
            body = await connection.read_all(max_bytes)
            return Response(connection.status, body, tuple(connection.headers))
        finally:
            self.release(connection)

    async def request(
        self, route: Route, method: bytes, content: bytes, *, upgrades: bool = False
    ) -> Connection:
        """Send an encoded request, with its head, and wait for the head of the response; raises
        CallError. A request that `upgrades` gets a new connection."""
        connection = self.idle(route) if not upgrades else None
        if connection is not None:
            try:
                return await _request(connection, method, content)
            except Lost:  # the peer closed it before it read the request
                if method not in _SAFE:
                    raise
        return await _request(await self.connect(route), method, content, upgrades=upgrades)

    def idle(self, route: Route) -> Connection | None:
        """Return an idle connection that the peer has not closed, or None."""
        idle = self._idle.get(route)
        while idle:
            connection = idle.pop()
            if connection.is_usable():
                return connection
            connection.abort()
        return None

    async def connect(self, route: Route) -> Connection:
        """Open a connection; raises CallError."""
        connection = await self._dial(
            route, lambda: Connection(self._connection_ended), self._seconds_to_connect
        )
        self._open[connection] = route
        return connection

    def release(self, connection: Connection) -> None:
        """Return a connection to the pool if it is reusable, else abort it."""
        route = self._open.get(connection)
        idle = self._idle.setdefault(route, []) if route is not None else []
        if self._closed or not connection.is_reusable or len(idle) >= _MAX_IDLE:
            connection.abort()
            return
        connection.idle_since = monotonic()
        idle.append(connection)
        self._schedule_sweep()

    def _connection_ended(self, connection: Connection) -> None:
        route = self._open.pop(connection, None)
        idle = self._idle.get(route) if route is not None else None
        if idle is not None and connection in idle:
            idle.remove(connection)

    def _schedule_sweep(self) -> None:
        if self._sweep is None:
            loop = asyncio.get_running_loop()
            self._sweep = loop.call_later(_SECONDS_IDLE, self._close_idle)

    def _close_idle(self) -> None:
        """Close what has been idle for long."""
        self._sweep = None
        since = monotonic() - _SECONDS_IDLE
        for route, idle in list(self._idle.items()):
            expired = [connection for connection in idle if connection.idle_since <= since]
            for connection in expired:
                idle.remove(connection)
                connection.close()
            if not idle:
                del self._idle[route]
        if self._idle:
            self._schedule_sweep()

    def retire(self) -> None:
        """Close idle connections and keep no more; requests in progress continue."""
        self._closed = True
        if self._sweep is not None:
            self._sweep.cancel()
            self._sweep = None
        for idle in self._idle.values():
            for connection in idle:
                connection.close()
        self._idle.clear()

    def close(self) -> None:
        """Close all connections."""
        self.retire()
        for connection in list(self._open):
            connection.abort()


async def _request(
    connection: Connection, method: bytes, content: bytes, *, upgrades: bool = False
) -> Connection:
    connection.start(method, content, upgrades=upgrades)
    try:
        await connection.read_head()
    except BaseException:
        connection.abort()
        raise
    return connection
