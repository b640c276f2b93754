"""Decoding of custom objects: unknown fields and nulls are pruned, defaults are set."""

from __future__ import annotations

from typing import Any

import pytest
from support.custom_schemas import METADATA, compiled, decoded, errors_of, of_field, of_spec, widget

from fairlead.codec.types.decode import decoder, unknown_paths_of_custom
from fairlead.codec.types.mismatch import DecodeError
from fairlead.resources.custom.schema.custom_schema import CustomSchema
from fairlead.resources.metadata import check_embedded_metadata

PRESERVE = "x-kubernetes-preserve-unknown-fields"
EMBEDDED = "x-kubernetes-embedded-resource"


def unknown(schema: CustomSchema, spec: Any) -> list[str]:
    named: list[str] = []
    value = widget(spec)
    decoder(schema.struct)(value, named)
    paths = unknown_paths_of_custom(schema.struct, value)
    assert bool(named) == bool(paths)
    return paths


def test_unknown_fields_are_dropped_and_named() -> None:
    item = {"type": "object", "properties": {"a": {"type": "string"}}}
    schema = of_spec(
        {
            "type": "object",
            "properties": {
                "list": {"type": "array", "items": item},
                "map": {"type": "object", "additionalProperties": item},
            },
        }
    )
    spec = {"x": 1, "list": [{"a": "1", "b": 2}], "map": {"k": {"c": {"d": 1}}}}
    assert decoded(schema, spec) == {"list": [{"a": "1"}], "map": {"k": {}}}
    assert unknown(schema, spec) == ["spec.list[0].b", "spec.map.k.c", "spec.x"]


def test_what_came_is_not_changed() -> None:
    schema = of_field({"type": "object", "properties": {"a": {"type": "integer"}}})
    value = widget({"f": {"a": 2.0, "b": 1}, "g": None})
    decoder(schema.struct)(value, [])
    assert value == widget({"f": {"a": 2.0, "b": 1}, "g": None})


def test_unknown_fields_are_kept_where_the_schema_says_so_and_not_below_what_it_names() -> None:
    inner = {"type": "object", "properties": {"b": {"type": "string"}}}
    schema = of_spec({"type": "object", PRESERVE: True, "properties": {"known": inner}})
    spec = {"x": {"y": [1, {"z": None}]}, "known": {"b": "1", "c": 2}}
    assert decoded(schema, spec) == {"x": {"y": [1, {"z": None}]}, "known": {"b": "1"}}
    assert unknown(schema, spec) == ["spec.known.c"]


@pytest.mark.parametrize(
    "field",
    [
        {"type": "string"},
        {"type": "array", "items": {"type": "string"}},
        {"type": "object", "additionalProperties": {"type": "string"}},
        {"type": "object", "properties": {"a": {"type": "string"}}},
    ],
    ids=["text", "list", "map", "object"],
)
def test_what_comes_in_place_of_another_type_has_no_known_fields(field: dict[str, Any]) -> None:
    kind = field["type"]
    sent: Any = [[{"x": 1}], 2.0] if kind != "array" else {"x": 1}
    kept: Any = [[{}], 2] if kind != "array" else {}
    path = "spec.f[0][0].x" if kind != "array" else "spec.f.x"
    schema = of_field(field)
    assert decoded(schema, {"f": sent}) == {"f": kept}
    assert unknown(schema, {"f": sent}) == [path]
    if kind != "string":
        assert decoded(of_field({**field, PRESERVE: True}), {"f": sent}) == {"f": sent}


@pytest.mark.parametrize(("schema", "preserve"), [(None, False), ({"type": "object"}, True)])
def test_a_kind_can_keep_everything(schema: dict[str, Any] | None, preserve: bool) -> None:
    assert decoded(compiled(schema, preserve=preserve), {"a": [None]}) == {"a": [None]}


def test_null_is_kept_where_it_may_be_and_dropped_elsewhere() -> None:
    fields = {"n": {"type": "string", "nullable": True}, "s": {"type": "string"}}
    schema = of_spec({"type": "object", "properties": fields})
    assert decoded(schema, {"n": None, "s": None}) == {"n": None}
    values = of_field({"type": "object", "additionalProperties": {"type": "string"}})
    assert decoded(values, {"f": {"a": None, "b": "x"}}) == {"f": {"b": "x"}}


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        (2.0, 2),
        (2.5, 2.5),
        (-0.0, 0),
        (2**63, float(2**63)),
        (1e300, 1e300),
        (2**63 - 1, 2**63 - 1),
    ],
)
def test_numbers_are_kept_in_one_form(sent: Any, kept: Any) -> None:
    for field in ({"type": "number"}, {PRESERVE: True}, {"x-kubernetes-int-or-string": True}):
        value = decoded(of_field(field), {"f": sent})["f"]
        assert (value, type(value)) == (kept, type(kept))


