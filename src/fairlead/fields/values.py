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
        return left.keys() == right.keys() and all(
            equal(value, right[key]) for key, value in left.items()
        )
    if isinstance(left, list):
        return len(left) == len(right) and all(map(equal, left, right))
    return bool(left == right)


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
