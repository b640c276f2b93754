"""Opens connections to other servers and describes failures."""

from __future__ import annotations

import asyncio
import os
import socket
import ssl
from collections.abc import Callable
from contextlib import suppress
from ipaddress import ip_address
from typing import NamedTuple, TypeVar

from fairlead.wire.outgoing.client import SECONDS_TO_CONNECT, CallError
from fairlead.wire.outgoing.tls import Untrusted, secure

_SECONDS_TO_PART = 1.0  # timeout of the TLS shutdown
_NO_TLS = ("WRONG_VERSION_NUMBER", "HTTP_REQUEST", "RECORD_LAYER_FAILURE")

P = TypeVar("P", bound=asyncio.Protocol)


class Place(NamedTuple):
    """The target of a connection: an address and a port; with TLS, the certificate must be valid
    for `name`."""

    host: str
    port: int
    name: str
    tls: ssl.SSLContext | None

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


async def dial(place: Place, protocol: Callable[[], P]) -> P:
    """Connect to the first address of a place that accepts, within 5 seconds; raises CallError."""
    failure = CallError(f"dial tcp: lookup {place.host}: no such host", unreached=True)
    try:
        async with asyncio.timeout(SECONDS_TO_CONNECT):
            for address in await _addresses(place):
                try:
                    return await _connected(place._replace(host=address), protocol)
                except CallError as error:
                    failure = error
    except TimeoutError:
        raise CallError(f"dial tcp {place}: i/o timeout", unreached=True) from None
    raise failure


async def _connected(place: Place, protocol: Callable[[], P]) -> P:
    loop = asyncio.get_running_loop()
    try:
        if place.tls is None:
            _, made = await loop.create_connection(protocol, place.host, place.port)
            return made
        tcp, _ = await loop.create_connection(asyncio.Protocol, place.host, place.port)
        made = protocol()
        await secure(tcp, made, place.tls, place.name, _SECONDS_TO_PART)
    except TimeoutError:
        raise
    except OSError as error:  # includes SSLError
        raise _unreached(place, error) from None
    return made


async def _addresses(place: Place) -> list[str]:
    """Resolve a place; empty if its name is unknown. A numeric address is used unchanged: it may
    have been checked by an AddressPolicy."""
    with suppress(ValueError):
        return [str(ip_address(place.host))]
    loop = asyncio.get_running_loop()
    try:
        found = await loop.getaddrinfo(place.host, place.port, type=socket.SOCK_STREAM)
    except (socket.gaierror, UnicodeError):
        return []
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


def _unreached(place: Place, error: Exception) -> CallError:
    """Convert a connection failure to the message that clients know."""
    if isinstance(error, Untrusted):
        return CallError(str(error))
    if isinstance(error, ssl.SSLError):
        if error.reason in _NO_TLS:
            return CallError("http: server gave HTTP response to HTTPS client")
        return CallError(f"tls: {error.reason or error}", retryable=True)
    if isinstance(error, OSError) and error.errno:
        why = os.strerror(error.errno).lower()
        return CallError(f"dial tcp {place}: connect: {why}", retryable=True, unreached=True)
    return CallError(f"dial tcp {place}: {error}", retryable=True, unreached=True)
