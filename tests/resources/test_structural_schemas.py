"""Validation of a definition's schema, with the reference's messages."""

from __future__ import annotations

import asyncio
from time import process_time
from types import SimpleNamespace
from typing import Any

import pytest
from support.pace import in_time

from fairlead.base import budget, meter
from fairlead.base.dialect import CLUSTER, KUBERNETES, Dialect
from fairlead.base.errors import TooManyCauses
from fairlead.resources.apiextensions.schemas import check_schema
from fairlead.resources.causes import Causes
from fairlead.resources.gates import Gates

ROOT = "spec.validation.openAPIV3Schema"
FIELD = f"{ROOT}.properties[f]"
RULES = "x-kubernetes-validations"
LIST_TYPE, KEYS = "x-kubernetes-list-type", "x-kubernetes-list-map-keys"
MAP_TYPE, PRESERVE = "x-kubernetes-map-type", "x-kubernetes-preserve-unknown-fields"
EMBEDDED, INT_OR_STRING = "x-kubernetes-embedded-resource", "x-kubernetes-int-or-string"
STRING, INTEGER = {"type": "string"}, {"type": "integer"}
OBJECT = {"type": "object"}


def errors_of(schema: Any, dialect: Dialect = KUBERNETES) -> list[tuple[str, str]]:
    """Field and message of everything wrong with a schema."""
    causes = Causes()
    context: Any = SimpleNamespace(dialect=dialect, gates=Gates())
    check_schema({"openAPIV3Schema": schema}, False, "spec.validation", causes, context)
    return [(cause.field, cause.message) for cause in causes]


def of_field(field: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"f": field}}


def array(items: Any, **more: Any) -> dict[str, Any]:
    return {"type": "array", "items": items, **more}


def keyed(item: dict[str, Any], *keys: str) -> dict[str, Any]:
    return array(item, **{LIST_TYPE: "map", KEYS: list(keys)})


def ruled(schema: dict[str, Any], *rules: str, **more: Any) -> dict[str, Any]:
    return {**schema, RULES: [{"rule": rule, **more} for rule in rules]}


NAMED = {"type": "object", "properties": {"n": STRING}, "required": ["n"]}

NAMES = {"type": "object", "additionalProperties": STRING, "maxProperties": 128}

GOOD: list[Any] = [
    STRING,
    array(STRING),
    {"type": "object", "additionalProperties": STRING},
    {"type": "object", "additionalProperties": True, "nullable": True},
    {INT_OR_STRING: True},
    {INT_OR_STRING: True, "default": 1.5},
    # Rules of Istio, gateway-api, Contour and Traefik over the keys of maps.
    ruled(NAMES, "self.all(key, !key.contains('*'))"),
    ruled(NAMES, "self.all(key, key.matches('^[a-z0-9A-Z/_.-]*$'))"),
    ruled(NAMES, "self.all(key, (key + '..') != 'a')", "self.all(key, key.size() < 254)"),
    # An atomic map is found in the old object like any other.
    {
        "type": "object",
        "properties": {"n": ruled({**INTEGER}, "self == oldSelf")},
        MAP_TYPE: "atomic",
    },
    {INT_OR_STRING: True, "anyOf": [INTEGER, STRING]},
    {INT_OR_STRING: True, "allOf": [{"anyOf": [INTEGER, STRING]}, {"pattern": "^a"}]},
    {PRESERVE: True},
    {"type": "object", PRESERVE: True, EMBEDDED: True},
    {**OBJECT, "properties": {"a": INTEGER}, "oneOf": [{"required": ["a"]}]},
    {"type": "integer", "default": 1, "minimum": 1},
    keyed(NAMED, "n"),
    keyed({**OBJECT, "properties": {"n": {**STRING, "default": ""}}}, "n"),
    array({**OBJECT, MAP_TYPE: "atomic"}, **{LIST_TYPE: "set"}),
    ruled({**STRING, "maxLength": 10}, "self != 'x'", "self == oldSelf"),
    ruled({**INTEGER, "default": 6}, "self > 5", "self == oldSelf"),
    {"type": "string", "multipleOf": 0.5},
]


@pytest.mark.parametrize("field", GOOD)
def test_a_structural_schema_is_good(field: Any) -> None:
    assert errors_of(of_field(field)) == []


