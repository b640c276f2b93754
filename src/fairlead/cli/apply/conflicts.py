"""Lists the fields of an apply conflict with their owners, for a person to read."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, NamedTuple

import orjson

from fairlead.base.terminal import printable
from fairlead.cli.output import tables
from fairlead.cli.output.formats import named
from fairlead.cli.resolution import ResolvedObject
from fairlead.client.errors import Conflict
from fairlead.fields.field_sets import InvalidFields, parsed, path_text, paths
from fairlead.fields.values import compact_json

_REASON = "FieldManagerConflict"
_MESSAGE = re.compile(
    r'conflict with "(?P<manager>.*?)"(?: with subresource "(?P<subresource>.*?)")?'
    r"(?: using (?P<version>\S+))?(?: at (?P<time>\S+))?"
)
_HEAD = ("MANAGER", "OPERATION", "SINCE", "FIELD", "THEIRS", "YOURS")
_MAX_VALUE_LENGTH = 40
_NOTHING = "-"
_MASKED = "***"

ADVICE = """\
Nothing was changed: other managers own the fields above. For each of them,
* take it over: apply again with --force-conflicts; or
* leave it to its owner: remove it from your file; or
* share it: give it the value that it has now. It stays if the other owner
  lets go of it."""


class Owned(NamedTuple):
    """A conflicting field and its owner."""

    manager: str
    operation: str
    time: str
    field: str
    theirs: str
    yours: str


def is_about_fields(error: Conflict) -> bool:
    """Whether the conflict is about field ownership."""
    return any(cause.get("reason") == _REASON for cause in error.causes)


def owners(error: Conflict) -> set[str]:
    """The managers that own the conflicting fields."""
    return {conflict["manager"] for _, conflict in _causes(error)}


def owners_by_field(error: Conflict) -> dict[str, list[str]]:
    by_field: dict[str, list[str]] = {}
    for field, cause in _causes(error):
        by_field.setdefault(field, []).append(cause["manager"])
    return by_field


def _causes(error: Conflict) -> Iterable[tuple[str, re.Match[str]]]:
    for cause in error.causes:
        match = _MESSAGE.match(cause.get("message", ""))
        if cause.get("reason") == _REASON and match:
            yield cause.get("field", ""), match


def owned_fields(error: Conflict, resolved: ResolvedObject, live: dict[str, Any]) -> list[Owned]:
    """The conflicts of the error, with times and both values from the live object."""
    entries = live["metadata"].get("managedFields") or []
    secret = resolved.resource.type.kind == "Secret" and not resolved.resource.type.group
    listed = []
    for field, conflict in _causes(error):
        operation = "Update" if conflict["version"] else "Apply"
        entry = _entry(entries, conflict["manager"], operation, conflict["subresource"] or "")
        path = _path(entry, field)
        theirs, yours = (_text(_value_at(value, path), secret) for value in (live, resolved.value))
        time = conflict["time"] or entry.get("time") or _NOTHING
        listed.append(Owned(conflict["manager"], operation, time, field, theirs, yours))
    return listed


def as_text(resolved: ResolvedObject, fields: list[Owned]) -> str:
    rows = [_HEAD, *([printable(cell) for cell in row] for row in fields)]
    return f"{named(resolved.resource.type, resolved.name)}:\n{tables.text(rows)}"


def _entry(entries: list[Any], manager: str, operation: str, subresource: str) -> dict[str, Any]:
    for entry in entries:
        identity = (entry.get("manager"), entry.get("operation"), entry.get("subresource") or "")
        if identity == (manager, operation, subresource):
            managed: dict[str, Any] = entry
            return managed
    return {}


def _path(entry: dict[str, Any], field: str) -> tuple[str, ...] | None:
    """The path of a field that the server named as text; None if it is not found."""
    try:
        fields = parsed(entry.get("fieldsV1") or {})
    except InvalidFields:
        return None
    return next((path for path in paths(fields) if path_text(path) == field), None)


def _value_at(value: Any, path: tuple[str, ...] | None) -> Any:
    """The value at a path; None if there is none."""
    if path is None:
        return None
    for step in path:
        kind, _, rest = step.partition(":")
        if kind == "f":
            value = value.get(rest) if isinstance(value, dict) else None
        elif not isinstance(value, list):
            return None
        elif kind == "i":
            value = value[int(rest)] if int(rest) < len(value) else None
        else:
            expected = orjson.loads(rest)
            value = next((item for item in value if _is(item, expected)), None)
    return value


def _is(item: Any, expected: Any) -> bool:
    """Whether a list item has these keys. A key that the item leaves out matches: it has its
    default."""
    if isinstance(expected, dict) and isinstance(item, dict):
        return all(item.get(key, value) == value for key, value in expected.items())
    return bool(item == expected)


def _text(value: Any, secret: bool) -> str:
    if value is None:
        return _NOTHING
    if secret:
        return _MASKED
    text = compact_json(value)
    return text if len(text) <= _MAX_VALUE_LENGTH else f"{text[: _MAX_VALUE_LENGTH - 3]}..."
