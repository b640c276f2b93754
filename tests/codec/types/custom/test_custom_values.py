"""Validation by each keyword of a schema, with the reference's messages."""

from __future__ import annotations

from typing import Any

import pytest
from support.custom_schemas import compiled, errors_of, of_field, of_spec

from fairlead.base.release import V1_36
from fairlead.resources.causes import Causes

OBJECT = {"type": "object"}


def wrong_type(path: str, wanted: str, content: str) -> tuple[str, str, str]:
    text = f'Invalid value: "{content}": {path} in body must be of type {wanted}: "{content}"'
    return path, "TypeInvalid", text


@pytest.mark.parametrize(
    ("kind", "good", "bad"),
    [
        ("string", ["", "x"], [(1, "integer"), (True, "boolean"), ([], "array"), ({}, "object")]),
        ("integer", [0, -5, 2.0], [(1.5, "number"), ("1", "string"), (True, "boolean")]),
        ("integer", [2**63 - 1], [(2**63, "number"), (1e300, "number")]),
        ("number", [0, 1.5, 1e300], [("1", "string"), (False, "boolean")]),
        ("boolean", [True, False], [(0, "integer"), ("true", "string")]),
        ("object", [{}], [([], "array"), ("x", "string")]),
    ],
)
def test_values_are_of_their_type(kind: str, good: list[Any], bad: list[tuple[Any, str]]) -> None:
    schema = of_field({"type": kind})
    for value in good:
        assert errors_of(schema, {"f": value}) == []
    for value, name in bad:
        assert errors_of(schema, {"f": value}) == [wrong_type("spec.f", kind, name)]


def test_parts_of_values_are_named_by_their_path() -> None:
    schema = of_spec(
        {
            "type": "object",
            "properties": {
                "list": {"type": "array", "items": {"type": "string"}},
                "map": {"type": "object", "additionalProperties": {"type": "integer"}},
            },
        }
    )
    assert errors_of(schema, {"list": ["x", 1], "map": {"k": "v"}}) == [
        wrong_type("spec.list[1]", "string", "integer"),
        wrong_type("spec.map.k", "integer", "string"),
    ]


