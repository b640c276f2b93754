"""Connections that change their protocol on the way to an extension server."""

from __future__ import annotations

import base64
import hashlib
import threading
import time

import pytest
from support.extension import HERE, Caller, RawExtension, Registered, fields
from support.process import ServerProcess
from support.upgrading import SPDY, SWITCH, changed, echo, exactly
from support.wire import Wire

MIB = 1024 * 1024
KEY = "dGhlIHNhbXBsZSBub25jZQ=="


def test_bytes_pass_both_ways_after_an_upgrade(
    front: ServerProcess, raw: RawExtension, group: Registered
) -> None:
    raw.talk = echo
    path = f"{group.path}/namespaces/n/things/a/exec?command=ls"
    with Wire(front).ask(f"POST {path}", *SPDY, "X-Stream-Protocol-Version: v4") as wire:
        rest = changed(wire)
        assert b"\r\nupgrade: SPDY/3.1" in wire.head
        assert b"\r\nconnection: Upgrade" in wire.head
        for piece in (b"\x80\x03\x00\x01", b"\r\n\r\n", b"GET / HTTP/1.1\r\n\r\n"):
            wire.send(piece)
            assert rest + exactly(wire.sock, len(piece) - len(rest)) == piece
    [head] = raw.heads
    assert head.startswith(f"POST {path} HTTP/1.1".encode())
    assert fields(head, "upgrade") == ["SPDY/3.1"]
    assert fields(head, "x-stream-protocol-version") == ["v4"]
    assert fields(head, "x-remote-user") == ["admin"]


def test_a_websocket_is_passed_on(
    front: ServerProcess, raw: RawExtension, group: Registered
) -> None:
    def talk(caller: Caller, head: bytes) -> None:
        key = fields(head, "sec-websocket-key")[0] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
        accept = base64.b64encode(hashlib.sha1(key.encode()).digest()).decode()
        caller.say(
            b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            + f"Sec-WebSocket-Accept: {accept}\r\nSet-Cookie: theirs=1\r\n\r\n".encode()
        )
        _, length = caller.take(2)
        mask, masked = caller.take(4), caller.take(length & 127)
        text = bytes(byte ^ mask[index % 4] for index, byte in enumerate(masked))
        caller.say(bytes((0x81, len(text))) + text)

    raw.talk = talk
    headers = ("Connection: keep-alive, Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13")
    with Wire(front).ask(
        f"GET {group.path}/things/a/attach", *headers, f"Sec-WebSocket-Key: {KEY}"
    ) as wire:
        assert changed(wire) == b""
        assert b"\r\nsec-websocket-accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=" in wire.head
        assert b"\r\nset-cookie:" not in wire.head
        wire.send(b"\x81\x85\0\0\0\0hello")
        assert exactly(wire.sock, 7) == b"\x81\x05hello"


def test_tunnel_keeps_bytes_sent_before_the_upgrade_is_answered(
    front: ServerProcess, raw: RawExtension, group: Registered
) -> None:
    def talk(caller: Caller, head: bytes) -> None:
        caller.say(SWITCH + b"early")
        caller.say(caller.take(5))

    raw.talk = talk
    with Wire(front).ask(f"POST {group.path}/things/a/exec", *SPDY, body=b"hasty") as wire:
        rest = changed(wire)
        assert rest + exactly(wire.sock, 10 - len(rest)) == b"earlyhasty"


def test_tunnel_ends_on_both_sides_when_one_ends(
    front: ServerProcess, raw: RawExtension, group: Registered
) -> None:
    ended = threading.Event()

    def talk(caller: Caller, head: bytes) -> None:
        caller.say(SWITCH)
        if b"/exec" in head:
            caller.sock.recv(1)
            ended.set()
        else:
            caller.say(b"x" * MIB)
            caller.sock.close()

    raw.talk = talk
    with Wire(front).ask(f"POST {group.path}/things/a/exec", *SPDY) as wire:
        changed(wire)
    assert ended.wait(20)
    with Wire(front).ask(f"POST {group.path}/things/a/attach", *SPDY) as wire:
        assert len(changed(wire) + wire.rest()) == MIB


def test_tunnel_does_not_read_from_one_side_while_the_other_does_not_read(
    front: ServerProcess, raw: RawExtension, group: Registered
) -> None:
    size, sent = 32, [0]

    def talk(caller: Caller, head: bytes) -> None:
        caller.say(SWITCH)
        for _ in range(size):
            caller.say(b"x" * MIB)
            sent[0] += 1
        caller.sock.close()

    raw.talk = talk
    before = front.resident_bytes()
    with Wire(front, buffer=65536).ask(f"POST {group.path}/things/a/exec", *SPDY) as wire:
        count = len(changed(wire))
        await_standstill(sent)
        assert sent[0] < size
        assert front.resident_bytes() - before < 16 * MIB
        while more := wire.sock.recv(MIB):
            count += len(more)
    assert count == size * MIB


def await_standstill(sent: list[int]) -> None:
    """Until nothing more is taken from who sends."""
    seen = -1
    while sent[0] != seen:
        seen = sent[0]
        time.sleep(0.4)


@pytest.mark.parametrize(
    ("message", "status"),
    [
        (b"HTTP/1.1 403 Forbidden\r\ncontent-length: 2\r\n\r\nno", 403),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n", 503),
        (b"", 503),
    ],
)
def test_a_refused_upgrade_is_an_answer(
    front: ServerProcess, raw: RawExtension, group: Registered, message: bytes, status: int
) -> None:
    def talk(caller: Caller, head: bytes) -> None:
        caller.say(message)
        if not message:
            caller.sock.close()

    raw.talk = talk
    wire = Wire(front).ask(
        f"POST {group.path}/things/a/exec", *SPDY, body=b"GET /version HTTP/1.1\r\n\r\n"
    )
    with wire:
        assert wire.status() == status
        assert wire.is_closed  # what follows is no request
    assert len(raw.heads) == 1


def test_a_server_that_ends_does_not_wait_for_tunnels_and_watches(
    tmp_path_factory: pytest.TempPathFactory, raw: RawExtension
) -> None:
    front = ServerProcess(tmp_path_factory.mktemp("ending"), flags=HERE).start()
    group = Registered(front, raw.port, insecureSkipTLSVerify=True)

    def talk(caller: Caller, head: bytes) -> None:
        if b"watch=1" in head:
            caller.say(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{}\r\n")
            caller.sock.recv(1)
        else:
            echo(caller, head)

    raw.talk = talk
    with Wire(front).ask(f"POST {group.path}/things/a/exec", *SPDY) as tunnel:
        changed(tunnel)
        with Wire(front).ask(f"GET {group.path}/things?watch=1") as watch:
            assert watch.status() == 200
            front.stop()
            assert tunnel.is_closed
            watch.rest()
