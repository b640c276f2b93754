"""Definitions of release 1.36: how rules report, unchanged values, selectable fields."""

from __future__ import annotations

from typing import Any

import pytest
from support.custom_schemas import compiled, widget
from support.definitions import Kind, version
from support.namespaces import Space

from fairlead.base.release import V1_36
from fairlead.resources.causes import LaterCauses
from fairlead.resources.custom.schema.custom_schema import CustomSchema

Object = dict[str, Any]
TEXT: Object = {"type": "string"}


def schema_of(spec: Object, *rules: Object) -> CustomSchema:
    """The schema of a kind whose spec has these fields and rules."""
    inner = {"type": "object", "properties": spec, "x-kubernetes-validations": list(rules)}
    return compiled({"type": "object", "properties": {"spec": inner}}, release=V1_36)


def reports(schema: CustomSchema, spec: Object, old: Object | None = None) -> list[str]:
    """The causes of a spec, and the warnings with a mark."""
    causes, value = LaterCauses(), widget(spec)
    before = widget(old) if old is not None else None
    correlated = schema.correlated(value, before) if before is not None else None
    warnings: list[str] = []
    schema.validate(value, before, causes, correlated)
    schema.check_rules(value, before, causes, correlated, warnings.append)
    shown = [f"{cause.field}: {cause.message}" for cause in causes]
    return shown + [f"warning {text}" for text in warnings]


NEVER: Object = {"rule": "self.a == ''"}
REPORTS: list[tuple[Object, str]] = [
    ({}, "spec: Invalid value: failed rule: self.a == ''"),
    ({"message": " no "}, "spec: Invalid value: no"),
    ({"messageExpression": "'a is ' + self.a"}, "spec: Invalid value: a is x"),
    ({"messageExpression": "'a\\nb'", "message": "m"}, "spec: Invalid value: m"),
    ({"messageExpression": "' '", "message": "m"}, "spec: Invalid value: m"),
    ({"messageExpression": "self.b", "message": "m"}, "spec: Invalid value: m"),
    ({"messageExpression": "'%s'.format([self.a])"}, "spec: Invalid value: x"),
    ({"reason": "FieldValueForbidden", "message": "m"}, "spec: Forbidden: m"),
    ({"reason": "FieldValueRequired", "message": "m"}, "spec: Required value: m"),
    ({"reason": "FieldValueDuplicate", "message": "m"}, "spec: Duplicate value"),
    ({"fieldPath": ".a", "message": "m"}, "spec.a: Invalid value: m"),
    ({"fieldPath": "['a']", "message": "m"}, "spec.a: Invalid value: m"),
]


@pytest.mark.parametrize(("more", "expected"), REPORTS)
def test_a_rule_says_how_it_is_reported(more: Object, expected: str) -> None:
    schema = schema_of({"a": TEXT, "b": TEXT}, NEVER | more)
    assert reports(schema, {"a": "x"}) == [expected]


def test_a_message_of_more_than_5_kilobytes_is_not_used() -> None:
    long = {"messageExpression": "self.a + self.a", "message": "m"}
    assert reports(schema_of({"a": TEXT}, NEVER | long), {"a": "x" * 2561}) == [
        "spec: Invalid value: m"
    ]


def test_an_optional_old_value_lets_a_rule_hold_on_create_too() -> None:
    rule = {"rule": "!oldSelf.hasValue() || oldSelf.value().a == self.a", "message": "changed"}
    schema = schema_of({"a": TEXT}, rule | {"optionalOldSelf": True})
    assert reports(schema, {"a": "x"}) == []
    assert reports(schema, {"a": "x"}, {"a": "x"}) == []
    assert reports(schema, {"a": "y"}, {"a": "x"}) == ["spec: Invalid value: changed"]


ITEM: Object = {
    "type": "object",
    "required": ["name"],
    "properties": {"name": TEXT, "value": {"type": "string", "maxLength": 2}},
}
UNCHANGED: list[tuple[Object, Object, Object, list[str]]] = [
    # A value passes as long as it stays the same.
    ({"a": TEXT | {"maxLength": 1}, "b": TEXT}, {"a": "xx"}, {"a": "xx", "b": "1"}, []),
    (
        {"a": TEXT | {"maxLength": 1}},
        {"a": "xx"},
        {"a": "yy"},
        ["spec.a: Too long: may not be more than 1 byte"],
    ),
    ({"a": TEXT | {"enum": ["p"]}, "b": TEXT}, {"a": "x"}, {"a": "x", "b": "1"}, []),
    ({"a": TEXT | {"format": "date"}, "b": TEXT}, {"a": "x"}, {"a": "x", "b": "1"}, []),
    # Items are matched by their keys; in other lists the whole list counts.
    (
        {
            "l": {
                "type": "array",
                "items": ITEM,
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["name"],
            }
        },
        {"l": [{"name": "a", "value": "long"}, {"name": "b"}]},
        {"l": [{"name": "b"}, {"name": "a", "value": "long"}, {"name": "c", "value": "long"}]},
        ["spec.l[2].value: Too long: may not be more than 2 bytes"],
    ),
    (
        {"l": {"type": "array", "items": TEXT | {"maxLength": 2}}},
        {"l": ["long"]},
        {"l": ["long", "a"]},
        ["spec.l[0]: Too long: may not be more than 2 bytes"],
    ),
    # What is missing is a problem of the object around it.
    (
        {"o": {"type": "object", "required": ["p"], "properties": {"p": TEXT, "q": TEXT}}},
        {"o": {"q": "1"}},
        {"o": {"q": "2"}},
        ["spec.o.p: Required value"],
    ),
    # Inside of allOf only the value that has it counts.
    (
        {
            "o": {
                "type": "object",
                "properties": {"p": TEXT, "q": TEXT},
                "allOf": [{"properties": {"p": {"maxLength": 1}}}],
            }
        },
        {"o": {"p": "xx", "q": "1"}},
        {"o": {"p": "xx", "q": "2"}},
        [
            "spec.o.p: Too long: may not be more than 1 byte",
            '<nil>: Invalid value: "": "spec.o" must validate all the schemas (allOf).'
            " None validated",
        ],
    ),
]


