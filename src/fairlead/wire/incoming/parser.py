"""Parses requests from the bytes of a connection.

llhttp gets only complete heads and never more than the current request, so bytes behind a request
are never taken for part of it, nor part of it for the next request.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final
from urllib.parse import unquote

import httptools

from fairlead.wire.incoming.limits import Limits

_END_OF_HEAD: Final = b"\r\n\r\n"
_EMPTY_LINES: Final = re.compile(rb"(?:\r\n)+")
_SLICE: Final = 16 * 1024
_MAX_CACHED_BYTES: Final = 4 * 1024
_MAX_CACHED_HEADS: Final = 4
_METHODS: Final[tuple[bytes, ...]] = (b"GET", b"DELETE", b"HEAD", b"POST", b"PUT", b"PATCH")
_LINE: Final = re.compile(rb"(" + b"|".join(_METHODS) + rb") (/[!\"$-~]*) HTTP/1\.1\r\n")
_METHOD: Final = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+(?= )")
# Any other token is a valid method that nothing here serves, not a malformed request.
_LLHTTP_METHODS = (*_METHODS, b"CONNECT", b"PRI")
_WITH_BODY: Final[tuple[bytes, ...]] = (b"POST", b"PUT", b"PATCH")
_LENGTH, _LENGTH_IN_LOWER_CASE = b"\nContent-Length: ", b"\ncontent-length: "
_MAX_DIGITS: Final = 15


def _split_content_length(data: bytes, line: re.Match[bytes], end: int) -> tuple[int, bytes]:
    """Return the Content-Length in its usual spelling (0 if absent), and the header fields without
    it."""
    start = line.end()
    if line[1] not in _WITH_BODY:
        return 0, data[start:end]
    position = data.find(_LENGTH, start - 1, end)
    if position < 0:
        position = data.find(_LENGTH_IN_LOWER_CASE, start - 1, end)
        if position < 0:
            return 0, data[start:end]
    stop = data.index(b"\r\n", position)
    digits = data[position + len(_LENGTH) : stop]
    if not digits.isdigit() or len(digits) > _MAX_DIGITS:
        return 0, data[start:end]
    return int(digits), data[start : position + 1] + data[stop + 2 : end]


class Reader:
    """Reads one request after the other; `next` prepares for the following one. `on_part` gets the
    parts of bodies. Raises Refused, after which the reader is unusable."""

    __slots__ = (
        "_bytes_fed",
        "_counted",
        "_fields",
        "_head_cache",
        "_head_done",
        "_keep_alive",
        "_limits",
        "_method",
        "_on_part",
        "_parser",
        "_passes_all",
        "_target",
        "body_left",
        "complete",
        "overrun",
        "started",
    )

    def __init__(self, limits: Limits, on_part: Callable[[bytes], None]) -> None:
        self._limits = limits
        self._on_part: Callable[[bytes], None] | None = on_part
        self._parser: httptools.HttpRequestParser | None = None  # created on demand
        self._head_cache: dict[bytes, Head] = {}  # by fields without Content-Length
        self.next()

    def next(self) -> None:
        self._method = b""  # if llhttp got another one
        self._target = b""
        self._fields: list[Field] = []
        self._bytes_fed = 0
        self._counted = False  # the body is counted here, not parsed by llhttp
        self._head_done = False
        self._keep_alive = True
        self._passes_all = False
        self.started = False  # part of the request has arrived
        self.complete = False  # all of it has
        self.overrun = False  # bytes behind it were lost to llhttp
        self.body_left = 0  # of a body with Content-Length

    def close(self) -> None:
        """Break reference cycles and free memory."""
        self._parser = self._on_part = None
        self._head_cache = {}

    def pass_all(self) -> None:
        """Pass all further bytes to `on_part`: another protocol follows."""
        self._passes_all, self.complete = True, False

    def read_head(self, data: bytes) -> tuple[Head | None, bytes]:
        """Return a head and the bytes behind it; or None and the bytes to pass again with more
        appended."""
        self.started = True
        empty = _EMPTY_LINES.match(data)
        if empty is not None:
            data = data[empty.end() :]
            self._bytes_fed += empty.end()
            if self._bytes_fed > self._limits.head_bytes:
                raise Refused(431, "there are too many empty lines before the request")
        end = data.find(_END_OF_HEAD) + 4
        size = len(data) if end == 3 else end
        if size > self._limits.head_bytes:
            raise Refused(431, "the head of the request is too large")
        if end == 3:
            return None, data
        rest = data[end:]
        line = _LINE.match(data)
        if line is not None and self._head_cache:
            length, fields = _split_content_length(data, line, end)
            cached = self._head_cache.get(fields)
            if cached is not None:
                self._counted, self.body_left, self.complete = True, length, not length
                return cached.for_target(line[1], line[2], length), rest
        self._bytes_fed = end
        head_data = data if end == len(data) else data[:end]
        upgrade = self._feed(head_data if line is not None else self._with_known_method(head_data))
        if not self._head_done:
            raise Refused(400, "malformed HTTP request: no request line")
        head = self._checked_head()
        if upgrade:
            self._parse_upgrade_body(head)
        elif line is not None:
            self._cache_head(head, *_split_content_length(data, line, end))
        self.body_left = head.length
        return head, rest

    def _with_known_method(self, head: bytes) -> bytes:
        """Replace an unknown method by POST, because llhttp rejects it; `_method` keeps it."""
        match = _METHOD.match(head)
        if match is None or match[0] in _LLHTTP_METHODS:
            return head
        self._method = match[0]
        return b"POST" + head[match.end() :]

    def _feed(self, data: bytes) -> bool:
        """Feed llhttp; returns whether it found an upgrade."""
        if self._parser is None:
            self._parser = httptools.HttpRequestParser(self)
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            return True
        except httptools.HttpParserError as error:
            if not self.complete:
                raise Refused(400, f"malformed HTTP request: {error}") from None
            self.overrun = True
        return False

    def _checked_head(self) -> Head:
        assert self._parser is not None
        if len(self._fields) > self._limits.header_fields:
            raise Refused(431, "the request has too many header fields")
        fields = self._fields
        method = self._method or self._parser.get_method()
        head = Head(method, self._target, fields, dict(reversed(fields)), {})
        head.check(self._parser.get_http_version())
        head.keep_alive = self._keep_alive and head.is_http_1_1
        return head

    def _cache_head(self, head: Head, length: int, fields: bytes) -> None:
        """Cache a checked head by its field bytes: clients repeat the same fields. Only heads
        without a body or with a Content-Length are cached."""
        if not head.is_simple or not head.keep_alive or len(fields) > _MAX_CACHED_BYTES:
            return
        if length != head.length or (not length and b"content-length" in head.named):
            return  # the length has an unusual spelling that `_split_content_length` misses
        if len(self._head_cache) >= _MAX_CACHED_HEADS:
            self._head_cache.clear()
        self._head_cache[fields] = head

    def _parse_upgrade_body(self, head: Head) -> None:
        """Read the body of an upgrade request with a second parser: upgrades are not done here, and
        llhttp stops at them. The connection closes after the request."""
        head.keep_alive = False
        self.complete = True
        if not head.has_body:
            return
        self._parser = httptools.HttpRequestParser(self)
        length = b"Content-Length: %d" % head.length
        framing = b"Transfer-Encoding: chunked" if head.chunked else length
        self._parser.feed_data(b"POST / HTTP/1.1\r\n" + framing + b"\r\n\r\n")
        self.complete = self.overrun = False

    @property
    def is_costly(self) -> bool:
        """Whether the input may hold many small items: chunks or frames."""
        return self._passes_all or not self.body_left

    def read_body(self, data: bytes) -> bytes:
        """Read part of a body, at most a slice if it is costly; returns the bytes behind it."""
        remaining = self.body_left
        if remaining:
            part = data if len(data) <= remaining else data[:remaining]
            self.body_left = remaining - len(part)
            if not self._counted:
                self._feed(part)
                return data[remaining:]
            self.complete = not self.body_left
            if self._on_part is not None:
                self._on_part(part)
            return data[remaining:]
        part = data[:_SLICE]
        if self._passes_all:
            if self._on_part is not None:
                self._on_part(part)
            return data[len(part) :]
        self._bytes_fed += len(part)
        self._feed(part)
        if self.overrun:
            return b""
        if self._bytes_fed > self._limits.chunk_overhead_bytes + self._limits.head_bytes:
            raise Refused(400, "too much beside the chunks of the body")
        return data[len(part) :]

    # Callbacks of llhttp

    def on_message_begin(self) -> None:
        if self.complete:
            self.overrun = True

    def on_url(self, url: bytes) -> None:
        if not self._head_done:
            self._target += url

    def on_header(self, name: bytes, value: bytes) -> None:
        if not self._head_done:  # trailers are ignored
            self._fields.append((name.lower(), value))

    def on_headers_complete(self) -> None:
        if not self._head_done:
            assert self._parser is not None
            self._head_done = True
            self._keep_alive = self._parser.should_keep_alive()

    def on_body(self, part: bytes) -> None:
        self._bytes_fed -= 16 * len(part)
        if not self.overrun and self._on_part is not None:
            self._on_part(part)

    def on_message_complete(self) -> None:
        self.complete = True


def _idle_reader() -> Reader:
    reader = Reader(Limits(), lambda _part: None)
    reader.complete = True
    return reader


# Replaces the reader of a connection whose answer stays open; shared, to save memory.
IDLE_READER: Final = _idle_reader()


# Request heads, with checks beyond those of llhttp. In strict mode llhttp rejects bare line feeds,
# folded lines, control characters, spaces before colons, repeated or odd lengths, and lengths
# beside transfer codings.

Field = tuple[bytes, bytes]

UNRESERVED: Final = "/:@!$&'()*+,;=-._~"  # in a path: not percent-encoded, like letters and digits
_VERSIONS: Final[tuple[str, ...]] = ("1.1", "1.0")
_SINGLE_HEADERS: Final[tuple[bytes, ...]] = (
    b"host",
    b"transfer-encoding",
    b"content-length",
    b"expect",
)
_HOST: Final = re.compile(rb"[A-Za-z0-9\-._~%!$&'()*+,;=:\[\]]*\Z")


class Refused(Exception):
    """The request is rejected with a status code and a message."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


