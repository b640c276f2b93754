"""JSON patch: what each operation does, and where it is more lenient than the RFC."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from fairlead.fields.errors import MalformedPatch, OperationFailed, TooManyOperations
from fairlead.fields.json_patch import apply_json_patch, operations

DOCUMENT: dict[str, Any] = {
    "data": {"a": "1", "b": "2"},
    "metadata": {"labels": {"x/y": "z", "t~u": "v"}},
    "list": ["a", "b", "c"],
}


def patched(*patch: dict[str, Any]) -> dict[str, Any]:
    before = copy.deepcopy(DOCUMENT)
    result = apply_json_patch(DOCUMENT, operations(list(patch)))
    assert before == DOCUMENT
    return result


def op(kind: str, path: str, **more: Any) -> dict[str, Any]:
    return {"op": kind, "path": path, **more}


def test_add_sets_a_member() -> None:
    assert patched(op("add", "/data/c", value="3"))["data"] == {"a": "1", "b": "2", "c": "3"}


def test_add_inserts_into_a_list() -> None:
    assert patched(op("add", "/list/1", value="x"))["list"] == ["a", "x", "b", "c"]


@pytest.mark.parametrize("end", ["-", "3", "-1"])
def test_add_appends_at_the_end(end: str) -> None:
    assert patched(op("add", f"/list/{end}", value="x"))["list"] == ["a", "b", "c", "x"]


def test_add_without_a_value_adds_null() -> None:
    assert patched(op("add", "/data/c"))["data"]["c"] is None


def test_remove_takes_a_member_out() -> None:
    assert patched(op("remove", "/data/a"))["data"] == {"b": "2"}


def test_remove_counts_from_the_end() -> None:
    assert patched(op("remove", "/list/-1"))["list"] == ["a", "b"]


def test_the_whole_document_can_be_replaced_by_an_object() -> None:
    assert patched(op("replace", "", value={"a": {}}), op("add", "/a/b", value=1)) == {
        "a": {"b": 1}
    }


@pytest.mark.parametrize("value", [None, 5, "x"])
def test_a_scalar_in_place_of_the_document_changes_nothing(value: Any) -> None:
    assert patched(op("replace", "", value=value)) == patched()


def test_replace_of_a_missing_member_adds_it() -> None:
    assert patched(op("replace", "/data/c", value="3"))["data"]["c"] == "3"


def test_move_takes_from_one_place_to_another() -> None:
    result = patched({"op": "move", "from": "/data/a", "path": "/data/c"})
    assert result["data"] == {"b": "2", "c": "1"}


def test_copy_shares_nothing_with_its_source() -> None:
    result = patched({"op": "copy", "from": "/data", "path": "/copy"}, op("remove", "/data/a"))
    assert result["copy"] == {"a": "1", "b": "2"}


def test_copy_of_a_missing_member_adds_null() -> None:
    assert patched({"op": "copy", "from": "/data/no", "path": "/data/c"})["data"]["c"] is None


def test_a_passed_test_changes_nothing() -> None:
    assert patched(op("test", "/data", value={"b": "2", "a": "1"})) == DOCUMENT


def test_a_missing_member_tests_as_null() -> None:
    patched(op("test", "/data/no", value=None))


def test_json_pointer_escapes_slashes_and_tildes() -> None:
    result = patched(
        op("remove", "/metadata/labels/x~1y"), op("test", "/metadata/labels/t~0u", value="v")
    )
    assert result["metadata"]["labels"] == {"t~u": "v"}


def test_json_pointer_text_before_the_first_slash_is_ignored() -> None:
    assert patched(op("add", "data/c", value="3"))["c"] == "3"


def test_values_of_the_patch_are_copied() -> None:
    value: dict[str, Any] = {"x": []}
    result = patched(op("add", "/new", value=value), op("add", "/new/x/-", value=1))
    assert (value, result["new"]) == ({"x": []}, {"x": [1]})


@pytest.mark.parametrize(
    "operation",
    [
        op("remove", "/data/no"),
        op("add", "/no/x", value=1),
        op("replace", "/no/x", value=1),
        op("replace", "", value=[]),
        op("add", "/data/a/deep", value=1),
        op("remove", "/list/3"),
        op("add", "/list/4", value=1),
        op("replace", "/list/-", value=1),
        op("remove", "/list/-4"),
        op("remove", "/list/x"),
        op("add", "", value={}),
        op("add", "data", value={}),
        op("test", "/data/a", value="2"),
        op("test", "/list/0", value=None),
        op("frobnicate", "/data/a"),
        {"path": "/data/a", "value": 1},
        {"op": "add", "value": 1},
        {"op": "copy", "path": "/data/c"},
        {"op": "move", "from": "/data/no", "path": "/data/c"},
    ],
    ids=str,
)
def test_json_patch_operation_that_does_not_fit_fails(operation: Any) -> None:
    with pytest.raises(OperationFailed):
        patched(operation)


def test_tests_tell_numbers_from_booleans() -> None:
    with pytest.raises(OperationFailed):
        apply_json_patch({"a": 1}, [op("test", "/a", value=True)])


def test_copies_are_limited_in_size() -> None:
    document = {"a": "x" * 1_000_000}
    copies = [{"op": "copy", "from": "/a", "path": f"/{n}"} for n in range(4)]
    with pytest.raises(OperationFailed):
        apply_json_patch(document, copies)


@pytest.mark.parametrize("nothing", [None, []])
def test_an_empty_patch_is_no_change(nothing: Any) -> None:
    assert apply_json_patch(DOCUMENT, operations(nothing)) is DOCUMENT


@pytest.mark.parametrize(
    ("document", "text"),
    [
        (
            {"op": "remove"},
            "error decoding patch: json: cannot unmarshal object into Go value of type"
            " []handlers.jsonPatchOp",
        ),
        (
            ["a"],
            "error decoding patch: json: cannot unmarshal string into Go value of type"
            " handlers.jsonPatchOp",
        ),
        (
            [{"op": 5, "path": "/a"}],
            "error decoding patch: json: cannot unmarshal number into Go struct field"
            " jsonPatchOp.op of type string",
        ),
    ],
)
def test_a_document_that_is_no_patch_is_malformed(document: Any, text: str) -> None:
    with pytest.raises(MalformedPatch) as refused:
        operations(document)
    assert str(refused.value) == text


def test_operations_are_limited_in_number() -> None:
    operations([op("remove", "/a")] * 10_000)
    with pytest.raises(TooManyOperations) as refused:
        operations([op("remove", "/a")] * 10_001)
    assert str(refused.value) == (
        "The allowed maximum operations in a JSON patch is 10000, got 10001"
    )