BAD: list[tuple[Any, str, str]] = [
    ({}, ".type", "Required value: must not be empty for specified object fields"),
    (array({}), ".items.type", "Required value: must not be empty for specified array items"),
    ({"type": "array"}, ".items", "Required value: must be specified"),
    (
        {"type": "bogus"},
        ".type",
        'Unsupported value: "bogus": supported values: "array", "boolean", "integer", "number",'
        ' "object", "string"',
    ),
    ({**STRING, "pattern": "("}, ".pattern", "missing closing ): `(`"),
    ({**STRING, "$ref": "#/x"}, ".$ref", "Forbidden: $ref is not supported"),
    ({**STRING, "id": "x"}, ".id", "Forbidden: id is not supported"),
    (
        {**OBJECT, "patternProperties": {"a": STRING}},
        ".patternProperties",
        "Forbidden: patternProperties is not supported",
    ),
    ({"type": "array", "items": [STRING]}, ".items", "items must be a schema object and not an"),
    ({"type": "array", "items": STRING, "uniqueItems": True}, ".uniqueItems", "quadratic"),
    (
        {**OBJECT, "properties": {"a": STRING}, "additionalProperties": STRING},
        ".additionalProperties",
        "Forbidden: additionalProperties and properties are mutual exclusive",
    ),
    (
        {**STRING, "anyOf": [{"type": "string"}]},
        ".anyOf[0].type",
        "Forbidden: must be empty to be structural",
    ),
    (
        {**STRING, "not": {"default": "x"}},
        ".not.default",
        "Forbidden: must be undefined to be structural",
    ),
    (
        {**OBJECT, "allOf": [{"properties": {"a": {"nullable": True}}}]},
        ".allOf[0].properties[a].nullable",
        "Forbidden: must be false to be structural",
    ),
    (
        {**OBJECT, "allOf": [{"properties": {"metadata": {}}}]},
        ".allOf[0].properties[metadata]",
        "Forbidden: must not be specified in a nested context",
    ),
    (
        {INT_OR_STRING: True, PRESERVE: True},
        f".{PRESERVE}",
        f"Invalid value: true: must be false if {INT_OR_STRING} is true",
    ),
    (
        {**STRING, PRESERVE: False},
        f".{PRESERVE}",
        "Invalid value: false: must be true or undefined",
    ),
    (
        {EMBEDDED: True, PRESERVE: True},
        ".type",
        f"Required value: must be object if {EMBEDDED} is true",
    ),
    (
        {**OBJECT, EMBEDDED: True},
        ".properties",
        f"Required value: must not be empty if {EMBEDDED} is true without {PRESERVE}",
    ),
    (
        {**STRING, LIST_TYPE: "set"},
        ".type",
        f'Invalid value: "string": must be array if {LIST_TYPE} is specified',
    ),
    (
        array(STRING, **{LIST_TYPE: "bag"}),
        f".{LIST_TYPE}",
        'Unsupported value: "bag": supported values: "atomic", "set", "map"',
    ),
    (
        array(STRING, **{KEYS: ["n"]}),
        f".{LIST_TYPE}",
        f"Required value: must be map if {KEYS} is non-empty",
    ),
    (
        array(OBJECT, **{LIST_TYPE: "set"}),
        f".items.{MAP_TYPE}",
        f'Invalid value: "null": must be atomic as item of a list with {LIST_TYPE}=set',
    ),
    (
        array({**STRING, "nullable": True}, **{LIST_TYPE: "set"}),
        ".items.nullable",
        f"Forbidden: cannot be nullable when {LIST_TYPE} is set",
    ),
    (
        keyed(NAMED, "x"),
        f".{KEYS}",
        'Invalid value: []string{"x"}: entries must all be names of item properties',
    ),
    (
        keyed(NAMED, "n", "n"),
        f".{KEYS}",
        'Invalid value: []string{"n", "n"}: must not contain duplicate entries',
    ),
    (
        keyed({**OBJECT, "properties": {"n": STRING}}, "n"),
        ".items.properties[n].default",
        f"Required value: this property is in {KEYS}, so it must have a default or be a required"
        " property",
    ),
    (
        keyed({**NAMED, "properties": {"n": array(STRING)}}, "n"),
        ".items.properties[n].type",
        "must be a scalar type",
    ),
    (
        {**STRING, MAP_TYPE: "atomic"},
        ".type",
        f'Invalid value: "string": must be object if {MAP_TYPE} is specified',
    ),
    (
        {**OBJECT, MAP_TYPE: "odd"},
        f".{MAP_TYPE}",
        'Unsupported value: "odd": supported values: "atomic", "granular"',
    ),
    ({**INTEGER, "default": "x"}, ".default", " in body must be of type integer"),
    (
        {**OBJECT, EMBEDDED: True, PRESERVE: True, "default": {"kind": "K"}},
        ".default.apiVersion",
        "Required value: must not be empty",
    ),
    (
        {
            **OBJECT,
            EMBEDDED: True,
            PRESERVE: True,
            "default": {"apiVersion": "v1", "kind": "K", "metadata": {"labels": {"a b": "c"}}},
        },
        ".default.metadata.labels",
        'Invalid value: "a b": name part must consist of',
    ),
    (
        {**OBJECT, "properties": {"a": STRING}, "default": {"b": 1}},
        ".default",
        'Invalid value: map[string]interface {}{"b":1}: must not have unknown fields',
    ),
    (
        {**OBJECT, "properties": {"a": STRING}, "default": {"a": 1}},
        ".default.a",
        'Invalid value: "integer": a in body must be of type string: "integer"',
    ),
    ({**INTEGER, "default": 2**63}, ".default", ' in body must be of type integer: "number"'),
    (
        ruled({**INTEGER, "default": 1}, "self > 5"),
        ".default",
        'Invalid value: "integer": failed rule: self > 5',
    ),
    (
        {
            **OBJECT,
            "properties": {"a": ruled(INTEGER, "self > 5", message="too small")},
            "default": {"a": 1},
        },
        ".default.a",
        'Invalid value: "integer": too small',
    ),
    (ruled(STRING, ""), f".{RULES}[0].rule", "Required value: rule is not specified"),
    (
        ruled(STRING, "true", message="a\nb"),
        f".{RULES}[0].message",
        "message must not contain line breaks",
    ),
    (
        ruled(STRING, "true ||\nfalse"),
        f".{RULES}[0].message",
        "Required value: message must be specified if rule contains line breaks",
    ),
    (
        ruled(STRING, "self.foo"),
        f".{RULES}[0].rule",
        'Invalid value: apiextensions.ValidationRule{Rule:"self.foo", Message:""}: compilation'
        " failed: ERROR: <input>:1:5:",
    ),
    (ruled(STRING, "self =="), f".{RULES}[0].rule", "compilation failed: ERROR: <input>:1:"),
    (ruled(STRING, "foo"), f".{RULES}[0].rule", "undeclared reference to 'foo' (in container '')"),
    (ruled(STRING, "self"), f".{RULES}[0].rule", "cel expression must evaluate to a bool"),
    (
        array(ruled({**INTEGER}, "self == oldSelf")),
        f".items.{RULES}[0].rule",
        'Invalid value: "self == oldSelf": oldSelf cannot be used on the uncorrelatable portion of'
        f" the schema within {FIELD}",
    ),
    (
        ruled(array({PRESERVE: True}), "size(self) > 0"),
        f".{RULES}",
        f"Internal error: internal error: failed to construct type information for {RULES} rules:"
        " unable to convert structural schema to CEL declarations",
    ),
    # What functions made has no limit, whatever the limits of what it was made of.
    *(
        (ruled({**STRING, "maxLength": 5}, rule), f".{RULES}[0].rule", "estimated rule cost")
        for rule in (
            "type(self) == type('a')",
            "bytes(self) == bytes('a')",
            "self.split(',') == self.split(';')",
            "self.split(',').map(x, x) == self.split(',').filter(x, true)",
            "self.substring(1).trim() == 'a'",
        )
    ),
    (
        ruled(array(array(STRING)), "self.all(x, x.all(y, self.all(z, z.all(w, w == y))))"),
        f".{RULES}[0].rule",
        "Forbidden: estimated rule cost exceeds budget by factor of more than 100x (try"
        " simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays,"
        " maps, and strings are declared)",
    ),
]


