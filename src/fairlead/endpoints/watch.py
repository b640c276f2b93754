"""The watch stream: what was, what happens, and bookmarks."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Iterable, Iterator
from functools import partial

import orjson

from fairlead.endpoints.answers import Answer, encode
from fairlead.endpoints.api import Api, Object
from fairlead.endpoints.negotiation import JSON, Representation, check_watch
from fairlead.endpoints.parameters import ListOptions, list_options, revision_of
from fairlead.endpoints.representing import include_object, metadata_only, table, typed
from fairlead.endpoints.request import Request, Send
from fairlead.errors import StatusError, bad_request, expired
from fairlead.kinds.conversion import from_stored
from fairlead.kinds.resources import Resource
from fairlead.schema.decode import zero
from fairlead.serialization.protobuf import watch_frame
from fairlead.storage.collection import Collection
from fairlead.storage.entry import Entry
from fairlead.storage.selection import Requirement, Selection
from fairlead.storage.store import Compacted
from fairlead.storage.watcher import ADDED, DELETED, Frame, Watcher, event_type

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

    def shared_frame(self, kind: str, entry: Entry) -> bytes:
        frames = entry.frames
        if frames is None:
            frames = entry.frames = {}
        key = (kind, self._cache_key)
        found = frames.get(key)
        if found is None:
            found = frames[key] = self._frame(kind, entry)
        return found

    def _frame(self, kind: str, entry: Entry) -> bytes:
        body = entry.last_body() if kind == DELETED else entry.body
        assert body is not None
        plain = self.representation.media_type == JSON and not self.representation.transform
        if self.resource.sends_stored_bytes and plain:
            return b'{"type":"%s","object":%s%s}\n' % (kind.encode(), self.resource.head, body)
        return self.event(kind, self._shown(orjson.loads(b"{" + body)))

    def table_frame(self, kind: str, entry: Entry) -> bytes:
        """Columns come with the first event of a stream only, so frames are not shared."""
        body = entry.last_body() if kind == DELETED else entry.body
        assert body is not None
        return self.event(kind, self._table(orjson.loads(b"{" + body)))

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


def json_event(kind: str, value: Object) -> bytes:
    return orjson.dumps({"type": kind, "object": value}, option=orjson.OPT_APPEND_NEWLINE)


def _empty(resource: Resource) -> Object:
    value: Object = zero(resource.struct)
    return {name: item for name, item in value.items() if name not in ("kind", "apiVersion")}


class WatchStream(Answer):
    """A watch as an answer: it ends when its time is up, the client leaves or the server stops."""

    __slots__ = ("bookmarks", "collection", "framing", "initial", "store", "timeout", "watcher")

    def __init__(
        self,
        api: Api,
        collection: Collection,
        watcher: Watcher,
        framing: Framing,
        initial: Iterable[bytes],
        options: ListOptions,
    ) -> None:
        super().__init__(200, b"")
        self.store = api.store
        self.collection = collection
        self.watcher = watcher
        self.framing = framing
        self.initial = initial
        self.bookmarks = options.bookmarks
        wanted = options.timeout or 0
        self.timeout = wanted if wanted > 0 else random.randint(1, 2) * SHORTEST_DEFAULT_TIMEOUT

    async def send(self, request: Request, send: Send) -> None:
        await start_stream(self.framing, send)
        gone = asyncio.ensure_future(_disconnected(request))
        gone.add_done_callback(lambda _: self.watcher.close())
        self.watcher.on_close = partial(self._cut_off_later, request)
        try:
            for piece in _pieces(self.initial):
                await send({"type": "http.response.body", "body": piece, "more_body": True})
            await self._follow(send)
            await send({"type": "http.response.body", "body": b""})
        finally:
            gone.cancel()
            self.watcher.on_close = None
            self.collection.unwatch(self.watcher)

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
                    body = taken[0] if len(taken) == 1 else b"".join(taken)
                    await send({"type": "http.response.body", "body": body, "more_body": True})
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


def _pieces(frames: Iterable[bytes]) -> Iterator[bytes]:
    batch: list[bytes] = []
    for frame in frames:
        batch.append(frame)
        if len(batch) >= _FRAMES_A_SEND:
            yield b"".join(batch)
            batch = []
    if batch:
        yield b"".join(batch)


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
        if selection.fields and selection.name != target.name:
            raise bad_request("fieldSelector metadata.name doesn't match requested name")
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
    frame = framing.chooser()
    namespace = namespace if resource.namespaced else ""
    scope = _scope(resource, namespace, selection)
    watcher = Watcher(scope, selection, after or api.store.revision, frame)
    if not after:
        initial: Iterable[bytes] = _synthetic(collection, namespace, selection, frame)
        api.store.watch(collection, watcher)
    else:
        try:
            past = api.store.watch(collection, watcher)
        except Compacted:
            error = expired(f"too old resource version: {after} ({api.store.floor})")
            return _ErrorStream(error, framing)
        initial = _replayed(past, scope, selection, frame)
    return WatchStream(api, collection, watcher, framing, initial, options)


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


def _replayed(
    past: list[Entry], scope: str, selection: Selection, frame: Callable[[str, Entry], bytes]
) -> Iterator[bytes]:
    for entry in past:
        if not scope or entry.key == scope or (scope[-1] == "/" and entry.key.startswith(scope)):
            kind = event_type(entry, selection)
            if kind is not None:
                yield frame(kind, entry)
