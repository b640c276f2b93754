"""Limits the nesting depth of schemas."""

from __future__ import annotations

from typing import Any

from fairlead.resources.causes import Causes
from fairlead.resources.custom.schema.markers import Schema

DEEPEST = 100

_LISTS = ("allOf", "anyOf", "oneOf")
_MAPS = ("properties", "patternProperties", "definitions", "dependencies")
_ONES = ("not", "items", "additionalItems", "additionalProperties")


def check_depth(schema: Schema, path: str, causes: Causes) -> bool:
    """Whether the nested schemas are within the limit; adds causes if not. Their types must be
    valid."""
    before = len(causes)
    _check(schema, path, causes, 0)
    return len(causes) == before


def _check(schema: Schema, path: str, causes: Causes, depth: int) -> None:
    if depth > DEEPEST:
        causes.invalid(path, "", f"must not have schemas more than {DEEPEST} deep")
        return
    for word, held in schema.items():
        for inner, place in inner_schemas(word, held, f"{path}.{word}"):
            if isinstance(inner, dict):
                _check(inner, place, causes, depth + 1)


def inner_schemas(word: str, held: Any, path: str) -> list[tuple[Any, str]]:
    """The values under a keyword that may be schemas, with their paths."""
    if word in _MAPS and isinstance(held, dict):
        return [(inner, f"{path}[{name}]") for name, inner in held.items()]
    if isinstance(held, list) and word in (*_LISTS, *_ONES):
        return [(inner, f"{path}[{index}]") for index, inner in enumerate(held)]
    return [(held, path)] if word in _ONES else []
