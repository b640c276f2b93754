"""Reads lists of objects that are JSON in an annotation, from before they had a field."""

from __future__ import annotations

from typing import Any

import orjson

from fairlead.codec.json_syntax import describe_json_error
from fairlead.codec.types.mismatch import json_kind
from fairlead.resources.behaviour import Object


def read_list(text: str, kind: str, types: dict[str, str]) -> tuple[list[Object], str]:
    """The objects in an annotation, or the error; `types` maps the fields of the kind to their
    types."""
    try:
        found: Any = orjson.loads(text)
    except orjson.JSONDecodeError:
        return [], describe_json_error(text.encode())
    wrong = _misfit(found, kind, types)
    if wrong:
        return [], f"json: cannot unmarshal {wrong}"
    return [_given(one or {}) for one in found or ()], ""


def _given(one: Object) -> Object:
    return {name: value for name, value in one.items() if value is not None}


def _misfit(found: Any, kind: str, types: dict[str, str]) -> str:
    if found is not None and not isinstance(found, list):
        return f"{json_kind(found)} into Go value of type []core.{kind}"
    for one in found or ():
        if one is None:
            continue
        if not isinstance(one, dict):
            return f"{json_kind(one)} into Go value of type core.{kind}"
        for name, type_name in types.items():
            value = one.get(name)
            if value is not None and type(value) is not (int if type_name == "int64" else str):
                field = f"{kind}.{name[0].upper()}{name[1:]}"
                return f"{json_kind(value)} into Go struct field {field} of type {type_name}"
    return ""