@pytest.mark.parametrize(
    ("field", "value", "reason", "text"),
    [
        (
            {"type": "string", "enum": ["a", "b"]},
            "c",
            "NotSupported",
            'Unsupported value: "c": supported values: "a", "b"',
        ),
        (
            {"type": "integer", "enum": [1, 2]},
            3,
            "NotSupported",
            'Unsupported value: 3: supported values: "1", "2"',
        ),
        (
            {"type": "string", "pattern": "^[a-z]+$"},
            "A",
            "Invalid",
            "Invalid value: \"A\": spec.f in body should match '^[a-z]+$'",
        ),
        (
            {"type": "string", "minLength": 2},
            "é",
            "Invalid",
            'Invalid value: "é": spec.f in body should be at least 2 chars long',
        ),
        (
            {"type": "string", "maxLength": 2},
            "abc",
            "TooLong",
            "Too long: may not be longer than 2",
        ),
        (
            {"type": "integer", "minimum": 1},
            0,
            "Invalid",
            "Invalid value: 0: spec.f in body should be greater than or equal to 1",
        ),
        (
            {"type": "number", "maximum": 0.5},
            0.75,
            "Invalid",
            "Invalid value: 0.75: spec.f in body should be less than or equal to 0.5",
        ),
        (
            {"type": "number", "minimum": 0, "exclusiveMinimum": True},
            0,
            "Invalid",
            "Invalid value: 0: spec.f in body should be greater than 0",
        ),
        (
            {"type": "number", "maximum": 9, "exclusiveMaximum": True},
            9,
            "Invalid",
            "Invalid value: 9: spec.f in body should be less than 9",
        ),
        (
            {"type": "number", "maximum": 2_000_000},
            3_000_000.5,
            "Invalid",
            "Invalid value: 3.0000005e+06: spec.f in body should be less than or equal to 2e+06",
        ),
        (
            {"type": "number", "minimum": -2_000_000.0},
            -3_000_000,
            "Invalid",
            "Invalid value: -3000000: spec.f in body should be greater than or equal to -2000000",
        ),
        (
            {"type": "number", "maximum": 12.5},
            2**64,
            "Invalid",
            "Invalid value: 1.8446744073709552e+19: spec.f in body should be less than or equal to"
            " 12.5",
        ),
        (
            {"type": "number", "multipleOf": 0.5},
            0.7,
            "Invalid",
            "Invalid value: 0.7: spec.f in body should be a multiple of 0.5",
        ),
        (
            {"type": "array", "items": {"type": "string"}, "minItems": 1},
            [],
            "Invalid",
            "Invalid value: 0: spec.f in body should have at least 1 items",
        ),
        (
            {"type": "array", "items": {"type": "string"}, "maxItems": 1},
            ["a", "b"],
            "TooMany",
            "Too many: 2: must have at most 1 items",
        ),
        (
            {"type": "object", "additionalProperties": {"type": "string"}, "minProperties": 1},
            {},
            "Invalid",
            "Invalid value: 0: spec.f in body should have at least 1 properties",
        ),
        (
            {"type": "object", "additionalProperties": {"type": "string"}, "maxProperties": 1},
            {"a": "x", "b": "y"},
            "TooMany",
            "Too many: 2: must have at most 1 items",
        ),
        (
            {"type": "object", "additionalProperties": False},
            {"k": 1},
            "Invalid",
            'Invalid value: "k": spec.f.k in body is a forbidden property',
        ),
        (
            {"type": "string", "format": "date"},
            "yesterday",
            "TypeInvalid",
            'Invalid value: "yesterday": spec.f in body must be of type date: "yesterday"',
        ),
    ],
)
def test_a_value_that_breaks_a_limit_is_told(
    field: dict[str, Any], value: Any, reason: str, text: str
) -> None:
    assert errors_of(of_field(field), {"f": value}) == [("spec.f", reason, text)]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ({"type": "string", "minLength": 2, "maxLength": 2}, "éé"),
        ({"type": "integer", "minimum": 1, "maximum": 1}, 1),
        ({"type": "integer", "multipleOf": 0.5}, 3),
        ({"type": "integer", "multipleOf": 3}, 9),
        ({"type": "number", "multipleOf": 0.1}, 0.3),
        ({"type": "number", "enum": [1]}, 1.0),
        ({"x-kubernetes-int-or-string": True}, "50%"),
        ({"x-kubernetes-int-or-string": True}, 5),
        ({"x-kubernetes-preserve-unknown-fields": True}, [1, {"a": None}]),
        ({"type": "string", "format": "no such format"}, "x"),
        ({"type": "integer", "format": "int32"}, 2**40),
        ({"type": "array", "items": {"type": "string", "nullable": True}}, [None]),
        ({"type": "string", "nullable": True, "enum": ["a", None]}, None),
    ],
)
def test_a_value_within_its_limits_is_good(field: dict[str, Any], value: Any) -> None:
    assert errors_of(of_field(field), {"f": value}) == []


def test_numbers_and_truth_are_not_the_same_in_an_enum() -> None:
    schema = of_field({"x-kubernetes-preserve-unknown-fields": True, "enum": [1, "true"]})
    assert errors_of(schema, {"f": 1.0}) == []
    assert [reason for _, reason, _ in errors_of(schema, {"f": True})] == ["NotSupported"]


def test_null_in_a_list_has_the_wrong_type() -> None:
    schema = of_field({"type": "array", "items": {"type": "string"}})
    assert errors_of(schema, {"f": [None]}) == [wrong_type("spec.f[0]", "string", "null")]


def test_a_number_or_a_text_is_nothing_else() -> None:
    schema = of_field({"x-kubernetes-int-or-string": True})
    assert errors_of(schema, {"f": 1.5}) == [wrong_type("spec.f", "integer,string", "number")]


def test_a_fraction_has_no_integer_format() -> None:
    schema = of_field({"type": "integer", "format": "int32"}, release=V1_36)
    assert errors_of(schema, {"f": 1.5})[0] == wrong_type("spec.f", "int32", "float64")
    schema = of_field({"type": "integer"})
    assert errors_of(schema, {"f": 1.5}) == [wrong_type("spec.f", "integer", "number")]


