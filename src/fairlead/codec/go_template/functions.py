"""The predefined functions of Go templates."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any
from urllib.parse import quote_plus

from fairlead.codec.go_template.values import TemplateError, formatted, is_true, joined, shown

_HTML = str.maketrans(
    {"<": "&lt;", ">": "&gt;", "&": "&amp;", "'": "&#39;", '"': "&#34;", "\0": "\ufffd"}
)
_IN_SCRIPTS = re.compile(r"[\\'\"<>&=\x00-\x1f]")


def _index(value: Any, *keys: Any) -> Any:
    for key in keys:
        if value is None:
            return None  # more lenient than Go
        if isinstance(value, dict):
            value = value.get(key)
        elif isinstance(key, bool) or not isinstance(key, int) or not 0 <= key < len(value):
            raise TemplateError(f"index out of range: {shown(key)}")
        else:
            value = value[key]
    return value


def _comparable(value: Any) -> Any:
    if isinstance(value, dict | list):
        raise TemplateError("lists and maps cannot be compared")
    return (isinstance(value, bool), value)


def equal(value: Any, *others: Any) -> bool:
    if not others:
        raise TemplateError("wrong number of arguments")
    return any(_comparable(value) == _comparable(other) for other in others)


def _printed(*values: Any) -> str:
    """Join values; with a space between two values if neither is a text."""
    parts: list[str] = []
    for before, value in zip((None, *values), values, strict=False):
        if parts and not isinstance(before, str) and not isinstance(value, str):
            parts.append(" ")
        parts.append(shown(value))
    return joined(parts)


def _slice(value: Any, *bounds: int) -> Any:
    first, last = [*bounds, *(0, len(value))[len(bounds) :]]
    if not 0 <= first <= last <= len(value):
        raise TemplateError("index out of range")
    return value[first:last]


def _escaped(match: re.Match[str]) -> str:
    letter = match[0]
    return f"\\{letter}" if letter in "\\'\"" else f"\\u{ord(letter):04X}"


GO_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "eq": equal,
    "html": lambda *values: joined(map(shown, values)).translate(_HTML),
    "js": lambda *values: _IN_SCRIPTS.sub(_escaped, joined(map(shown, values))),
    "urlquery": lambda *values: quote_plus(joined(map(shown, values))),
    "ge": lambda left, right: left >= right,
    "gt": lambda left, right: left > right,
    "index": _index,
    "le": lambda left, right: left <= right,
    "len": len,
    "lt": lambda left, right: left < right,
    "ne": lambda left, right: not equal(left, right),
    "not": lambda value: not is_true(value),
    "print": _printed,
    "printf": formatted,
    "println": lambda *values: joined(map(shown, values), " ") + "\n",
    "slice": _slice,
}

# Evaluated by the renderer, which does not evaluate all their arguments.
LAZY = frozenset({"and", "or"})
