"""Opens connections to other servers, directly or through a proxy, and describes failures."""

from __future__ import annotations

import asyncio
import os
import socket
import ssl
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

from fairlead.wire.outgoing.connection import Connection
from fairlead.wire.outgoing.request import Route, encode_head, parse_proxy
from fairlead.wire.outgoing.response import CallError, Header
from fairlead.wire.outgoing.tls import Untrusted, secure

SECONDS_TO_CONNECT = 5.0

_OK = 200
_SECONDS_TO_PART = 1.0  # timeout of the TLS shutdown
_NO_TLS = ("WRONG_VERSION_NUMBER", "HTTP_REQUEST", "RECORD_LAYER_FAILURE")

P = TypeVar("P", bound=asyncio.Protocol)


async def dial(route: Route, protocol: Callable[[], P], seconds: float = SECONDS_TO_CONNECT) -> P:
    """Connect to the first address of a route that accepts; raises CallError."""
    try:
        async with asyncio.timeout(seconds):
            return await (_dial_proxy if route.proxy else _dial_direct)(route, protocol)
    except TimeoutError:
        reason = f"dial tcp {route}: i/o timeout"
        raise CallError(reason, retryable=True, unreached=True) from None


async def _dial_direct(route: Route, protocol: Callable[[], P]) -> P:
    reason = f"dial tcp: lookup {route.host}: no such host"
    failure = CallError(reason, retryable=True, unreached=True)
    for address in await _addresses(route):
        try:
            return await _connect(route._replace(host=address), protocol)
        except CallError as error:
            failure = error
    raise failure


async def dial_over(sock: socket.socket, route: Route, protocol: Callable[[], P]) -> P:
    """As `dial`, over a connected socket that stands for the server."""
    try:
        async with asyncio.timeout(SECONDS_TO_CONNECT):
            return await _connect(route, protocol, sock)
    except TimeoutError:
        raise CallError(f"dial tcp {route}: i/o timeout", retryable=True) from None


async def _connect(route: Route, protocol: Callable[[], P], sock: socket.socket | None = None) -> P:
    try:
        if route.tls is None:
            _, connection = await _connect_plainly(route, protocol, sock)
            return connection
        tcp, _ = await _connect_plainly(route, asyncio.Protocol, sock)
        connection = protocol()
        await secure(tcp, connection, route.tls, route.name, _SECONDS_TO_PART)
    except TimeoutError:
        raise
    except OSError as error:  # includes SSLError
        raise _dial_error(route, error) from None
    return connection


async def _connect_plainly(
    route: Route, protocol: Callable[[], P], sock: socket.socket | None
) -> tuple[asyncio.Transport, P]:
    loop = asyncio.get_running_loop()
    if sock is not None:
        return await loop.create_connection(protocol, sock=sock)
    return await loop.create_connection(protocol, route.host, route.port)


async def _addresses(route: Route) -> list[str]:
    """Resolve a host; empty if its name is unknown. A numeric address is used unchanged: it may
    have been checked by an AddressPolicy."""
    for family in (socket.AF_INET, socket.AF_INET6):
        with suppress(OSError, ValueError):
            socket.inet_pton(family, route.host)
            return [route.host]
    loop = asyncio.get_running_loop()
    try:
        entries = await loop.getaddrinfo(route.host, route.port, type=socket.SOCK_STREAM)
    except (socket.gaierror, UnicodeError):
        return []
    return list(dict.fromkeys(str(entry[4][0]) for entry in entries))


def _dial_error(route: Route, error: OSError) -> CallError:
    """Convert a connection failure to the message that clients know."""
    if isinstance(error, Untrusted):
        return CallError(str(error))
    if isinstance(error, ssl.SSLCertVerificationError):
        return CallError(f"tls: failed to verify certificate: {error.verify_message}")
    if isinstance(error, ssl.SSLError):
        if error.reason in _NO_TLS:
            return CallError("http: server gave HTTP response to HTTPS client")
        return CallError(f"tls: {error.reason or error}", retryable=True)
    if error.errno:
        reason = os.strerror(error.errno).lower()
        return CallError(f"dial tcp {route}: connect: {reason}", retryable=True, unreached=True)
    return CallError(f"dial tcp {route}: {error}", retryable=True, unreached=True)


# Proxies


async def _dial_proxy(route: Route, protocol: Callable[[], P]) -> P:
    """Connect through a CONNECT tunnel."""
    proxy, authorization = parse_proxy(route.proxy)
    tunnel = await _connect_proxy(proxy)
    address = str(route).encode()
    headers: list[Header] = [(b"host", address)]
    if authorization:
        headers.append((b"proxy-authorization", authorization.encode()))
    connection = protocol()
    try:
        tunnel.start(b"CONNECT", encode_head("CONNECT", address, headers))
        await _read_connect_response(tunnel)
        if route.tls is None:
            tunnel.hand_over(connection)
        else:
            await secure(tunnel.detach(), connection, route.tls, route.name, _SECONDS_TO_PART)
    except TimeoutError:
        raise
    except OSError as error:
        raise _dial_error(route, error) from None
    finally:
        tunnel.abort()  # has no effect once the transport belongs to another protocol
    return connection


async def _connect_proxy(proxy: Route) -> Connection:
    loop = asyncio.get_running_loop()
    try:
        # asyncio's own TLS transport: another TLS layer can be put on top of it.
        _, connection = await loop.create_connection(
            lambda: Connection(lambda _: None), proxy.host, proxy.port, ssl=proxy.tls
        )
    except TimeoutError:
        raise
    except (socket.gaierror, UnicodeError):
        reason = f"proxyconnect tcp: dial tcp: lookup {proxy.host}: no such host"
        raise CallError(reason, retryable=True, unreached=True) from None
    except OSError as error:
        raise _dial_error(proxy, error).of("proxyconnect tcp") from None
    return connection


async def _read_connect_response(tunnel: Connection) -> None:
    """Read the proxy's response to CONNECT; raises CallError unless it is a success."""
    try:
        await tunnel.read_head()
    except CallError as error:
        raise error.of("proxyconnect tcp") from None
    if tunnel.status != _OK:
        raise CallError(f"proxyconnect: the proxy answered {tunnel.status}", retryable=True)
