"""Listing a collection: all of it, a page, or a past state."""

from __future__ import annotations

from dataclasses import dataclass, replace

from fairlead.base.errors import StatusError, bad_request, expired, too_large_resource_version
from fairlead.codec.continuation import Continuation, ContinuationError
from fairlead.operations.api import Api, Object
from fairlead.operations.get import wait_until
from fairlead.operations.operation import Operation
from fairlead.operations.options import ListOptions, revision_of
from fairlead.operations.selectors import stored_part
from fairlead.operations.stored_versions import all_to_requested
from fairlead.resources.registry import Resource
from fairlead.storage.backend import Compacted
from fairlead.storage.collection import Page
from fairlead.storage.reads import filter_versions, prepare_index, read_page, select
from fairlead.storage.selection import Selection
from fairlead.storage.version import DELETED, Version

_NAMESPACES = "core/v1/namespaces"
_CONVERTED_AT_ONCE = 500  # objects, in a list of converted objects with a limit
EXPIRED_TOKEN = (
    "The provided continue parameter is too old to display a consistent list result. You can start"
    " a new list without the continue parameter, or use the continue token in this response to"
    " retrieve the remainder of the results. Continuing with the provided token results in an"
    " inconsistent list - objects that were created, modified, or deleted between the time the"
    " first chunk was returned and now may show up in the list."
)


@dataclass(slots=True)
class Listing:
    """The objects of a list and the revision of that state."""

    resource: Resource
    page: Page
    revision: int
    namespace: str = ""  # the listed namespace, for continue tokens

    @property
    def versions(self) -> list[Version]:
        return self.page.entries

    def metadata(self) -> Object:
        """The metadata of the list: its resourceVersion, and a continue token if there are more
        objects."""
        metadata: Object = {"resourceVersion": str(self.revision)}
        if self.page.last_key is not None:
            metadata["continue"] = self._continuation(self.page.last_key)
            if self.page.remaining is not None:
                metadata["remainingItemCount"] = self.page.remaining
        return metadata

    def _continuation(self, key: str) -> str:
        """The continue token; its key is relative to the listed namespace."""
        start = key.removeprefix(_prefix(self.namespace))
        return Continuation(self.revision, start).encode(_token_version(self.resource))


def _prefix(namespace: str) -> str:
    return f"{namespace}/" if namespace else ""


def _token_version(resource: Resource) -> str:
    return f"{resource.dialect.meta_group}/v1"


async def find(
    api: Api, operation: Operation, options: ListOptions, selection: Selection
) -> Listing:
    """List the objects that the options and the selection request."""
    stored = stored_part(operation.resource, selection)
    if stored is not None:
        return await _find_converted(api, operation, options, selection, stored)
    listing = await _find(api, operation, options, selection)
    if operation.resource.custom is not None:
        listing.page.entries = await all_to_requested(operation.resource, listing.page.entries)
    return listing


async def _find_converted(
    api: Api, operation: Operation, options: ListOptions, selection: Selection, stored: Selection
) -> Listing:
    """As `find`, selecting by fields of the converted objects: pages of stored objects are read
    until enough are selected."""
    limit = 0 if options.revision == "0" else options.limit
    found: list[Version] = []
    options = replace(options, limit=max(limit, _CONVERTED_AT_ONCE) if limit else 0)
    while True:
        listing = await _find(api, operation, options, stored)
        page = listing.page
        converted = await all_to_requested(operation.resource, page.entries)
        found += await filter_versions(converted, selection)
        if page.last_key is None or len(found) > limit:
            break
        options = replace(options, token=listing.metadata()["continue"], revision="", match="")
    has_more = 0 < limit < len(found)
    last_key = found[limit - 1].key if has_more else None
    listing.page = Page(found[:limit] if has_more else found, last_key, None)
    return listing


