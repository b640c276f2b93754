"""Properties of any schema and any object."""

from __future__ import annotations

from typing import Any

import jsonschema
from hypothesis import given
from hypothesis import strategies as st
from support.custom_schemas import compiled, errors_of, of_spec

from fairlead.codec.types.decode import decoder
from fairlead.resources.custom.schema.custom_schema import CustomSchema

NAMES = st.sampled_from(["a", "b", "c", "in", "x-y"])
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-5, 5)
    | st.sampled_from([0.5, 1.5, 2.0, -0.25])
    | st.sampled_from(["", "a", "ab", "abc", "B"])
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=12,
)


def _with(schema: Any, **keywords: Any) -> Any:
    """A schema with some of these keywords."""
    more = st.fixed_dictionaries({}, optional=keywords)
    return st.builds(lambda first, second: {**first, **second}, schema, more)


def _leaf() -> Any:
    string = _with(
        st.just({"type": "string"}),
        minLength=st.integers(0, 2),
        maxLength=st.integers(0, 3),
        pattern=st.sampled_from(["^a", "b$", "^[a-z]*$", "(a|b)+"]),
        enum=st.just(["a", "B"]),
    )
    limits = {
        "minimum": st.sampled_from([-1, 0, 0.5]),
        "maximum": st.sampled_from([0, 1.5, 3]),
        "multipleOf": st.sampled_from([0.5, 1, 2]),
    }
    integer = _with(st.just({"type": "integer"}), enum=st.just([1, 2]), **limits)
    number = _with(st.just({"type": "number"}), **limits)
    return string | integer | number | st.just({"type": "boolean"})


def _holders(inner: Any) -> Any:
    array = _with(
        st.builds(lambda items: {"type": "array", "items": items}, inner),
        minItems=st.integers(0, 1),
        maxItems=st.integers(1, 2),
    )
    record = _with(
        st.builds(
            lambda fields: {"type": "object", "properties": fields},
            st.dictionaries(NAMES, inner, max_size=3),
        ),
        required=st.just(["a"]),
        minProperties=st.integers(0, 1),
    )
    table = _with(
        st.builds(lambda values: {"type": "object", "additionalProperties": values}, inner),
        maxProperties=st.integers(0, 2),
    )
    return array | record | table


SCHEMAS = st.recursive(_leaf(), _holders, max_leaves=6)
CONDITIONS = st.lists(
    st.sampled_from(
        [
            {"required": ["a"]},
            {"required": ["b"]},
            {"minProperties": 1},
            {"properties": {"a": {"minimum": 1}}},
            {"maximum": 2},
            {"enum": [{}, 1]},
        ]
    ),
    min_size=1,
    max_size=3,
)
JUNCTORS = st.sampled_from(["allOf", "anyOf", "oneOf"])


def _agrees(schema: CustomSchema, plain: dict[str, Any], value: Any) -> None:
    wanted = jsonschema.Draft4Validator(plain).is_valid(value)
    reported = errors_of(schema, value)
    assert (not reported) == wanted, (plain, value, reported)


def _without_nulls(value: Any) -> Any:
    """Nulls are dropped, and numbers put into their one form, before anything is checked."""
    if isinstance(value, dict):
        return {key: _without_nulls(item) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [_without_nulls(item) for item in value if item is not None]
    return int(value) if isinstance(value, float) and value.is_integer() else value


KEEP = {"x-kubernetes-preserve-unknown-fields": True}


def _open(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema with unknown fields kept, so that both see the same."""
    created = dict(schema)
    if schema.get("type") == "object" and "properties" in schema:
        created |= {
            "properties": {name: _open(item) for name, item in schema["properties"].items()}
        }
        created |= KEEP
    for name in ("items", "additionalProperties"):
        if isinstance(schema.get(name), dict):
            created[name] = _open(schema[name])
    return created


@given(SCHEMAS, VALUES)
def test_values_are_judged_as_the_standard_does(schema: dict[str, Any], value: Any) -> None:
    value = _without_nulls(value)
    if value is not None:
        _agrees(of_spec(_open(schema)), schema, value)


@given(SCHEMAS, JUNCTORS, CONDITIONS, VALUES)
def test_conditions_are_judged_as_the_standard_does(
    schema: dict[str, Any], junctor: str, conditions: list[dict[str, Any]], value: Any
) -> None:
    value = _without_nulls(value)
    if value is not None:
        more = {junctor: conditions}
        _agrees(of_spec({**_open(schema), **more}), {**schema, **more}, value)


DEFAULTED = st.recursive(
    st.sampled_from(
        [
            {"type": "string", "default": "d"},
            {"type": "integer", "default": 1, "nullable": True},
            {"type": "boolean"},
            {"x-kubernetes-preserve-unknown-fields": True},
            {"type": "object", "x-kubernetes-embedded-resource": True, **KEEP},
        ]
    ),
    lambda inner: (
        st.builds(lambda items: {"type": "array", "items": items}, inner)
        | st.builds(lambda values: {"type": "object", "additionalProperties": values}, inner)
        | _with(
            st.builds(
                lambda fields: {"type": "object", "properties": fields},
                st.dictionaries(NAMES, inner, max_size=3),
            ),
            default=st.just({}),
            nullable=st.booleans(),
        )
    ),
    max_leaves=8,
)


@given(DEFAULTED, st.dictionaries(NAMES, VALUES, max_size=3))
def test_a_pruned_and_defaulted_object_stays_as_it_is(
    schema: dict[str, Any], value: dict[str, Any]
) -> None:
    custom = compiled({"type": "object", "properties": {"a": schema, "spec": schema}})
    once = decoder(custom.struct)(value, [])
    custom.fill_defaults(once)
    unknown: list[str] = []
    twice = decoder(custom.struct)(once, unknown)
    custom.fill_defaults(twice)
    assert twice == once
    assert unknown == []
