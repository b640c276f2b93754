"""Reading requests from the bytes of a connection.

The parser is given a head when it is whole and never more than the request at hand, so nothing that
follows a request is taken for a part of it, nor a part of it for the next request.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import httptools

from fairlead.http.head import Field, Head, Refused
from fairlead.http.limits import Limits

_END_OF_HEAD = b"\r\n\r\n"
_SLICE = 64 * 1024
_MOST_KNOWN = 4 * 1024
_LINE = re.compile(rb"(GET|DELETE|HEAD) (/[!\"$-~]*) HTTP/1\.1\r\n")


class Reader:
    """Reads one request after the other; `next` lets it go on. `on_part` is given the parts of
    bodies. What it cannot take raises Refused, and ends it."""

    __slots__ = (
        "_fed",
        "_fields",
        "_head_done",
        "_keep_alive",
        "_known",
        "_known_fields",
        "_limits",
        "_on_part",
        "_parser",
        "_target",
        "begun",
        "body_left",
        "complete",
        "overrun",
    )

    def __init__(self, limits: Limits, on_part: Callable[[bytes], None]) -> None:
        self._limits = limits
        self._on_part: Callable[[bytes], None] | None = on_part
        self._parser: httptools.HttpRequestParser | None = httptools.HttpRequestParser(self)
        self._known: Head | None = None
        self._known_fields = b""
        self.next()

    def next(self) -> None:
        self._target = b""
        self._fields: list[Field] = []
        self._fed = 0
        self._head_done = False
        self._keep_alive = True
        self.begun = False  # something of the request has come
        self.complete = False  # all of it has
        self.overrun = False  # and what followed it was lost to the parser
        self.body_left = 0  # bytes of a body whose length is known

    def close(self) -> None:
        """Let go of what holds this reader and what it holds."""
        self._parser = self._known = self._on_part = None

    def read_head(self, data: bytes) -> tuple[Head | None, bytes]:
        """A head, and what follows it; or None, and what is to be given again with more behind."""
        self.begun = True
        end = data.find(_END_OF_HEAD) + 4
        size = len(data) if end == 3 else end
        if size > self._limits.head_bytes:
            raise Refused(431, "the head of the request is too large")
        if end == 3:
            return None, data
        rest = data[end:]
        line = _LINE.match(data)
        if line is not None and self._known and data[line.end() : end] == self._known_fields:
            self.complete = True
            return self._known.for_target(line[1], line[2]), rest
        self._fed = end
        upgrade = self._feed(data if end == len(data) else data[:end])
        if not self._head_done:  # empty lines before a request
            return None, rest
        head = self._checked_head()
        if upgrade:
            self._read_body_apart(head)
        elif line is not None:
            self._remember(head, data[line.end() : end])
        self.body_left = head.length
        return head, rest

    def _feed(self, data: bytes) -> bool:
        """Give bytes to the parser; whether it found a change of protocols."""
        assert self._parser is not None
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
        head = Head(self._parser.get_method(), self._target, self._fields)
        head.check(self._parser.get_http_version())
        head.keep_alive = self._keep_alive and head.modern
        return head

    def _remember(self, head: Head, fields: bytes) -> None:
        """Clients send the same header fields again and again. Those that were found good and
        announce nothing behind the head need not be looked at another time."""
        if head.is_all and head.keep_alive and len(fields) <= _MOST_KNOWN:
            self._known, self._known_fields = head, fields

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

    def read_body(self, data: bytes) -> bytes:
        """Read of a body; gives what follows."""
        left = self.body_left
        if left:
            part = data[:left]
            self.body_left = left - len(part)
            self._feed(part)
            return data[left:]
        part = data[:_SLICE]
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
