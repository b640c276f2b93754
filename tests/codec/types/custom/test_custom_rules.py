"""Validation rules on objects: where they apply, their variables, their messages."""

from __future__ import annotations

from typing import Any

import pytest
from support.custom_schemas import compiled, of_spec, widget

from fairlead.codec.types.decode import decoder
from fairlead.resources.causes import Causes
from fairlead.resources.custom.schema.custom_schema import CustomSchema
from fairlead.resources.custom.schema.rules import NOT_CHECKED, OUT_OF_BUDGET

RULES = "x-kubernetes-validations"
INTEGER = {"type": "integer"}
STRING = {"type": "string"}


def errors_of(schema: CustomSchema, spec: Any, old: Any = None) -> list[tuple[str, str]]:
    """Field and message of everything wrong with a spec."""
    causes = Causes()
    value = decoder(schema.struct)(widget(spec), [])
    before = None if old is None else decoder(schema.struct)(widget(old), [])
    schema.validate(value, before, causes)
    schema.check_rules(value, before, causes)
    return [(cause.field, cause.message) for cause in causes]


def ruled(schema: dict[str, Any], *rules: str, message: str = "") -> dict[str, Any]:
    more = {"message": message} if message else {}
    return {**schema, RULES: [{"rule": rule, **more} for rule in rules]}


def of_fields(fields: dict[str, Any], *rules: str) -> CustomSchema:
    return of_spec(ruled({"type": "object", "properties": fields}, *rules))


def test_a_rule_that_does_not_hold_is_told_with_its_text() -> None:
    schema = of_fields({"min": INTEGER, "max": INTEGER}, "self.min <= self.max")
    assert errors_of(schema, {"min": 1, "max": 2}) == []
    text = 'Invalid value: "object": failed rule: self.min <= self.max'
    assert errors_of(schema, {"min": 3, "max": 2}) == [("spec", text)]


def test_a_rule_can_have_a_message_of_its_own() -> None:
    schema = of_fields({"a": ruled(STRING, "self != ''", message=" must not be empty ")})
    assert errors_of(schema, {"a": ""}) == [
        ("spec.a", 'Invalid value: "string":  must not be empty ')
    ]


def test_rules_apply_at_every_level() -> None:
    positive = ruled(INTEGER, "self > 0")
    schema = of_fields(
        {
            "list": {"type": "array", "items": positive},
            "map": {"type": "object", "additionalProperties": positive},
            "inner": {"type": "object", "properties": {"n": positive}},
        }
    )
    spec = {"list": [1, 0], "map": {"k": -1}, "inner": {"n": 0}}
    assert sorted(field for field, _ in errors_of(schema, spec)) == [
        "spec.inner.n",
        "spec.list[1]",
        "spec.map[k]",
    ]


def test_a_rule_at_the_root_sees_kind_version_and_names() -> None:
    rule = (
        "self.kind == 'Widget' && self.apiVersion == 'example.com/v1' && self.metadata.name == 'b'"
    )
    schema = compiled(ruled({"type": "object", "properties": {"spec": {"type": "object"}}}, rule))
    assert errors_of(schema, {}) == [("<nil>", f'Invalid value: "object": failed rule: {rule}')]


def test_a_null_is_not_looked_at() -> None:
    schema = of_fields({"n": ruled({**STRING, "nullable": True}, "self == 'x'")})
    assert errors_of(schema, {"n": None}) == []


def test_no_rule_is_looked_at_where_an_object_is_of_the_wrong_shape() -> None:
    schema = of_fields({"min": INTEGER}, "self.min > 5")
    wrong, rest = errors_of(schema, {"min": "x"})
    assert wrong[0] == "spec.min"
    assert rest == ("<nil>", f'Invalid value: "null": {NOT_CHECKED}')


def test_a_limit_that_is_broken_keeps_no_rule_from_being_looked_at() -> None:
    schema = of_fields({"min": {**INTEGER, "minimum": 3}}, "self.min > 5")
    assert [field for field, _ in errors_of(schema, {"min": 1})] == ["spec.min", "spec"]


def test_names_that_expressions_cannot_have_are_escaped() -> None:
    fields = {"x-y": INTEGER, "in": INTEGER, "a.b/c": INTEGER, "d__e": INTEGER}
    rules = ("self.x__dash__y > 0", "self.__in__ > 0", "self.a__dot__b__slash__c > 0")
    schema = of_fields(fields, *rules, "self.d__underscores__e > 0")
    assert errors_of(schema, dict.fromkeys(fields, 1)) == []
    assert len(errors_of(schema, dict.fromkeys(fields, 0))) == 4