class Head:
    """A request head. Names in `fields` and `named` are in lower case; `named` has the first value
    of each. `path` is decoded; `target` is the raw request target."""

    __slots__ = (
        "chunked",
        "expects_continue",
        "facts",
        "fields",
        "is_http_1_1",
        "keep_alive",
        "length",
        "method",
        "named",
        "path",
        "query",
        "target",
    )

    def __init__(
        self,
        method: bytes,
        target: bytes,
        fields: list[Field],
        named: dict[bytes, bytes],
        facts: dict[Any, Any],
        length: int = 0,
    ) -> None:
        self.method = method.decode("ascii")
        self.fields = fields
        self.named = named
        # Cache for values derived from the fields; shared by all heads of a connection with equal
        # fields.
        self.facts = facts
        self.keep_alive = True
        self.is_http_1_1 = True  # HTTP/1.1 rather than 1.0
        self.chunked = False
        self.expects_continue = False
        self.length = length
        self.target = target
        self.path, self.query = _split(target)

    def check(self, version: str) -> None:
        """Raise Refused for heads that llhttp accepts and we do not; set the body's framing."""
        if version not in _VERSIONS:
            raise Refused(505, f"HTTP/{version} is not spoken here")
        self.is_http_1_1 = version == "1.1"
        named = self.named
        if len(named) != len(self.fields):
            self._check_repeated()
        host = named.get(b"host")
        if host is None:
            if self.is_http_1_1:
                raise Refused(400, "missing required Host header")
        elif not _HOST.match(host):
            raise Refused(400, "malformed Host header")
        if b"transfer-encoding" in named:
            self._check_coding(named[b"transfer-encoding"])
        elif b"content-length" in named:
            self.length = int(named[b"content-length"])
        if b"expect" in named:
            if named[b"expect"].lower() != b"100-continue":
                raise Refused(417, "only 100-continue can be expected")
            self.expects_continue = self.is_http_1_1
        if self.method == "CONNECT":
            raise Refused(405, "CONNECT is not supported")

    def _check_repeated(self) -> None:
        names = [name for name, _ in self.fields]
        for name in _SINGLE_HEADERS:
            if names.count(name) > 1:
                raise Refused(400, f"too many {name.decode()} headers")

    def _check_coding(self, coding: bytes) -> None:
        if not self.is_http_1_1:
            raise Refused(400, "transfer codings came with HTTP/1.1")
        if coding.lower() != b"chunked":
            raise Refused(501, "the only supported transfer coding is chunked")
        self.chunked = True

    @property
    def has_body(self) -> bool:
        return self.chunked or self.length > 0

    @property
    def is_simple(self) -> bool:
        """Whether it has no body, or one with a Content-Length."""
        return not self.chunked and not self.expects_continue

    def for_target(self, method: bytes, target: bytes, length: int) -> Head:
        """Return a head with the same fields and another target and length. Only for simple
        heads."""
        return Head(method, target, self.fields, self.named, self.facts, length)


def _split(target: bytes) -> tuple[str, bytes]:
    """Return the decoded path and the raw query."""
    raw, query = raw_parts(target)
    path = raw.decode("ascii", "surrogateescape")
    return (unquote(path) if "%" in path else path), query


def raw_parts(target: bytes) -> tuple[bytes, bytes]:
    """Return the path and the query, both still encoded."""
    if target[:1] == b"/" and target.find(b"#") < 0:  # `in` is slower: tries an integer first
        path, _, query = target.partition(b"?")
        return path, query
    try:
        parsed: Any = httptools.parse_url(target)  # parts may be None despite the type stubs
    except httptools.HttpParserInvalidURLError:
        return b"", b""  # CONNECT and `OPTIONS *`: nothing is served there
    return parsed.path or b"/", parsed.query or b""