def test_a_value_of_the_wrong_type_is_left_to_the_checks() -> None:
    field = {"type": "object", "properties": {"a": {"type": "string"}}}
    assert decoded(of_field(field), {"f": [1]}) == {"f": [1]}


def test_metadata_is_of_its_type_and_always_there() -> None:
    struct = of_field({"type": "string"}).struct
    assert decoder(struct)({}, []) == {"metadata": decoder(METADATA)({}, [])}
    with pytest.raises(DecodeError) as refused:
        decoder(struct)({"metadata": {"labels": {"a": 1}}}, [])
    assert str(refused.value) == (
        "json: cannot unmarshal number into Go struct field ObjectMeta.labels of type string"
    )


def test_defaults_are_filled_in_at_every_level() -> None:
    item = {"type": "object", "properties": {"a": {"type": "integer", "default": 1}}}
    schema = of_spec(
        {
            "type": "object",
            "properties": {
                "list": {"type": "array", "items": item},
                "map": {"type": "object", "additionalProperties": item},
                "new": {**item, "default": {}},
                "absent": item,
            },
        }
    )
    assert decoded(schema, {"list": [{}, {"a": 2}], "map": {"k": {}}}) == {
        "list": [{"a": 1}, {"a": 2}],
        "map": {"k": {"a": 1}},
        "new": {"a": 1},
    }


def test_a_default_takes_the_place_of_null_unless_null_is_a_value() -> None:
    fields = {
        "s": {"type": "string", "default": "d"},
        "n": {"type": "string", "default": "d", "nullable": True},
    }
    schema = of_spec({"type": "object", "properties": fields})
    assert decoded(schema, {"s": None, "n": None}) == {"s": "d", "n": None}
    assert decoded(schema, {}) == {"s": "d", "n": "d"}


def test_zero_is_not_taken_for_missing() -> None:
    assert decoded(of_field({"type": "integer", "default": 5}), {"f": 0}) == {"f": 0}


def test_no_two_objects_share_a_default() -> None:
    schema = of_field({"type": "array", "items": {"type": "integer"}, "default": [1]})
    decoded(schema, {})["f"].append(2)
    assert decoded(schema, {}) == {"f": [1]}


TEMPLATE = {
    "type": "object",
    EMBEDDED: True,
    "properties": {"spec": {"type": "object", "properties": {"a": {"type": "string"}}}},
}
POD = {"apiVersion": "v1", "kind": "Pod"}


def of_template() -> CustomSchema:
    spec = {"type": "object", "properties": {"t": TEMPLATE}}
    properties = {"type": "object", "properties": {"spec": spec}}
    return compiled(properties, metadata_rules=check_embedded_metadata)


def test_an_embedded_object_has_metadata_of_its_type() -> None:
    schema = of_template()
    manifest = {**POD, "metadata": {"name": "a", "x": 1}, "spec": {"a": "1"}}
    assert decoded(schema, {"t": manifest}) == {"t": {**manifest, "metadata": {"name": "a"}}}
    assert unknown(schema, {"t": manifest}) == ["spec.t.metadata.x"]
    inner = {"type": "object", EMBEDDED: True, PRESERVE: True}
    values = of_field({"type": "object", "additionalProperties": inner})
    assert unknown(values, {"f": {"k": manifest}}) == ["spec.f[k].metadata.x"]


@pytest.mark.parametrize(
    ("schema", "given"),
    [
        ({"default": {"metadata": {"name": "n", "other": 1}}}, {}),
        ({"properties": {"metadata": {"default": {"name": "n", "other": 1}}}}, {"f": {}}),
        (
            {
                "properties": {
                    "metadata": {
                        "properties": {"name": {"default": "n"}, "other": {"default": 1}},
                    }
                }
            },
            {"f": {"metadata": {}}},
        ),
    ],
)
def test_metadata_of_an_embedded_object_gets_no_default_that_it_cannot_have(
    schema: Any, given: Any
) -> None:
    created = of_field({"type": "object", EMBEDDED: True, PRESERVE: True, **schema})
    value = widget(given)
    created.fill_defaults(value)
    assert value["spec"]["f"] == {"metadata": {"name": "n"}}


