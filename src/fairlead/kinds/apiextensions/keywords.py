"""What a schema may hold under each keyword. Where schemas stand inside others, the type tables
leave open what they are, so it is looked at here."""

from __future__ import annotations

from typing import Any

from fairlead.kinds.causes import Causes
from fairlead.schema.custom.markers import Markers
from fairlead.schema.mismatch import json_kind

DEEPEST = 100  # schemas inside each other

_WORDS: dict[str, tuple[type, ...]] = {
    **dict.fromkeys(("type", "format", "pattern", "title", "description"), (str,)),
    **dict.fromkeys(("id", "$schema", "$ref"), (str,)),
    **dict.fromkeys(("maximum", "minimum", "multipleOf"), (int, float)),
    **dict.fromkeys(("maxLength", "minLength", "maxItems", "minItems"), (int,)),
    **dict.fromkeys(("maxProperties", "minProperties"), (int,)),
    **dict.fromkeys(("exclusiveMaximum", "exclusiveMinimum"), (bool,)),
    **dict.fromkeys(("uniqueItems", "nullable"), (bool,)),
    **dict.fromkeys(("enum", "required", "allOf", "anyOf", "oneOf"), (list,)),
    **dict.fromkeys(("properties", "patternProperties", "definitions"), (dict,)),
    **dict.fromkeys(("dependencies", "not", "externalDocs"), (dict,)),
    "items": (dict, list),
    "additionalItems": (dict, bool),
    "additionalProperties": (dict, bool),
}
_NAMES = {str: "string", int: "integer", bool: "boolean", list: "array", dict: "object"}
_LISTS = ("allOf", "anyOf", "oneOf")
_MAPS = ("properties", "patternProperties", "definitions")
_ONES = ("not", "items", "additionalItems", "additionalProperties")


def check_keywords(schema: Any, path: str, markers: Markers, causes: Causes) -> bool:
    """Whether a schema, and all inside it, holds under each keyword what it may; causes if not."""
    before = len(causes)
    _check(schema, path, {**_WORDS, **_marked(markers)}, causes, 0)
    return len(causes) == before


def _marked(markers: Markers) -> dict[str, tuple[type, ...]]:
    return {
        **dict.fromkeys((markers.preserve, markers.embedded, markers.int_or_string), (bool,)),
        **dict.fromkeys((markers.list_type, markers.map_type), (str,)),
        **dict.fromkeys((markers.list_keys, markers.validations), (list,)),
    }


def _check(
    schema: Any, path: str, words: dict[str, tuple[type, ...]], causes: Causes, depth: int
) -> None:
    if not isinstance(schema, dict):
        causes.invalid(path, schema, f"must be a schema, not {json_kind(schema)}")
        return
    if depth > DEEPEST:
        causes.invalid(path, "", f"must not have schemas more than {DEEPEST} deep")
        return
    for word, held in schema.items():
        allowed = words.get(word)
        if allowed is None or held is None:
            continue
        here = f"{path}.{word}"
        if held.__class__ not in allowed:
            wanted = " or ".join(_NAMES.get(one, "number") for one in allowed)
            causes.invalid(here, held, f"must be of type {wanted}")
            continue
        for inner, place in _schemas(word, held, here):
            _check(inner, place, words, causes, depth + 1)
        _check_texts(word, held, here, causes)


def _schemas(word: str, held: Any, path: str) -> list[tuple[Any, str]]:
    """The schemas that stand under a keyword, with their paths."""
    if word in _MAPS:
        return [(inner, f"{path}[{name}]") for name, inner in held.items()]
    if word in _LISTS or (word in _ONES and held.__class__ is list):
        return [(inner, f"{path}[{index}]") for index, inner in enumerate(held)]
    return [(held, path)] if word in _ONES and held.__class__ is dict else []


def _check_texts(word: str, held: Any, path: str, causes: Causes) -> None:
    """Lists of names and of rules."""
    if word == "required" or word.endswith("-list-map-keys"):
        for index, name in enumerate(held):
            if not isinstance(name, str):
                causes.invalid(f"{path}[{index}]", name, "must be of type string")
    elif word.endswith("-validations"):
        for index, rule in enumerate(held):
            parts = rule if rule.__class__ is dict else {}
            texts = (parts.get("rule", ""), parts.get("message", ""))
            if parts is not rule or not all(isinstance(text, str) for text in texts):
                causes.invalid(f"{path}[{index}]", rule, "must be a rule with an optional message")
