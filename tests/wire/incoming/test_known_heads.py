"""Request heads with repeated fields skip the parser, without any other difference."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from fairlead.wire.incoming.limits import Limits
from fairlead.wire.incoming.parser import Head, Reader, Refused

SEQUENCES = 4000
FIELDS = (
    b"Content-Length: 5", b"content-length: 5", b"Content-length: 5", b"CONTENT-LENGTH: 5",
    b"Content-Length:5", b"Content-Length: 5 ", b"Content-Length: 05", b"Content-Length: +5",
    b"Content-Length: 0", b"content-length: 0", b"Content-Length: 0x5", b"Content-Length: 5,5",
    b"Content-Length:", b"Content-Length: 99999999999999999999", b"Content-Length : 5",
    b" Content-Length: 5", b"X: a\r\n Content-Length: 5", b"X: Content-Length: 5",
    b"X: a\nContent-Length: 5", b"X: a\rContent-Length: 5", b"Content-Length: 5\r\n folded",
    b"Transfer-Encoding: chunked", b"Transfer-Encoding: identity", b"Expect: 100-continue",
    b"Connection: close", b"Connection: Upgrade", b"Upgrade: foo", b"host: y", b"A: \x00", b"X: y",
)  # fmt: skip
METHODS = (b"GET", b"POST", b"PUT", b"PATCH", b"DELETE", b"HEAD")
TARGETS = (b"/", b"/", b"/a?b=c", b"/a#b", b"/\xff", b"/a b", b"*", b"http://x/a")
BODIES = (
    b"", b"hello", b"hel", b"5\r\nhello\r\n0\r\n\r\n", b"0\r\nContent-Length: 5\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", b"\r\n",
)  # fmt: skip


class _Forgetful(dict[bytes, Head]):
    def __setitem__(self, fields: bytes, head: Head) -> None:
        pass


def _requests(dice: random.Random) -> bytes:
    """Some that are mostly like each other."""
    usual = [b"Host: x", b"Accept: */*"]
    if dice.random() < 0.3:
        usual.append(dice.choice(FIELDS))
    return b"".join(_request(dice, list(usual)) for _ in range(dice.randint(2, 8)))


def _request(dice: random.Random, fields: list[bytes]) -> bytes:
    """Often it has a length that is right."""
    body = dice.choice(BODIES) if dice.random() < 0.5 else b""
    if body and dice.random() < 0.85:
        name = dice.choice((b"Content-Length", b"content-length"))
        fields.insert(dice.randint(0, 2), b"%b: %d" % (name, len(body)))
    while dice.random() < 0.2:
        fields.insert(dice.randint(0, len(fields)), dice.choice(FIELDS))
    version = b"1.0" if dice.random() < 0.02 else b"1.1"
    target = dice.choice(TARGETS) if dice.random() < 0.3 else b"/"
    line = b"%b %b HTTP/%b" % (dice.choice(METHODS), target, version)
    return b"\r\n".join([line, *fields, b"", body])


def _pieces(dice: random.Random, data: bytes) -> Iterator[bytes]:
    at = 0
    while at < len(data):
        size = dice.choice((1, 20, 200, len(data)))
        yield data[at : at + size]
        at += size


class _Seen:
    """Records what a connection parses; `skipped` counts known heads."""

    def __init__(self, pieces: list[bytes], *, forgets: bool) -> None:
        self.results: list[Any] = []
        self.skipped = 0
        self._parts: list[bytes] = []
        self._head: Head | None = None
        self._reader = Reader(Limits(), self._parts.append)
        if forgets:
            self._reader._head_cache = _Forgetful()
        left = b""
        try:
            for piece in pieces:
                left = self._take(left + piece)
                if left is None:
                    return
        except Refused as refused:
            self.results.append((refused.code, refused.message))

    def _take(self, data: bytes) -> Any:
        """Return the bytes that have to wait for more; None if the connection is closed."""
        while data:
            if self._head is None:
                head, rest = self._reader.read_head(data)
                if head is None and len(rest) == len(data):
                    return data
                data = rest
                if head is not None:
                    self._begin(head)
            else:
                data = self._reader.read_body(data)
            if self._head is not None and self._reader.complete and not self._end():
                return None
        return b""

    def _begin(self, head: Head) -> None:
        self._head = head
        self._parts.clear()
        self.skipped += self._reader._counted
        fields = [field for field in head.fields if field[0] != b"content-length"]
        about = head.method, head.path, head.query, head.length, head.keep_alive, head.is_http_1_1
        self.results.append((*about, head.chunked, head.expects_continue, fields))

    def _end(self) -> bool:
        """Whether another request may follow."""
        assert self._head is not None
        goes_on = self._head.keep_alive and not self._reader.overrun
        self.results.append(b"".join(self._parts))
        self._head = None
        self._reader.next()
        return goes_on


def test_a_known_head_is_read_as_the_parser_reads_it() -> None:
    seed = random.SystemRandom().randrange(2**40)
    skipped = 0
    for number in range(SEQUENCES):
        dice = random.Random(seed + number)
        data = _requests(dice)
        pieces = list(_pieces(dice, data))
        known, parsed = _Seen(pieces, forgets=False), _Seen(pieces, forgets=True)
        assert known.results == parsed.results, f"seed {seed + number}: {data!r}"
        skipped += known.skipped
        assert not parsed.skipped
    assert skipped > SEQUENCES / 4
