"""Shows values in the form of the reference's internal types, as messages of later releases do."""

from __future__ import annotations

import json
from difflib import unified_diff
from functools import cache
from typing import Any, NamedTuple

from fairlead.base.files import text_beside
from fairlead.codec.types.model import Field, ListOf, MapOf, Object, Presence, Scalar, Struct, Type
from fairlead.resources.causes import html_escaped

_ZEROS = {"string": "", "int32": 0, "int64": 0, "bool": False}
# Fields of a PodSpec that its security context has in the internal types.
_HOST_FIELDS = {"hostNetwork": False, "hostPID": False, "hostIPC": False}
_HOST_POINTERS = ("shareProcessNamespace", "hostUsers")
# Comparing more lines than this takes too long; they are shown as one difference.
_MAX_COMPARED_LINES = 2000


class _Table(NamedTuple):
    names: dict[str, str]
    own_names: dict[str, dict[str, str]]
    order: dict[str, list[str]]


@cache
def _table() -> _Table:
    table = _Table({}, {}, {})
    for line in text_beside(__file__, "internal_types.table").splitlines():
        head, *rest = line.split() or ("#",)
        if head == "#":
            continue
        if head.endswith(">"):
            table.order.setdefault(head[:-1], []).extend(rest)
        elif head.endswith(":"):
            table.own_names.setdefault(head[:-1], {}).update(_pairs(rest))
        else:
            table.names.update(_pairs([head, *rest]))
    return table


def _pairs(words: list[str]) -> dict[str, str]:
    return dict(word.split("=") for word in words)


def internal_value(type_: Type, value: Any) -> Any:
    """A value with the names, the order and all fields of its internal type. Metadata is embedded,
    with its own names."""
    if value is None or isinstance(type_, Scalar):
        return value
    if isinstance(type_, ListOf):
        return [internal_value(type_.element, item) for item in value]
    if isinstance(type_, MapOf):
        return {key: internal_value(type_.element, value[key]) for key in sorted(value)}
    return _internal_struct(type_, value)


def _internal_struct(type_: Struct, value: Object) -> Object:
    if type_.group_version == "meta/v1":
        fields = type_.fields
        return {name: internal_value(fields[name].type, item) for name, item in value.items()}
    names, own_names, order = _table()
    own = own_names.get(type_.name, {})
    empty = getattr(value, "empty", ())
    if type_.name == "PodSpec":
        value = _with_host_fields(value)
    shown: Object = {}
    for name in order.get(type_.name, type_.fields):
        field = type_.fields.get(name)
        if name == "metadata" and field is not None:
            shown.update(internal_value(field.type, value.get(name) or {}))
        else:
            label = own.get(name) or names.get(name) or name[:1].upper() + name[1:]
            part = value.get(name)
            if name in empty:
                part = [] if field is None or isinstance(field.type, ListOf) else {}
            shown[label] = part if field is None else _field(field, part)
    return shown


def _field(field: Field, value: Any) -> Any:
    is_zero = value is None and field.presence in (Presence.OMITTED, Presence.ALWAYS)
    if is_zero and isinstance(field.type, Scalar):
        value = _ZEROS.get(field.type.name)
    elif is_zero and isinstance(field.type, Struct):
        value = {}
    return internal_value(field.type, value)


def _with_host_fields(spec: Object) -> Object:
    host = {name: spec.get(name, zero) for name, zero in _HOST_FIELDS.items()}
    host |= {name: spec.get(name) for name in _HOST_POINTERS}
    return {**spec, "securityContext": {**host, **(spec.get("securityContext") or {})}}


def json_difference(type_: Type, old: Any, new: Any) -> str:
    """The lines by which two values differ, with three lines around each difference."""
    before, after = (
        html_escaped(
            json.dumps(internal_value(type_, version), indent=1, ensure_ascii=False)
        ).split("\n")
        for version in (old, new)
    )
    if len(before) + len(after) > _MAX_COMPARED_LINES:
        return _one_difference(before, after)
    lines = list(unified_diff(before, after, lineterm="", n=3))[2:]
    return "\n".join(lines) + "\n"


def _one_difference(before: list[str], after: list[str]) -> str:
    """All lines between the first and the last difference, in the same format."""
    shorter = min(len(before), len(after))
    start = next((i for i in range(shorter) if before[i] != after[i]), shorter)
    rest = shorter - start
    end = next((i for i in range(rest) if before[-1 - i] != after[-1 - i]), rest)
    first, old_end, new_end = max(start - 3, 0), len(before) - end, len(after) - end
    tail = before[old_end : old_end + 3]
    old_count, new_count = old_end + len(tail) - first, new_end + len(tail) - first
    return "\n".join(
        [
            f"@@ -{first + 1},{old_count} +{first + 1},{new_count} @@",
            *(f" {line}" for line in before[first:start]),
            *(f"-{line}" for line in before[start:old_end]),
            *(f"+{line}" for line in after[start:new_end]),
            *(f" {line}" for line in tail),
            "",
        ]
    )
