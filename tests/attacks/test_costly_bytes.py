"""Bytes that are expensive to parse, or that stay in buffers: other connections continue."""

from __future__ import annotations

import socket
import ssl
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from support.attacks.target import MAX_BYTES, MAX_SECONDS, NAMESPACE, TENANT_TOKEN, Target
from support.pace import in_time
from support.stalls import Report

CONFIG_MAPS = f"/api/v1/namespaces/{NAMESPACE}/configmaps"
CREDENTIALS = f"Host: x\r\nAuthorization: Bearer {TENANT_TOKEN}\r\n"
CHUNKED = f"POST {CONFIG_MAPS} HTTP/1.1\r\n{CREDENTIALS}Transfer-Encoding: chunked\r\n\r\n"
LONG = f"POST {CONFIG_MAPS} HTTP/1.1\r\n{CREDENTIALS}Content-Length: 300000\r\n\r\n"
SOCKET = (
    f"GET {CONFIG_MAPS}?watch=1 HTTP/1.1\r\n{CREDENTIALS}Connection: Upgrade\r\n"
    "Upgrade: websocket\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
    "Sec-WebSocket-Version: 13\r\nOrigin: http://x\r\n\r\n"
)


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Target]:
    target = Target(tmp_path_factory.mktemp("costly"), "kubernetes")
    yield target
    target.close()


@pytest.fixture
def stalls(target: Target) -> Report:
    report = Report(Path(target.server.directory / "stalls"))
    report.longest()
    return report


class Sealed:
    """A connection whose bytes are encrypted before the first is sent, so that they arrive faster
    than they can be parsed."""

    def __init__(self, target: Target) -> None:
        parts = urlsplit(target.server.address)
        context = ssl.create_default_context(cafile=str(target.server.ca))
        self.sock = socket.socket()
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        self.sock.settimeout(20)
        self.sock.connect((parts.hostname, parts.port))
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_hostname=parts.hostname)
        while not self._greeted():
            self._incoming.write(self.sock.recv(65536))
        self.send(b"")

    def _greeted(self) -> bool:
        try:
            self._tls.do_handshake()
        except ssl.SSLWantReadError:
            return False
        finally:
            self.sock.sendall(self._outgoing.read())
        return True

    def send(self, data: bytes, record: int = 16384) -> None:
        for start in range(0, len(data), record):
            self._tls.write(data[start : start + record])
        with suppress(ConnectionError, TimeoutError):  # it was refused, or more is not read
            self.sock.sendall(self._outgoing.read())

    def close(self) -> None:
        self.sock.close()


@pytest.mark.parametrize(
    ("head", "unit", "count", "record"),
    [
        (CHUNKED, b"1\r\nx\r\n", 1_500_000, 16384),
        (SOCKET, b"\x82\x80abcd", 500_000, 16384),
        ("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n", b"\r\n", 4_000_000, 16384),
        (LONG, b"x", 300_000, 1),
    ],
    ids=["chunks", "frames", "empty lines", "records"],
)
def test_small_things_in_large_numbers_hold_nobody_up(
    target: Target, stalls: Report, head: str, unit: bytes, count: int, record: int
) -> None:
    sealed = Sealed(target)
    sealed.send(head.encode())
    assert head in (LONG, CHUNKED) or sealed.sock.recv(1)
    sealed.send(unit * count, record)
    assert target.admin.get("/readyz").status == 200
    time.sleep(0.2)
    sealed.close()
    assert in_time(stalls.longest(), MAX_SECONDS)


def test_many_handshakes_at_once_hold_nobody_up(target: Target, stalls: Report) -> None:
    parts = urlsplit(target.server.address)
    context = ssl.create_default_context(cafile=str(target.server.ca))
    socks = []
    for _ in range(500):
        outgoing = ssl.MemoryBIO()
        tls = context.wrap_bio(ssl.MemoryBIO(), outgoing, server_hostname=parts.hostname)
        with pytest.raises(ssl.SSLWantReadError):
            tls.do_handshake()
        socks.append((socket.create_connection((parts.hostname, parts.port), 20), outgoing.read()))
    for sock, hello in socks:
        sock.sendall(hello)
    for sock, _ in socks:
        assert sock.recv(1)
        sock.close()
    assert in_time(stalls.longest(), MAX_SECONDS)


def test_answers_that_nobody_reads_take_little_memory(target: Target) -> None:
    manifest = {"metadata": {"name": "large"}, "data": {"k": "x" * 900_000}}
    assert target.tenant.post(CONFIG_MAPS, manifest).status == 201
    request = f"GET {CONFIG_MAPS}/large HTTP/1.1\r\n{CREDENTIALS}\r\n".encode()
    before = target.server.resident_bytes()
    held = [Sealed(target) for _ in range(250)]
    for item in held:
        item.send(request * 12)
    for item in held:
        assert item.sock.recv(1)
    time.sleep(1)  # the answers behind the first ones are made
    assert target.server.resident_bytes() - before < MAX_BYTES
    for item in held:
        item.close()


def test_bodies_that_never_end_take_little_memory(target: Target) -> None:
    def begin(_: int) -> Sealed:
        item = Sealed(target)
        item.sock.settimeout(0.5)
        head = f"POST {CONFIG_MAPS} HTTP/1.1\r\n{CREDENTIALS}Content-Length: 3145728\r\n\r\n"
        item.send(head.encode() + b"x" * 3_000_000)
        return item

    before = target.server.resident_bytes()
    with ThreadPoolExecutor(10) as pool:
        begun = list(pool.map(begin, range(60)))
    assert target.server.resident_bytes() - before < MAX_BYTES
    manifest = {"metadata": {"generateName": "a"}, "data": {"k": "x" * 500_000}}
    assert target.admin.post("/api/v1/namespaces/default/configmaps", manifest).status == 201
    for item in begun:
        item.close()
