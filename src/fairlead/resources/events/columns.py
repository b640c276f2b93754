"""Columns of events, in the core group and in their own group."""

from __future__ import annotations

from dataclasses import dataclass

from fairlead.resources.columns.cell_text import Age, age_since, field, moment
from fairlead.resources.columns.model import NAME, Object, Printer, table, text


@dataclass(frozen=True, slots=True)
class _Form:
    """The field names of events in one of the two groups."""

    about: str
    message: str
    source: str
    controller: str
    first: str
    last: str
    count: str

    def first_seen(self, event: Object) -> Age | str:
        stamp = event.get(self.first)
        return age_since(event.get("eventTime") if moment(stamp) is None else stamp)

    def last_seen(self, event: Object) -> Age | str:
        if event.get("series") is not None:
            return age_since(field(event, "series.lastObservedTime"))
        stamp = event.get(self.last)
        return self.first_seen(event) if moment(stamp) is None else age_since(stamp)

    def times(self, event: Object) -> int:
        if event.get("series") is not None:
            return field(event, "series.count") or 0
        return event.get(self.count) or 1

    def target(self, event: Object) -> str:
        kind = str(field(event, f"{self.about}.kind") or "").lower()
        name = field(event, f"{self.about}.name")
        return f"{kind}/{name}" if name else kind

    def sender(self, event: Object) -> str:
        component = field(event, f"{self.source}.component") or event.get(self.controller) or ""
        host = field(event, f"{self.source}.host") or event.get("reportingInstance")
        return f"{component}, {host}" if host else component

    def message_text(self, event: Object) -> str:
        return str(event.get(self.message) or "").strip()


def _printer(form: _Form) -> Printer:
    part = f"{form.about}.fieldPath"
    return table(
        text("Last Seen", form.last_seen, "Time since it last happened"),
        text("Type", "type", "Normal or Warning"),
        text("Reason", "reason", "What happened, in a word"),
        text("Object", form.target, "What it happened to"),
        text("Subobject", part, "Part of the object it happened to", wide=True),
        text("Source", form.sender, "Who reported it", wide=True),
        text("Message", form.message_text, "What happened, in a sentence"),
        text("First Seen", form.first_seen, "Time since it first happened", wide=True),
        text("Count", form.times, "How often it happened", wide=True),
        text("Name", "metadata.name", NAME.column.description, format="name", wide=True),
    )


PRINTERS = {
    "core/v1/events": _printer(
        _Form(
            about="involvedObject",
            message="message",
            source="source",
            controller="reportingComponent",
            first="firstTimestamp",
            last="lastTimestamp",
            count="count",
        )
    ),
    "events/v1/events": _printer(
        _Form(
            about="regarding",
            message="note",
            source="deprecatedSource",
            controller="reportingController",
            first="deprecatedFirstTimestamp",
            last="deprecatedLastTimestamp",
            count="deprecatedCount",
        )
    ),
}
