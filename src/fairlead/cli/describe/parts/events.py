"""Draws the events of an object."""

from __future__ import annotations

from collections.abc import Sequence

from fairlead.cli.describe.fields import Fields
from fairlead.cli.describe.page import Page
from fairlead.cli.describe.parts.times import age
from fairlead.cli.describe.parts.words import NONE

_HEAD = ("Type", "Reason", "Age", "From", "Message")
_RULES = ("----", "------", "----", "----", "-------")


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