@pytest.mark.parametrize(
    ("metadata", "field"),
    [
        ({"namespace": "~"}, "spec.t.metadata.namespace"),
        ({"managedFields": [{}]}, "spec.t.metadata.managedFields[0].operation"),
        ({"labels": {"~": "x"}}, "spec.t.metadata.labels"),
    ],
)
def test_metadata_of_an_embedded_object_has_the_rules_of_metadata(
    metadata: Any, field: str
) -> None:
    found = errors_of(of_template(), {"t": {**POD, "metadata": metadata}})
    assert [path for path, _, _ in found] == [field]


def test_null_is_no_metadata_if_the_schema_describes_it() -> None:
    described = {"type": "object", EMBEDDED: True, "properties": {"metadata": {"type": "object"}}}
    manifest = {**POD, "metadata": None}
    assert decoded(of_field(described), {"f": manifest}) == {"f": POD}


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        (POD, []),
        ({**POD, "metadata": {"labels": {"a": "b"}}}, []),
        (
            {},
            [
                ("spec.t.apiVersion", "Required", "Required value: must not be empty"),
                ("spec.t.kind", "Required", "Required value: must not be empty"),
            ],
        ),
        (
            {**POD, "kind": ""},
            [("spec.t.kind", "Invalid", 'Invalid value: "": must not be empty')],
        ),
        (
            {**POD, "apiVersion": "a/b/c"},
            [
                (
                    "spec.t.apiVersion",
                    "Invalid",
                    'Invalid value: "a/b/c": unexpected GroupVersion string: a/b/c',
                )
            ],
        ),
        (
            {**POD, "metadata": {"name": "a/b"}},
            [("spec.t.metadata.name", "Invalid", "Invalid value: \"a/b\": may not contain '/'")],
        ),
    ],
)
def test_an_embedded_object_is_held_to_the_rules_of_objects(
    given: dict[str, Any], wanted: list[tuple[str, str, str]]
) -> None:
    assert errors_of(of_template(), {"t": given}) == wanted


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ({**POD, "kind": 5}, "spec.t.kind: Invalid value: 5: must be a string"),
        (
            {**POD, "apiVersion": None},
            'spec.t.apiVersion: Invalid value: "null": must be a string',
        ),
        (
            {**POD, "metadata": {"labels": {"a": 1}}},
            'spec.t.metadata: Invalid value: map[string]interface {}{"labels":map[string]interface'
            ' {}{"a":1}}: json: cannot unmarshal number into Go struct field ObjectMeta.labels of'
            " type string",
        ),
    ],
)
def test_what_an_embedded_object_has_like_all_is_of_its_type(
    given: dict[str, Any], wanted: str
) -> None:
    with pytest.raises(DecodeError) as refused:
        decoded(of_template(), {"t": given})
    assert str(refused.value) == wanted


def test_a_stored_object_is_read_whatever_is_embedded_in_it() -> None:
    value = widget({"t": {**POD, "metadata": {"labels": {"a": 1}}}})
    assert of_template().pruned(value)["spec"] == value["spec"]


def test_metadata_of_an_embedded_object_may_be_null() -> None:
    manifest = {**POD, "metadata": None}
    assert decoded(of_template(), {"t": manifest}) == {"t": {**POD, "metadata": {}}}


SET = {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"}
MAP = {
    "type": "array",
    "items": {
        "type": "object",
        "properties": {"n": {"type": "string"}, "p": {"type": "integer"}, "v": {"type": "string"}},
    },
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["n", "p"],
}


def test_items_of_a_set_are_there_once() -> None:
    assert errors_of(of_field(SET), {"f": ["x", "y", "x", "x"]}) == [
        ("spec.f[2]", "Duplicate", 'Duplicate value: "x"')
    ]


def test_items_of_a_keyed_list_have_different_keys() -> None:
    items = [{"n": "a", "p": 1, "v": "x"}, {"n": "a", "p": 2}, {"n": "a", "p": 1, "v": "y"}]
    text = 'Duplicate value: map[string]interface {}{"n":"a", "p":1}'
    assert errors_of(of_field(MAP), {"f": items}) == [("spec.f[2]", "Duplicate", text)]


def test_repeated_items_may_stay_where_there_were_some() -> None:
    assert errors_of(of_field(SET), {"f": ["x", "x", "z", "z"]}, old={"f": ["x", "x"]}) == []
    assert len(errors_of(of_field(SET), {"f": ["x", "x"]}, old={"f": ["x"]})) == 1
