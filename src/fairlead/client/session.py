"""Sends requests to one server: credentials, deadlines and safe retries."""

import asyncio
import random
import re
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Mapping
from contextlib import aclosing, asynccontextmanager
from itertools import count
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode, urlsplit

import orjson

from fairlead import __version__
from fairlead.client.access.model import Access, AccessError, Proof
from fairlead.client.access.tls import Routes
from fairlead.client.errors import ApiError, NotThisApi, Unreachable, error_of_answer
from fairlead.wire import byte_streams
from fairlead.wire.outgoing.client_config import LOOPBACK
from fairlead.wire.outgoing.connection import Connection
from fairlead.wire.outgoing.pool import Pool
from fairlead.wire.outgoing.response import CallError

JSON = "application/json"
Query = Mapping[str, Any] | Iterable[tuple[str, Any]]

_SAFE = ("GET", "HEAD", "OPTIONS")
_MAX_TRIES = 10  # if the server asks for retries
_MAX_REPEATS = 3  # of a safe request whose connection was lost
_MAX_PAUSE = 30.0
_SECONDS_TO_CONNECT = 30.0
_MAX_CONCURRENT = 64  # concurrent requests other than streams
_PATH = "%/?#[]@!$&'()*+,;=:~"  # characters not escaped in a path
_WARNING = r'299 \S+ "((?:[^"\\]|\\.)*)"'


class Request(NamedTuple):
    """A request. `timeout` covers all attempts and, unless the body is streamed, the body. With
    `upgrade`, header lines that ask for another protocol, it is sent once, on a new connection."""

    method: str
    path: str  # escaped, without the path of the server's URL
    query: Query = ()
    body: bytes = b""
    content_type: str = JSON
    accept: str = JSON
    timeout: float | None = 60.0
    upgrade: tuple[str, ...] = ()


class Forwarded(NamedTuple):
    """The head of a request that is passed on: its target as it is sent, and its header lines."""

    method: str
    target: str
    headers: tuple[str, ...]
    has_body: bool = False
    upgrades: bool = False


