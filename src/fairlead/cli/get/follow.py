"""`get -w`: shows objects as they change, and resumes interrupted watches."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from random import uniform
from time import monotonic
from typing import Any, NamedTuple

import orjson

from fairlead.cli.errors import CommandFailed
from fairlead.cli.get.output import accepted, objects_of, table_layout
from fairlead.cli.get.requests import ObjectQueries, ObjectQuery
from fairlead.cli.invocation import Invocation
from fairlead.cli.output.printers import Printer
from fairlead.cli.output.tables import TableText, as_table
from fairlead.client import Unreachable
from fairlead.client.errors import Expired, error_of_status
from fairlead.client.session import JSON, Request

Object = dict[str, Any]

_FIRST_PAUSE = 0.2
_MAX_PAUSE = 10.0
_RECONNECT_TIMEOUT = 120.0  # seconds to retry while the server is unreachable


class Event(NamedTuple):
    """A change of an object, which is the object itself or a table with one row."""

    type: str
    value: Object


async def follow_tables(invocation: Invocation, queries: ObjectQueries) -> int:
    query = _single(queries)
    text = TableText(
        table_layout(invocation, query.resource.type, with_kind=False), invocation.screen
    )
    async for event in _Following(query, accepted(invocation)).events(
        invocation.options.watch_only
    ):
        invocation.screen.out.write(text.text(as_table(event.value), event.type))
        invocation.screen.flush()
    return 0


async def follow_documents(invocation: Invocation, queries: ObjectQueries, printer: Printer) -> int:
    with_events = (
        invocation.options.output_watch_events and not invocation.options.output.startswith("name")
    )
    async for event in _Following(_single(queries), JSON).events(invocation.options.watch_only):
        value = {"object": event.value, "type": event.type} if with_events else event.value
        invocation.screen.out.write(printer(value))
        invocation.screen.flush()
    return 0


def _single(queries: ObjectQueries) -> ObjectQuery:
    """The single request to watch; raises CommandFailed if there are several."""
    if len({(query.resource.type.group, query.resource.type.name) for query in queries.items}) > 1:
        raise CommandFailed("error: --watch follows one kind at a time")
    if len(queries.items) != 1:
        raise CommandFailed("error: --watch follows one object, or all of one kind")
    return queries.items[0]


class _Following:
    """Lists and watches the requested objects. Remembers the shown versions, to show nothing
    twice."""

    def __init__(self, query: ObjectQuery, accept: str) -> None:
        self._query = query
        self._all = (
            query._replace(name="", subresource="", fields=f"metadata.name={query.name}")
            if query.name
            else query
        )
        self._accept = accept
        self._shown: dict[str, Event] = {}
        self._version = ""

    async def events(self, quiet: bool) -> AsyncIterator[Event]:
        """Yield changes forever; raises ApiError and Unreachable. With `quiet`, existing objects
        are skipped."""
        if self._query.name:
            await anext(self._query.pages(self._accept, 0))  # raises NotFound if missing
        async for event in self._listed():
            if not quiet:
                yield event
        while True:
            try:
                async for event in self._watched():
                    yield event
            except Expired:
                async for event in self._listed():
                    yield event

    async def _listed(self) -> AsyncIterator[Event]:
        """List the objects; yield the differences to the known ones."""
        gone = dict(self._shown)
        async for page in self._all.pages(self._accept, 500):
            self._version = page["metadata"]["resourceVersion"]
            for value in _singles(page):
                metadata = _metadata(value)
                before = gone.pop(_key(metadata), None)
                version = metadata.get("resourceVersion")
                if before is None or _metadata(before.value).get("resourceVersion") != version:
                    yield self._noted(Event("MODIFIED" if before else "ADDED", value))
        for event in gone.values():
            yield self._noted(Event("DELETED", event.value))

    def _noted(self, event: Event) -> Event:
        key = _key(_metadata(event.value))
        if event.type == "DELETED":
            self._shown.pop(key, None)
        else:
            self._shown[key] = event
        return event

    async def _watched(self) -> AsyncIterator[Event]:
        """Watch repeatedly, with growing pauses. Raises Unreachable after 120 seconds without a
        connection, and Expired."""
        pause, since = _FIRST_PAUSE, monotonic()
        while True:
            try:
                async for event in self._stream():
                    pause, since = _FIRST_PAUSE, monotonic()
                    yield event
            except Unreachable:
                if monotonic() - since > _RECONNECT_TIMEOUT:
                    raise
            else:
                since = monotonic()
            await asyncio.sleep(uniform(0, pause))
            pause = min(2 * pause, _MAX_PAUSE)

    async def _stream(self) -> AsyncIterator[Event]:
        """One watch request from the last seen resourceVersion."""
        query = {
            **self._all.selectors(),
            "watch": "true",
            "allowWatchBookmarks": "true",
            "resourceVersion": self._version,
        }
        resource = self._all.resource
        request = Request("GET", resource.path("", self._all.namespace), query, accept=self._accept)
        async with resource.session.open(request) as answer:
            async for line in answer.lines():
                if line.strip():
                    event = self._read(orjson.loads(line))
                    if event is not None:
                        yield event

    def _read(self, message: Object) -> Event | None:
        """The event, or None for a bookmark; raises ApiError for an error event."""
        type, value = message["type"], message["object"]
        if type == "ERROR":
            raise error_of_status(value)
        metadata = _metadata(value)
        self._version = metadata.get("resourceVersion") or self._version
        return None if type == "BOOKMARK" else self._noted(Event(type, value))


def _singles(page: Object) -> Iterator[Object]:
    """The objects of a page, or its rows as tables of one row."""
    if page.get("kind") != "Table":
        yield from objects_of(page)
        return
    for row in page.get("rows") or ():
        yield {**page, "rows": [row]}


def _metadata(value: Object) -> Object:
    rows = value.get("rows")
    item = (rows[0].get("object") or {}) if rows else value
    return item.get("metadata") or {}


def _key(metadata: Object) -> str:
    return f"{metadata.get('namespace', '')}/{metadata.get('name', '')}"
