"""Values of one type or another: schemas inside of schemas."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.base.dialect import KUBERNETES
from fairlead.codec.types.builtin import BuiltinTypes
from fairlead.codec.types.decode import decoder
from fairlead.codec.types.mismatch import DecodeError

SCHEMA = BuiltinTypes(KUBERNETES).struct("apiextensions/v1.JSONSchemaProps")
RULES, LIST_TYPE = "x-kubernetes-validations", "x-kubernetes-list-type"


def decoded(**schema: Any) -> Any:
    unknown: list[str] = []
    value = decoder(SCHEMA)(schema, unknown)
    assert unknown == []
    return value


@pytest.mark.parametrize(
    "schema",
    [
        {"items": {"type": "string"}},
        {"items": {}},
        {"items": [{"type": "string"}, {}]},
        {"additionalProperties": {"type": "string"}},
        {"additionalProperties": True},
        {"additionalProperties": False},
        {"additionalItems": False},
        {"dependencies": {"a": ["b", "c"], "d": {"type": "string"}}},
    ],
)
def test_each_alternative_is_kept(schema: Any) -> None:
    assert decoded(**schema) == schema


def test_what_is_inside_is_kept_as_anywhere_else() -> None:
    inside = {"type": "array", "title": "", "minLength": 0, "items": {"nullable": False}}
    assert decoded(items=inside) == {"items": {"type": "array", "minLength": 0, "items": {}}}


def test_unknown_fields_inside_are_dropped_and_nobody_is_told() -> None:
    assert decoded(items={"type": "string", "colour": "red"}) == {"items": {"type": "string"}}


@pytest.mark.parametrize("nothing", [5, "x", True])
def test_items_that_are_no_schema_are_null(nothing: Any) -> None:
    assert decoded(items=nothing) == {"items": None}


@pytest.mark.parametrize("nothing", [3, "x", [{"type": "string"}]])
def test_a_switch_takes_nothing_else(nothing: Any) -> None:
    with pytest.raises(DecodeError, match=r"^boolean or JSON schema expected$"):
        decoded(additionalProperties=nothing)


@pytest.mark.parametrize(
    ("nonsense", "text"),
    [
        ({"type": 5}, "number into Go struct field JSONSchemaProps.type of type string"),
        ({"minLength": "x"}, "string into Go struct field JSONSchemaProps.minLength of type int64"),
        ({"pattern": []}, "array into Go struct field JSONSchemaProps.pattern of type string"),
        ({"properties": []}, "array into Go struct field JSONSchemaProps.properties of type"),
        ({"properties": {"a": 1}}, "number into Go struct field JSONSchemaProps.properties of"),
        ({"enum": 1}, "number into Go struct field JSONSchemaProps.enum of type []"),
        ({"required": [1]}, "number into Go struct field JSONSchemaProps.required of type string"),
        ({RULES: ["x"]}, f"string into Go struct field JSONSchemaProps.{RULES} of type"),
        ({LIST_TYPE: 1}, f"number into Go struct field JSONSchemaProps.{LIST_TYPE} of type string"),
    ],
)
def test_places_of_errors_begin_at_the_schema_inside(nonsense: Any, text: str) -> None:
    for word in ("items", "additionalProperties"):
        with pytest.raises(DecodeError) as error:
            decoded(properties={"a": {word: nonsense}})
        assert str(error.value).startswith(f"json: cannot unmarshal {text}")


def test_an_item_of_a_list_has_no_place() -> None:
    with pytest.raises(DecodeError) as error:
        decoded(items=[5])
    text = "json: cannot unmarshal number into Go value of type v1.JSONSchemaProps"
    assert str(error.value) == text