@pytest.mark.parametrize(("field", "place", "text"), BAD)
def test_what_is_not_structural_is_told(field: Any, place: str, text: str) -> None:
    rows = errors_of(of_field(field))
    assert any(item == FIELD + place and text in element for item, element in rows), rows


@pytest.mark.parametrize(
    ("schema", "place", "text"),
    [
        ({"properties": {}}, ".type", "Required value: must not be empty at the root"),
        (STRING, ".type", 'Invalid value: "string": must be object at the root'),
        (
            {**OBJECT, "additionalProperties": STRING},
            ".additionalProperties",
            "Forbidden: must not be used at the root",
        ),
        (
            {**OBJECT, "additionalProperties": {}, "properties": {"a": STRING}},
            ".additionalProperties.type",
            "Required value: must not be empty for specified object fields",
        ),
        (
            {**OBJECT, "properties": {"kind": INTEGER}},
            ".properties[kind].type",
            'Invalid value: "integer": must be string',
        ),
        (
            {**OBJECT, "properties": {"metadata": {**OBJECT, "properties": {"labels": OBJECT}}}},
            ".properties[metadata]",
            "Forbidden: must not specify anything other than name and generateName, but metadata is"
            " implicitly specified",
        ),
        (
            {
                **OBJECT,
                "properties": {
                    "metadata": {**OBJECT, "properties": {"name": {**STRING, "default": "x"}}}
                },
            },
            ".properties[metadata].properties[name].default",
            "Forbidden: must not be set in top-level metadata",
        ),
        (
            {**OBJECT, "anyOf": [{"properties": {"a": {"minimum": 1}}}]},
            ".properties[a]",
            f"Required value: because it is defined in {ROOT}.anyOf[0].properties[a]",
        ),
    ],
)
def test_the_root_has_rules_of_its_own(schema: Any, place: str, text: str) -> None:
    assert (ROOT + place, text) in errors_of(schema)


