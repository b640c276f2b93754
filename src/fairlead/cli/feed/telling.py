"""Changes as lines, for people and for programs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import orjson

from fairlead.base.terminal import printable
from fairlead.cli.feed.changes import Change
from fairlead.cli.feed.fields import changed_fields, in_short
from fairlead.cli.masking import masked
from fairlead.cli.output.colours import DIM, GREEN, RED, YELLOW, Paint
from fairlead.cli.output.tables import line, widths
from fairlead.cli.ownership.managers import Manager
from fairlead.cli.versions.authors import authors_of
from fairlead.cli.versions.differences import Sight, painted
from fairlead.cli.versions.retained import CHANGED, CREATED, DELETED

_COLOURS = {CREATED: GREEN, CHANGED: YELLOW, DELETED: RED}
_WIDTH = 9
_WIDTHS = (20, 30, 20)  # of kind, name and manager, as far as that is enough
_ONLY_NOISE = "(nothing but managedFields, resourceVersion or generation)"


def managers_behind(change: Change) -> list[Manager]:
    """Objects of others may have odd entries: then nobody is known."""
    try:
        return authors_of(change.version, change.before)
    except (ValueError, KeyError, TypeError, AttributeError):
        return []


class Lines:
    """Lines for people: the time, what happened to what, by whom, and what is different."""

    def __init__(self, paint: Paint, with_difference: bool) -> None:
        self._paint = paint
        self._widths = list(_WIDTHS)
        self._sight = Sight(noise=False, secrets=False) if with_difference else None

    def of(self, change: Change, managers: list[Manager]) -> Iterator[str]:
        version, before = change.version, change.before
        clock = change.time.astimezone().strftime("%H:%M:%S")
        word = self._paint(version.change.ljust(_WIDTH), _COLOURS[version.change])
        cells = [_kind(change), _name(change)]
        by = ", ".join(dict.fromkeys(printable(one.name) for one in managers))
        cells.append(f"by {by}" if by else "")
        if version.change == CHANGED and before is not None:
            fields = changed_fields(before.value, version.value)
            cells.append(in_short(fields) or _ONLY_NOISE)
        self._widths = widths([cells], self._widths)
        rest = line(cells, self._widths).rstrip()
        yield f"{self._paint(clock, DIM)}  {word} {rest}"
        if self._sight is not None and version.change != DELETED:
            earlier = None if before is None else before.value
            lines = [printable(one) for one in self._sight.difference(earlier, version.value)]
            yield from painted(lines, self._paint)


def document(change: Change, managers: list[Manager]) -> str:
    """One line of JSON."""
    version, before = change.version, change.before
    metadata = version.value["metadata"]
    told: dict[str, Any] = {
        "time": change.time.isoformat().replace("+00:00", "Z"),
        "change": version.change,
        "apiVersion": change.type.api_version,
        "kind": change.type.kind,
        "namespace": metadata.get("namespace"),
        "name": metadata["name"],
        "managers": list(dict.fromkeys(one.name for one in managers)),
    }
    if version.change == CHANGED and before is not None:
        fields = changed_fields(before.value, version.value)
        told["changed"] = {one.path: one.values for one in fields}
    told["object"] = masked(version.value)
    return orjson.dumps(told).decode()


def _kind(change: Change) -> str:
    type = change.type
    return f"{type.kind}.{type.group}" if type.group else type.kind


def _name(change: Change) -> str:
    metadata = change.version.value["metadata"]
    space = metadata.get("namespace")
    return printable(f"{space}/{metadata['name']}" if space else str(metadata["name"]))