@pytest.mark.parametrize(("fields", "old", "new", "expected"), UNCHANGED)
def test_an_unchanged_value_passes(
    fields: Object, old: Object, new: Object, expected: list[str]
) -> None:
    found = reports(schema_of(fields), new, old)
    assert [text for text in found if "were not checked" not in text] == expected


def test_a_rule_only_warns_of_an_unchanged_value() -> None:
    rule = {"rule": "self.size() < 2", "message": "too long"}
    schema = schema_of({"a": TEXT | {"x-kubernetes-validations": [rule]}, "b": TEXT})
    assert reports(schema, {"a": "xx", "b": "1"}, {"a": "xx"}) == [
        'warning spec.a: Invalid value: "xx": too long'
    ]
    assert reports(schema, {"a": "yy"}, {"a": "xx"}) == ['spec.a: Invalid value: "yy": too long']


def test_the_correlation_of_long_lists_takes_linear_work() -> None:
    items = [{"name": str(index), "value": "long"} for index in range(20_000)]
    keyed = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]}
    fields = {"l": {"type": "array", "items": ITEM, **keyed}, "b": TEXT}
    spec = {"l": items, "b": "1"}
    assert reports(schema_of(fields), spec, {"l": items[::-1], "b": "2"}) == []


def test_integers_are_within_their_format() -> None:
    schema = schema_of({"a": {"type": "integer", "format": "int32"}})
    assert reports(schema, {"a": 2**31 - 1}) == []
    detail = "Checked value must be of type integer with format int32 in spec.a"
    assert reports(schema, {"a": 2**31}) == [f'<nil>: Invalid value: "": {detail}']


@pytest.mark.parametrize(
    ("form", "good", "bad"), [("k8s-short-name", "a-b", "a.b"), ("k8s-long-name", "a.b", "A.b")]
)
def test_names_are_formats(form: str, good: str, bad: str) -> None:
    schema = schema_of({"a": TEXT | {"format": form}})
    assert reports(schema, {"a": good}) == []
    expected = f'spec.a: Invalid value: "{bad}": spec.a in body must be of type {form}: "{bad}"'
    assert reports(schema, {"a": bad}) == [expected]


def selectable(*paths: str) -> Object:
    return version(selectableFields=[{"jsonPath": path} for path in paths])


def test_selectable_fields_select_in_lists_watches_and_deletes(space_1_36: Space) -> None:
    kind = Kind(space_1_36, selectable(".spec.color", ".spec.size", ".spec.owner.name")).install()
    kind.create("a", spec={"color": "red", "size": 1, "owner": {"name": "x"}})
    kind.create("b", spec={"color": "blue"})
    objects = kind.collection()
    assert objects.names(fieldSelector="spec.color=red") == ["a"]
    assert objects.names(fieldSelector="spec.size!=1") == ["b"]
    assert objects.names(fieldSelector="spec.owner.name=x,spec.size=1") == ["a"]
    assert objects.names(fieldSelector="spec.size=") == ["b"]
    refused = objects.list(fieldSelector="spec.since=x")
    assert refused.body["message"] == "field label not supported: spec.since"
    objects.client.delete(f"{objects.path}?fieldSelector=spec.color%3Dblue")
    assert objects.names() == ["a"]


def test_selectable_fields_may_change(space_1_36: Space) -> None:
    kind = Kind(space_1_36, selectable(".spec.color")).install()
    kind.create("a", spec={"color": "red", "size": 1})
    kind.set_versions(selectable(".spec.size"))
    assert kind.collection().names(fieldSelector="spec.size=1") == ["a"]
    assert kind.collection().list(fieldSelector="spec.color=red").status == 400


REFUSED = {
    "spec.color": "is an invalid path: expected [ or . but got: spec",
    ".spec.nothing": "is an invalid path: does not refer to a valid field",
    ".spec['color']": "is an invalid path: array notation is not allowed",
    ".spec.owner": (
        "must point to a field of type string, boolean or integer. Enum string fields and strings"
        " with formats are allowed."
    ),
}


@pytest.mark.parametrize(("path", "detail"), REFUSED.items())
def test_a_selectable_field_must_be_a_field_with_a_text(
    space_1_36: Space, path: str, detail: str
) -> None:
    answer = Kind(space_1_36, selectable(path)).post()
    assert answer.status == 422
    (cause,) = answer.body["details"]["causes"]
    assert cause["field"] == "spec.selectableFields[0].jsonPath"
    assert cause["message"] == f'Invalid value: "{path}": {detail}'


def test_there_are_at_most_eight_selectable_fields(space_1_36: Space) -> None:
    fields = {f"f{index}": TEXT for index in range(9)}
    listed = selectable(*(f".spec.{name}" for name in fields))
    spec = listed["schema"]["openAPIV3Schema"]["properties"]["spec"]
    spec["properties"] |= fields
    (cause,) = Kind(space_1_36, listed).post().body["details"]["causes"]
    assert cause["message"] == "Too many: 9: must have at most 8 items"
