"""Finds duplicates in lists of type `set` and `map`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fairlead.codec.types.mismatch import shown
from fairlead.resources.causes import show_json
from fairlead.resources.custom.schema.markers import Markers, Schema, items_schema, values_schema
from fairlead.resources.custom.schema.problems import (
    DUPLICATE,
    MAX_PROBLEMS,
    Check,
    Problem,
    at,
    invalid,
)
from fairlead.resources.custom.schema.single_values import identity


def repeats_check(schema: Schema, markers: Markers) -> Check | None:
    """The check for duplicates below a value of this schema; None if none of its lists forbids
    them."""
    own = _own(schema, markers)
    items, values = items_schema(schema), values_schema(schema)
    inside = repeats_check(items, markers) if items is not None else None
    others = repeats_check(values, markers) if values is not None else None
    named = {
        name: inner_check
        for name, inner in (schema.get("properties") or {}).items()
        if (inner_check := repeats_check(inner, markers)) is not None
    }
    if own is None and inside is None and others is None and not named:
        return None

    def parts(value: Any) -> Iterator[tuple[str, Any, Check]]:
        if value.__class__ is list and inside is not None:
            yield from ((f"[{index}]", item, inside) for index, item in enumerate(value))
        elif value.__class__ is dict:
            for name, check in named.items():
                if name in value:
                    yield f".{name}", value[name], check
            if others is not None:
                yield from ((f"[{key}]", item, others) for key, item in value.items())

    def check(value: Any) -> list[Problem] | None:
        result = own(value) or [] if own is not None and value.__class__ is list else []
        for step, part, inner in parts(value):
            if problems := inner(part):
                result += at(problems, step)
                if len(result) >= MAX_PROBLEMS:
                    break
        return result

    return check


def _own(schema: Schema, markers: Markers) -> Check | None:
    kind = schema.get(markers.list_type)
    if kind == "set":
        return lambda value: _repeated_items(value, value, markers.is_later)
    if kind == "map":
        keys = tuple(schema.get(markers.list_keys) or ())
        return lambda value: _repeated_keys(value, keys, markers.is_later)
    return None


def _repeated_keys(value: list[Any], keys: tuple[str, ...], is_later: bool) -> list[Problem] | None:
    for index, item in enumerate(value):
        if item is not None and item.__class__ is not dict:
            given = show_json(item) if is_later else shown(item)
            problem = invalid(given, "must be an object for an array of list-type map")
            return at(problem, f"[{index}]")
    list_keys = [{key: item[key] for key in keys if key in item} if item else {} for item in value]
    return _repeated_items(value, list_keys, is_later)


def _repeated_items(value: list[Any], key_of: list[Any], is_later: bool) -> list[Problem] | None:
    """The second item of each group of equal items."""
    if len(value) < 2:
        return None
    times: dict[Any, int] = {}
    problems: list[Problem] = []
    for index, key in enumerate(key_of):
        hashable = key if key.__class__ is str else identity(key)
        seen = times[hashable] = times.get(hashable, 0) + 1
        if seen == 2:
            problems += at([_duplicate(key, is_later)], f"[{index}]")
    return problems


def _duplicate(key: Any, is_later: bool) -> Problem:
    given = show_json(key) if is_later else shown(key)
    return Problem(DUPLICATE, lambda _: f"Duplicate value: {given}")
