"""The watch stream: what was, what happens, and bookmarks."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from functools import partial
from time import perf_counter
from typing import Protocol

import orjson

from fairlead.bounded import remembered
from fairlead.endpoints.answers import Answer, encode
from fairlead.endpoints.from_bytes import can_write, item_writer, table_of
from fairlead.endpoints.kept_messages import enveloped_message, is_binary
from fairlead.endpoints.negotiation import JSON, Representation, check_watch
from fairlead.endpoints.parameters import list_options, selection_of
from fairlead.endpoints.representing import include_object, metadata_only, table
from fairlead.endpoints.request import Request
from fairlead.endpoints.steps import STEP_SECONDS, rest
from fairlead.errors import StatusError
from fairlead.http.exchange import Exchange
from fairlead.kinds.conversion import from_stored
from fairlead.kinds.resources import Resource
from fairlead.operations.api import Api, Object
from fairlead.operations.operation import Operation
from fairlead.operations.options import ListOptions
from fairlead.operations.views import typed
from fairlead.operations.watch import open_watch, too_old
from fairlead.schema.decode import zero
from fairlead.serialization.protobuf import watch_frame
from fairlead.storage.backend import Compacted, StorageError
from fairlead.storage.change import ADDED, DELETED, MODIFIED, Change
from fairlead.storage.counts import WATCH_ENCODES
from fairlead.storage.version import Version
from fairlead.storage.watcher import Event, Watcher

logger = logging.getLogger("fairlead.watch")

# Turns an event into the bytes that are sent; called in the task of a watcher's own connection.
Frame = Callable[[str, Change], bytes]

_YEARS = 1e8  # seconds
BOOKMARK_EVERY = 60.0
_BOOKMARK_BEFORE_END = 2.0
_BYTES_A_SEND = 256 * 1024
_PATIENCE = 1.0
_SOON = 0.01  # timers may be early by less


@remembered()
def _frame_keys(form: str) -> Mapping[str, str]:
    """Under what a change keeps its frames of a form, by what the change is; the same for all
    watchers."""
    return {kind: f"{kind} {form}" for kind in (ADDED, MODIFIED, DELETED)}


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
        plain = representation.media_type == JSON and not representation.transform
        self.sends_stored_bytes = plain and resource.sends_stored_bytes
        self._writes_bytes = can_write(resource, representation)
        self.keys = _frame_keys(f"{resource.api_version} {representation}")

    def chooser(self) -> Frame:
        if self.representation.transform == "Table":
            return self.table_frame
        return self.shared_frame

    def shared_frame(self, kind: str, change: Change) -> bytes:
        key = self.keys[kind]
        found = change.frames.get(key)
        if found is None:
            found = change.frames[key] = self._frame(kind, change)
            WATCH_ENCODES.add(of=(change.resource,))
        return found

    def _frame(self, kind: str, change: Change) -> bytes:
        body = _body(kind, change)
        if self.sends_stored_bytes:
            return b'{"type":"%s","object":%s%s}\n' % (kind.encode(), self.resource.head, body)
        if is_binary(self.resource, self.representation):
            shown = _content(kind, change)
            message = enveloped_message(self.resource, self.representation, shown)
            return watch_frame(kind, message)
        if self._writes_bytes:
            item = item_writer(self.resource, self.representation)
            return _json_frame(kind, item(_content(kind, change)))
        return self.event(kind, self._shown(orjson.loads(b"{" + body)))

    def table_frame(self, kind: str, change: Change) -> bytes:
        """Columns come with the first event of a stream only, so frames are not shared."""
        first, self._columns_sent = not self._columns_sent, True
        if not self._writes_bytes:
            return self.event(kind, self._table(orjson.loads(b"{" + _body(kind, change)), first))
        content, form = _content(kind, change), self.representation
        made = table_of(content, self.resource, form, self.include, with_columns=first)
        return _json_frame(kind, made)

    def _shown(self, stored: Object) -> Object:
        value = typed(self.resource, from_stored(self.resource, stored))
        if self.representation.transform:
            return metadata_only(self.api.dialect, value, self.representation.version)
        return value

    def _table(self, stored: Object, first: bool) -> Object:
        value = typed(self.resource, from_stored(self.resource, stored))
        metadata = {"resourceVersion": value["metadata"].get("resourceVersion", "")}
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


def _content(kind: str, change: Change) -> Version:
    """What an event shows."""
    if kind != DELETED:
        assert change.after is not None
        return change.after
    assert change.before is not None
    return change.before.copy_at(change.revision)


def _json_frame(kind: str, encoded: bytes) -> bytes:
    return b'{"type":"%b","object":%b}\n' % (kind.encode(), encoded)


def json_event(kind: str, value: Object) -> bytes:
    return orjson.dumps({"type": kind, "object": value}, option=orjson.OPT_APPEND_NEWLINE)


def _empty(resource: Resource) -> Object:
    value: Object = zero(resource.struct)
    return {name: item for name, item in value.items() if name not in ("kind", "apiVersion")}


class Frames(Protocol):
    """How the events of a stream are written, as `Framing` does."""

    @property
    def representation(self) -> Representation: ...

    @property
    def sends_stored_bytes(self) -> bool: ...

    @property
    def keys(self) -> Mapping[str, str]: ...

    def shared_frame(self, kind: str, change: Change) -> bytes: ...

    def chooser(self) -> Frame: ...

    def bookmark(self, revision: int) -> bytes: ...

    def event(self, kind: str, value: Object) -> bytes: ...


class Opened(Protocol):
    """What a stream tells, as a `Watch` that was opened has it."""

    @property
    def watcher(self) -> Watcher: ...

    @property
    def past(self) -> AsyncIterator[Sequence[Event]]: ...

    @property
    def name(self) -> str: ...

    @property
    def converts(self) -> bool: ...

    async def shown(self, events: Sequence[Event]) -> Sequence[Event]: ...

    def close(self) -> None: ...


class _BadEvent(Exception):
    """An event that cannot be sent in the way that this client asked for."""


class WatchStream(Answer):
    """A watch as an answer: it ends when its time is up, the client leaves or the server stops."""

    __slots__ = ("bookmark_every", "bookmarks", "framing", "opened", "store", "timeout", "watcher")

    def __init__(
        self,
        api: Api,
        opened: Opened,
        framing: Frames,
        options: ListOptions,
        bookmark_every: float,
    ) -> None:
        super().__init__(200, b"")
        self.store = api.store
        self.opened = opened
        self.watcher = opened.watcher
        self.framing = framing
        self.bookmarks = options.bookmarks
        self.bookmark_every = bookmark_every
        wanted = options.timeout or 0
        self.timeout = wanted if wanted > 0 else _unasked(api.shortest_watch)

    async def send(self, request: Request) -> None:
        exchange = request.exchange
        exchange.no_deadline()
        try:
            start_stream(self.framing, exchange)
            exchange.when_gone(self.watcher.close)
            self.watcher.on_close = partial(self._cut_off_later, exchange)
            await exchange.send(await self._all_events(request))
            exchange.end()
        finally:
            self.watcher.on_close = None
            self.opened.close()

    async def _all_events(self, request: Request) -> bytes:
        """Send what was and what happens; gives what the stream ends with."""
        exchange = request.exchange
        try:
            await self._send_past(exchange)
            request.leave_seat()
            exchange.settle()
            await self._follow(exchange)
        except Compacted as error:
            return self._error(too_old(error, self.store.floor))
        except (_BadEvent, StorageError) as error:
            return self._failure(error)
        failure = self.watcher.failure
        if isinstance(failure, Compacted):
            return self._error(too_old(failure, self.store.floor))
        return self._failure(failure) if failure is not None else b""

    async def _send_past(self, exchange: Exchange) -> None:
        """On its own, so that nothing of it is held while the stream goes on."""
        async for events in self.opened.past:
            await self._send_events(exchange, events)

    async def _send_events(self, exchange: Exchange, events: Sequence[Event]) -> None:
        """Encode and send, some at a time. Frames are made here, not at the commit: what cannot
        be encoded ends this stream and no other; and no more of them than are sent at once, so
        that a client that does not read holds little."""
        frame = self.framing.chooser()
        frames: list[bytes] = []
        size = 0
        end = perf_counter() + STEP_SECONDS
        try:
            events = await self.opened.shown(events)
        except Exception as error:
            raise _BadEvent(f"{type(error).__name__}: {error}") from error
        for kind, change in events:
            try:
                made = frame(kind, change)
            except Exception as error:
                raise _BadEvent(f"{type(error).__name__}: {error}") from error
            frames.append(made)
            size += len(made)
            if size >= _BYTES_A_SEND or perf_counter() >= end:
                await exchange.send(b"".join(frames))
                await rest(exchange.turn)
                frames, size, end = [], 0, perf_counter() + STEP_SECONDS
        if frames:
            await exchange.send(frames[0] if len(frames) == 1 else b"".join(frames))

    def _failure(self, error: Exception) -> bytes:
        """The last event of a stream that cannot go on."""
        logger.error("a watch of %s ended: %s", self.opened.name, error)
        return self._error(StatusError(500, "InternalError", f"the watch cannot go on: {error}"))

    def _error(self, error: StatusError) -> bytes:
        return self.framing.event("ERROR", error.status())

    def _cut_off_later(self, exchange: Exchange) -> None:
        """A client that does not read cannot be told that the stream is over: cut it off, at once
        if it is why the stream ends."""
        delay = 0.0 if self.watcher.lagging else _PATIENCE
        asyncio.get_running_loop().call_later(delay, self._cut_off, exchange)

    def _cut_off(self, exchange: Exchange) -> None:
        if self.watcher.on_close is not None:  # still sending
            exchange.abort()

    async def _follow(self, exchange: Exchange) -> None:
        """Send what the watcher collects until its time is up or it is closed."""
        loop = asyncio.get_running_loop()
        watcher = self.watcher
        end = loop.time() + self.timeout
        next_bookmark = self._next_bookmark(loop.time(), end)
        due = min(end, next_bookmark)
        alarm = loop.call_at(due, watcher.wake)
        if self.framing.sends_stored_bytes and not self.opened.converts:
            watcher.pass_on = self._passing_on(exchange)
        try:
            while not watcher.closed or watcher.pending:
                taken = await watcher.take()
                if taken:
                    await self._send_events(exchange, taken)
                now = loop.time()
                if now >= end:
                    return
                if now >= next_bookmark and not watcher.pending:
                    told = self.store.told
                    if told >= watcher.after:  # a client may know of more than this server yet does
                        await exchange.send(self.framing.bookmark(told))
                    next_bookmark = self._next_bookmark(now, end, sent=True)
                if not taken or due - now < _SOON:  # it may have rung while something was sent
                    alarm.cancel()
                    due = min(end, next_bookmark)
                    alarm = loop.call_at(due, watcher.wake)
        finally:
            alarm.cancel()

    def _passing_on(self, exchange: Exchange) -> Callable[[str, Change], bool]:
        """Sends single events to an idle client in the middle of their delivery: waking the stream
        for each would cost more than the sending, where frames need no encoding."""
        keys, frame, send = self.framing.keys, self.framing.shared_frame, exchange.send_now

        def pass_on(kind: str, change: Change) -> bool:
            made = change.frames.get(keys[kind])
            if made is None:
                try:
                    made = frame(kind, change)
                except Exception:
                    return False  # the stream finds out and ends with it
            return send(made)

        return pass_on

    def _next_bookmark(self, now: float, end: float, *, sent: bool = False) -> float:
        """Every now and then, and shortly before the end; once if the end is near already."""
        if not self.bookmarks:
            return float("inf")
        last = end - _BOOKMARK_BEFORE_END
        if now < last:
            return min(now + self.bookmark_every, last)
        return float("inf") if sent else now


def _unasked(shortest: float) -> float:
    """How long a watch lasts whose client does not say: not all of them end at the same time."""
    return random.uniform(1, 2) * shortest if shortest else _YEARS


def start_stream(framing: Frames, exchange: Exchange) -> None:
    media_type = framing.representation.media_type
    if media_type != JSON:
        media_type += ";stream=watch"
    headers = [
        (b"cache-control", b"no-cache, private"),
        (b"content-type", media_type.encode()),
    ]
    exchange.start(200, headers)


class ErrorStream(Answer):
    """A watch that cannot be: 200, and one ERROR event that holds the Status."""

    __slots__ = ("error", "framing")

    def __init__(self, error: StatusError, framing: Frames) -> None:
        super().__init__(200, b"")
        self.error = error
        self.framing = framing

    async def send(self, request: Request) -> None:
        exchange = request.exchange
        start_stream(self.framing, exchange)
        await exchange.send(self.framing.event("ERROR", self.error.status()))
        exchange.end()


async def answer_watch(api: Api, request: Request, operation: Operation) -> Answer:
    check_watch(api.dialect, request.representation)
    options = list_options(api.dialect, request, chunking=True)
    selection = selection_of(request, operation.resource)
    include = include_object(request) if request.representation.transform == "Table" else ""
    framing = Framing(api, operation.resource, request.representation, include)
    try:
        opened = await open_watch(api, operation, options, selection)
    except StatusError as error:
        if error.code != 410:
            raise
        return ErrorStream(error, framing)
    return WatchStream(api, opened, framing, options, BOOKMARK_EVERY)
