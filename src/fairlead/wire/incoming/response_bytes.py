"""Answers as bytes."""

from __future__ import annotations

import json
from collections.abc import Iterable
from email.utils import formatdate
from http import HTTPStatus

from fairlead.base.errors import StatusError

Header = tuple[bytes, bytes]

CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
CLOSE = b"connection: close\r\n"
CHUNKED = b"transfer-encoding: chunked\r\n"
LAST_CHUNK = b"0\r\n\r\n"
PLAIN_HTTP = (
    b"HTTP/1.0 400 Bad Request\r\ncontent-type: text/plain; charset=utf-8\r\n\r\n"
    b"Client sent an HTTP request to an HTTPS server.\n"
)
_PHRASES = {status.value: status.phrase for status in HTTPStatus}
_STATUS_LINES = {  # webhooks may refuse with codes that have no meaning
    code: f"HTTP/1.1 {code} {_PHRASES.get(code, '')}\r\n".encode() for code in range(100, 1000)
}
_REASONS = {
    400: "BadRequest",
    405: "MethodNotAllowed",
    431: "RequestHeaderFieldsTooLarge",
    501: "NotImplemented",
}


def date_line() -> bytes:
    return f"date: {formatdate(usegmt=True)}\r\n".encode()


def head_bytes(code: int, date: bytes, headers: Iterable[Header], last: bytes) -> bytes:
    """The head of an answer up to its empty line; `last` are ready-made lines."""
    parts = [_STATUS_LINES[code], date]
    for name, value in headers:
        parts += (name, b": ", value, b"\r\n")
    parts += (last, b"\r\n")
    return b"".join(parts)


def chunk(data: bytes | memoryview) -> bytes:
    return b"".join((b"%x\r\n" % len(data), data, b"\r\n"))


def refusal(code: int, message: str, date: bytes) -> bytes:
    """The whole answer to a request that was not taken; the connection ends with it."""
    status = StatusError(code, _REASONS.get(code, ""), message).status()
    body = json.dumps(status, separators=(",", ":")).encode() + b"\n"
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
    return head_bytes(code, date, headers, CLOSE) + body
