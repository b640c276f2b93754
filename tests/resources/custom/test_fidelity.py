"""Values of custom objects: unknown fields, nulls, defaults, odd types."""

from __future__ import annotations

from typing import Any

import pytest
from support.client import Object
from support.definitions import Kind, version
from support.namespaces import Space

APPLY = "application/apply-patch+yaml"
ABSENT = object()


def of(space: Space, **properties: Object) -> Kind:
    """A kind with these fields and the subresource `status`. `@` in the names of extensions is the
    dialect's word."""
    schema = _marked(space, {"type": "object", "properties": properties})
    api_version = version(schema={"openAPIV3Schema": schema}, subresources={"status": {}})
    return Kind(space, api_version).install()


def _marked(space: Space, schema: Any) -> Any:
    if isinstance(schema, list):
        return [_marked(space, item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    return {space.dialect.marked(key): _marked(space, item) for key, item in schema.items()}


PRESERVE = "x-@-preserve-unknown-fields"
TEXT: Object = {"type": "string"}


def fields(**inner: Object) -> Object:
    return {"type": "object", "properties": inner}


class Applier:
    def __init__(self, kind: Kind) -> None:
        self.kind = kind

    def apply(self, **content: Any) -> tuple[int, Any]:
        """Return the code of an apply, and the resulting spec or the message."""
        path = self.kind.collection().item("a")
        config = self.kind.value("a", **content)
        answer = self.kind.client.patch(path, config, kind=APPLY, fieldManager="me")
        if answer.status >= 400:
            return answer.status, answer.message
        return answer.status, answer.body.get("spec", ABSENT)


# Unknown fields


def test_a_list_keeps_the_unknown_fields_of_its_items_and_not_those_below_named_ones(
    space: Space,
) -> None:
    item = fields(known=fields(a=TEXT), map={"type": "object", "additionalProperties": fields()})
    items = {"type": "array", "items": item}
    kind = of(space, spec=fields(list={"type": "array", "items": items, PRESERVE: True}))
    sent = {"known": {"a": "1", "b": 2}, "x": {"y": [None]}, "map": {"k": {"c": 1}}}
    answer = kind.client.post(kind.collection().path, kind.value("a", spec={"list": [[sent]]}))
    assert answer.body["spec"] == {
        "list": [[{"known": {"a": "1"}, "x": {"y": [None]}, "map": {"k": {}}}]]
    }
    assert answer.warnings == [
        f'299 - "unknown field \\"spec.list[0][0].{path}\\""' for path in ("known.b", "map.k.c")
    ]
    strict = kind.value("b", spec={"list": [[{"x": 1}]]})
    assert kind.client.post(kind.collection().path, strict, fieldValidation="Strict").status == 201


def test_items_of_which_nothing_is_described_can_be_applied(space: Space) -> None:
    configs = {"type": "array", "items": {"type": "object"}, PRESERVE: True}
    kind = of(space, spec=fields(configs=configs))
    spec = {"configs": [{"job": "a", "targets": [{"x": 1}]}]}
    assert Applier(kind).apply(spec=spec) == (201, spec)
    owned = kind.collection().read("a")["metadata"]["managedFields"][0]["fieldsV1"]
    assert owned == {"f:spec": {"f:configs": {}}}


def test_what_apply_lets_through_is_dropped_unless_the_schema_keeps_it(space: Space) -> None:
    """Below an object that keeps unknown fields every object takes some, but only one that keeps
    them has them in the end."""
    spec = {**fields(known=fields(a=TEXT)), PRESERVE: True}
    kind = of(space, spec=spec, free={"type": "object"})
    applier = Applier(kind)
    sent = {"x": 1, "known": {"a": "1", "b": 2}}
    assert applier.apply(spec=sent, free={"y": 1}) == (201, {"x": 1, "known": {"a": "1"}})
    assert kind.collection().read("a")["free"] == {}


def test_values_of_any_type_in_a_map_have_no_fields(space: Space) -> None:
    kind = of(space, spec={"type": "object", "additionalProperties": True})
    sent = kind.value("a", spec={"a": 1, "b": {"c": 1}, "d": [{"e": 1}]})
    answer = kind.client.post(kind.collection().path, sent)
    assert answer.body["spec"] == {"a": 1, "b": {}, "d": [{}]}
    assert answer.warnings == [
        '299 - "unknown field \\"spec.b.c\\""',
        '299 - "unknown field \\"spec.d[0].e\\""',
    ]


# Nulls and empty maps


@pytest.mark.parametrize(
    ("schema", "created", "left"),
    [
        (fields(a=TEXT), "null", ABSENT),
        ({**fields(a=TEXT), "nullable": True}, None, None),
        ({**fields(a=TEXT), "default": {"a": "x"}}, {"a": "x"}, {"a": "x"}),
        ({**fields(a=TEXT), "default": {}, "nullable": True}, None, None),
        ({PRESERVE: True}, ABSENT, ABSENT),
    ],
    ids=["plain", "nullable", "default", "nullable with a default", "anything"],
)
def test_null_is_taken_where_the_schema_has_a_place_for_it(
    space: Space, schema: Object, created: Any, left: Any
) -> None:
    """An apply is judged as it was sent; a create and a patch drop nulls that mean nothing."""
    kind = of(space, spec=schema)
    status, errors = Applier(kind).apply(spec=None)
    if created == "null":
        assert (status, errors) == (
            422,
            f'Widget.{kind.group} "a" is invalid: spec: Invalid value: "null":'
            ' spec in body must be of type object: "null"',
        )
    else:
        assert (status, errors) == (201, created)
    stored = kind.create("b", spec=None)
    assert stored.get("spec", ABSENT) == left
    assert kind.collection().read("b").get("spec", ABSENT) == left


def test_a_required_field_of_any_type_can_be_applied_as_null(space: Space) -> None:
    spec = {**fields(a={PRESERVE: True}), "required": ["a"]}
    assert Applier(of(space, spec=spec)).apply(spec={"a": None}) == (201, {})


def test_a_map_that_loses_all_it_had_is_null_in_the_eyes_of_the_rules(kubernetes: Space) -> None:
    """So the reference has it: who gives up all fields of a map leaves out the map."""
    kind = of(kubernetes, spec=fields(a=TEXT, m={"type": "object", "additionalProperties": TEXT}))
    applier = Applier(kind)
    applier.apply(spec={"a": "x", "m": {"k": "v"}})
    status, message = applier.apply(spec={"a": "x", "m": {}})
    assert status == 422
    assert 'spec.m in body must be of type object: "null"' in message
    assert applier.apply(spec={"a": "x"}) == (200, {"a": "x"})


def test_a_map_that_loses_all_it_had_and_is_stated_empty_stays(cluster: Space) -> None:
    kind = of(cluster, spec=fields(a=TEXT, m={"type": "object", "additionalProperties": TEXT}))
    applier = Applier(kind)
    applier.apply(spec={"a": "x", "m": {"k": "v"}})
    assert applier.apply(spec={"a": "x", "m": {}}) == (200, {"a": "x", "m": {}})
    assert applier.apply(spec={}) == (200, {})


def test_the_generation_grows_with_a_null_that_is_dropped(space: Space) -> None:
    kind = of(space, spec=fields(a=TEXT), free={PRESERVE: True})
    applier = Applier(kind)
    applier.apply(spec={"a": "x"})
    applier.apply(spec={"a": "x"}, free=None)
    value = kind.collection().read("a")
    assert (value["metadata"]["generation"], "free" in value) == (2, False)


# Defaults

OBSERVED = {**fields(seen={"type": "integer"}, phase=TEXT), "default": {"seen": -1}}


@pytest.fixture
def observed(space: Space) -> Kind:
    return of(space, spec=fields(a=TEXT), status=OBSERVED)


def test_a_status_has_its_default_in_every_answer(observed: Kind) -> None:
    collection = observed.collection()
    with collection.watch() as watch:
        assert observed.create("a", status={"phase": "x"})["status"] == {"seen": -1}
        assert watch.next().object["status"] == {"seen": -1}
    assert collection.read("a")["status"] == {"seen": -1}
    assert collection.list().body["items"][0]["status"] == {"seen": -1}
    dry = observed.client.post(collection.path, observed.value("b"), dryRun="All")
    assert dry.body["status"] == {"seen": -1}
    config = observed.value("c", spec={"a": "x"})
    applied = observed.client.patch(collection.item("c"), config, kind=APPLY, fieldManager="me")
    assert applied.body["status"] == {"seen": -1}
    assert applied.body["metadata"]["managedFields"][0]["fieldsV1"] == {"f:spec": {"f:a": {}}}


def test_nobody_owns_the_default_of_a_status(observed: Kind) -> None:
    value = observed.create("a", spec={"a": "x"})
    assert [managed_field["fieldsV1"] for managed_field in value["metadata"]["managedFields"]] == [
        {"f:spec": {".": {}, "f:a": {}}}
    ]
    patched = observed.collection().patch("a", {"spec": {"a": "y"}}).body
    assert (patched["status"], patched["metadata"]["generation"]) == ({"seen": -1}, 2)


def test_a_patch_that_takes_away_a_status_leaves_its_default(observed: Kind) -> None:
    observed.create("a")
    path = observed.collection().item("a", "status")
    written = observed.client.patch(path, {"status": {"seen": 3, "phase": "x"}}).body
    assert written["status"] == {"seen": 3, "phase": "x"}
    assert observed.client.patch(path, {"status": None}).body["status"] == {"seen": -1}


def test_objects_that_are_there_get_a_default_that_comes_later(space: Space) -> None:
    kind = of(space, status=fields(seen={"type": "integer"}))
    assert "status" not in kind.create("a")
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"status": OBSERVED}}}
    kind.set_versions(version(schema=schema, subresources={"status": {}}))
    assert kind.collection().read("a")["status"] == {"seen": -1}
    assert kind.collection().list().body["items"][0]["status"] == {"seen": -1}
    dry = kind.collection().patch("a", {"metadata": {"labels": {"a": "b"}}}, dryRun="All").body
    assert (dry["metadata"].get("labels"), dry["status"]) == ({"a": "b"}, {"seen": -1})


