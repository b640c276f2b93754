"""Sets of field paths: their algebra, their encoding, and valid input."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.fields.field_sets import (
    EMPTY,
    FieldSet,
    InvalidFields,
    Path,
    contains,
    covers,
    difference,
    intersection,
    key_element,
    of,
    parsed,
    path_text,
    paths,
    recursive_difference,
    union,
    value_element,
)

_elements = st.sampled_from(["f:a", "f:b", 'k:{"name":"c"}', 'v:"x"', "i:0"])
_paths = st.lists(_elements, min_size=1, max_size=4).map(tuple)
_sets = st.lists(_paths, max_size=6).map(lambda item: of(*item))


def all_of(fields: FieldSet) -> set[Path]:
    return set(paths(fields))


def normal(fields: FieldSet) -> bool:
    return all(
        normal(node) and set(node) != {"."} for element, node in fields.items() if element != "."
    )


class TestAlgebra:
    @given(st.lists(_paths, max_size=6))
    def test_a_set_holds_the_paths_it_is_made_of(self, found: list[Path]) -> None:
        fields = of(*found)
        assert all_of(fields) == set(found)
        assert all(contains(fields, path) for path in found)

    @given(_sets, _sets)
    def test_union(self, one: FieldSet, other: FieldSet) -> None:
        created = union(one, other)
        assert all_of(created) == all_of(one) | all_of(other)
        assert normal(created)

    @given(_sets, _sets)
    def test_difference(self, one: FieldSet, other: FieldSet) -> None:
        created = difference(one, other)
        assert all_of(created) == all_of(one) - all_of(other)
        assert normal(created)

    @given(_sets, _sets)
    def test_intersection(self, one: FieldSet, other: FieldSet) -> None:
        field_set = intersection(one, other)
        assert all_of(field_set) == all_of(one) & all_of(other)
        assert normal(field_set)

    @given(_sets, _sets)
    def test_recursive_difference_takes_what_is_below_too(
        self, one: FieldSet, other: FieldSet
    ) -> None:
        field_set = recursive_difference(one, other)
        gone = all_of(other)
        assert all_of(field_set) == {
            path for path in all_of(one) if not any(path[: len(start)] == start for start in gone)
        }
        assert normal(field_set)

    @given(_sets, _sets)
    def test_covers(self, one: FieldSet, other: FieldSet) -> None:
        assert covers(one, other) == (all_of(other) <= all_of(one))

    @given(_sets, _sets)
    def test_equal_sets_are_equal_dictionaries(self, one: FieldSet, other: FieldSet) -> None:
        assert (one == other) == (all_of(one) == all_of(other))

    @given(_sets, _sets)
    def test_field_set_that_an_operation_does_not_change_is_the_same_object(
        self, one: FieldSet, other: FieldSet
    ) -> None:
        assert difference(one, EMPTY) is one
        assert difference(difference(one, other), other) is not None
        if all_of(one).isdisjoint(all_of(other)):
            assert difference(one, other) is one
        if covers(one, other):
            assert union(one, other) == one


class TestTexts:
    @pytest.mark.parametrize(
        ("path", "text"),
        [
            (("f:spec", "f:replicas"), ".spec.replicas"),
            (("f:c", 'k:{"name":"x"}', "f:image"), '.c[name="x"].image'),
            (("f:p", 'k:{"port":80,"protocol":"TCP"}'), '.p[port=80,protocol="TCP"]'),
            (("f:finalizers", 'v:"ex.io/a"'), '.finalizers[="ex.io/a"]'),
            (("f:l", "i:3"), ".l[3]"),
        ],
    )
    def test_path_texts_of_every_sort_of_element(self, path: Path, text: str) -> None:
        assert path_text(path) == text

    def test_keys_are_written_in_one_way(self) -> None:
        assert key_element({"protocol": "TCP", "port": 80}) == 'k:{"port":80,"protocol":"TCP"}'
        assert value_element("a<b") == 'v:"a\\u003cb"'
        assert value_element(2.0) == "v:2"
        assert value_element(10**20) == value_element(1e20) == f"v:{10**20}"

    def test_paths_that_end_come_before_those_that_go_on(self) -> None:
        fields = of(("f:a", "f:z"), ("f:b",), ("f:a", 'k:{"n":10}'), ("f:a", 'k:{"n":9}'))
        assert [path_text(path) for path in paths(fields)] == [
            ".b",
            ".a.z",
            ".a[n=9]",
            ".a[n=10]",
        ]


class TestSentByClients:
    @given(_sets)
    def test_field_set_in_normal_form_is_read_as_it_is(self, fields: FieldSet) -> None:
        assert parsed(fields) == fields

    @pytest.mark.parametrize(
        ("sent", "fields"),
        [
            ({}, {}),
            ({".": {}}, {}),
            ({"f:a": {".": {}}}, {"f:a": {}}),
            ({"f:a": {".": {"x": 1}, "f:b": {}}}, {"f:a": {".": {}, "f:b": {}}}),
            ({'k:{"b": 1, "a": "x"}': {}}, {'k:{"a":"x","b":1}': {}}),
            ({"f:a": {"z:new": {}}}, {"f:a": {}}),
        ],
    )
    def test_field_set_of_a_client_is_brought_into_normal_form(
        self, sent: Any, fields: FieldSet
    ) -> None:
        assert parsed(sent) == fields

    @pytest.mark.parametrize(
        "sent", [[], "x", {"f:a": 1}, {"k:x": {}}, {"k:1": {}}, {"v:": {}}, {"i:x": {}}, {"f": {}}]
    )
    def test_field_set_that_is_none_is_refused(self, sent: Any) -> None:
        with pytest.raises(InvalidFields):
            parsed(sent)
