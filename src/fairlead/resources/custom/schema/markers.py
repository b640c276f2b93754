"""The names of schema extensions in a dialect, and the rules of schemas in a release."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import orjson

from fairlead.base.release import V1_25, Release
from fairlead.resources.gates import Gates

Schema = dict[str, Any]

INT_OR_STRING = [{"type": "integer"}, {"type": "string"}]


@dataclass(frozen=True, slots=True)
class Markers:
    preserve: str
    embedded: str
    int_or_string: str
    list_type: str
    list_keys: str
    map_type: str
    validations: str
    release: Release
    sizes_enums: bool  # the cost of a rule counts with the longest value of an enum
    partial_keys: bool  # of `ListOf`
    is_later: bool  # values are checked and printed as with the gate LaterWording


@cache
def markers_of(word: str, release: Release = V1_25) -> Markers:
    """`word` is the middle of the names: `x-kubernetes-list-type`."""
    return Markers(
        preserve=f"x-{word}-preserve-unknown-fields",
        embedded=f"x-{word}-embedded-resource",
        int_or_string=f"x-{word}-int-or-string",
        list_type=f"x-{word}-list-type",
        list_keys=f"x-{word}-list-map-keys",
        map_type=f"x-{word}-map-type",
        validations=f"x-{word}-validations",
        release=release,
        sizes_enums=Gates(release=release)["EnumSizesEstimated"],
        partial_keys=Gates(release=release)["PartialKeys"],
        is_later=Gates(release=release)["LaterWording"],
    )


def has_rules(schema: Schema, markers: Markers) -> bool:
    """Whether a schema has validation rules, and so needs the CEL compiler."""
    return markers.validations.encode() in orjson.dumps(schema)


def values_schema(schema: Schema) -> Schema | None:
    """The schema of the values of a map; None if it has none."""
    inner = schema.get("additionalProperties")
    return inner if isinstance(inner, dict) else None


def items_schema(schema: Schema) -> Schema | None:
    inner = schema.get("items")
    return inner if isinstance(inner, dict) else None


def states_int_or_string(schema: Schema) -> tuple[bool, bool]:
    """Whether `anyOf`, or the `anyOf` in the first `allOf`, is the usual form of int-or-string,
    which cannot be expressed otherwise."""
    first: Schema = next(iter(schema.get("allOf") or ()), {})
    return schema.get("anyOf") == INT_OR_STRING, first.get("anyOf") == INT_OR_STRING
