"""Formats the difference of two values for a message, field by field.

Early releases of the reference print a comparison of their structs whose exact text they declare
unstable; this has the same layout and names the same fields. Later ones compare lines of JSON.
"""

from __future__ import annotations

from typing import Any

from fairlead.codec.types.model import Struct
from fairlead.resources.behaviour import Object
from fairlead.resources.causes import Causes, show
from fairlead.resources.internal_types import json_difference


def difference(struct: Struct, old: Object, new: Object, causes: Causes) -> str:
    if causes.has_later_wording:
        return json_difference(struct, old, new)
    lines = _members(old, new, 1)
    return "\n".join([f"  core.{struct.name}{{", *lines, "  }", ""])


def _members(old: Object, new: Object, depth: int) -> list[str]:
    lines = []
    unchanged = 0
    for key in dict.fromkeys((*old, *new)):
        before, after = old.get(key), new.get(key)
        if before == after:
            unchanged += 1
        else:
            lines += _change(_go_name(key), before, after, depth)
    if unchanged:
        lines.append(_line(" ", depth, f"... // {unchanged} identical fields"))
    return lines


def _change(name: str, before: Any, after: Any, depth: int) -> list[str]:
    if isinstance(before, dict) and isinstance(after, dict):
        inner = _members(before, after, depth + 1)
        return [_line(" ", depth, f"{name}: {{"), *inner, _line(" ", depth, "},")]
    if isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        inner = [
            line
            for index, (old, other) in enumerate(zip(before, after, strict=True))
            if old != other
            for line in _change(f"[{index}]", old, other, depth + 1)
        ]
        return [_line(" ", depth, f"{name}: {{"), *inner, _line(" ", depth, "},")]
    return [
        _line("-", depth, f"{name}: {_format_value(before)},"),
        _line("+", depth, f"{name}: {_format_value(after)},"),
    ]


def _format_value(value: Any) -> str:
    return "nil" if value is None else show(value)


def _line(mark: str, depth: int, text: str) -> str:
    return f"{mark} {chr(9) * depth}{text}"


def _go_name(key: str) -> str:
    return key[:1].upper() + key[1:]
