"""Helpers for decoded JSON values, shared by the walkers of this package."""

from __future__ import annotations

import json
from typing import Any

import orjson

from fairlead.fields.stored_entries import StoredEntry


def copied(value: Any) -> Any:
    """A deep copy that shares no mutable part with the given value."""
    if isinstance(value, list):
        return [copied(item) if isinstance(item, (dict, list)) else item for item in value]
    if not isinstance(value, dict):
        return value
    if type(value) is not dict and type(value) is StoredEntry:  # immutable
        return value
    result: dict[str, Any] = dict(value)
    for key, item in value.items():
        if isinstance(item, (dict, list)):
            result[key] = copied(item)
    return result


def equal(left: Any, right: Any) -> bool:
    """Whether two values are the same JSON value. Unlike `==`, distinguishes `1` from `true`."""
    if left is right:
        return True
    if type(left) is not type(right):
        return {type(left), type(right)} == {int, float} and bool(left == right)
    if isinstance(left, dict):
        return _equal_objects(left, right)
    if isinstance(left, list):
        return _equal_lists(left, right)
    return bool(left == right)


def _equal_objects(left: dict[str, Any], right: dict[str, Any]) -> bool:
    if len(left) != len(right):
        return False
    for key, value in left.items():
        other = right.get(key)
        if other is not value and (key not in right or not equal(value, other)):
            return False
    return True


def _equal_lists(left: list[Any], right: list[Any]) -> bool:
    if len(left) != len(right):
        return False
    for index in range(len(left)):
        if left[index] is not right[index] and not equal(left[index], right[index]):
            return False
    return True


def share_equal(value: dict[str, Any], old: dict[str, Any], *, trusts_equality: bool) -> None:
    """Replace the fields of an object that are equal to those of another one by them, so that later
    comparisons see it at once. Neither may be modified in place afterwards. `trusts_equality`: both
    match a type that tells `1` from `true`."""
    for name, item in value.items():
        other = old.get(name)
        if other is not item and other == item and (trusts_equality or equal(other, item)):
            value[name] = other


def compact_json(value: Any) -> str:
    """JSON without spaces, with sorted keys and escaped HTML characters: the reference's form
    wherever text is compared byte by byte."""
    try:
        text = orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()
    except orjson.JSONEncodeError:  # an integer of more than 64 bits, which YAML allows
        text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return escaped_json(text)


def escaped_json(text: str) -> str:
    """Escape `<`, `>` and `&` in JSON text; they occur inside strings only."""
    if "<" in text or ">" in text or "&" in text:
        text = text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
    return text


def is_plain(text: str) -> bool:
    """Whether a string needs no escaping in JSON: no quotes, backslashes, control or HTML
    characters. A regular expression would take four times as long."""
    if not (text.isascii() and text.isprintable()) or '"' in text or "\\" in text:
        return False
    return not ("<" in text or ">" in text or "&" in text)


def string_json(text: str) -> str:
    """`compact_json` of a string."""
    return f'"{text}"' if is_plain(text) else compact_json(text)
