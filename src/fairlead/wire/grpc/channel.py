"""Endpoints of gRPC services and their connections."""

from __future__ import annotations

import asyncio
import os
import ssl
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from fairlead.wire.grpc.calls import Call, Stream, framed, head
from fairlead.wire.grpc.failures import CallFailed
from fairlead.wire.grpc.http2 import Connection

_CONNECT_TIMEOUT = 5.0  # seconds
# Seconds of silence on a connection in use: before a ping (etcd rejects pings more frequent than
# every 5 seconds), and before it counts as dead.
_PING_AFTER, _DEAD_AFTER = 10.0, 15.0
_CHECK_INTERVAL = 5.0


def _reason(error: OSError) -> str:
    """Format a connection error without Python details."""
    if error.filename:
        return f"{error.filename}: {error.strerror}"
    if error.errno and not isinstance(error, ssl.SSLError):
        return f"cannot connect: {os.strerror(error.errno)}"
    return f"cannot connect: {error}"


class Trust(NamedTuple):
    """TLS files for a connection; without a CA, the system's CAs are trusted."""

    ca: Path | None = None
    certificate: Path | None = None
    key: Path | None = None

    def context(self) -> ssl.SSLContext:
        """Create a context from the files as they are now; raises OSError."""
        if self.ca is not None:
            self.ca.read_bytes()  # a missing file raises here, with its name
        context = ssl.create_default_context(cafile=str(self.ca) if self.ca else None)
        if self.certificate is not None and self.key is not None:
            context.load_cert_chain(self.certificate, self.key)
        context.set_alpn_protocols(["h2"])
        return context


_NO_FILES = Trust()


class Channel:
    """One endpoint. Connects on first use, and again after a loss. `metadata` are headers of each
    call, with names in lower case."""

    def __init__(
        self,
        url: str,
        trust: Trust = _NO_FILES,
        metadata: Iterable[tuple[str, str]] = (),
        default_port: int = 443,
    ) -> None:
        self.url = url
        self._trust = trust
        parts = urlsplit(url if "://" in url else f"http://{url}")
        self._scheme, self._path = parts.scheme, parts.path
        self._host, self._port = parts.hostname or "", parts.port or default_port
        self._authority = parts.netloc or "localhost"
        self._metadata = metadata
        self._heads: dict[str, bytes] = {}  # header blocks by method
        self._connection: Connection | None = None
        self._connecting: asyncio.Task[Connection] | None = None
        self._liveness_timer: asyncio.TimerHandle | None = None

    async def call(self, method: str, request: bytes, timeout: float) -> bytes:
        """Make a unary call; raises CallFailed."""
        connection = self._connection or await self._open_connection(timeout)
        call = Call(connection, timeout)
        connection.begin(call, self._head(method), framed(request), is_last=True)
        try:
            return await call.answer
        except asyncio.CancelledError:
            call.cancel()
            raise

    async def stream(self, method: str, request: bytes, timeout: float) -> Stream:
        """Start a call of many messages with the first of them; raises CallFailed."""
        connection = self._connection or await self._open_connection(timeout)
        stream = Stream(connection)
        connection.begin(stream, self._head(method), framed(request), is_last=False)
        return stream

    def _head(self, method: str) -> bytes:
        block = self._heads.get(method)
        if block is None:
            block = self._heads[method] = head(
                self._scheme, self._authority, method, self._metadata
            )
        return block

    async def _open_connection(self, timeout: float) -> Connection:
        if self._connecting is None:
            self._connecting = asyncio.get_running_loop().create_task(self._connect())
            self._connecting.add_done_callback(self._connect_done)
        connecting = self._connecting
        await asyncio.wait((connecting,), timeout=timeout)
        if not connecting.done():
            raise CallFailed("DEADLINE_EXCEEDED", "no connection in time", is_unsent=True)
        if connecting.cancelled():
            raise CallFailed("CANCELLED", "the connection was abandoned", is_unsent=True)
        return connecting.result()

    def _connect_done(self, task: asyncio.Task[Connection]) -> None:
        self._connecting = None
        if not task.cancelled():
            task.exception()  # retrieved: the waiters raise it

    async def _connect(self) -> Connection:
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(_CONNECT_TIMEOUT):
                if self._scheme in ("unix", "unix-abstract"):
                    is_abstract = self._scheme != "unix"
                    path = "\0" + self._path.lstrip("/") if is_abstract else self._path
                    _, connection = await loop.create_unix_connection(self._create_connection, path)
                elif self._scheme == "https":
                    context = self._trust.context()
                    _, connection = await loop.create_connection(
                        self._create_connection, self._host, self._port, ssl=context
                    )
                else:
                    _, connection = await loop.create_connection(
                        self._create_connection, self._host, self._port
                    )
        except TimeoutError:
            raise CallFailed("UNAVAILABLE", "no connection in time", is_unsent=True) from None
        except OSError as error:
            raise CallFailed("UNAVAILABLE", _reason(error), is_unsent=True) from None
        if not connection.is_open:
            raise CallFailed("UNAVAILABLE", "the connection was closed", is_unsent=True)
        self._connection = connection
        self._liveness_timer = loop.call_later(_CHECK_INTERVAL, self._check_liveness)
        return connection

    def _create_connection(self) -> Connection:
        return Connection(self._connection_lost)

    def _connection_lost(self, connection: Connection, reason: str) -> None:
        if self._connection is connection:
            self._connection = None

    def _check_liveness(self) -> None:
        """Check the liveness of a connection in use."""
        connection, loop = self._connection, asyncio.get_running_loop()
        if connection is None:
            return
        quiet = loop.time() - connection.last_received
        if connection.is_busy and quiet > _DEAD_AFTER:
            connection.abort("it gives no sign of life")
            return
        if connection.is_busy and quiet > _PING_AFTER:
            connection.ping()
        self._liveness_timer = loop.call_later(_CHECK_INTERVAL, self._check_liveness)

    def drop(self) -> None:
        """Abort the connection; its calls in progress fail at once."""
        if self._connecting is not None:
            self._connecting.cancel()
        if self._liveness_timer is not None:
            self._liveness_timer.cancel()
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.abort("the connection was abandoned")

    async def close(self) -> None:
        self.drop()
        await asyncio.sleep(0)  # lets the transport close
