"""GET of a collection."""

from __future__ import annotations

import orjson

from fairlead.endpoints.answers import Answer, encode
from fairlead.endpoints.parameters import list_options, selection_of
from fairlead.endpoints.representing import include_object, metadata_only, read, table
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
    return _answer(api, request, resource, found.versions, found.metadata())


def list_head(resource: Resource, metadata: Object) -> bytes:
    return (
        f'{{"kind":"{resource.kind}List","apiVersion":"{resource.api_version}","metadata":'.encode()
        + orjson.dumps(metadata)
        + b',"items":['
    )


def _answer(
    api: Api, request: Request, resource: Resource, entries: list[Version], metadata: Object
) -> Answer:
    representation = request.representation
    if representation.is_plain and resource.is_stored_here:
        return Answer(200, joined(list_head(resource, metadata), entries))
    return objects_answer(
        api, request, resource, [read(resource, entry) for entry in entries], metadata
    )


def objects_answer(
    api: Api, request: Request, resource: Resource, values: list[Object], metadata: Object
) -> Answer:
    """A list of objects at hand, with kind and apiVersion, in the form that was negotiated."""
    representation = request.representation
    if representation.transform == "Table":
        include = include_object(request)
        value = table(api.dialect, resource, values, representation, include, metadata)
    elif representation.transform:
        value = {
            "kind": "PartialObjectMetadataList",
            "apiVersion": f"{api.dialect.meta_group}/{representation.version}",
            "metadata": metadata,
            "items": [metadata_only(api.dialect, item, representation.version) for item in values],
        }
    else:
        value = {
            "kind": f"{resource.kind}List",
            "apiVersion": resource.api_version,
            "metadata": metadata,
            "items": [untyped(item) for item in values],
        }
    return Answer(200, encode(value, representation, api.resources), representation.media_type)


def untyped(value: Object) -> Object:
    """Items of a built-in list carry no kind and apiVersion of their own."""
    return {name: item for name, item in value.items() if name not in ("kind", "apiVersion")}


_ENTRIES_A_PIECE = 500


def joined(head: bytes, entries: list[Version]) -> bytes | list[bytes]:
    """The bytes of a list from the bytes of its items; a long one in pieces."""
    if not entries:
        return head + b"]}\n"
    if len(entries) <= _ENTRIES_A_PIECE:
        return head + b"{" + b",{".join([entry.body for entry in entries]) + b"]}\n"  # type: ignore[misc]
    pieces = [head]
    for start in range(0, len(entries), _ENTRIES_A_PIECE):
        opening = b",{" if start else b"{"
        bodies = [entry.body for entry in entries[start : start + _ENTRIES_A_PIECE]]
        pieces.append(opening + b",{".join(bodies))  # type: ignore[arg-type]
    pieces.append(b"]}\n")
    return pieces
