"""Versions with what was changed, by whom and when: for people and for programs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from fairlead.cli.output.colours import BOLD, DIM, YELLOW, Paint
from fairlead.cli.ownership.managers import Manager
from fairlead.cli.screen import printable
from fairlead.cli.versions.authors import authors_of, time_of
from fairlead.cli.versions.differences import Sight, painted
from fairlead.cli.versions.retained import CHANGED, CREATED, DELETED, KNOWN, History, Version
from fairlead.schema.ages import UNKNOWN, moment, since

_NOTHING = "nothing but managedFields, resourceVersion or generation; --all shows it"
_WORDS = {
    KNOWN: "as it is first known",
    CREATED: "created",
    CHANGED: "changed",
    DELETED: "deleted",
}


@dataclass(frozen=True, slots=True)
class Chapter:
    """A version, who made it, when or at least after what moment, and the lines that show it: a
    difference or all of it."""

    version: Version
    authors: Sequence[Manager]
    time: str
    after: str
    lines: Sequence[str]

    def document(self, sight: Sight) -> dict[str, Any]:
        return {
            "revision": str(self.version.revision),
            "change": self.version.change,
            "time": self.time or None,
            "managers": [one.document() for one in self.authors],
            "difference": "\n".join(self.lines) if self.version.change != KNOWN else "",
            "object": sight.shown(self.version.value),
        }

    def told(self, paint: Paint, now: datetime) -> Iterator[str]:
        who = ", ".join(printable(one.bare) for one in self.authors) or UNKNOWN
        yield paint(
            f"revision {self.version.revision}  {_WORDS[self.version.change]}", YELLOW, BOLD
        )
        if self.version.change != DELETED:
            yield f"By:    {who}"
        yield f"When:  {self._when(now)}"
        if self.lines:
            yield from ("", *painted(self.lines, paint))
        elif self.version.change == CHANGED:
            yield paint(f"       ({_NOTHING})", DIM)

    def _when(self, now: datetime) -> str:
        if self.time:
            return f"{self.time} ({since(self.time, now)} ago)"
        return f"after {self.after}" if self.after else UNKNOWN


def chapters_of(history: History, sight: Sight) -> list[Chapter]:
    made: list[Chapter] = []
    before: Version | None = None
    for version in history.versions:
        authors = authors_of(version, before)
        lines = _lines(version, before, sight)
        after = (made[-1].time or made[-1].after) if made else ""
        made.append(Chapter(version, authors, time_of(version, authors), after, lines))
        before = version if version.change != DELETED else None
    return made


def _lines(version: Version, before: Version | None, sight: Sight) -> list[str]:
    if version.change == DELETED:
        return []
    if version.change == KNOWN or (version.change == CHANGED and before is None):
        return [f" {line}" for line in sight.lines(version.value)]
    return sight.difference(before.value if before is not None else None, version.value)


def newer_than(chapters: Sequence[Chapter], start: datetime) -> list[Chapter]:
    """Those since a moment. What has no time is as old as what came before it."""
    for place in range(len(chapters) - 1, -1, -1):
        told = moment(chapters[place].time)
        if told is not None and told < start:
            return list(chapters[place + 1 :])
    return list(chapters)