class Session:
    """A session with one server. Use it on one event loop and `close` it. `agent` is the
    User-Agent."""

    def __init__(self, access: Access, agent: str = "") -> None:
        self.access = access
        self.on_warning: Callable[[str], None] | None = None  # called with warnings
        self.streams_lists = True  # until the server refuses a watch that begins with a list
        self._routes = Routes(access)
        self._pool = Pool(_SECONDS_TO_CONNECT)
        self._prefix = urlsplit(access.place.server).path.rstrip("/")
        self._identity = self._identity_headers()
        self._fixed = self._fixed_headers(agent or f"fairlead/{__version__}")
        self._concurrent = asyncio.Semaphore(_MAX_CONCURRENT)

    def _fixed_headers(self, agent: str) -> str:
        lines = [*self._identity, f"User-Agent: {agent}"]
        # On loopback, compression costs more than it saves.
        host = urlsplit(self.access.place.server).hostname
        if self.access.compression and host not in LOOPBACK:
            lines.append("Accept-Encoding: gzip")
        return _joined(lines)

    def _identity_headers(self) -> list[str]:
        """The header lines that name the server, and the user to act as."""
        netloc = urlsplit(self.access.place.server).netloc
        lines = [f"Host: {netloc.rpartition('@')[2]}"]
        who = self.access.impersonation
        if who.user:
            lines.append(f"Impersonate-User: {who.user}")
        lines += [f"Impersonate-Group: {group}" for group in who.groups]
        if who.uid:
            lines.append(f"Impersonate-Uid: {who.uid}")
        for key, values in who.extra.items():
            name = quote(key.lower(), safe="!#$&'*+-.^_`|~")
            lines += [f"Impersonate-Extra-{name}: {value}" for value in values]
        return lines

    @asynccontextmanager
    async def relay(self, forwarded: Forwarded) -> AsyncIterator[Connection]:
        """A connection to the server, over which a request of somebody else is sent with our
        credentials. The caller sends its body and reads the answer. Raises AccessError and
        Unreachable."""
        proof = await self.access.credentials.proof()
        own = "authorization" not in {line.partition(":")[0].lower() for line in forwarded.headers}
        lines = [f"{forwarded.method} {forwarded.target} HTTP/1.1", *self._identity]
        if own and proof.authorization:
            lines.append(f"Authorization: {proof.authorization}")
        head = f"{_joined([*lines, *forwarded.headers])}\r\n\r\n".encode("latin-1")
        route, method = self._routes.with_proof(proof), forwarded.method.encode()
        try:
            if forwarded.has_body:
                connection = await self._pool.connect(route)
                connection.start(method, head)
            else:
                upgrades = forwarded.upgrades
                connection = await self._pool.request(route, method, head, upgrades=upgrades)
        except CallError as error:
            raise Unreachable(str(error)) from None
        try:
            yield connection
            if connection.status == 401:
                self.access.credentials.refused(proof)
        finally:
            self._pool.release(connection)

    async def json(self, request: Request) -> Any:
        """The decoded body of a successful response; raises ApiError, Unreachable, AccessError."""
        async with self._concurrent, self.open(request) as answer:
            try:
                content = await answer.content()
                return orjson.loads(content) if content else None
            except Unreachable as error:
                raise Unreachable(f"{self._named(request)}: {error}", sent=True) from None
            except orjson.JSONDecodeError as error:
                raise NotThisApi(f"{self._named(request)}: not JSON: {error}") from None

    async def object(self, request: Request) -> dict[str, Any]:
        """The object in a successful response; raises as `json` does."""
        value = await self.json(request)
        if not isinstance(value, dict):
            raise NotThisApi(f"{self._named(request)}: the answer is not an object")
        return value

    @asynccontextmanager
    async def open(self, request: Request) -> AsyncIterator["Answer"]:
        """A successful response, to be read inside the context; raises as `json` does."""
        # Before the deadline starts: a credential plugin may prompt the user.
        proof = await self.access.credentials.proof()
        now = asyncio.get_running_loop().time()
        limits = [limit for limit in (request.timeout, self.access.timeout) if limit is not None]
        ends = now + min(limits) if limits else None
        try:
            async with asyncio.timeout_at(ends):
                connection = await self._successful(request, proof, ends)
        except TimeoutError:
            message = f"{self._named(request)}: no answer within {min(limits):g}s"
            raise Unreachable(message, sent=True) from None
        stays = None if self.access.timeout is None else now + self.access.timeout
        try:
            yield Answer(connection, ends, stays)
        finally:
            self._pool.release(connection)

    async def _successful(self, request: Request, proof: Proof, ends: float | None) -> Connection:
        refreshed = False
        for tries in count(1):
            connection = await self._sent(request, proof)
            self._warn(connection)
            status = connection.status
            if status < 300:
                return connection
            error = await self._refusal(connection)
            if status == 401 and not refreshed and self.access.credentials.refused(proof):
                refreshed = True
                proof = await self.access.credentials.proof()
                continue
            if error.retry_after is None or tries >= _MAX_TRIES or not _may_pass(status):
                raise error
            pause = min(error.retry_after, _MAX_PAUSE) + random.uniform(0, 0.1)
            if ends is not None and asyncio.get_running_loop().time() + pause >= ends:
                raise error
            await asyncio.sleep(pause)
            proof = await self.access.credentials.proof()
        raise AssertionError

    def _warn(self, connection: Connection) -> None:
        warnings = _headers(connection).get("warning")
        if warnings and self.on_warning is not None:
            for text in re.findall(_WARNING, warnings):
                self.on_warning(re.sub(r"\\(.)", r"\1", text))

    async def _refusal(self, connection: Connection) -> ApiError:
        """The error of an unsuccessful response. Redirects count as errors and are not followed,
        because credentials must go to the configured server only."""
        status, headers = connection.status, _headers(connection)
        try:
            content = await connection.read_all(_MAX_BYTES)
        except CallError:
            content = b""  # the status suffices
        finally:
            self._pool.release(connection)
        if status < 400:
            where = headers.get("location", "elsewhere")
            content = f"the server redirects to {where}, which is not followed".encode()
        return error_of_answer(status, content, _seconds(headers.get("retry-after", "")))

    async def _sent(self, request: Request, proof: Proof) -> Connection:
        """Send a request and wait for the head of its response. A safe request is retried on a new
        connection if its connection is lost."""
        route = self._routes.with_proof(proof)
        raw = self._encoded(request, proof)
        method = request.method.encode()
        pauses = Pauses()
        repeats = 0
        while True:
            connection = None if request.upgrade else self._pool.idle(route)
            was_idle = connection is not None
            try:
                connection = connection or await self._pool.connect(route)
            except CallError as error:
                raise Unreachable(f"{self._named(request)}: {error}") from None
            connection.start(method, raw, upgrades=bool(request.upgrade))
            try:
                await connection.read_head()
                return connection
            except CallError as error:
                connection.abort()
                is_once = request.method not in _SAFE or bool(request.upgrade)
                if is_once or repeats >= _MAX_REPEATS:
                    raise Unreachable(f"{self._named(request)}: {error}", sent=True) from None
            except BaseException:
                connection.abort()
                raise
            if not was_idle:  # a reused one may just have been closed while idle
                repeats += 1
                await asyncio.sleep(pauses.next())

    def _named(self, request: Request) -> str:
        """The request as error messages name it: Get "https://..."."""
        url = self.access.place.server.rstrip("/") + _target(request)
        return f'{request.method.capitalize()} "{url}"'

    def _encoded(self, request: Request, proof: Proof) -> bytes:
        lines = [f"{request.method} {self._prefix}{_target(request)} HTTP/1.1"]
        lines += [f"Accept: {request.accept}", *request.upgrade]
        if proof.authorization:
            lines.append(f"Authorization: {proof.authorization}")
        if request.body or request.method in ("POST", "PUT", "PATCH"):
            lines.append(f"Content-Type: {request.content_type}")
            lines.append(f"Content-Length: {len(request.body)}")
        return f"{_joined(lines)}\r\n{self._fixed}\r\n\r\n".encode() + request.body

    async def close(self) -> None:
        self._pool.close()
        await asyncio.sleep(0)  # aborted transports close in the next iteration of the loop


