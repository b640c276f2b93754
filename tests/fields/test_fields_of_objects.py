"""The fields of an object, changed fields, and type checks."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.patching import (
    CONFIG_MAP,
    EVERYTHING,
    POD,
    POD_TEMPLATE,
    TYPES,
    Object,
    config_map,
    custom,
    held_fields,
    objects_of,
    pod_template,
    struct,
)

from fairlead.codec.types.model import ListOf, MapOf
from fairlead.codec.types.notation import SCALARS
from fairlead.fields.check import explanation, problems
from fairlead.fields.field_sets import covers, difference, in_order, ordered_union, paths, union
from fairlead.fields.shapes import Untrackable, zero_object
from fairlead.fields.typed_values import applied_fields, compare

_ANYTHING: list[Any] = [1, True, 0.5, "a", "", [], {}, ["a", "a"], [None], [{}], {"x": {}}]


def spec_of(fields: Any) -> Any:
    return fields["f:template"]["f:spec"]


class TestAppliedConfigurations:
    def owns(self, spec: Any) -> Any:
        return spec_of(applied_fields(POD_TEMPLATE, pod_template(spec)))

    def test_scalars_are_fields(self) -> None:
        assert self.owns({"hostNetwork": True}) == {"f:hostNetwork": {}}

    def test_items_are_named_by_their_key_and_belong_to_the_set(self) -> None:
        assert self.owns({"containers": [{"name": "c", "image": "i"}]}) == {
            "f:containers": {'k:{"name":"c"}': {".": {}, "f:name": {}, "f:image": {}}}
        }

    def test_a_key_that_is_not_given_counts_as_its_default(self) -> None:
        owned = self.owns({"containers": [{"name": "c", "ports": [{"containerPort": 80}]}]})
        ports = owned["f:containers"]['k:{"name":"c"}']["f:ports"]
        assert ports == {
            'k:{"containerPort":80,"protocol":"TCP"}': {".": {}, "f:containerPort": {}}
        }

    def test_a_required_key_that_is_not_given_counts_as_zero(self) -> None:
        owned = self.owns({"containers": [{"image": "i", "ports": [{"name": "x"}]}]})
        assert list(owned["f:containers"]) == ['k:{"name":""}']

    def test_values_of_a_set_are_members(self) -> None:
        config = config_map(finalizers=["ex.io/a"])
        owned = applied_fields(CONFIG_MAP, config)["f:metadata"]
        assert owned == {"f:name": {}, "f:finalizers": {'v:"ex.io/a"': {}}}

    @pytest.mark.parametrize(
        "spec",
        [
            {"nodeSelector": {"a": "b"}},
            {"tolerations": [{"key": "a"}]},
            {"tolerations": []},
            {"securityContext": {}},
            {"hostNetwork": None},
        ],
        ids=str,
    )
    def test_atomic_empty_and_null_values_are_one_field(self, spec: Any) -> None:
        assert self.owns(spec) == {f"f:{next(iter(spec))}": {}}

    def test_atomic_structs_in_keyed_lists_are_one_field_each(self) -> None:
        assert self.owns({"imagePullSecrets": [{"name": "s"}]}) == {
            "f:imagePullSecrets": {'k:{"name":"s"}': {}}
        }

    def test_an_empty_list_of_items_states_nothing(self) -> None:
        config = pod_template({"containers": [], "hostNetwork": True})
        assert spec_of(applied_fields(POD_TEMPLATE, config)) == {"f:hostNetwork": {}}

    def test_a_map_is_owned_by_its_keys(self) -> None:
        assert applied_fields(CONFIG_MAP, {"data": {"a": "1"}}) == {"f:data": {"f:a": {}}}

    def test_keys_of_free_maps_are_members_at_every_level(self) -> None:
        kind = custom({"free": SCALARS["any"]})
        assert applied_fields(kind, {"free": {"a": {"b": [1]}, "c": {}}}) == {
            "f:free": {"f:a": {".": {}, "f:b": {}}, "f:c": {}}
        }

    def test_unknown_fields_of_an_open_type_are_granular(self) -> None:
        kind = custom({"spec": struct({"a": SCALARS["string"]}, preserve_unknown=True)})
        assert applied_fields(kind, {"spec": {"a": "x", "b": {"c": 1}}}) == {
            "f:spec": {"f:a": {}, "f:b": {".": {}, "f:c": {}}}
        }

    def test_a_field_may_be_granular_where_its_type_is_atomic(self) -> None:
        volume = TYPES.struct("core/v1.PersistentVolume")
        config = {"spec": {"claimRef": {"name": "c"}}}
        assert applied_fields(volume, config) == {"f:spec": {"f:claimRef": {"f:name": {}}}}


class TestCreation:
    def test_the_creator_owns_all_but_what_is_always_there(self) -> None:
        manifest = {
            "metadata": {"labels": {"a": "b"}, "creationTimestamp": None},
            "spec": {"containers": [{"name": "c"}], "volumes": [{"name": "v"}]},
            "status": {},
        }
        changes = compare(POD, zero_object(POD), manifest)
        assert changes.removed == {}
        assert changes.touched == {
            "f:metadata": {"f:labels": {".": {}, "f:a": {}}},
            "f:spec": {
                "f:containers": {'k:{"name":"c"}': {".": {}, "f:name": {}}},
                "f:volumes": {".": {}, 'k:{"name":"v"}': {".": {}, "f:name": {}}},
            },
        }

    def test_creator_of_a_custom_resource_owns_every_field(self) -> None:
        kind = custom({"spec": struct({"a": SCALARS["string"]})})
        changes = compare(kind, zero_object(kind), {"spec": {"a": "x"}})
        assert changes.touched == {"f:spec": {".": {}, "f:a": {}}}


class TestChanges:
    def changed(self, old: Any, new: Any) -> Any:
        return tuple(compare(EVERYTHING, old, new))

    def test_comparison_of_equal_objects_has_no_changes(self) -> None:
        assert self.changed({"text": "x"}, {"text": "x"}) == ({}, {})

    def test_comparison_touches_a_changed_value(self) -> None:
        assert self.changed({"text": "x"}, {"text": "y"}) == ({"f:text": {}}, {})

    def test_a_new_key_is_touched_without_its_map(self) -> None:
        touched: Object = {"f:parts": {"f:b": {}}}
        assert self.changed({"parts": {"a": "1"}}, {"parts": {"a": "1", "b": "2"}}) == (touched, {})

    def test_a_new_map_is_touched_with_its_keys(self) -> None:
        assert self.changed({}, {"parts": {"a": "1"}}) == (
            {"f:parts": {".": {}, "f:a": {}}},
            {},
        )

    def test_a_map_that_was_empty_is_touched_in_its_keys_only(self) -> None:
        assert self.changed({"parts": {}}, {"parts": {"a": "1"}}) == ({"f:parts": {"f:a": {}}}, {})

    def test_comparison_removes_what_is_gone_at_every_level(self) -> None:
        assert self.changed({"inner": {"m": {"x": "1"}}}, {}) == (
            {},
            {"f:inner": {".": {}, "f:m": {".": {}, "f:x": {}}}},
        )

    def test_null_is_not_the_same_as_empty(self) -> None:
        assert self.changed({"parts": None}, {"parts": {}}) == ({"f:parts": {}}, {})

    def test_an_atomic_value_is_touched_as_a_whole(self) -> None:
        for name, old, new in (
            ("whole", {"a": "x"}, {"a": "x", "b": 1}),
            ("one", {"a": "x"}, {}),
            ("list", ["a"], ["a", "b"]),
        ):
            assert self.changed({name: old}, {name: new}) == ({f"f:{name}": {}}, {})

    def test_items_are_compared_by_key_and_their_order_is_no_change(self) -> None:
        first, second = {"name": "a", "port": 1}, {"name": "b", "port": 2}
        assert self.changed({"items": [first, second]}, {"items": [second, first]}) == ({}, {})
        assert self.changed({"items": [first]}, {"items": [second]}) == (
            {"f:items": {'k:{"name":"b","port":2}': {".": {}, "f:name": {}, "f:port": {}}}},
            {"f:items": {'k:{"name":"a","port":1}': {".": {}, "f:name": {}, "f:port": {}}}},
        )

    def test_values_of_a_set_come_and_go(self) -> None:
        assert self.changed({"set": ["a", "b"]}, {"set": ["c", "b"]}) == (
            {"f:set": {'v:"c"': {}}},
            {"f:set": {'v:"a"': {}}},
        )

    def test_a_free_value_tells_numbers_from_booleans(self) -> None:
        assert self.changed({"free": {"a": 1}}, {"free": {"a": True}}) == (
            {"f:free": {"f:a": {}}},
            {},
        )
        assert self.changed({"free": {"a": 1}}, {"free": {"a": 1.0}}) == ({}, {})

    def test_a_free_value_that_stops_being_an_object_loses_its_fields(self) -> None:
        assert self.changed({"free": {"a": 1}}, {"free": 5}) == (
            {"f:free": {}},
            {"f:free": {"f:a": {}}},
        )

    def test_items_that_cannot_be_told_apart_are_not_compared(self) -> None:
        twice = {"items": [{"name": "a"}, {"name": "a", "port": 80}]}
        with pytest.raises(Untrackable):
            self.changed({"items": [{"name": "b"}]}, twice)
        with pytest.raises(Untrackable):
            held_fields(EVERYTHING, {"set": ["a", "a"]})

    @given(objects_of(EVERYTHING), objects_of(EVERYTHING))
    def test_old_fields_less_the_removed_and_with_the_touched_are_the_new_fields(
        self, old: Object, new: Object
    ) -> None:
        touched, removed = compare(EVERYTHING, old, new)
        before, after = held_fields(EVERYTHING, old), held_fields(EVERYTHING, new)
        assert union(difference(before, removed), touched) == after
        assert covers(after, touched)
        assert covers(before, removed)

    @given(objects_of(EVERYTHING), objects_of(EVERYTHING))
    def test_fields_are_in_the_order_of_the_reference_all_the_way_down(
        self, old: Object, new: Object
    ) -> None:
        created = [
            held_fields(EVERYTHING, new),
            applied_fields(EVERYTHING, new),
            compare(EVERYTHING, old, new).touched,
        ]
        created.append(ordered_union(held_fields(EVERYTHING, old), created[0]))
        for fields in created:
            assert json.dumps(fields) == json.dumps(in_order(fields))

    def test_items_are_in_the_order_of_their_keys_not_of_their_texts(self) -> None:
        names = ["b", 'a"', "a b", "a", "ä", "a<"]
        containers = [{"name": name} for name in names]
        held = held_fields(POD, {"spec": {"containers": containers}})
        result = [element for element in held["f:spec"]["f:containers"] if element != "."]
        assert [json.loads(element[2:])["name"] for element in result] == sorted(names)

    @given(objects_of(EVERYTHING), st.data())
    def test_the_fields_of_an_object_without_problems_can_be_extracted(
        self, value: Object, data: st.DataObject
    ) -> None:
        assert not problems(EVERYTHING, value)
        name = data.draw(st.sampled_from(sorted(EVERYTHING.fields)))
        other = data.draw(st.sampled_from(_ANYTHING))
        changed = {**value, name: other}
        if not problems(EVERYTHING, changed):
            applied_fields(EVERYTHING, changed)

    @given(objects_of(EVERYTHING))
    def test_an_applier_owns_a_part_of_what_is_there(self, value: Object) -> None:
        applied, held = applied_fields(EVERYTHING, value), held_fields(EVERYTHING, value)
        assert covers(held, applied)
        rest = {path[-1] for path in paths(difference(held, applied))}
        named = {f"f:{name}" for name in (*EVERYTHING.fields, "labels", "m", "a", "b", "c", "d")}
        assert rest <= named


class TestTypes:
    @pytest.mark.parametrize(
        ("spec", "text"),
        [
            ({"bogus": 1}, ".bogus: field not declared in schema"),
            (
                {"containers": [{"name": "a", "bogus": 1}]},
                '.containers[name="a"].bogus: field not declared in schema',
            ),
            (
                {"hostname": 5},
                ".hostname: expected string, got &value.valueUnstructured{Value:5}",
            ),
            (
                {"hostname": {"a": ["b"]}},
                ".hostname: expected string, got &value.valueUnstructured"
                '{Value:map[string]interface {}{"a":[]interface {}{"b"}}}',
            ),
            ({"priority": "x"}, ".priority: expected numeric (int or float), got string"),
            ({"hostNetwork": "x"}, ".hostNetwork: expected boolean, got &{x}"),
            ({"containers": {"name": "a"}}, ".containers: expected list, got &{map[name:a]}"),
            ({"nodeSelector": ["x"]}, ".nodeSelector: expected map, got &{[x]}"),
            (
                {"containers": [{"name": "a"}, {"name": "a"}]},
                '.containers: duplicate entries for key [name="a"]',
            ),
            (
                {"containers": [{"name": "a", "ports": [{"containerPort": "text"}]}]},
                '.containers[name="a"].ports[containerPort="text",protocol="TCP"].containerPort:'
                " expected numeric (int or float), got string",
            ),
            (
                {"containers": ["text"]},
                ".containers: element 0: associative list with keys may not have non-map elements",
            ),
            (
                {"containers": [None]},
                ".containers: element 0: associative list with keys may not have a null element",
            ),
            (
                {"hostAliases": [{}]},
                ".hostAliases: element 0: associative list with keys has an element that omits"
                ' key field "ip" (and doesn\'t have default value)',
            ),
            (
                {"tolerations": [{"key": "a"}, {"bogus": 1}]},
                ".tolerations[1].bogus: field not declared in schema",
            ),
        ],
        ids=str,
    )
    def test_type_problem_is_named_with_its_path(self, spec: Any, text: str) -> None:
        assert problems(POD_TEMPLATE, pod_template(spec)) == [".template.spec" + text]

    def test_set_lists_hold_scalars_once(self) -> None:
        assert problems(CONFIG_MAP, config_map(finalizers=["a", "a"])) == [
            '.metadata.finalizers: duplicate entries for key [="a"]'
        ]
        assert problems(CONFIG_MAP, config_map(finalizers=[{}])) == [
            ".metadata.finalizers: element 0:"
            " associative list without keys has an element that's a map type",
        ]

    def test_several_problems_are_one_text(self) -> None:
        texts = problems(CONFIG_MAP, config_map({"a": 1}, bogus=2))
        assert explanation(texts) == (
            "errors:\n  .metadata.bogus: field not declared in schema"
            "\n  .data.a: expected string, got &value.valueUnstructured{Value:1}"
        )

    def test_quantities_and_times_may_be_any_scalar(self) -> None:
        limits = {"limits": {"cpu": 1, "memory": "1Gi"}}
        config = pod_template({"containers": [{"name": "a", "resources": limits}]})
        assert problems(POD_TEMPLATE, config) == []

    def test_open_types_take_any_field(self) -> None:
        kind = custom({"spec": struct({}, preserve_unknown=True), "free": SCALARS["raw"]})
        assert problems(kind, {"spec": {"x": [{}]}, "free": {"y": None}}) == []

    @given(objects_of(EVERYTHING))
    def test_objects_of_a_type_have_no_problems(self, value: Object) -> None:
        assert problems(EVERYTHING, value) == []


def test_recursive_types_are_walked() -> None:
    kind = struct({"v": SCALARS["string"]})
    kind.fields["next"] = type(kind.fields["v"])("next", kind, kind.fields["v"].presence)
    kind.fields["all"] = type(kind.fields["v"])("all", MapOf(kind), kind.fields["v"].presence)
    root = custom({"root": kind, "roots": ListOf(kind)})
    value = {"root": {"next": {"next": {"v": "x"}}, "all": {"k": {"v": "y"}}}}
    assert applied_fields(root, value) == {
        "f:root": {
            "f:next": {"f:next": {"f:v": {}}},
            "f:all": {"f:k": {".": {}, "f:v": {}}},
        }
    }
    assert compare(root, value, {"root": {"next": {"next": {"v": "z"}}}}).touched == {
        "f:root": {"f:next": {"f:next": {"f:v": {}}}}
    }
