"""Following the changes of a collection."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from fairlead.errors import expired
from fairlead.kinds.resources import Resource
from fairlead.operations.api import Api
from fairlead.operations.operation import Operation
from fairlead.operations.options import ListOptions, revision_of
from fairlead.operations.selecting import by_name
from fairlead.storage.collection import Collection
from fairlead.storage.entry import Entry
from fairlead.storage.selection import Selection
from fairlead.storage.store import Compacted
from fairlead.storage.watcher import ADDED, Frame, Watcher, event_type


@dataclass(slots=True)
class Watch:
    """A watch that was opened: what it starts with, and the watcher that collects the rest. Whoever
    opened it must close it."""

    collection: Collection
    watcher: Watcher
    initial: Iterable[bytes]

    def close(self) -> None:
        self.collection.unwatch(self.watcher)


def open_watch(
    api: Api, operation: Operation, options: ListOptions, selection: Selection, frame: Frame
) -> Watch:
    """Follow what the options ask for; raises the 410 of a version whose changes are forgotten."""
    if operation.name:
        selection = by_name(selection, operation.name)
    resource = operation.resource
    collection = api.collection(resource)
    namespace = operation.namespace if resource.namespaced else ""
    after = revision_of(options.revision)
    scope = _scope(resource, namespace, selection)
    watcher = Watcher(scope, selection, after or api.store.revision, frame)
    if not after:
        initial: Iterable[bytes] = _synthetic(collection, namespace, selection, frame)
        api.store.watch(collection, watcher)
    else:
        try:
            past = api.store.watch(collection, watcher)
        except Compacted:
            raise expired(f"too old resource version: {after} ({api.store.floor})") from None
        initial = _replayed(past, scope, selection, frame)
    return Watch(collection, watcher, initial)


def _scope(resource: Resource, namespace: str, selection: Selection) -> str:
    """The part of the collection whose changes can concern a watcher: all of it, a namespace or
    one key."""
    namespace = namespace or selection.namespace or ""
    if selection.name is not None and (namespace or not resource.namespaced):
        return resource.storage_key(namespace, selection.name)
    return f"{namespace}/" if namespace else ""


def _synthetic(
    collection: Collection, namespace: str, selection: Selection, frame: Frame
) -> Iterator[bytes]:
    entries = collection.current(namespace, selection)
    return (frame(ADDED, entry) for entry in entries)


def _replayed(past: list[Entry], scope: str, selection: Selection, frame: Frame) -> Iterator[bytes]:
    for entry in past:
        if not scope or entry.key == scope or (scope[-1] == "/" and entry.key.startswith(scope)):
            kind = event_type(entry, selection)
            if kind is not None:
                yield frame(kind, entry)
