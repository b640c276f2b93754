"""Watches the objects of a resource and reports each change once, across reconnects."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Container, Iterator, Mapping
from contextlib import AsyncExitStack, aclosing
from random import randint
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import orjson

from fairlead.client.errors import ApiError, Expired, TimedOut, Unreachable, error_of_status
from fairlead.client.session import JSON, Pauses, Request

if TYPE_CHECKING:
    from fairlead.client.resources import Resource

Object = dict[str, Any]
Key = tuple[str, str]  # namespace and name
_Item = TypeVar("_Item")

ADDED, MODIFIED, DELETED = "ADDED", "MODIFIED", "DELETED"
_ERROR = "ERROR"
_LIST_FIRST = {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"}
_END_OF_LIST = "/initial-events-end"  # an annotation of the bookmark after the list
_SECONDS = (300, 600)  # seconds that a request lasts
_GRACE = 30.0  # seconds, for a server that does not end the request
_LONG = 5.0  # seconds; a request that lasted this long counts as a success


_BUSY, _INVALID = 429, 422
_MALFORMED = (ValueError, KeyError, TypeError, AttributeError, IndexError)


class Event(NamedTuple):
    """ADDED, MODIFIED or DELETED, and the object; for Tables, a Table of one row."""

    type: str
    object: Object


class Watch:
    """Changes of objects, for `async for`. Reconnects after lost connections and timeouts. If the
    server no longer has the changes since the last version, it lists again and reports the
    difference. Ends at its timeout or when iteration stops; a new iteration, also after an error,
    continues where the last one ended.

    With `in_stream` the watch request itself begins with the list, if the server can do that, so
    that one request is enough.

    Raises what a list raises; Unreachable only if no request has succeeded yet; and Expired if it
    started at a bare resource version, because the objects at that version, and so the deleted
    ones, are unknown.
    """

    def __init__(
        self,
        resource: Resource,
        namespace: str | None = None,
        *,
        name: str = "",
        since: str | Mapping[str, Any] = "",
        accept: str = JSON,
        timeout: float | None = None,
        in_stream: bool = False,
        query: Mapping[str, Any] | None = None,
    ) -> None:
        self._resource = resource
        self._namespace = namespace
        self._accept = accept
        self._timeout = timeout
        self._query = _selecting(name, query or {})
        self._objects: dict[Key, Object] | None = {}
        self.listed = asyncio.Event()  # set once all objects of the initial list are reported
        self._begun = False
        self._in_pages = True
        self._in_stream = in_stream
        if isinstance(since, str):
            self.version = since
            if since:
                self._objects = None
        else:
            self.version = _version_of_list(since)
            self._objects = listed_objects(since)

    def __aiter__(self) -> AsyncGenerator[Event, None]:
        return self._events()

    async def _events(self) -> AsyncGenerator[Event, None]:
        clock = asyncio.get_running_loop().time
        ends = None if self._timeout is None else clock() + self._timeout
        pauses = Pauses()
        was_away = False
        while ends is None or clock() < ends:
            began, has_event = clock(), False
            try:
                async with aclosing(self._followed(ends)) as events:
                    async for event in events:
                        has_event = True
                        yield event
            except TimeoutError:  # also if the server vanished silently
                if ends is not None and clock() >= ends:
                    return
            except (ApiError, Unreachable) as error:
                if was_away and isinstance(error, ApiError):  # reachable again
                    pauses.reset()
                was_away = isinstance(error, Unreachable)
                if isinstance(error, Expired) or _is_ahead(error):
                    self._list_again(error)
                elif not self._begun or not _may_pass(error):
                    raise
            if has_event or clock() - began > _LONG:
                pauses.reset()
            pause = pauses.next()
            await asyncio.sleep(pause if ends is None else max(0, min(pause, ends - clock())))

    def _list_again(self, why: Exception) -> None:
        """Force a new list. Raises `why` if the known objects are missing, so that there is no
        difference to compute."""
        if self._objects is None:
            raise why
        self.version = ""

    async def _followed(self, ends: float | None) -> AsyncGenerator[Event, None]:
        """Yield the difference since the last request, then the events of one watch request. Raises
        TimeoutError at the deadline."""
        if not self.version and self._can_stream_list():
            async with aclosing(self._streamed_from_list(ends)) as events:
                async for event in events:
                    yield event
            if self._can_stream_list():
                return
        if not self.version:
            async with aclosing(self._difference()) as differences:
                while (change := await _before(ends, differences)) is not None:
                    yield change
        async with aclosing(self._streamed(ends)) as events:
            async for event in events:
                yield event

    async def _difference(self) -> AsyncGenerator[Event, None]:
        """List the objects and yield the difference to those reported."""
        objects = self._objects
        assert objects is not None
        version, keys = "", set()
        limit = {} if self._in_pages else {"limit": 0}
        accept = self._accept.replace("as=PartialObjectMetadata;", "as=PartialObjectMetadataList;")
        pages = self._resource.pages(self._namespace, accept=accept, **limit, **self._query)
        self._in_pages = False  # without pages next time, if this list expires between pages
        async for page in pages:
            version = version or _version_of_list(page)
            for key, value in listed_objects(page).items():
                keys.add(key)
                for event in _changes(objects.get(key), value):
                    self._remember(event)
                    yield event
        for event in self._end_list(keys, version):
            yield event

    def _end_list(self, keys: Container[Key], version: str) -> Iterator[Event]:
        """Yield the removal of the objects that are not in the list."""
        objects = self._objects
        assert objects is not None
        for key in [key for key in objects if key not in keys]:
            yield Event(DELETED, objects.pop(key))
        self.version, self._begun, self._in_pages = version, True, True
        self.listed.set()

    def _can_stream_list(self) -> bool:
        return self._in_stream and self._resource.session.streams_lists

    async def _streamed_from_list(self, ends: float | None) -> AsyncGenerator[Event, None]:
        """Yield the difference to the list that a watch request begins with, then its events. Ends
        without the list if the server cannot send it."""
        keys: set[Key] = set()
        is_listed = False
        try:
            async with aclosing(self._lines(ends, _LIST_FIRST)) as lines:
                async for line in lines:
                    if is_listed:
                        received = self._received(line)
                        events = [] if received is None else [received]
                    else:
                        events, is_listed = self._listed(line, keys)
                    for event in events:
                        yield event
        except ApiError as error:
            if is_listed or isinstance(error, Expired) or error.code == _BUSY:
                raise
            self._in_stream = False
            self._resource.session.streams_lists = error.code != _INVALID

    async def _streamed(self, ends: float | None) -> AsyncGenerator[Event, None]:
        """Yield the events of one watch request."""
        async with aclosing(self._lines(ends, {"resourceVersion": self.version})) as lines:
            async for line in lines:
                event = self._received(line)
                if event is not None:
                    yield event

    async def _lines(
        self, ends: float | None, beginning: Mapping[str, str]
    ) -> AsyncGenerator[bytes, None]:
        """Yield the lines of one watch request."""
        clock = asyncio.get_running_loop().time
        seconds = randint(*_SECONDS)
        query = {
            **self._query,
            "watch": "true",
            "allowWatchBookmarks": "true",
            **beginning,
            "timeoutSeconds": seconds,
        }
        path = self._resource.path("", self._namespace)
        request = Request("GET", path, query, accept=self._accept)
        silent = clock() + seconds + _GRACE
        async with AsyncExitStack() as stack:
            async with asyncio.timeout_at(ends):
                answer = await stack.enter_async_context(self._resource.session.open(request))
            self._begun = True
            lines = answer.lines()
            until = silent if ends is None else min(ends, silent)
            while (line := await _before(until, lines)) is not None:
                if line.strip():
                    yield line

    def _new(self, event: Event) -> Event | None:
        """The event, or None if it was reported already: servers without list versions begin each
        watch with all objects."""
        objects = self._objects
        if objects is None:
            return event
        before = objects.get(key_of(event.object)) if event.type == ADDED else None
        if before is not None and _metadata(before).get("uid") == _metadata(event.object).get(
            "uid"
        ):
            if _version(before) == _version(event.object):
                return None
            event = Event(MODIFIED, event.object)
        self._remember(event)
        return event

    def _received(self, line: bytes) -> Event | None:
        """The event in a line, None for bookmarks. Raises ApiError for an ERROR event."""
        try:
            type, value = self._parsed(line)
            version = _version(value)
            if type not in (ADDED, MODIFIED, DELETED):
                self.version = version or self.version
                return None
            received = self._new(Event(type, value))
        except _MALFORMED:
            raise Unreachable("malformed event of a watch", sent=True) from None
        self.version = version
        return received

    def _parsed(self, line: bytes) -> tuple[str, Object]:
        event = orjson.loads(line)
        if event["type"] == _ERROR:
            if self._objects is not None:
                self.version = ""
            raise error_of_status(event["object"])
        return event["type"], event["object"]

    def _listed(self, line: bytes, keys: set[Key]) -> tuple[list[Event], bool]:
        """The events of a line of a streamed list, and whether it is the last; `keys` are those of
        its objects so far. The version is unknown until then: if the list breaks off, the next
        request begins with a list again."""
        assert self._objects is not None
        try:
            type, value = self._parsed(line)
            if type in (ADDED, MODIFIED):
                keys.add(key_of(value))
                events = list(_changes(self._objects.get(key_of(value)), value))
                for event in events:
                    self._remember(event)
                return events, False
            if not any(name.endswith(_END_OF_LIST) for name in _annotations(value)):
                return [], False
            return list(self._end_list(keys, _version(value))), True
        except _MALFORMED:
            raise Unreachable("malformed event of a watch", sent=True) from None

    def _remember(self, event: Event) -> None:
        assert self._objects is not None
        if event.type == DELETED:
            self._objects.pop(key_of(event.object), None)
        else:
            self._objects[key_of(event.object)] = event.object


async def _before(when: float | None, items: AsyncGenerator[_Item, None]) -> _Item | None:
    """The next item, None at the end; raises TimeoutError."""
    async with asyncio.timeout_at(when):
        return await anext(items, None)


def _selecting(name: str, query: Mapping[str, Any]) -> dict[str, Any]:
    """The query, with a field selector for the name if there is one."""
    parameters = dict(query)
    if name:
        fields = (parameters.get("fieldSelector"), f"metadata.name={name}")
        parameters["fieldSelector"] = ",".join(part for part in fields if part)
    return parameters


def _metadata(value: Mapping[str, Any]) -> Mapping[str, Any]:
    """The metadata of an object or of a one-row Table."""
    rows = value.get("rows")
    metadata: Mapping[str, Any] = rows[0]["object"]["metadata"] if rows else value["metadata"]
    return metadata


def _annotations(value: Mapping[str, Any]) -> Mapping[str, str]:
    """The annotations of a bookmark."""
    return (value.get("metadata") or {}).get("annotations") or {}


def key_of(value: Mapping[str, Any]) -> Key:
    """The namespace and name of an object."""
    metadata = _metadata(value)
    return metadata.get("namespace") or "", metadata["name"]


def _version(value: Mapping[str, Any]) -> str:
    """The resource version of an object, a list or a bookmark."""
    own = (value.get("metadata") or {}).get("resourceVersion")
    return str(own or _metadata(value).get("resourceVersion") or "")


def _version_of_list(listed: Mapping[str, Any]) -> str:
    return str((listed.get("metadata") or {}).get("resourceVersion") or "")


def objects_of(listed: Mapping[str, Any]) -> Iterator[Object]:
    """Yield the objects of a list; the rows of a Table as one-row Tables."""
    if "rows" not in listed:
        kind = str(listed.get("kind", "")).removesuffix("List")
        for item in listed.get("items") or ():
            # List items lack kind and apiVersion.
            yield {"apiVersion": listed.get("apiVersion"), "kind": kind, **item}
        return
    head = {name: value for name, value in listed.items() if name != "metadata"}
    for row in listed["rows"] or ():
        yield {**head, "rows": [row]}


def listed_objects(listed: Mapping[str, Any]) -> dict[Key, Object]:
    """The objects of a list by key; raises Unreachable if it is malformed."""
    try:
        return {key_of(value): value for value in objects_of(listed)}
    except (KeyError, TypeError, AttributeError, IndexError):
        raise Unreachable("malformed list of objects", sent=True) from None


def _changes(before: Mapping[str, Any] | None, now: Object) -> Iterator[Event]:
    if before is None:
        yield Event(ADDED, now)
        return
    old, new = _metadata(before), _metadata(now)
    if old.get("uid") != new.get("uid"):  # deleted and recreated
        yield Event(DELETED, dict(before))
        yield Event(ADDED, now)
    elif old.get("resourceVersion") != new.get("resourceVersion"):
        yield Event(MODIFIED, now)


def _may_pass(error: ApiError | Unreachable) -> bool:
    return isinstance(error, Unreachable) or error.code == 429 or error.code >= 500


def _is_ahead(error: Exception) -> bool:
    """Whether the resource version is ahead of the server, for example after a restore of its
    store."""
    return isinstance(error, TimedOut) and any(
        cause.get("reason") == "ResourceVersionTooLarge" for cause in error.causes
    )
