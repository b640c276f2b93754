"""Formats versions with their changes, managers and times, as text or JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from fairlead.api.history.items import changed_paths
from fairlead.base.terminal import printable
from fairlead.cli.invocation import BOLD, DIM, YELLOW, Paint
from fairlead.cli.ownership.managers import Manager
from fairlead.cli.versions.authors import authors_of, time_of
from fairlead.cli.versions.differences import DiffView, painted
from fairlead.cli.versions.retained import CHANGED, CREATED, DELETED, KNOWN, History, Version
from fairlead.cli.versions.served import Writer
from fairlead.codec.types.times import UNKNOWN, moment, since

_NOTHING = "nothing but managedFields, resourceVersion or generation; --all shows it"
HEAD = ("REVISION", "CHANGE", "AGE", "USER", "MANAGERS", "FIELDS")
_CHANGE_NAMES = {
    KNOWN: "as it is first known",
    CREATED: "created",
    CHANGED: "changed",
    DELETED: "deleted",
}


@dataclass(frozen=True, slots=True)
class HistoryEntry:
    """A version with its managers and writer, its time or a lower bound (`after`), and its lines: a
    difference, or the whole object."""

    version: Version
    authors: Sequence[Manager]
    writer: Writer | None
    time: str
    after: str
    lines: Sequence[str]
    fields: Sequence[str]

    def document(self, diff_view: DiffView) -> dict[str, Any]:
        return {
            "revision": str(self.version.revision),
            "change": self.version.change,
            "time": self.time or None,
            **self._writer(),
            "managers": [manager.document() for manager in self.authors],
            "difference": "\n".join(self.lines) if self.version.change != KNOWN else "",
            "object": diff_view.shown(self.version.value),
        }

    def _writer(self) -> dict[str, str]:
        """The user fields, if the writer is known."""
        if self.writer is None:
            return {}
        names = {"user": self.writer.user, "impersonator": self.writer.impersonator}
        return {name: value for name, value in names.items() if value}

    @property
    def _managers(self) -> str:
        return ", ".join(printable(manager.bare) for manager in self.authors)

    def row(self, now: datetime) -> tuple[str, ...]:
        """The row of the brief table; see HEAD."""
        return (
            str(self.version.revision),
            self.version.change,
            since(self.time, now) if self.time else UNKNOWN,
            printable(self.writer.label) if self.writer is not None else UNKNOWN,
            self._managers or UNKNOWN,
            printable(", ".join(self.fields)),
        )

    def description(self, paint: Paint, now: datetime) -> Iterator[str]:
        yield paint(
            f"revision {self.version.revision}  {_CHANGE_NAMES[self.version.change]}", YELLOW, BOLD
        )
        if self.version.change != DELETED:
            yield f"By:    {self._managers or UNKNOWN}"
        if self.writer is not None:
            yield f"User:  {printable(self.writer.label)}"
        yield f"When:  {self._when(now)}"
        if self.lines:
            yield from ("", *painted(self.lines, paint))
        elif self.version.change == CHANGED:
            yield paint(f"       ({_NOTHING})", DIM)

    def _when(self, now: datetime) -> str:
        if self.time:
            return f"{self.time} ({since(self.time, now)} ago)"
        return f"after {self.after}" if self.after else UNKNOWN


def history_entries(
    history: History, diff_view: DiffView, writers: Mapping[int, Writer]
) -> list[HistoryEntry]:
    entries: list[HistoryEntry] = []
    before: Version | None = None
    for version in history.versions:
        authors = authors_of(version, before)
        lines = _lines(version, before, diff_view)
        after = (entries[-1].time or entries[-1].after) if entries else ""
        writer = writers.get(version.revision)
        time = time_of(version, authors) or (writer.time if writer is not None else "")
        fields = _fields(version, before)
        entries.append(HistoryEntry(version, authors, writer, time, after, lines, fields))
        before = version if version.change != DELETED else None
    return entries


def _lines(version: Version, before: Version | None, diff_view: DiffView) -> list[str]:
    if version.change == DELETED:
        return []
    if version.change == KNOWN or (version.change == CHANGED and before is None):
        return [f" {line}" for line in diff_view.lines(version.value)]
    return diff_view.difference(before.value if before is not None else None, version.value)


def _fields(version: Version, before: Version | None) -> list[str]:
    """The paths of the changed fields."""
    if version.change != CHANGED or before is None:
        return []
    paths, more = changed_paths(before.value, version.value)
    return [*paths, f"{more} more"] if more else paths


def newer_than(entries: Sequence[HistoryEntry], start: datetime) -> list[HistoryEntry]:
    """The entries since a time. An entry without a time counts as old as its predecessor."""
    for index in range(len(entries) - 1, -1, -1):
        changed_at = moment(entries[index].time)
        if changed_at is not None and changed_at < start:
            return list(entries[index + 1 :])
    return list(entries)
