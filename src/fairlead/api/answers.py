"""Encodes responses and sends them on the connection."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final

import orjson

from fairlead.api.negotiation import YAML, Representation
from fairlead.api.request import Request
from fairlead.auth.authorization.attributes import Refused
from fairlead.base.compiled import mypyc_attr
from fairlead.base.deferred import Outcome
from fairlead.base.errors import StatusError
from fairlead.codec import yaml_writer
from fairlead.codec.protobuf import to_message
from fairlead.operations.api import Api
from fairlead.operations.operation import Operation
from fairlead.resources.registry import Resources
from fairlead.wire.incoming.exchange import Header
from fairlead.wire.incoming.transfer import respond_compressed, respond_in_pieces

_CACHE: Final[Header] = (b"cache-control", b"no-cache, private")
PUBLIC: Final[Header] = (b"cache-control", b"public, max-age=3600")
_TYPES: Final = {
    "application/json": (b"content-type", b"application/json"),
    YAML: (b"content-type", b"application/yaml"),
    "text/plain": (b"content-type", b"text/plain; charset=utf-8"),
}
NO_SNIFF: Final[tuple[Header, ...]] = ((b"x-content-type-options", b"nosniff"),)
COMPRESSED: Final[list[Header]] = [(b"content-encoding", b"gzip"), (b"vary", b"Accept-Encoding")]
_LARGE: Final = 128 * 1024
_LONGEST_WARNING, _MAX_WARNING_BYTES = 256, 4096


def encode(value: Any, representation: Representation, resources: Resources) -> bytes:
    """Encode a value in the negotiated media type and layout. For protobuf, its kind must be a
    built-in type."""
    if representation.media_type == resources.dialect.protobuf_media_type:
        struct = resources.struct_of(value["apiVersion"], value["kind"])
        assert struct is not None, value["kind"]
        return to_message(struct, value)
    if representation.media_type == YAML:
        return yaml_writer.dump(value)
    if representation.pretty:
        return orjson.dumps(value, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
    return orjson.dumps(value, option=orjson.OPT_APPEND_NEWLINE)


@mypyc_attr(allow_interpreted_subclasses=True)
class Answer:
    """A complete response. `body` may be a sequence of pieces, sent one after the other."""

    __slots__ = ("body", "code", "headers", "media_type")

    def __init__(
        self,
        code: int,
        body: bytes | Sequence[bytes],
        media_type: str = "application/json",
        headers: tuple[Header, ...] = (),
    ) -> None:
        self.code = code
        self.body = body
        self.media_type = media_type
        self.headers = headers

    def fields(self, request: Request) -> list[Header]:
        headers = [_CACHE]
        if self.media_type:  # 304 has no body
            headers.append(_TYPES.get(self.media_type) or _content_type(self.media_type))
        if self.headers:
            if any(name == b"cache-control" for name, _ in self.headers):
                del headers[0]
            headers += self.headers
        if request.warnings:
            headers += warning_headers(request.warnings)
        return headers

    def send(self, request: Request) -> Awaitable[None] | None:
        """Send a small response at once. Returns an awaitable that sends a large one."""
        body, exchange = self.body, request.exchange
        headers = self.fields(request)
        if isinstance(body, bytes) and len(body) < _LARGE:
            exchange.respond(self.code, headers, body)
            return None
        is_compressed = accepts_gzip(request)
        if is_compressed and (isinstance(body, bytes) or sum(map(len, body)) >= _LARGE):
            headers += COMPRESSED
            return respond_compressed(exchange, self.code, headers, body)
        return respond_in_pieces(exchange, self.code, headers, body)


def has_it(request: Request, identity: str) -> bool:
    """Whether If-None-Match contains the ETag."""
    known = [tag.strip().removeprefix("W/") for tag in request.header(b"if-none-match").split(",")]
    return f'"{identity}"' in known or known == ["*"]


def accepts_gzip(request: Request) -> bool:
    for part in request.header(b"accept-encoding").split(","):
        coding, _, parameters = part.partition(";")
        if coding.strip() == "gzip":
            return parameters.replace(" ", "") not in ("q=0", "q=0.0", "q=0.00", "q=0.000")
    return False


def _content_type(media_type: str) -> Header:
    return (b"content-type", media_type.encode())


def value_answer(request: Request, code: int, value: Any, resources: Resources) -> Answer:
    representation = request.representation
    return Answer(code, encode(value, representation, resources), representation.media_type)


def text_answer(code: int, text: str, headers: tuple[Header, ...] = ()) -> Answer:
    return Answer(code, text.encode(), "text/plain", headers)


def no_such_page() -> Answer:
    return text_answer(404, "404 page not found\n", NO_SNIFF)


def error_answer(
    error: StatusError, representation: Representation, resources: Resources
) -> Answer:
    headers: tuple[Header, ...] = ()
    if error.retry_after is not None:
        headers = ((b"retry-after", b"%d" % error.retry_after),)
    elif isinstance(error, Refused):  # the message contains text from the caller
        headers = NO_SNIFF
    body = encode(error.status(), representation, resources)
    return Answer(error.code, body, representation.media_type, headers)


def warning_headers(warnings: list[str]) -> list[Header]:
    """A `299 - "text"` header for each warning. If all exceed 4 KiB together, long texts are cut
    and those beyond the limit are dropped."""
    headers: list[Header] = []
    left = _MAX_WARNING_BYTES
    cut = sum(map(len, warnings)) > left
    for text in warnings:
        if cut and len(text) > _LONGEST_WARNING:
            text = text[:_LONGEST_WARNING]
        left -= len(text)
        if left < 0:
            break
        headers.append((b"warning", _warning(text)))
    return headers


def _warning(text: str) -> bytes:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    if not escaped.isprintable():
        escaped = "".join([letter if letter.isprintable() else " " for letter in escaped])
    return f'299 - "{escaped}"'.encode()


# A handler for a verb, or for a verb of one resource.
Verb = Callable[[Api, Request, Operation], Outcome[Answer]]
