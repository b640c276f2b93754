"""The watch stream: what was, what happens, and bookmarks."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from functools import partial

import orjson

from fairlead.endpoints.answers import Answer, encode
from fairlead.endpoints.api import Api, Object
from fairlead.endpoints.negotiation import JSON, Representation, check_watch
from fairlead.endpoints.parameters import ListOptions, list_options, revision_of
from fairlead.endpoints.representing import include_object, metadata_only, table, typed
from fairlead.endpoints.request import Request, Send
from fairlead.errors import StatusError, expired
from fairlead.kinds.conversion import from_stored
from fairlead.kinds.resources import Resource
from fairlead.schema.decode import zero
from fairlead.serialization.protobuf import watch_frame
from fairlead.storage.backend import Compacted, StorageError
from fairlead.storage.change import ADDED, DELETED, Change, existing
from fairlead.storage.collection import Collection
from fairlead.storage.counts import WATCH_ENCODES
from fairlead.storage.selection import Requirement, Selection
from fairlead.storage.version import Version
from fairlead.storage.watcher import Event, Watcher, event_type

logger = logging.getLogger("fairlead.watch")

# Turns an event into the bytes that are sent; called in the task of a watcher's own connection.
Frame = Callable[[str, Change], bytes]

SHORTEST_DEFAULT_TIMEOUT = 1800
BOOKMARK_EVERY = 60.0
_BOOKMARK_BEFORE_END = 2.0
_FRAMES_A_SEND = 200
_PATIENCE = 1.0


class Framing:
    """Writes events in one representation. Plain frames are made once and shared by all."""

    def __init__(
        self, api: Api, resource: Resource, representation: Representation, include: str
    ) -> None:
        self.api = api
        self.resource = resource
        self.representation = representation
        self.include = include
        self._columns_sent = False
        self._cache_key = (resource.api_version, representation)

    def chooser(self) -> Frame:
        if self.representation.transform == "Table":
            return self.table_frame
        return self.shared_frame

    def shared_frame(self, kind: str, change: Change) -> bytes:
        key = (kind, self._cache_key)
        found = change.frames.get(key)
        if found is None:
            found = change.frames[key] = self._frame(kind, change)
            WATCH_ENCODES.add(of=(change.resource,))
        return found

    def _frame(self, kind: str, change: Change) -> bytes:
        body = _body(kind, change)
        plain = self.representation.media_type == JSON and not self.representation.transform
        if self.resource.is_stored_here and plain:
            return b'{"type":"%s","object":%s%s}\n' % (kind.encode(), self.resource.head, body)
        return self.event(kind, self._shown(orjson.loads(b"{" + body)))

    def table_frame(self, kind: str, change: Change) -> bytes:
        """Columns come with the first event of a stream only, so frames are not shared."""
        return self.event(kind, self._table(orjson.loads(b"{" + _body(kind, change))))

    def _shown(self, stored: Object) -> Object:
        value = typed(self.resource, from_stored(self.resource, stored))
        if self.representation.transform:
            return metadata_only(self.api.dialect, value, self.representation.version)
        return value

    def _table(self, stored: Object) -> Object:
        value = typed(self.resource, from_stored(self.resource, stored))
        metadata = {"resourceVersion": value["metadata"].get("resourceVersion", "")}
        first, self._columns_sent = not self._columns_sent, True
        return table(
            self.api.dialect,
            self.resource,
            [value],
            self.representation,
            self.include,
            metadata,
            with_columns=first,
        )

    def bookmark(self, revision: int) -> bytes:
        metadata = {"resourceVersion": str(revision), "creationTimestamp": None}
        value: Object = {"metadata": metadata}
        if not self.representation.transform:
            shown = typed(self.resource, {**_empty(self.resource), **value})
            return self.event("BOOKMARK", shown)
        shown = metadata_only(self.api.dialect, value, self.representation.version)
        if self.representation.transform == "Table":
            shown = {
                "kind": "Table",
                "apiVersion": shown["apiVersion"],
                "metadata": {"resourceVersion": str(revision)},
                "columnDefinitions": None,
                "rows": [{"cells": None, "object": shown}],
            }
        return self.event("BOOKMARK", shown)

    def event(self, kind: str, value: Object) -> bytes:
        if self.representation.media_type == JSON:
            return json_event(kind, value)
        return watch_frame(kind, encode(value, self.representation, self.api.resources))


def _body(kind: str, change: Change) -> bytes:
    if kind == DELETED:
        return change.last_body()
    assert change.after is not None
    assert change.after.body is not None
    return change.after.body


def json_event(kind: str, value: Object) -> bytes:
    return orjson.dumps({"type": kind, "object": value}, option=orjson.OPT_APPEND_NEWLINE)


def _empty(resource: Resource) -> Object:
    value: Object = zero(resource.struct)
    return {name: item for name, item in value.items() if name not in ("kind", "apiVersion")}


class _BadEvent(Exception):
    """An event that cannot be sent in the way that this client asked for."""


class WatchStream(Answer):
    """A watch as an answer: it ends when its time is up, the client leaves or the server stops."""

    __slots__ = ("bookmarks", "collection", "framing", "past", "store", "timeout", "watcher")

    def __init__(
        self,
        api: Api,
        collection: Collection,
        watcher: Watcher,
        framing: Framing,
        past: AsyncIterator[Sequence[Event]],
        options: ListOptions,
    ) -> None:
        super().__init__(200, b"")
        self.store = api.store
        self.collection = collection
        self.watcher = watcher
        self.framing = framing
        self.past = past
        self.bookmarks = options.bookmarks
        wanted = options.timeout or 0
        self.timeout = wanted if wanted > 0 else random.randint(1, 2) * SHORTEST_DEFAULT_TIMEOUT

    async def send(self, request: Request, send: Send) -> None:
        await start_stream(self.framing, send)
        gone = asyncio.ensure_future(_disconnected(request))
        gone.add_done_callback(lambda _: self.watcher.close())
        self.watcher.on_close = partial(self._cut_off_later, request)
        try:
            try:
                async for events in self.past:
                    await self._send_events(send, events)
                await self._follow(send)
                end = self._failure(self.watcher.failure) if self.watcher.failure else b""
            except Compacted as error:
                end = self._error(_too_old(error, self.store.floor))
            except (_BadEvent, StorageError) as error:
                end = self._failure(error)
            await send({"type": "http.response.body", "body": end})
        finally:
            gone.cancel()
            self.watcher.on_close = None
            self.collection.unwatch(self.watcher)

    async def _send_events(self, send: Send, events: Sequence[Event]) -> None:
        """Encode and send, some at a time. Frames are made here, not at the commit: what cannot
        be encoded ends this stream and no other."""
        frame = self.framing.chooser()
        for start in range(0, len(events), _FRAMES_A_SEND):
            part = events[start : start + _FRAMES_A_SEND]
            try:
                frames = [frame(kind, change) for kind, change in part]
            except Exception as error:
                raise _BadEvent(f"{type(error).__name__}: {error}") from error
            body = frames[0] if len(frames) == 1 else b"".join(frames)
            await send({"type": "http.response.body", "body": body, "more_body": True})

    def _failure(self, error: Exception) -> bytes:
        """The last event of a stream that cannot go on."""
        logger.error(
            "a watch of %s ended: %s",
            self.collection.resource,
            error,
            exc_info=None if isinstance(error, StorageError) else error,
        )
        return self._error(StatusError(500, "InternalError", f"the watch cannot go on: {error}"))

    def _error(self, error: StatusError) -> bytes:
        return self.framing.event("ERROR", error.status())

    def _cut_off_later(self, request: Request) -> None:
        """A client that does not read cannot be told that the stream is over: cut it off, at once
        if it is why the stream ends."""
        abort = request.scope.get("extensions", {}).get("abort")
        if abort is not None:
            delay = 0.0 if self.watcher.lagging else _PATIENCE
            asyncio.get_running_loop().call_later(delay, self._cut_off, abort)

    def _cut_off(self, abort: Callable[[], None]) -> None:
        if self.watcher.on_close is not None:  # still sending
            abort()

    async def _follow(self, send: Send) -> None:
        """Send what the watcher collects until its time is up or it is closed."""
        loop = asyncio.get_running_loop()
        watcher = self.watcher
        end = loop.time() + self.timeout
        next_bookmark = self._next_bookmark(loop.time(), end)
        alarm = loop.call_at(min(end, next_bookmark), watcher.wake)
        try:
            while not watcher.closed or watcher.pending:
                taken = await watcher.take()
                if taken:
                    await self._send_events(send, taken)
                    continue
                now = loop.time()
                if now >= end:
                    return
                if now >= next_bookmark:
                    body = self.framing.bookmark(self.store.revision)
                    await send({"type": "http.response.body", "body": body, "more_body": True})
                    next_bookmark = self._next_bookmark(now, end)
                alarm.cancel()
                alarm = loop.call_at(min(end, next_bookmark), watcher.wake)
        finally:
            alarm.cancel()

    def _next_bookmark(self, now: float, end: float) -> float:
        """About once a minute, and shortly before the end."""
        if not self.bookmarks:
            return float("inf")
        last = end - _BOOKMARK_BEFORE_END
        if now < last:
            return min(now + BOOKMARK_EVERY, last)
        return float("inf") if now > last + 0.1 or self.timeout > _BOOKMARK_BEFORE_END else now


async def start_stream(framing: Framing, send: Send) -> None:
    media_type = framing.representation.media_type
    if media_type != JSON:
        media_type += ";stream=watch"
    headers = [
        (b"cache-control", b"no-cache, private"),
        (b"content-type", media_type.encode()),
    ]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    # Send the head on its way: clients wait for it before they read the first event.
    await send({"type": "http.response.body", "body": b"", "more_body": True})


async def _disconnected(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


class _ErrorStream(Answer):
    """A watch that cannot be: 200, and one ERROR event that holds the Status."""

    __slots__ = ("error", "framing")

    def __init__(self, error: StatusError, framing: Framing) -> None:
        super().__init__(200, b"")
        self.error = error
        self.framing = framing

    async def send(self, request: Request, send: Send) -> None:
        await start_stream(self.framing, send)
        body = self.framing.event("ERROR", self.error.status())
        await send({"type": "http.response.body", "body": body})


async def watch(api: Api, request: Request) -> Answer:
    target = request.target
    resource = target.resource
    assert resource is not None
    check_watch(api.dialect, request.representation)
    options = list_options(api.dialect, request, chunking=True)
    selection = api.selection(request, resource)
    if target.name:
        by_name = Requirement("metadata.name", "in", frozenset([target.name]))
        selection = Selection(selection.labels, (*selection.fields, by_name))
    include = include_object(request) if request.representation.transform == "Table" else ""
    framing = Framing(api, resource, request.representation, include)
    return _open(api, resource, target.namespace, selection, framing, options)


def _open(
    api: Api,
    resource: Resource,
    namespace: str,
    selection: Selection,
    framing: Framing,
    options: ListOptions,
) -> Answer:
    collection = api.collection(resource)
    after = revision_of(options.revision)
    namespace = namespace if resource.namespaced else ""
    scope = _scope(resource, namespace, selection)
    watcher = Watcher(scope, selection, after or api.store.revision)
    if not after:
        events = _synthetic(collection.resource, collection.current(namespace, selection))
        api.store.watch(collection, watcher)
    else:
        try:
            past = api.store.watch(collection, watcher)
        except Compacted as error:
            return _ErrorStream(_too_old(error, api.store.floor), framing)
        events = _replayed(past, scope, selection)
    return WatchStream(api, collection, watcher, framing, events, options)


def _too_old(error: Compacted, floor: int) -> StatusError:
    return expired(f"too old resource version: {error} ({floor})")


def _scope(resource: Resource, namespace: str, selection: Selection) -> str:
    """The part of the collection whose changes can concern a watcher: all of it, a namespace or
    one key."""
    namespace = namespace or selection.namespace or ""
    if selection.name is not None and (namespace or not resource.namespaced):
        return resource.storage_key(namespace, selection.name)
    return f"{namespace}/" if namespace else ""


async def _synthetic(resource: str, versions: list[Version]) -> AsyncIterator[Sequence[Event]]:
    for start in range(0, len(versions), _FRAMES_A_SEND):
        part = versions[start : start + _FRAMES_A_SEND]
        yield [(ADDED, existing(resource, version)) for version in part]


async def _replayed(
    past: AsyncIterator[list[Change]], scope: str, selection: Selection
) -> AsyncIterator[Sequence[Event]]:
    async for changes in past:
        yield list(_selected(changes, scope, selection))


def _selected(changes: list[Change], scope: str, selection: Selection) -> Iterable[Event]:
    for change in changes:
        if not scope or change.key == scope or (scope[-1] == "/" and change.key.startswith(scope)):
            try:
                kind = event_type(change, selection)
            except Exception as error:
                raise _BadEvent(f"{type(error).__name__}: {error}") from error
            if kind is not None:
                yield kind, change