# Odd types

ODD: list[Any] = ["text", 3, True, [1, {"a": 1}], {"finalizers": ["x"]}, {"finalizers": 5}]


@pytest.mark.both_dialects
@pytest.mark.parametrize("odd", ODD, ids=str)
def test_any_spec_and_status_can_be_written_and_deleted(space: Space, odd: Any) -> None:
    """What built-in kinds have in a spec or a status says nothing of custom ones."""
    kind = of(space, spec={PRESERVE: True}, status={PRESERVE: True})
    collection = kind.collection()
    for name in ("a", "b"):
        created = kind.create(name, spec=odd)
        answer = kind.client.patch(collection.item(name, "status"), {"status": {"conditions": odd}})
        assert (answer.status, answer.body["status"]) == (200, {"conditions": odd})
        response = kind.client.put(collection.item(name, "status"), {**created, "status": odd})
        assert response.status == 409  # it moved
        table = f"application/json;as=Table;v=v1;g={space.dialect.meta_group}"
        assert kind.client.get(collection.path, headers={"Accept": table}).status == 200
    assert collection.patch("a", {"metadata": {"finalizers": ["example.com/x"]}}).status == 200
    collection.remove("a")
    assert collection.names() == ["a", "b"]
    assert collection.patch("a", {"metadata": {"finalizers": None}}).status == 200
    assert collection.names() == ["b"]
    assert kind.client.delete(collection.path).status == 200
    assert collection.names() == []
