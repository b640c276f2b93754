"""Connections that switch protocols, from both ends."""

from __future__ import annotations

import socket

from support.extension import Caller
from support.wire import Wire

SPDY = ("Connection: Upgrade", "Upgrade: SPDY/3.1")
SWITCH = b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n"


def changed(wire: Wire) -> bytes:
    """Return the bytes after the header of an answer that switches protocols."""
    data = b""
    while b"\r\n\r\n" not in data:
        more = wire.sock.recv(65536)
        assert more, "the server closed the connection"
        data += more
    wire.head, _, rest = data.partition(b"\r\n\r\n")
    assert wire.head.startswith(b"HTTP/1.1 101 "), data
    return rest


def exactly(sock: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        more = sock.recv(size - len(data))
        assert more, "the other side is gone"
        data += more
    return data


def echo(caller: Caller, head: bytes) -> None:
    """Echo received bytes until the connection ends."""
    caller.say(SWITCH + caller.rest)
    while data := caller.sock.recv(65536):
        caller.say(data)
