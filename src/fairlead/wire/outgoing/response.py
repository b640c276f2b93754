"""Responses of other servers: what is read of them, and what an unsuccessful one means."""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field

import orjson

MAX_RESPONSE_BYTES = 16 * 1024 * 1024

Header = tuple[bytes, bytes]

_MAX_SHOWN_BYTES = 2048
_MAX_STATUS_BYTES = 256 * 1024  # more is not parsed: it may hold very many values
_SECONDS = re.compile("[0-9]{1,9}", re.ASCII)
WORDS = {
    400: "the server rejected our request for an unknown reason",
    401: "the server has asked for the client to provide credentials",
    404: "the server could not find the requested resource",
    405: "the server does not allow this method on the requested resource",
    406: "the server was unable to respond with a content type that the client supports",
    409: "the server reported a conflict",
    415: "the server was not able to process the content type of the request",
    422: "the server rejected our request due to an error in our request",
    429: "the server has received too many requests and has asked us to try again later",
    503: "the server is currently unable to handle the request",
    504: "the server was unable to return a response in the time allotted, but may still be"
    " processing the request",
}


class CallError(Exception):
    """A failed call. `code` is the HTTP status, 0 without a response; `retryable`: the same call
    may succeed later; `unreached`: no connection was made. `response_text` is text from the other
    server; `brief`, for logs, is the message without it."""

    def __init__(
        self,
        brief: str,
        code: int = 0,
        *,
        response_text: str = "",
        retryable: bool = False,
        unreached: bool = False,
    ) -> None:
        super().__init__(f"{brief}: {response_text}" if response_text else brief)
        self.brief = brief
        self.response_text = response_text
        self.code = code
        self.retryable = retryable
        self.unreached = unreached

    def of(self, description: str) -> CallError:
        """Return a copy with a description of the call in front."""
        return CallError(
            f"{description}: {self.brief}",
            self.code,
            response_text=self.response_text,
            retryable=self.retryable,
            unreached=self.unreached,
        )


class Lost(CallError):
    """The connection ended before a response began."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason, retryable=True)


@dataclass(slots=True)
class Response:
    """A complete response. Header names are lower case."""

    status: int
    content: bytes
    headers: tuple[Header, ...] = field(default=(), compare=False)

    def header(self, name: bytes) -> str:
        """Return the first value of a header, or ""."""
        return first_value(self.headers, name).decode("latin-1")


def first_value(headers: tuple[Header, ...] | list[Header], name: bytes) -> bytes:
    """Return the first value of a header, or b""."""
    for key, value in headers:
        if key == name:
            return value
    return b""


def seconds_to_wait(response: Response) -> int | None:
    """Return the Retry-After seconds of a 429 or 5xx response, None if there are none."""
    if response.status != 429 and response.status < 500:
        return None
    seconds = response.header(b"retry-after")
    return int(seconds) if _SECONDS.fullmatch(seconds) else None


def check_success(response: Response) -> None:
    """Raise CallError with the status code unless the response is a success."""
    status = response.status
    if not 200 <= status <= 206:
        raise CallError(_error_message(response), status, retryable=status >= 500)


def _error_message(response: Response) -> str:
    message = _status_message(response)
    if message:
        return message
    if response.status in WORDS:
        return WORDS[response.status]
    text = "unknown"
    content_type = response.header(b"content-type")
    if not content_type or content_type.startswith("text/"):
        text = response.content[:_MAX_SHOWN_BYTES].decode(errors="replace").strip()
    if response.status == 403:
        return text
    if response.status >= 500:
        quoted = json.dumps(text, ensure_ascii=False)
        return f"an error on the server ({quoted}) has prevented the request from succeeding"
    return (
        f"the server responded with the status code {response.status} but did not return more"
        " information"
    )


def _status_message(response: Response) -> str:
    """Return the message of a Status in the response; empty if there is none."""
    if len(response.content) > _MAX_STATUS_BYTES:
        return ""
    try:
        status = orjson.loads(response.content)
    except orjson.JSONDecodeError:
        return ""
    if not isinstance(status, dict) or status.get("kind") != "Status":
        return ""
    message = status.get("message")
    return message[:_MAX_SHOWN_BYTES] if isinstance(message, str) else ""


# Compressed bodies

_MAX_PART = 1024 * 1024


class Decompressor:
    """Decompresses a gzip body incrementally, at most 1 MiB at a time."""

    def __init__(self) -> None:
        self._member = zlib.decompressobj(16 + zlib.MAX_WBITS)
        self._has_begun = False

    def decompress(self, piece: bytes) -> Iterator[bytes]:
        """Yield the decompressed parts of a piece; raises CallError if it is malformed."""
        while piece:
            if self._member.eof:  # another gzip member may follow
                self._member = zlib.decompressobj(16 + zlib.MAX_WBITS)
            self._has_begun = True
            try:
                part = self._member.decompress(piece, _MAX_PART)
            except zlib.error as error:
                raise CallError(f"gzip: {error}") from None
            if part:
                yield part
            piece = self._member.unconsumed_tail or self._member.unused_data
            if not piece and len(part) == _MAX_PART:
                yield from self._drain()

    def _drain(self) -> Iterator[bytes]:
        """Yield output that the decompressor holds after consuming all input."""
        while part := self._member.decompress(b"", _MAX_PART):
            yield part

    def finish(self) -> None:
        """Raises CallError if the body ended early; an empty body is valid."""
        if self._has_begun and not self._member.eof:
            raise CallError("gzip: unexpected EOF", retryable=True)
