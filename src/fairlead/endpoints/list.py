"""GET of a collection."""

from __future__ import annotations

import orjson

from fairlead.endpoints.answers import Answer, encode
from fairlead.endpoints.api import Api, Object
from fairlead.endpoints.get import wait_until
from fairlead.endpoints.parameters import ListOptions, list_options, revision_of
from fairlead.endpoints.representing import include_object, metadata_only, read, table
from fairlead.endpoints.request import Request
from fairlead.errors import StatusError, bad_request, expired, too_large_resource_version
from fairlead.kinds.resources import Resource
from fairlead.serialization.continuation import Continuation, ContinuationError
from fairlead.storage.collection import Page
from fairlead.storage.entry import Entry
from fairlead.storage.selection import Selection
from fairlead.storage.store import Compacted

EXPIRED_TOKEN = (
    "The provided continue parameter is too old to display a consistent list result. You can start"
    " a new list without the continue parameter, or use the continue token in this response to"
    " retrieve the remainder of the results. Continuing with the provided token results in an"
    " inconsistent list - objects that were created, modified, or deleted between the time the"
    " first chunk was returned and now may show up in the list."
)


async def list_objects(api: Api, request: Request) -> Answer:
    resource = request.target.resource
    assert resource is not None
    options = list_options(api.dialect, request, api.gates["APIListChunking"])
    selection = api.selection(request, resource)
    page, revision = await find(api, request, resource, options, selection)
    return _answer(api, request, resource, page.entries, list_metadata(resource, page, revision))


def _token_version(resource: Resource) -> str:
    return f"{resource.dialect.meta_group}/v1"


def list_metadata(resource: Resource, page: Page, revision: int) -> Object:
    """The metadata of a list: its version, and how to go on where there is more."""
    metadata: Object = {"resourceVersion": str(revision)}
    if page.last_key is not None:
        metadata["continue"] = Continuation(revision, page.last_key).encode(
            _token_version(resource)
        )
        if page.remaining is not None:
            metadata["remainingItemCount"] = page.remaining
    return metadata


async def find(
    api: Api, request: Request, resource: Resource, options: ListOptions, selection: Selection
) -> tuple[Page, int]:
    """The entries that the options ask for, and the revision at which they were so."""
    collection = api.collection(resource)
    namespace = request.target.namespace if resource.namespaced else ""
    if options.token:
        return _continued(api, request, resource, options, selection)
    wanted = revision_of(options.revision)
    exact = options.match == "Exact" or (bool(wanted) and options.limit and not options.match)
    if exact:
        if wanted > api.store.revision:
            raise too_large_resource_version(wanted, api.store.revision)
        page = _snapshot(api, resource, namespace, selection, wanted, options.limit, None)
        return page, wanted
    await wait_until(api, wanted)
    # A stale read is served whole from the cache: there is no snapshot to page through.
    limit = 0 if options.revision == "0" else options.limit
    revision = api.store.revision
    if not limit:
        return Page(collection.current(namespace, selection), None, None), revision
    return collection.page(namespace, selection, revision, limit, None), revision


def _continued(
    api: Api, request: Request, resource: Resource, options: ListOptions, selection: Selection
) -> tuple[Page, int]:
    if options.revision not in ("", "0"):
        raise bad_request("specifying resource version is not allowed when using continue")
    try:
        at = Continuation.decode(options.token, _token_version(resource))
    except ContinuationError as error:
        raise bad_request(f"invalid continue token: {error}") from None
    namespace = request.target.namespace if resource.namespaced else ""
    if namespace and not at.key.startswith(f"{namespace}/"):
        raise bad_request(
            "invalid continue token: continue key is not valid: provided key does not match prefix"
            f" /{namespace}/"
        )
    revision = at.revision if at.revision >= 0 else api.store.revision
    if revision > api.store.revision:
        raise bad_request("invalid continue token: it is of a future version")
    try:
        page = _snapshot(api, resource, namespace, selection, revision, options.limit, at.key)
    except StatusError as error:
        newest = Continuation(-1, at.key).encode(_token_version(resource))
        raise StatusError(410, "Expired", EXPIRED_TOKEN, list_meta={"continue": newest}) from error
    return page, revision


def _snapshot(
    api: Api,
    resource: Resource,
    namespace: str,
    selection: Selection,
    revision: int,
    limit: int,
    after: str | None,
) -> Page:
    try:
        api.store.check_kept(revision)
    except Compacted:
        raise expired(f"The resourceVersion for the provided list is too old: {revision}") from None
    return api.collection(resource).page(namespace, selection, revision, limit, after)


def list_head(resource: Resource, metadata: Object) -> bytes:
    return (
        f'{{"kind":"{resource.kind}List","apiVersion":"{resource.api_version}","metadata":'.encode()
        + orjson.dumps(metadata)
        + b',"items":['
    )


def _answer(
    api: Api, request: Request, resource: Resource, entries: list[Entry], metadata: Object
) -> Answer:
    representation = request.representation
    if representation.is_plain and resource.sends_stored_bytes:
        return Answer(200, joined(list_head(resource, metadata), entries))
    values = [read(resource, entry) for entry in entries]
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


def joined(head: bytes, entries: list[Entry]) -> bytes | list[bytes]:
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
