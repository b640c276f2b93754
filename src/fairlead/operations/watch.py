"""Watching the changes of a collection."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass
from sys import intern

from fairlead.base.errors import StatusError, bad_request, expired
from fairlead.operations.api import Api
from fairlead.operations.get import wait_until
from fairlead.operations.list import first_visible_revision
from fairlead.operations.operation import Operation
from fairlead.operations.options import ListOptions, revision_of
from fairlead.operations.selectors import by_name, stored_part
from fairlead.operations.stored_versions import (
    are_in_requested_version,
    events_to_requested,
    select_requested,
)
from fairlead.resources.custom.resource import CustomResource
from fairlead.resources.registry import Resource
from fairlead.storage.audience import Event, Watcher, event_type
from fairlead.storage.backend import Compacted
from fairlead.storage.collection import Collection
from fairlead.storage.reads import prepare_index
from fairlead.storage.selection import Selection
from fairlead.storage.version import ADDED, Change, Version, existing

_EVENTS_A_PART = 200
# The frames of a part stay in memory until all are sent, for each client that reads slowly.
_BYTES_A_PART = 32 * 1024


@dataclass(slots=True)
class Watch:
    """An open watch: `past` yields the initial events in parts, `watcher` collects the events after
    them. `past` raises Compacted if changes were compacted meanwhile. The caller of `open_watch`
    must close it. `selection` is set if only the converted objects show whether they are
    selected."""

    collection: Collection
    watcher: Watcher
    past: AsyncIterator[Sequence[Event]]
    resource: Resource
    selection: Selection | None = None

    async def prepare(self, events: Sequence[Event]) -> Sequence[Event]:
        """The selected events, converted to the version of the watch."""
        if self.selection is not None:
            return await select_requested(self.resource, events, self.selection)
        return await events_to_requested(self.resource, events)

    @property
    def name(self) -> str:
        return self.collection.resource

    def are_prepared(self, events: Sequence[Event]) -> bool:
        """Whether `prepare` would return these events unchanged."""
        return self.selection is None and are_in_requested_version(self.resource, events)

    def close(self) -> None:
        self.collection.audience.remove(self.watcher)
        if isinstance(self.resource, CustomResource):
            self.resource.watchers.discard(self.watcher)


async def open_watch(
    api: Api, operation: Operation, options: ListOptions, selection: Selection
) -> Watch:
    """Start a watch; raises a 410 if the changes since the requested revision are compacted, and a
    504 if the present state is requested of a revision that is not reached in time."""
    if operation.name:
        if selection.fields and selection.name != operation.name:
            raise bad_request("fieldSelector metadata.name doesn't match requested name")
        selection = by_name(selection, operation.name)
    stored = stored_part(operation.resource, selection)
    if stored is None:
        return await _open(api, operation, options, selection)
    watch = await _open(api, operation, options, stored)
    watch.selection = selection
    return watch


async def _open(
    api: Api, operation: Operation, options: ListOptions, selection: Selection
) -> Watch:
    resource = operation.resource
    collection = api.collection(resource)
    store = api.store_of(collection.resource)
    namespace = operation.namespace if resource.namespaced else ""
    revision = revision_of(options.revision)
    initial = not revision if options.initial is None else options.initial
    if initial and revision:
        await wait_until(store, revision)
    elif not initial:
        revision = revision or store.revision
    scope = _scope(resource, namespace, selection)
    if not initial:
        begin = await first_visible_revision(api, operation, selection, revision)
        # In another cluster `begin` is its newest revision, whose change is not shown.
        if revision + (store is api.store) < begin:
            raise expired(f"too old resource version: {revision} ({begin - 1})")
    elif selection:
        await prepare_index(collection, namespace, selection)
    watcher = Watcher(scope, selection, store.revision if initial else revision)
    if initial:
        past = _synthetic(collection.resource, collection.current(namespace, selection))
        store.watch(collection, watcher)
        return _new_watch(collection, watcher, past, resource)
    try:
        changes = store.watch(collection, watcher)
    except Compacted as error:
        raise too_old(error, store.floor) from None
    return _new_watch(collection, watcher, _replayed(changes, scope, selection), resource)


def _new_watch(
    collection: Collection,
    watcher: Watcher,
    past: AsyncIterator[Sequence[Event]],
    resource: Resource,
) -> Watch:
    if isinstance(resource, CustomResource):  # this version may be withdrawn alone
        resource.watchers.add(watcher)
    return Watch(collection, watcher, past, resource)


def too_old(error: Compacted, floor: int) -> StatusError:
    return expired(f"too old resource version: {error} ({floor})")


def _scope(resource: Resource, namespace: str, selection: Selection) -> str:
    """The part of the collection that a watcher subscribes to: all of it (empty), a namespace (ends
    in `/`) or one key."""
    namespace = namespace or selection.namespace or ""
    if selection.name is not None and (namespace or not resource.namespaced):
        return resource.storage_key(namespace, selection.name)
    return intern(f"{namespace}/") if namespace else ""  # interned: many watchers share it


async def _synthetic(resource: str, versions: list[Version]) -> AsyncIterator[Sequence[Event]]:
    part: list[Event] = []
    size = 0
    for version in versions:
        change = existing(resource, version)
        part.append((ADDED, change))
        size += change.size
        if size >= _BYTES_A_PART or len(part) == _EVENTS_A_PART:
            yield part
            part, size = [], 0
    if part:
        yield part


async def _replayed(
    past: AsyncIterator[list[Change]], scope: str, selection: Selection
) -> AsyncIterator[Sequence[Event]]:
    async for changes in past:
        yield list(_selected(changes, scope, selection))


def _selected(changes: list[Change], scope: str, selection: Selection) -> Iterator[Event]:
    for change in changes:
        if not scope or change.key == scope or (scope[-1] == "/" and change.key.startswith(scope)):
            kind = event_type(change, selection)
            if kind is not None:
                yield kind, change
