"""What a maker owns is written as the set of fields would be, byte for byte."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.patching import EVERYTHING, POD, POD_TEMPLATE, STATUS, Object, objects_of, values_of

from fairlead.base.dialect import KUBERNETES
from fairlead.codec.types.builtin import BuiltinTypes
from fairlead.codec.types.model import Struct
from fairlead.fields.compare import compare
from fairlead.fields.encoded_fields import new_fields, stated_fields
from fairlead.fields.extract import applied_fields
from fairlead.fields.field_sets import EMPTY, FieldSet, difference, of, recursive_difference
from fairlead.fields.ownership import UNOWNED
from fairlead.fields.shapes import Single, Untrackable, shape_of, zero_object

KINDS = [
    "core/v1.Service",
    "core/v1.Node",
    "core/v1.Event",
    "apps/v1.Deployment",
    "apps/v1.ControllerRevision",
    "networking/v1.NetworkPolicy",
    "networking/v1.Ingress",
    "policy/v1.PodDisruptionBudget",
    "rbac/v1.ClusterRole",
]
ODD = 'ü "quoted" back\\slash <b>&\n'


def as_a_set(kind: Struct, value: Object, ignored: FieldSet) -> bytes:
    touched = compare(kind, zero_object(kind), value).touched
    owned = difference(recursive_difference(touched, ignored), UNOWNED)
    return orjson.dumps(owned) if owned else b""


def holds(kind: Struct, value: Object, ignored: FieldSet = STATUS) -> None:
    assert new_fields(kind, value, ignored, UNOWNED) == as_a_set(kind, value, ignored)


def emptied(value: Any, choose: st.DataObject) -> Any:
    """The value with some of what it holds empty, null or zero."""
    if isinstance(value, dict):
        return {name: _maybe_empty(item, choose) for name, item in value.items()}
    return value


def _maybe_empty(value: Any, choose: st.DataObject) -> Any:
    what = choose.draw(st.sampled_from(["kept", "kept", "kept", "empty", "null"]))
    if what == "null":
        return None
    if what == "empty":
        return type(value)()
    return emptied(value, choose)


@settings(max_examples=40, deadline=None)
@given(objects_of(EVERYTHING), st.data())
def test_of_a_type_with_every_sort_of_field(value: Object, choose: st.DataObject) -> None:
    holds(EVERYTHING, value)
    holds(EVERYTHING, {**emptied(value, choose), "metadata": value["metadata"]}, EMPTY)


@settings(max_examples=40, deadline=None)
@given(objects_of(EVERYTHING), objects_of(POD_TEMPLATE), st.data())
def test_what_a_configuration_states_is_what_its_applier_owns(
    value: Object, template: Object, choose: st.DataObject
) -> None:
    for kind, config in ((EVERYTHING, value), (POD_TEMPLATE, template)):
        for name, stated in emptied(config, choose).items():
            shape = shape_of(kind).members[name].shape
            if stated and not isinstance(shape, Single):
                owned = applied_fields(kind, {name: stated}).get("f:" + name)
                try:
                    written = stated_fields(shape, stated)
                except Untrackable:
                    assert b"[]" in orjson.dumps(stated)
                else:
                    assert written == orjson.dumps(owned)


@pytest.mark.parametrize("kind", [POD, POD_TEMPLATE], ids=lambda kind: kind.name)
def test_of_pods(kind: Struct) -> None:
    @settings(max_examples=25, deadline=None)
    @given(objects_of(kind), st.data())
    def test(value: Object, choose: st.DataObject) -> None:
        holds(kind, value)
        for name in ("spec", "template"):
            if name in value:
                holds(kind, {**value, name: emptied(value[name], choose)})

    test()


@pytest.mark.parametrize("name", KINDS)
def test_of_other_kinds_with_all_metadata_and_a_status(name: str) -> None:
    kind = BuiltinTypes(KUBERNETES).struct(name)

    @settings(max_examples=15, deadline=None)
    @given(values_of(kind), values_of(kind.fields["metadata"].type))
    def test(value: Object, metadata: Object) -> None:
        holds(kind, {**value, "metadata": metadata})
        holds(kind, {**value, "metadata": metadata}, EMPTY)
        holds(kind, {**value, "metadata": metadata}, of(("f:spec",)))

    test()


def test_names_are_escaped_as_in_any_json() -> None:
    metadata = {"name": "a", "labels": {ODD: "x", "b": "y"}, "finalizers": [ODD, "example.com/a"]}
    items = [{"name": ODD, "port": 80}, {"name": "b", "port": 81}]
    value = {
        "metadata": metadata,
        "items": items,
        "free": {ODD: {ODD: [1]}},
        "open": {ODD: {"a": 1}},
    }
    holds(EVERYTHING, value)
    assert orjson.loads(new_fields(EVERYTHING, value, EMPTY, UNOWNED) or b"")


def test_what_is_stated_beside_the_type_is_owned_with_all_above_it() -> None:
    stated = {"a": "1", "more": {"b": {"c": 1}}}
    owned = applied_fields(EVERYTHING, {"open": stated})["f:open"]
    assert stated_fields(shape_of(EVERYTHING).members["open"].shape, stated) == orjson.dumps(owned)


def test_an_object_with_nothing_to_own_has_no_fields() -> None:
    assert new_fields(EVERYTHING, {"metadata": {"name": "a"}}, EMPTY, UNOWNED) == b""


@pytest.mark.parametrize(
    "wrong",
    [{"items": [{"name": "a"}, {"name": "a"}]}, {"items": {}, "set": "x"}, {"inner": 5}],
    ids=str,
)
def test_what_cannot_be_told_apart_has_no_owner(wrong: Any) -> None:
    with pytest.raises(Untrackable):
        new_fields(EVERYTHING, {"metadata": {"name": "a"}, **wrong}, EMPTY, UNOWNED)


def test_what_is_ignored_in_parts_is_left_to_sets() -> None:
    ignored = of(("f:inner", "f:a"))
    assert new_fields(EVERYTHING, {"metadata": {"name": "a"}}, ignored, UNOWNED) is None
