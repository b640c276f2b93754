"""JSON merge patch: the examples of RFC 7386 and the form of the document."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from fairlead.fields.errors import MalformedPatch
from fairlead.fields.merge_patch import apply_merge_patch, merge_document


@pytest.mark.parametrize(
    ("document", "patch", "result"),
    [
        ({"a": "b"}, {"a": "c"}, {"a": "c"}),
        ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
        ({"a": "b"}, {"a": None}, {}),
        ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
        ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
        ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
        ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
        ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
        ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
        ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
        ({"a": "text"}, {"a": {"b": "c", "d": None}}, {"a": {"b": "c"}}),
    ],
)
def test_members_are_merged_and_all_else_replaced(document: Any, patch: Any, result: Any) -> None:
    before = copy.deepcopy((document, patch))
    assert apply_merge_patch(document, patch) == result
    assert (document, patch) == before


def test_what_the_patch_does_not_mention_stays_the_same_object() -> None:
    document: dict[str, Any] = {"spec": {"deep": {}}, "data": {}}
    result = apply_merge_patch(document, {"data": {"a": "b"}})
    assert result["spec"] is document["spec"]


def test_the_document_must_be_an_object() -> None:
    with pytest.raises(MalformedPatch) as refused:
        merge_document([1])
    assert str(refused.value) == (
        "error decoding patch: json: cannot unmarshal array into Go value of type"
        " map[string]interface {}"
    )


def test_null_is_no_merge_patch() -> None:
    with pytest.raises(MalformedPatch, match="Invalid JSON Patch"):
        merge_document(None)


def test_objects_in_a_list_lose_their_nulls_unless_the_list_replaces_an_object() -> None:
    patch = {"a": [{"b": None, "c": [{"d": None}]}, None, [{"e": None}]]}
    pruned: dict[str, Any] = {"a": [{"c": [{}]}, None, [{}]]}
    assert apply_merge_patch({}, patch) == pruned
    assert apply_merge_patch({"a": [1]}, patch) == pruned
    assert apply_merge_patch({"a": {"b": 1}}, patch) == patch
