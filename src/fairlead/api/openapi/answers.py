"""Sends OpenAPI documents with caching headers."""

from __future__ import annotations

import gzip
from email.utils import formatdate
from time import time
from typing import NamedTuple

from fairlead.api.answers import Answer, accepts_gzip, has_it
from fairlead.api.request import Request
from fairlead.base import budget
from fairlead.wire.incoming.exchange import Header
from fairlead.wire.incoming.transfer import respond_in_pieces

TEXT = "text/plain; charset=utf-8"
BINARY = "application/octet-stream"
_YEAR = 365 * 24 * 3600
_REVALIDATE: Header = (b"cache-control", b"no-cache, private")
_KEEP: Header = (b"cache-control", b"public, immutable")
_VARY: Header = (b"vary", b"Accept, Accept-Encoding")


class Document(NamedTuple):
    """A finished document: its digest (used as ETag), its gzipped bytes and their media type."""

    identity: str
    packed: bytes
    media_type: str


def pack(identity: str, body: bytes, media_type: str) -> Document:
    return Document(identity, gzip.compress(body, mtime=0), media_type)


class Page(Answer):
    """A response with exactly the given headers."""

    __slots__ = ()

    def __init__(self, code: int, body: bytes = b"", headers: tuple[Header, ...] = ()) -> None:
        super().__init__(code, body, "", headers)

    async def send(self, request: Request) -> None:
        assert isinstance(self.body, bytes)
        await respond_in_pieces(request.exchange, self.code, self.headers, self.body)


async def document_answer(request: Request, document: Document, *, for_good: bool = False) -> Page:
    """The response with a document, or 304. `for_good`: the URL contains the digest, so that
    clients may cache the response forever."""
    headers: tuple[Header, ...] = (etag(document.identity), _VARY)
    if for_good:
        expires = formatdate(time() + _YEAR, usegmt=True).encode()
        headers = (*headers, _KEEP, (b"expires", expires))
    else:
        headers = (*headers, _REVALIDATE)
    if has_it(request, document.identity):
        return Page(304, b"", headers)
    headers = (*headers, (b"content-type", document.media_type.encode()))
    if accepts_gzip(request):
        return Page(200, document.packed, (*headers, (b"content-encoding", b"gzip")))
    body = await budget.run(len(document.packed), gzip.decompress, document.packed)
    return Page(200, body, headers)


def etag(identity: str) -> Header:
    return (b"etag", f'"{identity}"'.encode())


def moved_answer(location: str) -> Page:
    return Page(301, b"", (_REVALIDATE, (b"location", location.encode())))


def not_found_answer() -> Page:
    return Page(404, b"", (_REVALIDATE,))


def not_acceptable_answer() -> Page:
    return Page(406, b"", (_REVALIDATE, _VARY))