def test_a_number_or_a_text_is_told_apart_when_it_is_there() -> None:
    rule = "type(self.p) == int ? self.p < 10 : self.p.endsWith('%')"
    schema = of_fields({"p": {"x-kubernetes-int-or-string": True}}, rule)
    assert errors_of(schema, {"p": 5}) == []
    assert errors_of(schema, {"p": "5%"}) == []
    assert len(errors_of(schema, {"p": 11})) == len(errors_of(schema, {"p": "5"})) == 1


def test_an_evaluation_that_fails_is_told() -> None:
    schema = of_fields({"a": INTEGER}, "1 / self.a > 0")
    text = 'Invalid value: "object": division by zero evaluating rule: 1 / self.a > 0'
    assert errors_of(schema, {"a": 0}) == [("spec", text)]


def test_a_call_that_nothing_answers_is_told() -> None:
    schema = of_fields({"p": {"x-kubernetes-int-or-string": True}}, "self.p > 5")
    ((field, text),) = errors_of(schema, {"p": "x"})
    assert field == "spec"
    assert "call arguments did not match a supported operator" in text


TRANSITION = ruled(INTEGER, "self >= oldSelf")


def test_a_transition_rule_is_skipped_where_there_was_nothing() -> None:
    schema = of_fields({"n": TRANSITION})
    assert errors_of(schema, {"n": 1}) == []
    assert errors_of(schema, {"n": 1}, old={}) == []
    assert [field for field, _ in errors_of(schema, {"n": 1}, old={"n": 2})] == ["spec.n"]


def keyed(item: dict[str, Any], keys: list[str]) -> dict[str, Any]:
    return {
        "type": "array",
        "items": item,
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": keys,
    }


def test_items_of_a_keyed_list_are_compared_with_those_of_the_same_key() -> None:
    item = {"type": "object", "properties": {"k": STRING, "p": INTEGER, "n": TRANSITION}}
    schema = of_fields({"list": keyed(item, ["k", "p"])})
    old = [{"k": "a", "p": 1, "n": 5}, {"k": "b", "p": 1, "n": 1}]
    new = [{"k": "b", "p": 1, "n": 1}, {"k": "a", "p": 2, "n": 1}, {"k": "a", "p": 1, "n": 4}]
    rows = errors_of(schema, {"list": new}, old={"list": old})
    assert [field for field, _ in rows] == ["spec.list[2].n"]


@pytest.mark.parametrize(
    "holder",
    [
        {"type": "array", "items": TRANSITION},
        {"type": "array", "items": TRANSITION, "x-kubernetes-list-type": "set"},
    ],
)
def test_items_without_keys_are_compared_with_nothing(holder: dict[str, Any]) -> None:
    assert errors_of(of_fields({"f": holder}), {"f": [1]}, old={"f": [2]}) == []


@pytest.mark.parametrize("kind", ["atomic", "granular"])
def test_fields_of_an_object_are_compared_whatever_its_map_type_is(kind: str) -> None:
    holder = {"type": "object", "properties": {"n": TRANSITION}, "x-kubernetes-map-type": kind}
    rows = errors_of(of_fields({"f": holder}), {"f": {"n": 1}}, old={"f": {"n": 2}})
    assert [field for field, _ in rows] == ["spec.f.n"]


def test_values_of_a_map_are_compared_by_key() -> None:
    schema = of_fields({"m": {"type": "object", "additionalProperties": TRANSITION}})
    rows = errors_of(schema, {"m": {"a": 1, "b": 1}}, old={"m": {"a": 2}})
    assert [field for field, _ in rows] == ["spec.m[a]"]


def test_an_embedded_object_shows_its_names_only() -> None:
    template = {
        "type": "object",
        "x-kubernetes-embedded-resource": True,
        "x-kubernetes-preserve-unknown-fields": True,
    }
    schema = of_fields({"t": ruled(template, "self.metadata.name.startsWith('x')")})
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "y", "labels": {"a": "b"}}}
    assert [field for field, _ in errors_of(schema, {"t": pod})] == ["spec.t"]


def test_one_evaluation_may_cost_only_so_much() -> None:
    schema = of_fields(
        {"l": {"type": "array", "items": INTEGER}}, "self.l.all(x, self.l.all(y, x == y))"
    )
    ((field, text),) = errors_of(schema, {"l": [1] * 2000})
    assert field == "spec"
    assert "actual cost limit exceeded" in text
    assert "no further validation rules will be run due to call cost exceeds limit" in text


def test_all_evaluations_together_may_cost_only_so_much() -> None:
    inner = ruled({"type": "array", "items": INTEGER}, "self.all(x, self.all(y, x == y))")
    schema = of_fields({"l": {"type": "array", "items": inner}})
    rows = errors_of(schema, {"l": [[1] * 350] * 60})
    assert [text for _, text in rows] == [f'Invalid value: "array": {OUT_OF_BUDGET}']
