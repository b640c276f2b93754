"""GET of a collection."""

from __future__ import annotations

from collections.abc import Iterable

import orjson

from fairlead.endpoints.answers import Answer
from fairlead.endpoints.long_lists import encoded_list
from fairlead.endpoints.parameters import list_options, selection_of
from fairlead.endpoints.representing import include_object, read
from fairlead.endpoints.request import Request
from fairlead.kinds.resources import Resource
from fairlead.operations.api import Api, Object
from fairlead.operations.list import find
from fairlead.operations.operation import Operation
from fairlead.storage.version import Version


async def answer_list(api: Api, request: Request, operation: Operation) -> Answer:
    resource = operation.resource
    options = list_options(api.dialect, request, api.gates["APIListChunking"])
    found = await find(api, operation, options, selection_of(request, resource))
    if request.representation.is_plain and resource.sends_stored_bytes:
        return Answer(200, joined(resource, found.metadata(), found.versions))
    values = (read(resource, version) for version in found.versions)
    return await objects_answer(api, request, resource, values, found.metadata())


def list_head(resource: Resource, metadata: Object) -> bytes:
    return (
        f'{{"kind":"{resource.list_kind}","apiVersion":"{resource.api_version}","metadata":'.encode()
        + orjson.dumps(metadata)
        + b',"items":['
    )


async def objects_answer(
    api: Api, request: Request, resource: Resource, values: Iterable[Object], metadata: Object
) -> Answer:
    """A list of objects, with kind and apiVersion, in the form that was negotiated."""
    representation = request.representation
    include = include_object(request) if representation.transform == "Table" else ""
    pieces = encoded_list(api.resources, resource, values, metadata, representation, include)
    return Answer(200, [piece async for piece in pieces], representation.media_type)


_ENTRIES_A_PIECE = 500


def joined(resource: Resource, metadata: Object, entries: list[Version]) -> bytes | list[bytes]:
    """The bytes of a list from the bytes of its items; a long one in pieces. Items of custom kinds
    say what they are, and their lists always say whether there is more."""
    item = b"{"
    if resource.custom is not None:
        metadata = {"continue": "", **metadata}
        item = resource.head
    head, between = list_head(resource, metadata), b"," + item
    if not entries:
        return head + b"]}\n"
    if len(entries) <= _ENTRIES_A_PIECE:
        return head + item + between.join([entry.body for entry in entries]) + b"]}\n"  # type: ignore[misc]
    pieces = [head]
    for start in range(0, len(entries), _ENTRIES_A_PIECE):
        opening = between if start else item
        bodies = [entry.body for entry in entries[start : start + _ENTRIES_A_PIECE]]
        pieces.append(opening + between.join(bodies))  # type: ignore[arg-type]
    pieces.append(b"]}\n")
    return pieces
