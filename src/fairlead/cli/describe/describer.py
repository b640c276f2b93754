"""Describes one object: fetches related objects and draws the page."""

from __future__ import annotations

import asyncio
from typing import Any

from fairlead.base.dialect import Dialect
from fairlead.cli.describe.layout import Layout, Subject
from fairlead.cli.describe.layouts import layout_of
from fairlead.cli.describe.page import Page
from fairlead.cli.describe.parts.events import draw_events
from fairlead.cli.describe.queries import Queries
from fairlead.client import Client, ResourceType
from fairlead.client.resources import Object

_EVENTS = "events of the object"


class Describer:
    """Renders objects as text. Raises Unreachable, AccessError, and CommandFailed for an object
    that cannot be read. API errors of related queries become part of the text."""

    def __init__(self, client: Client, dialect: Dialect, chunk: int, show_events: bool) -> None:
        self._asker = Queries(client, dialect, chunk)
        self._dialect = dialect
        self._show_events = show_events

    async def describe(self, type: ResourceType, value: Object) -> str:
        # Items of a list have no apiVersion and kind.
        whole = {"apiVersion": type.api_version, "kind": type.kind, **value}
        layout = layout_of(type, self._dialect)
        subject = Subject(whole, self._dialect)
        await self._ask(layout, subject)
        page = Page()
        layout.draw(page, subject)
        if _EVENTS in subject.answers:
            draw_events(page, subject.answers[_EVENTS])
        return page.text()

    async def _ask(self, layout: Layout, subject: Subject) -> None:
        questions: dict[str, Any] = {
            name: question(subject, self._asker) for name, question in layout.related.items()
        }
        if self._show_events and layout.events is not None:
            questions[_EVENTS] = self._events(layout, subject)
        answers = await asyncio.gather(*questions.values())
        subject.answers.update(zip(questions, answers, strict=True))

    async def _events(self, layout: Layout, subject: Subject) -> list[Any]:
        assert layout.events is not None
        asked = [self._asker.events(subject.namespace, about) for about in layout.events(subject)]
        return [event for found in await asyncio.gather(*asked) for event in found.items]
