"""Connections to one server, kept for the next request."""

from __future__ import annotations

import asyncio
import os
import socket
import ssl
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from fairlead.client.transport.connection import Connection
from fairlead.client.transport.errors import Unreachable

SECONDS_TO_CONNECT = 30.0
_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class Route:
    """How a server is reached. `tls` is None for plain HTTP; `name` is what its certificate must
    be for, the host unless given."""

    host: str
    port: int
    tls: ssl.SSLContext | None = None
    name: str = ""
    proxy: str = ""

    @property
    def address(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


class Pool:
    """Connections over one route. When the route changes, such as by another certificate, those
    that are left finish what they do and are not used again."""

    def __init__(self) -> None:
        self._route: Route | None = None
        self._idle: list[Connection] = []
        self._busy: set[Connection] = set()

    async def take(self, route: Route) -> tuple[Connection, bool]:
        """A connection, and whether it was used before; raises Unreachable."""
        if route != self._route:
            self._drop_idle()
            self._route = route
        while self._idle:
            connection = self._idle.pop()
            if connection.is_free:
                self._busy.add(connection)
                return connection, True
            connection.close()
        connection = await _connect(route)
        self._busy.add(connection)
        return connection, False

    def give_back(self, connection: Connection, route: Route) -> None:
        self._busy.discard(connection)
        if connection.is_free and route == self._route:
            self._idle.append(connection)
        else:
            connection.close()

    def _drop_idle(self) -> None:
        for connection in self._idle:
            connection.close()
        self._idle.clear()

    async def close(self) -> None:
        self._drop_idle()
        for connection in list(self._busy):
            connection.close()
        await asyncio.sleep(0)  # aborted transports end with the next turn of the loop


async def _connect(route: Route) -> Connection:
    try:
        async with asyncio.timeout(SECONDS_TO_CONNECT):
            if route.proxy:
                return await _through_proxy(route)
            reader, writer = await asyncio.open_connection(
                route.host,
                route.port,
                ssl=route.tls,
                server_hostname=(route.name or route.host) if route.tls else None,
            )
            return Connection(reader, writer)
    except TimeoutError:
        raise Unreachable(f"dial tcp {route.address}: i/o timeout") from None
    except ssl.SSLCertVerificationError as error:
        raise Unreachable(f"tls: failed to verify certificate: {error.verify_message}") from None
    except ssl.SSLError as error:
        raise Unreachable(f"tls: {error.reason or error}") from None
    except socket.gaierror:
        raise Unreachable(f"dial tcp: lookup {route.host}: no such host") from None
    except OSError as error:
        raise Unreachable(f"dial tcp {route.address}: connect: {_said(error)}") from None


def _said(error: OSError) -> str:
    """In the words of the operating system: those of the loop are about several addresses."""
    return os.strerror(error.errno).lower() if error.errno else str(error).lower()


async def _through_proxy(route: Route) -> Connection:
    """A tunnel, also for plain HTTP: the request looks the same either way."""
    parts = urlsplit(route.proxy)
    if parts.scheme not in _PORTS or not parts.hostname:
        raise Unreachable(f"the proxy {route.proxy!r} is not an http or https URL")
    reader, writer = await asyncio.open_connection(
        parts.hostname,
        parts.port or _PORTS[parts.scheme],
        ssl=ssl.create_default_context() if parts.scheme == "https" else None,
    )
    lines = [f"CONNECT {route.address} HTTP/1.1", f"Host: {route.address}"]
    if parts.username:
        from base64 import b64encode

        pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        lines.append(f"Proxy-Authorization: Basic {b64encode(pair.encode()).decode()}")
    writer.write("\r\n".join((*lines, "", "")).encode())
    try:
        answer = await reader.readuntil(b"\r\n\r\n")
    except (asyncio.IncompleteReadError, asyncio.LimitOverrunError):
        writer.transport.abort()
        raise Unreachable("proxyconnect tcp: EOF") from None
    words = answer.split(b"\r\n", 1)[0].split(None, 2)
    if len(words) < 2 or words[1] != b"200":
        writer.transport.abort()
        raise Unreachable(f"proxyconnect: {b' '.join(words[1:]).decode(errors='replace')}")
    if route.tls is not None:
        await writer.start_tls(route.tls, server_hostname=route.name or route.host)
    return Connection(reader, writer)
