"""Reading requests from the bytes of a connection.

The parser is given a head when it is whole and never more than the request at hand, so nothing that
follows a request is taken for a part of it, nor a part of it for the next request.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any
from urllib.parse import unquote

import httptools

from fairlead.wire.incoming.limits import Limits

_END_OF_HEAD = b"\r\n\r\n"
_EMPTY_LINES = re.compile(rb"(?:\r\n)+")
_SLICE = 16 * 1024
_MOST_KNOWN = 4 * 1024
_HEADS_KNOWN = 4
_METHODS = (b"GET", b"DELETE", b"HEAD", b"POST", b"PUT", b"PATCH")
_LINE = re.compile(rb"(" + b"|".join(_METHODS) + rb") (/[!\"$-~]*) HTTP/1\.1\r\n")
_METHOD = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+(?= )")
# Any other token is a method, too: one that nothing here has, not a malformed request.
_PARSED = (*_METHODS, b"CONNECT", b"PRI")
_WITH_BODY = (b"POST", b"PUT", b"PATCH")
_LENGTH, _LENGTH_IN_LOWER_CASE = b"\nContent-Length: ", b"\ncontent-length: "
_MOST_DIGITS = 15


def _without_length(data: bytes, line: re.Match[bytes], end: int) -> tuple[int, bytes]:
    """The length of the body that fields announce in the usual way, 0 if they do not, and the
    fields without that."""
    start = line.end()
    if line[1] not in _WITH_BODY:
        return 0, data[start:end]
    at = data.find(_LENGTH, start - 1, end)
    if at < 0:
        at = data.find(_LENGTH_IN_LOWER_CASE, start - 1, end)
        if at < 0:
            return 0, data[start:end]
    stop = data.index(b"\r\n", at)
    digits = data[at + len(_LENGTH) : stop]
    if not digits.isdigit() or len(digits) > _MOST_DIGITS:
        return 0, data[start:end]
    return int(digits), data[start : at + 1] + data[stop + 2 : end]


class Reader:
    """Reads one request after the other; `next` lets it go on. `on_part` is given the parts of
    bodies. What it cannot take raises Refused, and ends it."""

    __slots__ = (
        "_counted",
        "_fed",
        "_fields",
        "_head_done",
        "_keep_alive",
        "_known",
        "_limits",
        "_method",
        "_on_part",
        "_parser",
        "_passes_all",
        "_target",
        "begun",
        "body_left",
        "complete",
        "overrun",
    )

    def __init__(self, limits: Limits, on_part: Callable[[bytes], None]) -> None:
        self._limits = limits
        self._on_part: Callable[[bytes], None] | None = on_part
        self._parser: httptools.HttpRequestParser | None = None  # while it is needed
        self._known: dict[bytes, Head] = {}  # by their fields, the length left out
        self.next()

    def next(self) -> None:
        self._method = b""  # if the parser was told another
        self._target = b""
        self._fields: list[Field] = []
        self._fed = 0
        self._counted = False  # the parser knows nothing of this request
        self._head_done = False
        self._keep_alive = True
        self._passes_all = False
        self.begun = False  # something of the request has come
        self.complete = False  # all of it has
        self.overrun = False  # and what followed it was lost to the parser
        self.body_left = 0  # bytes of a body whose length is known

    def close(self) -> None:
        """Let go of what holds this reader and what it holds."""
        self._parser = self._on_part = None
        self._known = {}

    def pass_all(self) -> None:
        """What comes from now on is of another protocol: parts, and no end of them."""
        self._passes_all, self.complete = True, False

    def read_head(self, data: bytes) -> tuple[Head | None, bytes]:
        """A head, and what follows it; or None, and what is to be given again with more behind."""
        self.begun = True
        empty = _EMPTY_LINES.match(data)
        if empty is not None:
            data = data[empty.end() :]
            self._fed += empty.end()
            if self._fed > self._limits.head_bytes:
                raise Refused(431, "there are too many empty lines before the request")
        end = data.find(_END_OF_HEAD) + 4
        size = len(data) if end == 3 else end
        if size > self._limits.head_bytes:
            raise Refused(431, "the head of the request is too large")
        if end == 3:
            return None, data
        rest = data[end:]
        line = _LINE.match(data)
        if line is not None and self._known:
            length, fields = _without_length(data, line, end)
            known = self._known.get(fields)
            if known is not None:
                self._counted, self.body_left, self.complete = True, length, not length
                return known.for_target(line[1], line[2], length), rest
        self._fed = end
        whole = data if end == len(data) else data[:end]
        upgrade = self._feed(whole if line is not None else self._in_known_words(whole))
        if not self._head_done:
            raise Refused(400, "malformed HTTP request: no request line")
        head = self._checked_head()
        if upgrade:
            self._read_body_apart(head)
        elif line is not None:
            self._remember(head, *_without_length(data, line, end))
        self.body_left = head.length
        return head, rest

    def _in_known_words(self, head: bytes) -> bytes:
        """The parser knows some methods and refuses all others: it is told of a known one."""
        found = _METHOD.match(head)
        if found is None or found[0] in _PARSED:
            return head
        self._method = found[0]
        return b"POST" + head[found.end() :]

    def _feed(self, data: bytes) -> bool:
        """Give bytes to the parser; whether it found a change of protocols."""
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
        head.keep_alive = self._keep_alive and head.modern
        return head

    def _remember(self, head: Head, length: int, fields: bytes) -> None:
        """Clients send the same header fields again and again. Those that were found good, and are
        followed by nothing or by a body of a length, need not be looked at another time."""
        if not head.is_simple or not head.keep_alive or len(fields) > _MOST_KNOWN:
            return
        if length != head.length or (not length and b"content-length" in head.named):
            return  # the length is written in another way, and would be overlooked
        if len(self._known) >= _HEADS_KNOWN:
            self._known.clear()
        self._known[fields] = head

    def _read_body_apart(self, head: Head) -> None:
        """Nothing here changes protocols. The parser is through with this connection, and what may
        follow is the body of this request, which it leaves unread, or nothing."""
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
        """Whether many small things may be in the bytes that come: chunks, or frames."""
        return self._passes_all or not self.body_left

    def read_body(self, data: bytes) -> bytes:
        """Read of a body, a slice if that is costly; gives what follows."""
        left = self.body_left
        if left:
            part = data if len(data) <= left else data[:left]
            self.body_left = left - len(part)
            if not self._counted:
                self._feed(part)
                return data[left:]
            self.complete = not self.body_left
            if self._on_part is not None:
                self._on_part(part)
            return data[left:]
        part = data[:_SLICE]
        if self._passes_all:
            if self._on_part is not None:
                self._on_part(part)
            return data[len(part) :]
        self._fed += len(part)
        self._feed(part)
        if self.overrun:
            return b""
        if self._fed > self._limits.chunk_overhead_bytes + self._limits.head_bytes:
            raise Refused(400, "too much beside the chunks of the body")
        return data[len(part) :]

    # What the parser finds

    def on_message_begin(self) -> None:
        if self.complete:
            self.overrun = True

    def on_url(self, url: bytes) -> None:
        if not self._head_done:
            self._target += url

    def on_header(self, name: bytes, value: bytes) -> None:
        if not self._head_done:  # trailers are no headers
            self._fields.append((name.lower(), value))

    def on_headers_complete(self) -> None:
        if not self._head_done:
            assert self._parser is not None
            self._head_done = True
            self._keep_alive = self._parser.should_keep_alive()

    def on_body(self, part: bytes) -> None:
        self._fed -= 16 * len(part)
        if not self.overrun and self._on_part is not None:
            self._on_part(part)

    def on_message_complete(self) -> None:
        self.complete = True


def _settled() -> Reader:
    reader = Reader(Limits(), lambda _part: None)
    reader.complete = True
    return reader


# In place of a reader whose request has come as a whole while the next one will not for long.
SETTLED = _settled()


# The head of a request, and what is wrong with it beyond what the parser refuses by itself.
#
# The parser (llhttp, strict) refuses bare line feeds, folded lines, control characters, spaces
# before colons, repeated or odd lengths, and lengths beside transfer codings.

Field = tuple[bytes, bytes]

UNRESERVED = "/:@!$&'()*+,;=-._~"  # in a path: stands for itself, as letters and digits do
_VERSIONS = ("1.1", "1.0")
_ONCE = (b"host", b"transfer-encoding", b"content-length", b"expect")
_HOST = re.compile(rb"[A-Za-z0-9\-._~%!$&'()*+,;=:\[\]]*\Z")


class Refused(Exception):
    """A request that is not looked at further: the status code, and what is wrong."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


