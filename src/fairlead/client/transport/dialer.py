"""Opens connections to a server, directly or through an HTTP proxy."""

from __future__ import annotations

import asyncio
import os
import socket
import ssl
from base64 import b64encode
from urllib.parse import SplitResult, unquote, urlsplit

from fairlead.base.records import dataclass
from fairlead.client.transport.connection import Connection
from fairlead.client.transport.errors import Unreachable

_SECONDS = 30.0
USUAL_PORTS = {"http": 80, "https": 443}
_MAX_HEAD_BYTES = 64 * 1024
_END = b"\r\n\r\n"


@dataclass(frozen=True, slots=True)
class Route:
    """How to reach a server. `tls` is None for plain HTTP; `name` is the expected name in its
    certificate, by default the host."""

    host: str
    port: int
    tls: ssl.SSLContext | None = None
    name: str = ""
    proxy: str = ""

    @property
    def address(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


async def dial(route: Route) -> Connection:
    """Open a connection; raises Unreachable."""
    try:
        async with asyncio.timeout(_SECONDS):
            return await (_through_proxy(route) if route.proxy else _directly(route))
    except TimeoutError:
        raise Unreachable(f"dial tcp {route.address}: i/o timeout") from None
    except ssl.SSLCertVerificationError as error:
        raise Unreachable(f"tls: failed to verify certificate: {error.verify_message}") from None
    except ssl.SSLError as error:
        raise Unreachable(f"tls: {error.reason or error}") from None
    except (socket.gaierror, UnicodeError):
        raise Unreachable(f"dial tcp: lookup {route.host}: no such host") from None
    except OSError as error:
        raise Unreachable(f"dial tcp {route.address}: connect: {_said(error)}") from None


def _said(error: OSError) -> str:
    """The message of the operating system: that of asyncio may combine several addresses."""
    return os.strerror(error.errno).lower() if error.errno else str(error).lower()


async def _directly(route: Route) -> Connection:
    _, connection = await asyncio.get_running_loop().create_connection(
        Connection,
        route.host,
        route.port,
        ssl=route.tls,
        server_hostname=(route.name or route.host) if route.tls else None,
    )
    return connection


async def _through_proxy(route: Route) -> Connection:
    """Connect through a CONNECT tunnel, also for plain HTTP, so that requests look the same."""
    parts = _proxy(route.proxy)
    loop = asyncio.get_running_loop()
    transport, tunnel = await loop.create_connection(
        _Tunnel,
        parts.hostname or "",
        parts.port or USUAL_PORTS[parts.scheme],
        ssl=ssl.create_default_context() if parts.scheme == "https" else None,
    )
    connection = Connection()
    try:
        transport.write(_asking(route, parts))
        await tunnel.opened
        if route.tls is None:
            transport.set_protocol(connection)
            connection.connection_made(transport)
        else:
            name = route.name or route.host
            inner = await loop.start_tls(transport, connection, route.tls, server_hostname=name)
            if inner is None:
                raise Unreachable("proxyconnect tcp: EOF")
            connection.connection_made(inner)
    except BaseException:
        transport.abort()
        raise
    return connection


def _proxy(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        known = parts.scheme in USUAL_PORTS and parts.hostname and (parts.port or 1)
    except ValueError:
        known = False
    if known:
        return parts
    shown = url.rpartition("@")[2]  # without the password
    if url.startswith("socks"):
        raise Unreachable(f"proxies that speak SOCKS are not supported: {shown}")
    raise Unreachable(f"the proxy {shown!r} is not an http or https URL")


def _asking(route: Route, proxy: SplitResult) -> bytes:
    lines = [f"CONNECT {route.address} HTTP/1.1", f"Host: {route.address}"]
    if proxy.username:
        pair = f"{unquote(proxy.username)}:{unquote(proxy.password or '')}"
        lines.append(f"Proxy-Authorization: Basic {b64encode(pair.encode()).decode()}")
    return "\r\n".join((*lines, "", "")).encode()


class _Tunnel(asyncio.Protocol):
    """Reads the proxy's response to CONNECT."""

    def __init__(self) -> None:
        self.opened: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._head = b""

    def data_received(self, data: bytes) -> None:
        self._head += data
        if self.opened.done():
            return
        if _END not in self._head:
            if len(self._head) > _MAX_HEAD_BYTES:
                self.opened.set_exception(Unreachable("proxyconnect: an answer without an end"))
            return
        words = self._head.split(b"\r\n", 1)[0].split(None, 2)
        if len(words) > 1 and words[0].startswith(b"HTTP/1.") and words[1] == b"200":
            self.opened.set_result(None)
        else:
            said = b" ".join(words[1:])[:200].decode(errors="replace")
            self.opened.set_exception(Unreachable(f"proxyconnect: {said or 'malformed answer'}"))

    def connection_lost(self, error: Exception | None) -> None:
        if not self.opened.done():
            self.opened.set_exception(Unreachable("proxyconnect tcp: EOF"))
