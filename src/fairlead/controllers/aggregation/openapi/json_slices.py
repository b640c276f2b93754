"""Parses large JSON documents in pieces: the C parser holds the GIL until it is done, even in a
thread.

A piece is a value two levels deep, such as one path or definition. Pieces are located by a token
scan and parsed on demand.
"""

from __future__ import annotations

import re
from typing import Any

import orjson

MAX_DEPTH = 200
MAX_PIECES = 20_000  # ten times as many as the largest documents have
MAX_TOKENS = 4_000_000  # scanning these takes a second or two
MAX_PIECE_BYTES = 1024 * 1024  # bytes; parsing takes about 10 ms
MAX_PARSED = 8 * 1024 * 1024  # bytes of all pieces together
_LEVEL = 2
# Strings and brackets. An unterminated string matches to the end, without backtracking.
_TOKENS = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|[\[\]{}]', re.DOTALL)
_OPENING, _QUOTE = frozenset(b"[{"), ord('"')


class Unreadable(ValueError):
    """A document that cannot be used; the text says why."""


class Pieces:
    """A document whose upper levels are parsed: in `outline`, pieces are replaced by their
    index."""

    def __init__(self, raw: bytes) -> None:
        """Scan the document; raises Unreadable."""
        self._raw = raw
        self._left = MAX_PARSED
        self._spans = spans = _spans(raw)
        upper: list[bytes] = []
        finished = 0
        for number, (start, end) in enumerate(spans):
            upper += (raw[finished:start], b"%d" % number)
            finished = end
        self.outline = _parsed(b"".join([*upper, raw[finished:]]))

    def members(self, name: str) -> dict[str, Any]:
        """The unparsed pieces of a top-level member, by key."""
        value = self.outline.get(name) if isinstance(self.outline, dict) else None
        if value is None:
            return {}
        if not isinstance(value, dict):
            raise Unreadable(f"{name} is not an object")
        return value

    def parsed(self, piece: Any) -> dict[str, Any]:
        """Parse a piece, which must be an object; raises Unreadable."""
        if isinstance(piece, int) and 0 <= piece < len(self._spans):
            start, end = self._spans[piece]
            self._left -= end - start
            if self._left < 0:
                raise Unreadable(f"the needed part of it is longer than {MAX_PARSED} bytes")
            value = _parsed(self._raw[start:end])
            if isinstance(value, dict):
                return value
        raise Unreadable("a path or a definition is not an object")


def _spans(raw: bytes) -> list[tuple[int, int]]:
    spans: list[tuple[int, int]] = []
    depth = start = 0
    for number, token in enumerate(_TOKENS.finditer(raw)):
        if number > MAX_TOKENS:
            raise Unreadable("it has too many parts")
        position = token.start()
        sign = raw[position]
        if sign == _QUOTE:
            continue
        if sign in _OPENING:
            if depth == _LEVEL:
                start = position
            depth += 1
            if depth > MAX_DEPTH:
                raise Unreadable(f"it is nested deeper than {MAX_DEPTH} levels")
        else:
            depth -= 1
            if depth == _LEVEL:
                spans.append((start, position + 1))
                if len(spans) > MAX_PIECES:
                    raise Unreadable(f"it has more than {MAX_PIECES} parts")
            elif depth < 0:
                raise Unreadable("it is not JSON")
    if depth:
        raise Unreadable("it is not JSON: it ends too early")
    return spans


def _parsed(raw: bytes) -> Any:
    if len(raw) > MAX_PIECE_BYTES:
        raise Unreadable(f"a part of it is longer than {MAX_PIECE_BYTES} bytes")
    try:
        return orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        raise Unreadable(f"it is not JSON: {error.msg}") from None
