"""A cheap HTTPS client: epoll over TLS sockets, prebuilt requests, minimal parsing."""

from __future__ import annotations

import re
import select
import socket
import ssl
import sys
import time
from array import array
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

RECORD = 16384  # the maximum of a TLS record, so that a read leaves nothing in the SSL layer
KEPT = 1 << 16  # bytes of each answer, for setup and error messages
STALL = 60.0
LAST_CHUNK = b"\r\n0\r\n\r\n"  # compact JSON contains neither these bytes nor the next pattern
CHUNK_SIZE = re.compile(rb"(?:^|\r\n)[0-9a-fA-F]+\r\n")
EVENT = b'"type":"ADDED"'
NAME = re.compile(rb'"name":"(cm-\d{8})"')

TLS = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
TLS.check_hostname = False
TLS.verify_mode = ssl.CERT_NONE

PROTOBUF = "vnd.kubernetes.protobuf"
TABLE = "json;as=Table;v=v1;g=meta.k8s.io"
MERGE = "merge-patch+json"
APPLY = "apply-patch+yaml"

Maker = Callable[[], bytes]


class WorkFailedError(Exception):
    """The workload cannot be measured; the message says why."""


@dataclass(frozen=True, slots=True)
class Address:
    """The server's address, and the token of the client."""

    host: str
    port: int
    token: str

    def request(
        self,
        method: str,
        path: str,
        body: bytes = b"",
        kind: str = "json",
        *,
        accept: str = "json",
        encoding: str = "identity",
    ) -> bytes:
        """Return a whole request as bytes; `kind` and `accept` without their `application/`."""
        head = (
            f"{method} {path} HTTP/1.1\r\nHost: {self.host}:{self.port}\r\n"
            f"Authorization: Bearer {self.token}\r\nAccept: application/{accept}\r\n"
            f"Accept-Encoding: {encoding}\r\nUser-Agent: bench/1\r\n"
        )
        if body:
            head += f"Content-Type: application/{kind}\r\nContent-Length: {len(body)}\r\n"
        return head.encode() + b"\r\n" + body


class Connection:
    """A keep-alive connection with at most one request in flight."""

    def __init__(self, address: Address, timeout: float = 60.0) -> None:
        plain = socket.create_connection((address.host, address.port), timeout)
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            self.sock = TLS.wrap_socket(plain)
        finally:
            plain.close()  # detached by then, unless the handshake failed
        self._reset()

    def _reset(self) -> None:
        self.status = self.size = self._left = 0
        self.body = self._buffer = b""
        self._in_body = self._chunked = False

    def send(self, request: bytes) -> None:
        """Send a request; blocks while the socket buffer is full, which small requests rarely
        cause."""
        self._reset()
        self.sent = time.perf_counter()
        while True:
            try:
                self.sock.send(request)
                return
            except ssl.SSLWantWriteError:
                select.select([], [self.sock], [], 10.0)

    def feed(self, data: bytes) -> int:
        """Process received bytes; return 1 once the answer is complete."""
        self.size += len(data)
        if not self._in_body:
            data = self._buffer + data
            end = data.find(b"\r\n\r\n")
            if end < 0:
                self._buffer = data
                return 0
            head = data[: end + 2].lower()
            self.status = int(head[9:12])
            self._buffer = b""
            self._in_body = True
            at = head.find(b"\r\ncontent-length:")
            if at >= 0:
                self._left = int(head[at + 17 : head.find(b"\r\n", at + 17)])
            self._chunked = b"\r\ntransfer-encoding: chunked" in head
            data = data[end + 4 :]
        if len(self.body) < KEPT:
            self.body += data
        if self._chunked:
            self._buffer = (self._buffer + data)[-len(LAST_CHUNK) :]
            return int(self._buffer == LAST_CHUNK)
        self._left -= len(data)
        return int(self._left <= 0)

    def call(self, request: bytes) -> tuple[int, bytes]:
        """Send one request and wait for its answer."""
        self.send(request)
        while not self.feed(self.receive()):
            pass
        if self._chunked:
            self.body = CHUNK_SIZE.sub(b"", self.body)
        return self.status, self.body

    def receive(self) -> bytes:
        data = self.sock.recv(RECORD)
        if not data:
            raise WorkFailedError("the server closed a connection")
        return data

    def check(self) -> None:
        """Raise WorkFailedError unless the answer is 2xx."""
        if not 200 <= self.status < 300:
            text = " ".join(self.body.decode(errors="replace").split())
            raise WorkFailedError(f"answered {self.status}: {text[:600]}")