async def _find(
    api: Api, operation: Operation, options: ListOptions, selection: Selection
) -> Listing:
    resource = operation.resource
    collection = api.collection(resource)
    store = api.store_of(collection.resource)
    namespace = operation.namespace if resource.namespaced else ""
    bypasses = options.token or options.limit or options.match == "Exact"
    if options.revision and (bypasses or api.gates["ListRevisionsChecked"]):
        _check_revision(options.revision)
    if options.token:
        return await _continued(api, operation, namespace, options, selection)
    requested = revision_of(options.revision)
    exact = options.match == "Exact" or (bool(requested) and options.limit and not options.match)
    if exact:
        if requested > store.revision:
            retry_after = None if api.gates["ListRevisionsChecked"] else 1
            raise too_large_resource_version(requested, store.revision, retry_after)
        page = await _snapshot(api, operation, namespace, selection, requested, options.limit, None)
        return Listing(resource, page, requested, namespace)
    await wait_until(store, requested)
    # resourceVersion=0 returns the whole cache: there is no snapshot to page through.
    limit = 0 if options.revision == "0" else options.limit
    if selection:
        await prepare_index(collection, namespace, selection)
    revision = store.revision
    if not limit:
        versions = await select(collection, namespace, selection)
        return Listing(resource, Page(versions, None, None), revision)
    page = await read_page(collection, namespace, selection, revision, limit, None)
    return Listing(resource, page, revision, namespace)


def _check_revision(text: str) -> None:
    """Lists that bypass the cache report an invalid version with the store's longer message."""
    try:
        revision_of(text)
    except StatusError as error:
        raise bad_request(f"invalid resource version: {error.message}") from None


async def _continued(
    api: Api, operation: Operation, namespace: str, options: ListOptions, selection: Selection
) -> Listing:
    token_version = _token_version(operation.resource)
    try:
        continuation = Continuation.decode(options.token, token_version)
    except ContinuationError as error:
        raise bad_request(f"invalid continue token: {error}") from None
    if options.revision not in ("", "0"):
        raise bad_request("specifying resource version is not allowed when using continue")
    start_key = _prefix(namespace) + continuation.key
    newest_revision = api.store_for(operation.resource).revision
    revision = continuation.revision if continuation.revision >= 0 else newest_revision
    if revision > newest_revision:
        raise bad_request("invalid continue token: it is of a future version")
    try:
        page = await _snapshot(
            api, operation, namespace, selection, revision, options.limit, start_key
        )
    except StatusError as error:
        newest = Continuation(-1, continuation.key).encode(token_version)
        raise StatusError(410, "Expired", EXPIRED_TOKEN, list_meta={"continue": newest}) from error
    return Listing(operation.resource, page, revision, namespace)


async def _snapshot(
    api: Api,
    operation: Operation,
    namespace: str,
    selection: Selection,
    revision: int,
    limit: int,
    start_key: str | None,
) -> Page:
    collection = api.collection(operation.resource)
    if revision < await first_visible_revision(api, operation, selection, revision):
        raise expired("The resourceVersion for the provided list is too old.")
    try:
        store = api.store_of(collection.resource)
        return await store.page(collection, namespace, selection, revision, limit, start_key)
    except Compacted:
        raise expired("The resourceVersion for the provided list is too old.") from None


async def first_visible_revision(
    api: Api, operation: Operation, selection: Selection, revision: int
) -> int:
    """The first revision of a namespace that may be shown to a user who reads only this namespace.
    A namespace that was deleted after `revision` may have been created again for other users, so
    history before its deletion is hidden. 0 if there is no restriction: the user may read all
    namespaces, or the namespace was not deleted. Raises a 410 if the cache does not reach back far
    enough.

    A resource of another cluster has other revisions than the namespace: after a deletion that the
    cache remembers, only its present is shown."""
    resource = operation.resource
    is_namespace = resource.key == _NAMESPACES
    name = operation.namespace
    if is_namespace:
        name = operation.name or selection.name or ""
    if not name or not (resource.namespaced or is_namespace):
        return 0
    namespaces = api.collection(api.resources.named(_NAMESPACES))
    namespace = namespaces.get(name)
    store = api.store_for(resource)
    is_comparable = store is api.store
    if namespace is not None and namespace.revision <= revision and is_comparable:
        return 0
    attributes = operation.attributes()._replace(namespace="")
    if await api.allowed(attributes._replace(name="") if is_namespace else attributes):
        return 0
    for change in reversed(namespaces.changes_of(name)):
        if change.kind == DELETED:
            return change.revision + 1 if is_comparable else store.revision
    if is_comparable and revision < namespaces.floor:
        raise expired(f"too old resource version: {revision} ({namespaces.floor})")
    return 0
