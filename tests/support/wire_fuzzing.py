"""Malformed bytes on connections to a server."""

from __future__ import annotations

import random
import socket
import ssl
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import count
from urllib.parse import urlsplit

from support.process import ServerProcess

THREADS = 8
_QUIET = 0.03  # seconds without a byte after which no more is expected

LINES = (
    b"GET /api/v1/namespaces HTTP/1.1", b"POST /api/v1/namespaces HTTP/1.1", b"GET / HTTP/1.0",
    b"DELETE /api/v1/namespaces/default/secrets HTTP/1.1", b"HEAD /version HTTP/1.1",
    b"GET /api/v1/secrets?watch=1&timeoutSeconds=1 HTTP/1.1", b"OPTIONS * HTTP/1.1",
    b"PATCH /api/v1/namespaces/default HTTP/1.1", b"CONNECT a:1 HTTP/1.1", b"PRI * HTTP/2.0",
    b"PUT /%ff%00/../x?%=%&=&a HTTP/1.1", b"GET http://x/openapi/v3 HTTP/1.1", b"GET /healthz",
)  # fmt: skip
HEADERS = (
    b"Host: x", b"Authorization: Bearer admin-token", b"Authorization: Bearer no",
    b"Content-Length: 5", b"Content-Length: 99999999999999999999", b"Content-Length: 0",
    b"Transfer-Encoding: chunked", b"Transfer-Encoding: gzip", b"Connection: Upgrade",
    b"Connection: close", b"Upgrade: websocket", b"Upgrade: SPDY/3.1", b"Expect: 100-continue",
    b"Accept: application/yaml", b"Accept: ;;,q=,*/*;q=x", b"Accept-Encoding: gzip;q=",
    b"Content-Type: application/json", b"Content-Type: application/apply-patch+yaml",
    b"Impersonate-User: x", b"Impersonate-Extra-%zz: x", b"User-Agent: \xff\xfe",
    b"X-Remote-User: admin", b" folded", b"no colon", b": no name", b"A: " + b"b" * 3000,
)  # fmt: skip
BODIES = (
    b"", b"hello", b"5\r\nhello\r\n0\r\n\r\n", b"0\r\nHost: y\r\n\r\n", b"ffffffffff\r\n", b"{}",
    b'{"metadata":{"name":"\xff"}}', b"[" * 300, b"-1\r\n\r\n", b"0\r\n\r\nGET / HTTP/1.1\r\n\r\n",
)  # fmt: skip


def request(dice: random.Random) -> bytes:
    """Return something like a request: most are complete, with something superfluous."""
    headers = dice.sample(HEADERS, dice.randint(0, 6))
    for needed in (b"Host: x", b"Authorization: Bearer admin-token"):
        if dice.random() < 0.8:
            headers = [needed, *(header for header in headers if header[:4] != needed[:4])]
    body = dice.choice(BODIES)
    return dice.choice(LINES) + b"\r\n" + b"".join(h + b"\r\n" for h in headers) + b"\r\n" + body


def damaged(dice: random.Random, data: bytes) -> bytes:
    """Change, remove, duplicate or cut some bytes."""
    changed = bytearray(data)
    for _ in range(dice.randint(1, 4)):
        at = dice.randrange(len(changed) + 1)
        match dice.randrange(4):
            case 0:
                changed[at : at + 1] = bytes([dice.randrange(256)])
            case 1:
                del changed[at : at + dice.randint(1, 20)]
            case 2:
                changed[at:at] = changed[at : at + dice.randint(1, 50)]
            case _:
                changed = changed[: max(1, at)]
    return bytes(changed) or b"\0"


def payload(dice: random.Random) -> bytes:
    if dice.random() < 0.15:
        return dice.randbytes(dice.randint(1, 400))
    data = b"".join(request(dice) for _ in range(dice.choice((1, 1, 1, 2, 5))))
    return damaged(dice, data) if dice.random() < 0.6 else data


def _greeting() -> bytes:
    """Return the ClientHello of a TLS client."""
    outgoing = ssl.MemoryBIO()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    with suppress(ssl.SSLWantReadError):
        context.wrap_bio(ssl.MemoryBIO(), outgoing).do_handshake()
    return outgoing.read()


class Fuzzer:
    """Sends malformed input; `codes` counts the answers by their status code."""

    def __init__(self, server: ServerProcess, seed: int) -> None:
        parts = urlsplit(server.address)
        self._place = (parts.hostname, parts.port)
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        self._context.check_hostname = False
        self._context.verify_mode = ssl.CERT_NONE
        self._greeting = _greeting()
        self._seeds = count(seed)
        self.codes: Counter[int] = Counter()

    def run(self, connections: int) -> None:
        with ThreadPoolExecutor(THREADS) as pool:
            for codes in pool.map(self._run_seed, (next(self._seeds) for _ in range(connections))):
                self.codes.update(codes)

    def _run_seed(self, seed: int) -> list[int]:
        dice = random.Random(seed)
        ways: tuple[Callable[[random.Random, socket.socket], bytes], ...] = (
            self._noise, self._broken_greeting, self._inside, self._inside, self._under,
        )  # fmt: skip
        with socket.create_connection(self._place, 20) as sock:
            try:
                answer = dice.choice(ways)(dice, sock)
            except (OSError, ValueError):  # the server closed the connection
                return []
        return [int(part[:3]) for part in answer.split(b"HTTP/1.1 ")[1:] if part[:3].isdigit()]

    def _noise(self, dice: random.Random, sock: socket.socket) -> bytes:
        return _talk(dice, sock, payload(dice))

    def _broken_greeting(self, dice: random.Random, sock: socket.socket) -> bytes:
        return _talk(dice, sock, damaged(dice, self._greeting))

    def _inside(self, dice: random.Random, sock: socket.socket) -> bytes:
        with self._context.wrap_socket(sock, suppress_ragged_eofs=True) as wrapped:
            return _talk(dice, wrapped, payload(dice))

    def _under(self, dice: random.Random, sock: socket.socket) -> bytes:
        """Send noise on the TCP connection after a successful handshake."""
        with self._context.wrap_socket(sock) as wrapped:
            wrapped.sendall(payload(dice))
            with socket.socket(fileno=wrapped.detach()) as plain:
                return _talk(dice, plain, b"\x17\x03\x03" + dice.randbytes(dice.randint(1, 99)))


def _talk(dice: random.Random, sock: socket.socket, data: bytes) -> bytes:
    """Send in one or a few pieces, then leave, or read for a while."""
    at = 0
    while at < len(data):
        size = dice.choice((len(data), len(data), dice.randint(1, 50)))
        sock.sendall(data[at : at + size])
        at += size
    if dice.random() < 0.3:
        return b""
    sock.settimeout(_QUIET)
    answer = b""
    with suppress(TimeoutError):
        while part := sock.recv(65536):
            answer += part
    return answer