def _joined(lines: list[str]) -> str:
    if any("\r" in line or "\n" in line for line in lines):
        raise AccessError("a request must not have line breaks in its headers")
    return "\r\n".join(lines)


def _target(request: Request) -> str:
    query = request.query.items() if isinstance(request.query, Mapping) else request.query
    pairs = [(name, _text(value)) for name, value in query if value is not None]
    path = quote(request.path, safe=_PATH)
    if not pairs:
        return path
    return f"{path}{'&' if '?' in path else '?'}{urlencode(pairs)}"


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _seconds(value: str) -> float | None:
    return float(value) if value.isascii() and value.isdigit() and len(value) < 9 else None


def _may_pass(status: int) -> bool:
    return status == 429 or status >= 500


# Responses

_MAX_BYTES = 512 * 1024 * 1024  # of a body or a line that is read as a whole
_TOO_LATE = "the answer did not come to its end in time"


class Answer:
    """A successful response whose head has been received."""

    def __init__(
        self,
        connection: Connection,
        ends: float | None = None,
        stays: float | None = None,
    ) -> None:
        self.status = connection.status
        self._connection = connection
        self._ends = ends  # deadline for the whole body
        self._stays = stays  # deadline for the end of a streamed body; None: no deadline

    @property
    def headers(self) -> Mapping[str, str]:
        return _headers(self._connection)

    async def pieces(self) -> AsyncGenerator[bytes, None]:
        """Yield the body as it arrives; raises Unreachable if it is cut off or too late."""
        try:
            async with aclosing(self._connection.pieces()) as pieces:
                while True:
                    async with asyncio.timeout_at(self._stays):
                        piece = await anext(pieces, None)
                    if piece is None:
                        return
                    yield piece
        except TimeoutError:
            raise Unreachable(_TOO_LATE, sent=True) from None
        except CallError as error:
            raise Unreachable(str(error), sent=True) from None

    async def take_over(self) -> "byte_streams.ByteStream":
        """The connection, which has switched protocols; raises Unreachable."""

        async def hand_over(protocol: byte_streams.ProtocolFactory) -> None:
            self._connection.hand_over(protocol())

        try:
            return await byte_streams.open_stream(hand_over)
        except CallError as error:
            raise Unreachable(str(error), sent=True) from None

    async def content(self) -> bytes:
        """The whole body; raises Unreachable, also at the deadline."""
        try:
            async with asyncio.timeout_at(self._ends):
                return await self._connection.read_all(_MAX_BYTES)
        except TimeoutError:
            raise Unreachable(_TOO_LATE, sent=True) from None
        except CallError as error:
            raise Unreachable(str(error), sent=True) from None

    async def lines(self) -> AsyncGenerator[bytes, None]:
        """Yield the lines of the body as they arrive; the last needs no line break."""
        begun: list[bytes] = []
        size = 0
        async for piece in self.pieces():
            *lines, rest = piece.split(b"\n")
            for line in lines:
                yield b"".join((*begun, line)) if begun else line
                begun, size = [], 0
            if rest:
                begun.append(rest)
                size += len(rest)
                if size > _MAX_BYTES:
                    raise Unreachable("the answer is too long", sent=True)
        if begun:
            yield b"".join(begun)


def _headers(connection: Connection) -> dict[str, str]:
    """The headers of a response; the values of a repeated one are joined."""
    headers: dict[str, str] = {}
    for name, value in connection.headers:
        key, text = name.decode("latin-1"), value.decode("latin-1").strip()
        headers[key] = f"{headers[key]}, {text}" if key in headers else text
    return headers


# Backoff


class Pauses:
    """Exponential backoff with a limit; call `reset` after a success."""

    def __init__(self, first: float = 0.1, longest: float = 30.0) -> None:
        self._first = first
        self._longest = longest
        self._length = first

    def next(self) -> float:
        """The next pause, with jitter, so that clients that failed together do not retry
        together."""
        length = self._length
        self._length = min(2 * length, self._longest)
        return random.uniform(0.5, 1) * length

    def reset(self) -> None:
        self._length = self._first