def test_later_releases_check_an_object_with_too_many_properties_further() -> None:
    field = {"type": "object", "maxProperties": 1, "additionalProperties": {"type": "integer"}}
    value = {"f": {"a": "x", "b": 1}}
    assert [path for path, _, _ in errors_of(of_field(field), value)] == ["spec.f"]
    later = of_field(field, release=V1_36)
    assert [path for path, _, _ in errors_of(later, value)] == ["spec.f", "spec.f.a"]


def test_what_is_required_must_be_there() -> None:
    schema = of_spec({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]})
    assert errors_of(schema, {}) == [("spec.a", "Required", "Required value")]
    assert errors_of(schema, {"a": None}) == [("spec.a", "Required", "Required value")]


def test_all_that_is_wrong_is_told_at_once() -> None:
    fields = {name: {"type": "integer", "maximum": 1} for name in "abc"}
    schema = of_spec({"type": "object", "properties": fields, "required": ["d"]})
    assert [field for field, _, _ in errors_of(schema, {"a": "x", "b": 2, "c": 3})] == [
        "spec.a",
        "spec.b",
        "spec.c",
        "spec.d",
    ]


def test_kind_and_version_count_as_given() -> None:
    schema = compiled(
        {
            "type": "object",
            "required": ["apiVersion", "kind", "metadata"],
            "properties": {"kind": {"type": "string", "enum": ["Gadget"]}},
        }
    )
    causes = Causes()
    schema.validate({"metadata": {"name": "a"}}, None, causes)
    text = 'Unsupported value: "Widget": supported values: "Gadget"'
    assert [(cause.field, cause.message) for cause in causes] == [("kind", text)]


def test_metadata_can_be_narrowed_down() -> None:
    name = {"type": "string", "maxLength": 2}
    metadata = {"type": "object", "properties": {"name": name}}
    schema = compiled({"type": "object", "properties": {"metadata": metadata}})
    causes = Causes()
    schema.validate({"metadata": {"name": "long"}}, None, causes)
    assert [cause.field for cause in causes] == ["metadata.name"]


ONE_OF = {"oneOf": [{"required": ["a"]}, {"required": ["b"]}]}
ANY_OF = {"anyOf": [{"required": ["a"]}, {"properties": {"b": {"minimum": 5}}, "required": ["b"]}]}
FIELDS = {"a": {"type": "integer"}, "b": {"type": "integer"}}


@pytest.mark.parametrize(
    ("junctor", "value", "wanted"),
    [
        (ONE_OF, {"a": 1}, []),
        (
            ONE_OF,
            {},
            [
                ("<nil>", '"spec" must validate one and only one schema (oneOf). Found none valid'),
                ("spec.a", ""),
            ],
        ),
        (
            ONE_OF,
            {"a": 1, "b": 2},
            [
                (
                    "<nil>",
                    '"spec" must validate one and only one schema (oneOf). Found 2 valid'
                    " alternatives",
                )
            ],
        ),
        (ANY_OF, {"b": 5}, []),
        (
            ANY_OF,
            {"b": 4},
            [
                ("<nil>", '"spec" must validate at least one schema (anyOf)'),
                ("spec.b", "spec.b in body should be greater than or equal to 5"),
            ],
        ),
        ({"not": {"required": ["a"]}}, {"b": 1}, []),
        (
            {"not": {"required": ["a"]}},
            {"a": 1},
            [("<nil>", '"spec" must not validate the schema (not)')],
        ),
        (
            {"allOf": [{"required": ["a"]}, {"required": ["b"]}]},
            {"b": 1},
            [("spec.a", ""), ("<nil>", '"spec" must validate all the schemas (allOf)')],
        ),
        (
            {"allOf": [{"required": ["a"]}]},
            {},
            [
                ("spec.a", ""),
                ("<nil>", '"spec" must validate all the schemas (allOf). None validated'),
            ],
        ),
    ],
)
def test_conditions_hold_together(
    junctor: dict[str, Any], value: Any, wanted: list[tuple[str, str]]
) -> None:
    schema = of_spec({**OBJECT, "properties": FIELDS, **junctor})
    texts = [(field, text.partition(": ")[2]) for field, _, text in errors_of(schema, value)]
    assert [(field, text.partition(": ")[2]) for field, text in texts] == wanted
