"""Requests to one server: credentials, deadlines, and trying again where that is safe."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from random import uniform
from time import monotonic
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

import orjson

from fairlead import __version__
from fairlead.client.access.model import Access, Proof
from fairlead.client.access.tls import Routes
from fairlead.client.errors import error_of_answer
from fairlead.client.transport.connection import Connection, Head
from fairlead.client.transport.errors import Unreachable
from fairlead.client.transport.pool import Pool, Route

JSON = "application/json"
Query = Mapping[str, Any] | Iterable[tuple[str, Any]]

_SAFE = ("GET", "HEAD", "OPTIONS")
_MOST_TRIES = 10  # of a request that the server asks to send again
_LONGEST_PAUSE = 30.0
_LOOPBACK = ("localhost", "127.0.0.1", "::1")


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked for. `timeout` covers all tries together, up to the head of the answer."""

    method: str
    path: str  # escaped, with what the server's URL has in front left out
    query: Query = ()
    body: bytes = b""
    content_type: str = JSON
    accept: str = JSON
    timeout: float | None = 60.0


class Answer:
    """An answer whose head has come and is a success."""

    def __init__(self, head: Head, connection: Connection) -> None:
        self.status = head.status
        self.headers = head.headers
        self._connection = connection

    def pieces(self) -> AsyncIterator[bytes]:
        return self._connection.pieces()

    async def content(self) -> bytes:
        return b"".join([piece async for piece in self.pieces()])

    async def lines(self) -> AsyncIterator[bytes]:
        """The lines of a body as they become whole; the last one needs no end."""
        begun: list[bytes] = []
        async for piece in self.pieces():
            *whole, rest = piece.split(b"\n")
            for line in whole:
                yield b"".join((*begun, line)) if begun else line
                begun = []
            if rest:
                begun.append(rest)
        if begun:
            yield b"".join(begun)


class Session:
    """Use it on one loop and `close` it at the end. `agent` is what it calls itself."""

    def __init__(self, access: Access, agent: str = "") -> None:
        self.access = access
        self._routes = Routes(access)
        self._pool = Pool()
        self._prefix = urlsplit(access.place.server).path.rstrip("/")
        self._fixed = self._fixed_headers(agent or f"fairlead/{__version__}")

    def _fixed_headers(self, agent: str) -> str:
        parts = urlsplit(self.access.place.server)
        lines = [f"Host: {parts.netloc.rpartition('@')[2]}", f"User-Agent: {agent}"]
        # Packing costs more than sending where nothing has to go over a wire.
        if self.access.compression and parts.hostname not in _LOOPBACK:
            lines.append("Accept-Encoding: gzip")
        who = self.access.impersonation
        if who.user:
            lines.append(f"Impersonate-User: {who.user}")
        lines += [f"Impersonate-Group: {group}" for group in who.groups]
        if who.uid:
            lines.append(f"Impersonate-Uid: {who.uid}")
        for key, values in who.extra.items():
            name = quote(key.lower(), safe="!#$&'*+-.^_`|~")
            lines += [f"Impersonate-Extra-{name}: {value}" for value in values]
        if any("\r" in line or "\n" in line for line in lines):
            raise ValueError("a header must not have line breaks")
        return "\r\n".join(lines)

    async def json(self, request: Request) -> Any:
        """The decoded body of a successful answer; raises ApiError, Unreachable, AccessError."""
        async with self.open(request) as answer:
            content = await answer.content()
        return orjson.loads(content) if content else None

    @asynccontextmanager
    async def open(self, request: Request) -> AsyncIterator[Answer]:
        """A successful answer, to be read inside the context; raises as `json` does."""
        # Not in the time that the server has: a person may have to type something.
        proof = await self.access.credentials.proof()
        limit = asyncio.timeout(self.access.timeout)
        try:
            async with limit, self._opened(request, proof) as answer:
                yield answer
        except TimeoutError:
            if not limit.expired():
                raise
            message = f"{self._named(request)}: no answer within {self.access.timeout:g}s"
            raise Unreachable(message, sent=True) from None

    @asynccontextmanager
    async def _opened(self, request: Request, proof: Proof) -> AsyncIterator[Answer]:
        try:
            async with asyncio.timeout(request.timeout):
                head, connection, route = await self._successful(request, proof)
        except TimeoutError:
            message = f"{self._named(request)}: no answer within {request.timeout:g}s"
            raise Unreachable(message, sent=True) from None
        try:
            yield Answer(head, connection)
        finally:
            self._pool.give_back(connection, route)

    async def _successful(self, request: Request, proof: Proof) -> tuple[Head, Connection, Route]:
        ends = monotonic() + (request.timeout or float("inf"))
        tries = 0
        refreshed = False
        while True:
            head, connection, route = await self._sent(request, proof)
            if head.status < 300:
                return head, connection, route
            content = b"".join([piece async for piece in connection.pieces()])
            self._pool.give_back(connection, route)
            tries += 1
            if head.status == 401 and not refreshed and self.access.credentials.refused(proof):
                refreshed = True
                proof = await self.access.credentials.proof()
                continue
            later = _seconds(head.headers.get("retry-after", ""))
            error = error_of_answer(head.status, content, later)
            if later is None or tries >= _MOST_TRIES or not _may_pass(head.status):
                raise error
            pause = min(later, _LONGEST_PAUSE) + uniform(0, 0.1)
            if monotonic() + pause >= ends:
                raise error
            await asyncio.sleep(pause)
            proof = await self.access.credentials.proof()

    async def _sent(self, request: Request, proof: Proof) -> tuple[Head, Connection, Route]:
        """The head of an answer. A connection that the server has closed meanwhile is no reason to
        fail, and neither is one that is lost while nothing is changed by asking again."""
        route = self._routes.with_proof(proof)
        raw = self._encoded(request, proof)
        while True:
            try:
                connection, used = await self._pool.take(route)
            except Unreachable as error:
                raise Unreachable(f"{self._named(request)}: {error}") from None
            try:
                return await connection.send(raw), connection, route
            except Unreachable as error:
                connection.close()
                self._pool.give_back(connection, route)
                if used and request.method in _SAFE:
                    continue
                raise Unreachable(f"{self._named(request)}: {error}", sent=True) from None
            except BaseException:
                connection.close()
                self._pool.give_back(connection, route)
                raise

    def _named(self, request: Request) -> str:
        """As clients of the API name a request that failed: Get "https://..."."""
        url = self.access.place.server.rstrip("/") + _target(request)
        return f'{request.method.capitalize()} "{url}"'

    def _encoded(self, request: Request, proof: Proof) -> bytes:
        lines = [f"{request.method} {self._prefix}{_target(request)} HTTP/1.1", self._fixed]
        lines.append(f"Accept: {request.accept}")
        if proof.authorization:
            lines.append(f"Authorization: {proof.authorization}")
        if request.body or request.method in ("POST", "PUT", "PATCH"):
            lines.append(f"Content-Type: {request.content_type}")
            lines.append(f"Content-Length: {len(request.body)}")
        return "\r\n".join((*lines, "", "")).encode() + request.body

    async def close(self) -> None:
        await self._pool.close()


def _target(request: Request) -> str:
    query = request.query.items() if isinstance(request.query, Mapping) else request.query
    return f"{request.path}?{urlencode([*query])}" if query else request.path


def _seconds(value: str) -> float | None:
    return float(value) if value.isascii() and value.isdigit() and len(value) < 9 else None


def _may_pass(status: int) -> bool:
    return status == 429 or status >= 500
