"""Documents that are fetched for a client from the extension server that has them."""

from __future__ import annotations

from urllib.parse import quote

from fairlead.aggregation.calling import ExtensionCalls
from fairlead.aggregation.extension import Extension
from fairlead.aggregation.openapi.fetching import LARGEST_DOCUMENT, NEW, SECONDS, document_name
from fairlead.endpoints.answers import Answer
from fairlead.endpoints.openapi.answers import Document, Page, document_answer, moved_answer
from fairlead.endpoints.request import Request
from fairlead.endpoints.subresources.relaying import unavailable
from fairlead.outgoing.client import CallError

_ASKED = (b"accept", b"if-none-match", b"if-modified-since")
_TOLD = (b"cache-control", b"content-type", b"etag", b"expires", b"last-modified", b"vary")


async def fetched_answer(
    calls: ExtensionCalls, extension: Extension | None, request: Request
) -> Answer:
    """As the extension server answers to the user who asks. What it says beside the document goes
    no further."""
    if extension is None or not extension.available:
        raise unavailable("service unavailable")
    path = f"{NEW}/{document_name(extension)}"
    if tag := request.parameter("hash"):
        path = f"{path}?hash={quote(tag, safe='')}"
    asked = tuple((name.decode(), text) for name in _ASKED if (text := request.header(name)))
    try:
        reply = await calls.fetch(
            extension,
            path,
            user=request.user,
            headers=asked,
            timeout=SECONDS,
            most=LARGEST_DOCUMENT,
        )
    except CallError as error:
        raise unavailable(f"error trying to reach service: {error.brief}") from None
    told = tuple((name.lower(), text) for name, text in reply.headers if name.lower() in _TOLD)
    where = reply.header("location")
    if where.startswith(f"{NEW}/"):
        told = (*told, (b"location", where.encode("latin-1")))
    return Page(reply.status, reply.content, told)


async def made_answer(document: Document, address: str, request: Request) -> Answer:
    """A document that this server has made of what the extension server says in version 2."""
    wanted = request.parameter("hash")
    if wanted and wanted != document.identity:
        return moved_answer(address)
    return document_answer(request, document, for_good=bool(wanted))
