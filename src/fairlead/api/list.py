"""Handler of list, GET of a collection."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable
from contextlib import aclosing

import orjson

from fairlead.api import long_lists
from fairlead.api.answers import Answer
from fairlead.api.parameters import list_options, selection_of
from fairlead.api.representation import include_object
from fairlead.api.request import Request
from fairlead.api.streamed_answers import PIECE_BYTES, Encoded, StreamedAnswer
from fairlead.operations.api import Api, Object
from fairlead.operations.list import find
from fairlead.operations.operation import Operation
from fairlead.resources.registry import Resource
from fairlead.storage.version import Version, join_bodies, total_size

_MANY = 2000
_MAX_AT_ONCE = PIECE_BYTES  # bytes; longer lists are streamed
_END = b"]}\n"


async def answer_list(api: Api, request: Request, operation: Operation) -> Answer:
    resource = operation.resource
    options = list_options(api, request, api.gates["APIListChunking"])
    page = await find(api, operation, options, selection_of(request, resource))
    turn = request.exchange.turn
    if turn is not None and len(page.versions) > _MANY:
        await turn(_MANY)  # finding them took a full turn on the event loop
    if request.representation.is_plain and resource.sends_stored_bytes:
        return plain_answer(resource, page.metadata(), page.versions)
    include = _included(request)
    form = request.representation
    encoded = long_lists.encoded_versions(
        api.resources, resource, page.versions, page.metadata(), form, include, turn
    )
    return await _answer(encoded, form.media_type)


def list_head(resource: Resource, metadata: Object) -> bytes:
    return (
        f'{{"kind":"{resource.list_kind}","apiVersion":"{resource.api_version}","metadata":'.encode()
        + orjson.dumps(metadata)
        + b',"items":['
    )


async def objects_answer(
    api: Api, request: Request, resource: Resource, values: Iterable[Object], metadata: Object
) -> Answer:
    """The answer for a list of decoded objects that have kind and apiVersion."""
    include = _included(request)
    form = request.representation
    turn = request.exchange.turn
    encoded = long_lists.encoded_list(
        api.resources, resource, values, metadata, form, include, turn
    )
    return await _answer(encoded, form.media_type)


def _included(request: Request) -> str:
    return include_object(request) if request.representation.transform == "Table" else ""


async def _answer(encoded: Encoded, media_type: str) -> Answer:
    """A complete answer if the list is short, else one that streams the remaining pieces."""
    pieces: list[bytes] = []
    size = 0
    async for piece in encoded:
        pieces.append(piece)
        size += len(piece)
        if max(size, encoded.size or 0) > _MAX_AT_ONCE:
            return StreamedAnswer(_followed_by(pieces, encoded.pieces), encoded.size, media_type)
    return Answer(200, pieces, media_type)


async def _followed_by(made: list[bytes], pieces: AsyncGenerator[bytes]) -> AsyncGenerator[bytes]:
    async with aclosing(pieces):
        while made:
            yield made.pop(0)
        async for piece in pieces:
            yield piece


def plain_answer(resource: Resource, metadata: Object, versions: list[Version]) -> Answer:
    """A list assembled from the stored bytes of its items. Items of custom kinds include kind and
    apiVersion, and their lists always have a `continue` field."""
    opening = b"{"
    if resource.custom is not None:
        metadata = {"continue": "", **metadata}
        opening = resource.head
    head, between = list_head(resource, metadata), b"," + opening
    if not versions:
        return Answer(200, head + _END)
    head += opening
    size = len(head) + total_size(versions) + len(between) * (len(versions) - 1) + len(_END)
    if size <= _MAX_AT_ONCE:
        return Answer(200, join_bodies(versions, 0, head, between, size)[0] + _END)
    return StreamedAnswer(_plain_pieces(versions, head, between), size)


async def _plain_pieces(
    versions: list[Version], head: bytes, between: bytes
) -> AsyncGenerator[bytes]:
    piece, next_index = join_bodies(versions, 0, head, between, PIECE_BYTES)
    while next_index < len(versions):
        yield piece
        piece, next_index = join_bodies(versions, next_index, between, between, PIECE_BYTES)
    yield piece + _END
