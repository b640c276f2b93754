"""POST over keep-alive connections, for webhooks that a write waits for.

A cheap client for one purpose: POST over HTTP/1.1, no proxy, no redirects, no cookies. Calls to one
place share its connections; callers limit their own concurrency.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable
from time import monotonic

from fairlead.wire.outgoing.client import CallError, Reply
from fairlead.wire.outgoing.connection import Connection, Lost
from fairlead.wire.outgoing.dialer import Place, dial

_SECONDS_IDLE = 60.0


class _Pool:
    """The connections to one place."""

    def __init__(self, place: Place, on_empty: Callable[[], None]) -> None:
        self._place = place
        self._on_empty = on_empty
        self._idle: list[Connection] = []
        self._open: set[Connection] = set()
        self._calls = 0

    async def post(self, request: bytes) -> Reply:
        self._calls += 1
        try:
            connection = self._usable() or await self._connect()
            try:
                reply = await connection.exchange(request)
            except Lost as error:  # not repeated: the peer may have read it
                raise CallError(str(error), retryable=True) from None
            if connection.is_open:
                connection.idle_since = monotonic()
                self._idle.append(connection)
            return reply
        finally:
            self._calls -= 1
            if not self._calls and not self._open:
                self._on_empty()

    def _usable(self) -> Connection | None:
        """Return an idle connection that the peer has not closed, or None."""
        while self._idle:
            connection = self._idle.pop()
            if connection.is_quiet():
                return connection
            connection.close()
        return None

    async def _connect(self) -> Connection:
        connection = await dial(self._place, lambda: Connection(self._ended))
        self._open.add(connection)
        return connection

    def _ended(self, connection: Connection) -> None:
        self._open.discard(connection)
        if connection in self._idle:
            self._idle.remove(connection)
        self._look()

    def _look(self) -> None:
        if not self._calls and not self._open:
            self._on_empty()

    def close(self, idle_longer_than: float = -1.0) -> None:
        """Close connections that have been idle for so long; without an argument, all of them."""
        since = monotonic() - idle_longer_than
        for connection in list(self._idle if idle_longer_than >= 0 else self._open):
            if connection.idle_since <= since:
                connection.close()


class KeptConnections:
    """Keep-alive connections by place. Used on one event loop."""

    def __init__(self) -> None:
        self._pools: dict[Hashable, _Pool] = {}
        self._sweep: asyncio.TimerHandle | None = None

    async def post(self, place: Place, request: bytes) -> Reply:
        """Send an encoded request, with its head, and return the answer; raises CallError."""
        pool = self._pools.get(place)
        if pool is None:
            pool = self._pools[place] = _Pool(place, lambda: self._drop(place))
            self._sweep_later()
        return await pool.post(request)

    def _drop(self, place: Place) -> None:
        self._pools.pop(place, None)

    def _sweep_later(self) -> None:
        if self._sweep is None:
            loop = asyncio.get_running_loop()
            self._sweep = loop.call_later(_SECONDS_IDLE, self._sweep_now)

    def _sweep_now(self) -> None:
        self._sweep = None
        for pool in list(self._pools.values()):
            pool.close(_SECONDS_IDLE)
        if self._pools:
            self._sweep_later()

    async def close(self) -> None:
        if self._sweep is not None:
            self._sweep.cancel()
        for pool in list(self._pools.values()):
            pool.close()
