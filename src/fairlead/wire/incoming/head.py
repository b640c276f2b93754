"""The head of a request, and what is wrong with it beyond what the parser refuses by itself.

The parser (llhttp, strict) refuses bare line feeds, folded lines, control characters, spaces before
colons, repeated or odd lengths, and lengths beside transfer codings.
"""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import unquote

import httptools

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
