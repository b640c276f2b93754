"""Formats changes as text lines or JSON lines."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import orjson

from fairlead.base.terminal import printable
from fairlead.cli.feed.changes import Change
from fairlead.cli.invocation import DIM, GREEN, RED, YELLOW, Paint, Screen
from fairlead.cli.output.documents import masked, masked_pair, without
from fairlead.cli.output.fitting import cut
from fairlead.cli.output.tables import line, widths
from fairlead.cli.ownership.managers import Manager
from fairlead.cli.versions.authors import authors_of
from fairlead.cli.versions.differences import DiffView, painted
from fairlead.cli.versions.retained import CHANGED, CREATED, DELETED

_COLOURS = {CREATED: GREEN, CHANGED: YELLOW, DELETED: RED}
_WIDTH = 9
_MIN_ROOM = 30  # letters that the changed fields have beside the names; else they come below
_WIDTHS = (20, 30, 20)  # minimum widths of kind, name and manager
_ONLY_NOISE = "(nothing but managedFields, resourceVersion or generation)"
Object = dict[str, Any]
_NONE = object()
_MAX_FIELDS = 3
_MAX_LETTERS = 40
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")


def managers_behind(change: Change) -> list[Manager]:
    """The managers that made the change; none if the managedFields are malformed."""
    try:
        return authors_of(change.version, change.before)
    except (ValueError, KeyError, TypeError, AttributeError):
        return []


class Lines:
    """Text lines: time, kind of change, object, managers, and the changed fields, as much of them
    as fits a terminal, below if there is no room beside the names."""

    def __init__(self, screen: Screen, with_difference: bool) -> None:
        self._screen = screen
        self._paint = Paint(screen)
        self._widths = list(_WIDTHS)
        self._diff_view = DiffView(noise=False, secrets=False) if with_difference else None

    def of(self, change: Change, managers: list[Manager]) -> Iterator[str]:
        version, before = change.version, change.before
        clock = change.time.astimezone().strftime("%H:%M:%S")
        word = self._paint(version.change.ljust(_WIDTH), _COLOURS[version.change])
        cells = [_kind(change), _name(change)]
        by = ", ".join(dict.fromkeys(printable(manager.name) for manager in managers))
        cells.append(f"by {by}" if by else "")
        fields = ""
        if version.change == CHANGED and before is not None:
            fields = in_short(changed_fields(before.value, version.value)) or _ONLY_NOISE
        self._widths = widths([[*cells, fields]], self._widths)
        named = line([*cells, ""], self._widths)
        columns, margin = self._screen.width, len(clock) + len("  ") + _WIDTH + 1
        room = columns - margin - len(named)
        is_below = bool(columns and fields) and room < _MIN_ROOM
        after = cut(fields, room) if columns and not is_below else fields
        text = named if is_below else f"{named}{after}"
        yield f"{self._paint(clock, DIM)}  {word} {text.rstrip()}"
        if is_below:
            indent = " " * (len(clock) + 2)
            yield indent + cut(fields, max(columns - len(indent), _MIN_ROOM))
        if self._diff_view is not None and version.change != DELETED:
            earlier = None if before is None else before.value
            lines = [printable(line) for line in self._diff_view.difference(earlier, version.value)]
            yield from painted(lines, self._paint)


def document(change: Change, managers: list[Manager]) -> str:
    """The change as one line of JSON."""
    version, before = change.version, change.before
    metadata = version.value["metadata"]
    document: dict[str, Any] = {
        "time": change.time.isoformat().replace("+00:00", "Z"),
        "change": version.change,
        "apiVersion": change.type.api_version,
        "kind": change.type.kind,
        "namespace": metadata.get("namespace"),
        "name": metadata["name"],
        "managers": list(dict.fromkeys(manager.name for manager in managers)),
    }
    if version.change == CHANGED and before is not None:
        fields = changed_fields(before.value, version.value)
        document["changed"] = {field.path: field.values for field in fields}
    document["object"] = masked(version.value)
    return orjson.dumps(document).decode()


def _kind(change: Change) -> str:
    type = change.type
    return f"{type.kind}.{type.group}" if type.group else type.kind


def _name(change: Change) -> str:
    metadata = change.version.value["metadata"]
    namespace = metadata.get("namespace")
    return printable(f"{namespace}/{metadata['name']}" if namespace else str(metadata["name"]))


# Changed fields


class Changed(NamedTuple):
    """A changed field: its path, and its values "before" and "now" as far as present."""

    path: str
    values: dict[str, Any]

    @property
    def short(self) -> str:
        before, now = (_text(self.values[side]) if side in self.values else "" for side in _SIDES)
        if not now:
            return f"{self.path} removed"
        return f"{self.path}: {before} -> {now}" if before else f"{self.path}: {now}"


_SIDES = ("before", "now")


def changed_fields(before: Object, now: Object) -> list[Changed]:
    """The changed fields, without metadata that every write changes; values of Secrets are
    masked."""
    earlier, other = masked_pair(without(before), without(now))
    return list(_differences("", earlier, other))


def in_short(fields: list[Changed]) -> str:
    texts = [printable(field.short) for field in fields[:_MAX_FIELDS]]
    more = len(fields) - len(texts)
    return ", ".join([*texts, *([f"{more} more"] if more else [])])


def _differences(path: str, before: Any, now: Any) -> Iterator[Changed]:
    if isinstance(before, dict) and isinstance(now, dict):
        for key in {**before, **now}:
            step = f".{key}" if _WORD.fullmatch(key) else f"['{key}']"
            yield from _differences(path + step, before.get(key, _NONE), now.get(key, _NONE))
    elif isinstance(before, list) and isinstance(now, list) and len(before) == len(now):
        for index, (left, other) in enumerate(zip(before, now, strict=True)):
            yield from _differences(f"{path}[{index}]", left, other)
    elif before != now or type(before) is not type(now):
        both = zip(_SIDES, (before, now), strict=True)
        yield Changed(path, {side: value for side, value in both if value is not _NONE})


def _text(value: Any) -> str:
    text = orjson.dumps(value).decode()
    return text if len(text) <= _MAX_LETTERS else f"{text[: _MAX_LETTERS - 3]}..."