class Head:
    """Names in `fields` and `named` are in lower case; `named` has the first value of each. `path`
    is decoded; `target` is what was asked for as it came."""

    __slots__ = (
        "chunked",
        "expects_continue",
        "facts",
        "fields",
        "keep_alive",
        "length",
        "method",
        "modern",
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
        # What others found out from the fields; shared by all heads of a connection that have the
        # same ones.
        self.facts = facts
        self.keep_alive = True
        self.modern = True  # HTTP/1.1 rather than 1.0
        self.chunked = False
        self.expects_continue = False
        self.length = length
        self.target = target
        self.path, self.query = _split(target)

    def check(self, version: str) -> None:
        """Raise Refused for what the parser lets pass and we do not; find out about the body."""
        if version not in _VERSIONS:
            raise Refused(505, f"HTTP/{version} is not spoken here")
        self.modern = version == "1.1"
        named = self.named
        if len(named) != len(self.fields):
            self._check_repeated()
        host = named.get(b"host")
        if host is None:
            if self.modern:
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
            self.expects_continue = self.modern
        if self.method == "CONNECT":
            raise Refused(405, "CONNECT is not supported")

    def _check_repeated(self) -> None:
        names = [name for name, _ in self.fields]
        for name in _ONCE:
            if names.count(name) > 1:
                raise Refused(400, f"too many {name.decode()} headers")

    def _check_coding(self, coding: bytes) -> None:
        if not self.modern:
            raise Refused(400, "transfer codings came with HTTP/1.1")
        if coding.lower() != b"chunked":
            raise Refused(501, "no transfer coding but chunked is supported")
        self.chunked = True

    @property
    def has_body(self) -> bool:
        return self.chunked or self.length > 0

    @property
    def is_simple(self) -> bool:
        """Whether what follows, if anything does, is a body whose length was said."""
        return not self.chunked and not self.expects_continue

    def for_target(self, method: bytes, target: bytes, length: int) -> Head:
        """The head of another request with the same fields, but for the length, of a simple one."""
        return Head(method, target, self.fields, self.named, self.facts, length)


def _split(target: bytes) -> tuple[str, bytes]:
    """The decoded path and the raw query."""
    raw, query = raw_parts(target)
    path = raw.decode("ascii", "surrogateescape")
    return (unquote(path) if "%" in path else path), query


def raw_parts(target: bytes) -> tuple[bytes, bytes]:
    """The path and the query, still encoded."""
    if target[:1] == b"/" and target.find(b"#") < 0:  # `in` tries bytes as a number first
        path, _, query = target.partition(b"?")
        return path, query
    try:
        parsed: Any = httptools.parse_url(target)  # whose parts may be None, whatever is said
    except httptools.HttpParserInvalidURLError:
        return b"", b""  # CONNECT and `OPTIONS *`; nothing is served there
    return parsed.path or b"/", parsed.query or b""
