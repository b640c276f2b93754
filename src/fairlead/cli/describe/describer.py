"""Describes objects: fetches related objects, draws the page, and runs several at a time."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any, TypeVar

from fairlead.base.dialect import Dialect
from fairlead.cli.describe.fields import Fields
from fairlead.cli.describe.layout import Layout, Subject, layout_of
from fairlead.cli.describe.page import Page
from fairlead.cli.describe.parts.values import NONE, age
from fairlead.cli.describe.queries import Queries
from fairlead.client import Client, ResourceType
from fairlead.client.resources import Object

_EVENTS = "events of the object"
_HEAD = ("Type", "Reason", "Age", "From", "Message")
_RULES = ("----", "------", "----", "----", "-------")
Item = TypeVar("Item")
Result = TypeVar("Result")
_MAX_CONCURRENT = 8


class Describer:
    """Renders objects as text. Raises Unreachable, AccessError, and CommandFailed for an object
    that cannot be read. API errors of related queries become part of the text."""

    def __init__(self, client: Client, dialect: Dialect, chunk: int, show_events: bool) -> None:
        self._queries = Queries(client, dialect, chunk)
        self._dialect = dialect
        self._show_events = show_events

    async def describe(self, type: ResourceType, value: Object) -> str:
        # Items of a list have no apiVersion and kind.
        complete = {"apiVersion": type.api_version, "kind": type.kind, **value}
        layout = layout_of(type, self._dialect)
        subject = Subject(complete, self._dialect)
        await self._ask(layout, subject)
        page = Page()
        layout.draw(page, subject)
        if _EVENTS in subject.answers:
            draw_events(page, subject.answers[_EVENTS])
        return page.text()

    async def _ask(self, layout: Layout, subject: Subject) -> None:
        questions: dict[str, Any] = {
            name: question(subject, self._queries) for name, question in layout.related.items()
        }
        if self._show_events and layout.events is not None:
            questions[_EVENTS] = self._events(layout, subject)
        answers = await asyncio.gather(*questions.values())
        subject.answers.update(zip(questions, answers, strict=True))

    async def _events(self, layout: Layout, subject: Subject) -> list[Any]:
        assert layout.events is not None
        queries = [
            self._queries.events(subject.namespace, about) for about in layout.events(subject)
        ]
        return [event for result in await asyncio.gather(*queries) for event in result.items]


# Draws the events of an object.


def draw_events(page: Page, events: Sequence[Fields]) -> None:
    """Draw events, last seen last."""
    if not events:
        page.pair("Events", NONE)
        return
    page.write("Events:")
    ordered = sorted(events, key=lambda event: event.text("lastTimestamp"))
    page.table(_HEAD, map(_row, ordered), rules=_RULES)


def _row(event: Fields) -> tuple[str, ...]:
    source = event.text("source.component") or event.text("reportingComponent")
    return (
        event.text("type"),
        event.text("reason"),
        _when(event),
        source,
        event.text("message").strip(),
    )


def _when(event: Fields) -> str:
    """The Age column: time since the last occurrence, count, and time since the first."""
    first = age(event.at("eventTime") or event.at("firstTimestamp"))
    if event.has("series"):
        last, count = age(event.at("series.lastObservedTime")), event.number("series.count")
    else:
        last, count = age(event.at("lastTimestamp")), event.number("count")
        if count <= 1:
            return first
    return f"{last} (x{count} over {first})"


# Bounded concurrency with ordered results.


async def run_in_order(
    work: Callable[[Item], Awaitable[Result]], items: Sequence[Item]
) -> AsyncIterator[Result]:
    """Run `work` on all items, up to 8 at a time, and yield the results in the order of the items.
    Closing the iterator cancels the running tasks."""
    running: deque[asyncio.Future[Result]] = deque()
    try:
        for item in items:
            if len(running) == _MAX_CONCURRENT:
                yield await running.popleft()
            running.append(asyncio.ensure_future(work(item)))
        while running:
            yield await running.popleft()
    finally:
        for task in running:
            task.cancel()