class Watcher(Connection):
    """A watch on its own connection; counts events without parsing them."""

    def open(self, request: bytes) -> None:
        """Send the request and wait for the header of the answer."""
        self._tail = b""
        self.send(request)
        whole = 0
        while not (self.status == 200 or whole):
            whole = super().feed(self.receive())
        self.check()

    def feed(self, data: bytes) -> int:
        """Count the events that begin in this piece of the stream."""
        data = self._tail + data
        self._tail = data[1 - len(EVENT) :]
        return data.count(EVENT)


@contextmanager
def connections(address: Address, number: int) -> Iterator[list[Connection]]:
    """Open connections and close them at the end."""
    opened: list[Connection] = []
    try:
        opened.extend(Connection(address) for _ in range(number))
        yield opened
    finally:
        for connection in opened:
            connection.sock.close()


@dataclass(slots=True)
class Sample:
    """Results of one run. The cost is divided by `number`: answers or events."""

    number: int = 0
    size: int = 0
    latencies: array[float] = field(default_factory=lambda: array("d"))


def drive(
    connections: Sequence[Connection],
    make: Maker,
    *,
    seconds: float = 0.0,
    count: int = 0,
    watchers: Sequence[Watcher] = (),
) -> Sample:
    """Keep one request in flight on each connection, for a time or a number of requests.

    With watchers the requests are creates. At most as many creates as there are connections may be
    ahead of their delivery to all watchers. Latencies are from sending a create to its event at the
    first watcher.
    """
    sample = Sample()
    clock = time.perf_counter
    by_fd = {opened.sock.fileno(): opened for opened in (*connections, *watchers)}
    sent_at: dict[bytes, float] = {}
    idle = list(connections)
    sent = events = 0
    now = clock()
    deadline = now + seconds if seconds else float("inf")
    maximum = count or sys.maxsize
    backlog = len(connections) * len(watchers) or 1

    def send() -> None:
        nonlocal sent
        while (
            idle and now < deadline and sent < maximum and sent * len(watchers) - events < backlog
        ):
            request = make()
            if watchers and (name := NAME.search(request)):
                sent_at[name[1]] = now
            idle.pop().send(request)
            sent += 1

    with select.epoll() as poller:
        for fd, connection in by_fd.items():
            connection.sock.setblocking(False)
            poller.register(fd, select.EPOLLIN)
        send()
        while len(idle) < len(connections) or events < sent * len(watchers):
            ready = poller.poll(STALL)
            if not ready:
                raise WorkFailedError(f"nothing came for {STALL} s, {sent} sent, {events} events")
            for fd, _ in ready:
                connection = by_fd[fd]
                try:
                    data = connection.receive()
                except ssl.SSLWantReadError:
                    continue
                done = connection.feed(data)
                if not done:
                    continue
                now = clock()
                if isinstance(connection, Watcher):
                    events += done
                    sample.size += len(data)
                    if connection is watchers[0]:
                        for name in NAME.findall(data):
                            if name in sent_at:
                                sample.latencies.append(now - sent_at.pop(name))
                else:
                    connection.check()
                    idle.append(connection)
                    if not watchers:
                        sample.latencies.append(now - connection.sent)
                        sample.size += connection.size
                if idle:
                    send()
    sample.number = events if watchers else sent
    return sample
