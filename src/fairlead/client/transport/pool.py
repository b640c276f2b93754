"""Keeps idle connections to a server for reuse."""

from __future__ import annotations

import asyncio

from fairlead.client.transport.connection import Connection
from fairlead.client.transport.dialer import Route, dial

_MAX_IDLE = 64
_SECONDS_IDLE = 90.0


class Pool:
    """Connections over one route. When the route changes, for example with a new certificate,
    connections in use finish their request and are then closed."""

    def __init__(self) -> None:
        self._route: Route | None = None
        self._idle: list[tuple[Connection, float]] = []  # newest last, with start of idle time
        self._busy: set[Connection] = set()

    async def take(self, route: Route) -> tuple[Connection, bool]:
        """A connection and whether it is reused; raises Unreachable."""
        if route != self._route:
            self._drop_idle()
            self._route = route
        self._drop_old()
        while self._idle:
            connection, _ = self._idle.pop()
            if connection.is_free:
                self._busy.add(connection)
                return connection, True
            connection.close()
        connection = await dial(route)
        self._busy.add(connection)
        return connection, False

    def give_back(self, connection: Connection, route: Route) -> None:
        self._busy.discard(connection)
        if connection.is_free and route == self._route and len(self._idle) < _MAX_IDLE:
            self._idle.append((connection, asyncio.get_running_loop().time()))
        else:
            connection.close()

    def _drop_old(self) -> None:
        latest = asyncio.get_running_loop().time() - _SECONDS_IDLE
        while self._idle and self._idle[0][1] < latest:
            self._idle.pop(0)[0].close()

    def _drop_idle(self) -> None:
        for connection, _ in self._idle:
            connection.close()
        self._idle.clear()

    async def close(self) -> None:
        self._drop_idle()
        for connection in list(self._busy):
            connection.close()
        await asyncio.sleep(0)  # aborted transports close in the next iteration of the loop
