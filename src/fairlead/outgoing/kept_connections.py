"""Posting over connections that stay open, for calls that a write waits for.

It does one thing and costs little: POST over HTTP/1.1, no proxy, no redirect, no cookie. Calls to
one place share its connections; how many a caller may use at once is the caller's affair.
"""

from __future__ import annotations

import asyncio
import os
import socket
import ssl
from collections.abc import Callable, Hashable
from time import monotonic
from typing import NamedTuple

from fairlead.outgoing.client import SECONDS_TO_CONNECT, CallError, Reply
from fairlead.outgoing.connection import Connection, Lost

_SECONDS_IDLE = 60.0
_SECONDS_TO_PART = 1.0  # how long the other side's last word is waited for
_UNKNOWN_AUTHORITY = "x509: certificate signed by unknown authority"
# What is wrong with a certificate, by the code of the TLS library.
_CERTIFICATE_FAULTS = {
    9: "x509: certificate has expired or is not yet valid",
    10: "x509: certificate has expired or is not yet valid",
    18: _UNKNOWN_AUTHORITY,
    19: _UNKNOWN_AUTHORITY,
    20: _UNKNOWN_AUTHORITY,
    21: _UNKNOWN_AUTHORITY,
}
_WRONG_NAME = (62, 64)
_NO_TLS = ("WRONG_VERSION_NUMBER", "HTTP_REQUEST", "RECORD_LAYER_FAILURE")


class Place(NamedTuple):
    """Where connections go: an address and a port, whose certificate is for `name`."""

    host: str
    port: int
    name: str
    tls: ssl.SSLContext

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


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
            while self._idle:
                connection = self._idle.pop()
                if connection.is_open:
                    try:
                        reply = await connection.exchange(request)
                        break
                    except Lost:  # it was closed while the request was on its way
                        continue
            else:
                connection = await self._connect()
                try:
                    reply = await connection.exchange(request)
                except Lost as error:
                    raise CallError(str(error), retryable=True) from None
            if connection.is_open:
                connection.idle_since = monotonic()
                self._idle.append(connection)
            return reply
        finally:
            self._calls -= 1
            if not self._calls and not self._open:
                self._on_empty()

    async def _connect(self) -> Connection:
        """A connection to the first of the addresses of the place that takes one."""
        place = self._place
        failure = CallError(f"dial tcp: lookup {place.host}: no such host", unreached=True)
        try:
            async with asyncio.timeout(SECONDS_TO_CONNECT):
                for address in await _addresses(place):
                    try:
                        return await self._connected(address)
                    except CallError as error:
                        failure = error
        except TimeoutError:
            raise CallError(f"dial tcp {place}: i/o timeout", unreached=True) from None
        raise failure

    async def _connected(self, address: str) -> Connection:
        place = self._place._replace(host=address)
        loop = asyncio.get_running_loop()
        connection = Connection(self._ended)
        try:
            await loop.create_connection(
                lambda: connection,
                address,
                place.port,
                ssl=place.tls,
                server_hostname=place.name,
                ssl_shutdown_timeout=_SECONDS_TO_PART,
            )
        except TimeoutError:
            raise
        except (OSError, ssl.CertificateError) as error:
            raise _unreached(place, error) from None
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
        """Close what is idle for so long; all of it unless a time is given."""
        since = monotonic() - idle_longer_than
        for connection in list(self._idle if idle_longer_than >= 0 else self._open):
            if connection.idle_since <= since:
                connection.close()


class KeptConnections:
    """Makes and closes connections. Use it on one loop."""

    def __init__(self) -> None:
        self._pools: dict[Hashable, _Pool] = {}
        self._sweep: asyncio.TimerHandle | None = None

    async def post(self, place: Place, request: bytes) -> Reply:
        """The answer to a request, which is given with its head; raises CallError."""
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


async def _addresses(place: Place) -> list[str]:
    """None if the name of a place is not known."""
    loop = asyncio.get_running_loop()
    try:
        found = await loop.getaddrinfo(place.host, place.port, type=socket.SOCK_STREAM)
    except (socket.gaierror, UnicodeError):
        return []
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


def _unreached(place: Place, error: Exception) -> CallError:
    """Why no connection came about, in the words in which clients know it."""
    if isinstance(error, ssl.SSLCertVerificationError):
        if error.verify_code in _WRONG_NAME:
            return CallError(f"x509: certificate is valid for other names, not {place.name}")
        fault = _CERTIFICATE_FAULTS.get(error.verify_code)
        return CallError(fault or f"x509: {error.verify_message}")
    if isinstance(error, ssl.SSLError):
        if error.reason in _NO_TLS:
            return CallError("http: server gave HTTP response to HTTPS client")
        return CallError(f"tls: {error.reason or error}", retryable=True)
    if isinstance(error, OSError) and error.errno:
        why = os.strerror(error.errno).lower()
        return CallError(f"dial tcp {place}: connect: {why}", retryable=True, unreached=True)
    return CallError(f"dial tcp {place}: {error}", retryable=True, unreached=True)