def test_a_schema_that_names_another_language_is_told_at_the_root() -> None:
    schema = of_field({**STRING, "$schema": "http://x"})
    wrong = "Invalid value: \"\": OpenAPIV3Schema 'schema' is not supported"
    assert errors_of(schema) == [(ROOT, wrong)]


def test_a_structure_is_not_looked_at_where_a_marker_keeps_it_from_being_one() -> None:
    wrong = "Invalid value: false: must be true or undefined"
    assert errors_of(of_field({PRESERVE: False})) == [(f"{FIELD}.{PRESERVE}", wrong)]


def test_a_default_of_the_root_is_a_whole_object() -> None:
    required = "Required value: must not be empty"
    assert errors_of({**OBJECT, "default": {}}) == [
        (f"{ROOT}.default.apiVersion", required),
        (f"{ROOT}.default.kind", required),
    ]


def test_rules_that_cost_too_much_together_are_told() -> None:
    costly = ruled(array({**STRING, "maxLength": 100}, maxItems=100), "self.all(x, x.matches('a'))")
    fields = {f"f{i}": array(costly, maxItems=2000) for i in range(90)}
    rows = errors_of({"type": "object", "properties": fields})
    contributed = [text for _, text in rows if "contributed to estimated rule cost" in text]
    assert len(contributed) == 4
    place, text = rows[-1]
    assert place == ROOT
    assert text.startswith(
        f"Forbidden: {RULES} estimated rule cost total for entire OpenAPIv3 schema exceeds budget"
    )


def test_markers_are_those_of_the_dialect() -> None:
    field = {"type": "string", "x-cluster-list-type": "set"}
    text = 'Invalid value: "string": must be array if x-cluster-list-type is specified'
    assert errors_of(of_field(field), CLUSTER) == [(f"{FIELD}.type", text)]
    assert errors_of(of_field(field), KUBERNETES) == []


def test_a_schema_too_deep_to_follow_is_told() -> None:
    deep: Any = STRING
    for _ in range(150):
        deep = array(deep)
    assert "must not have schemas more than 100 deep" in errors_of(of_field(deep))[0][1]


def test_thousands_of_wrong_schemas_are_told_in_part() -> None:
    fields = {f"f{i}": {"type": "bogus"} for i in range(5000)}
    with pytest.raises(TooManyCauses):
        errors_of({"type": "object", "properties": fields})


def test_patterns_that_take_too_long_to_read_are_given_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("fairlead.base.meter.THREAD_SECONDS", 1.0)
    patterns = [rf"^\p{{L}}{{1,{number % 400 + 500}}}a{number}$" for number in range(5000)]
    fields = {f"f{at}": {**STRING, "pattern": pattern} for at, pattern in enumerate(patterns)}
    started = process_time()
    schema = {"type": "object", "properties": fields}
    result = asyncio.run(budget.run(meter.MAX_BYTES_ON_LOOP + 1, errors_of, schema))
    assert any("takes too long to check" in text for _, text in result)
    assert in_time(process_time() - started, 3)
