"""Metadata is cut out of a body without parsing it, for any object."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.storage import body_metadata
from fairlead.storage.body_metadata import METADATA_START, metadata_end, without_managed_fields
from fairlead.storage.version import Version, body_of, encode, ordered

# Texts that look like what ends metadata.
nasty = st.sampled_from(
    [']},"', ']},"spec":{', "]}", '"', "\\", '\\"]},', "}]}}", '"managedFields":[', "é", ":", ""]
)
texts = nasty | st.text(max_size=4)
maps = st.dictionaries(texts, texts, max_size=3)
fields: st.SearchStrategy[Any] = st.recursive(
    st.just({}) | st.lists(st.just({}), max_size=1),
    lambda inner: st.dictionaries(texts.map("f:{}".format), inner, max_size=3),
    max_leaves=6,
)
entries = st.fixed_dictionaries({"manager": texts, "fieldsV1": fields, "subresource": texts})
owners = st.fixed_dictionaries({"name": texts, "controller": st.booleans()})
metadatas = st.fixed_dictionaries(
    {"name": texts},
    optional={
        "namespace": texts,
        "generateName": texts,
        "uid": texts,
        "generation": st.integers(1, 99),
        "creationTimestamp": texts,
        "deletionTimestamp": texts,
        "deletionGracePeriodSeconds": st.integers(0, 99),
        "labels": maps,
        "annotations": maps,
        "ownerReferences": st.lists(
            st.fixed_dictionaries({"name": texts, "controller": st.booleans()})
        ),
        "finalizers": st.lists(texts, max_size=2),
        "managedFields": st.lists(entries, max_size=2),
    },
)
rests = st.dictionaries(texts, maps | st.lists(maps, max_size=2) | metadatas, max_size=2)


def body(metadata: dict[str, Any], rest: dict[str, Any]) -> bytes:
    return body_of(encode(ordered({**rest, "metadata": metadata})), 7)


@given(metadatas, rests)
def test_metadata_cut_out_of_a_body_is_the_metadata_of_the_object(
    metadata: dict[str, Any], rest: dict[str, Any]
) -> None:
    stored = body(metadata, rest)
    whole = orjson.loads(b"{" + stored)
    assert orjson.loads(stored[METADATA_START : metadata_end(stored)]) == whole["metadata"]


@given(metadatas, rests)
def test_body_without_managed_fields_lacks_nothing_else(
    metadata: dict[str, Any], rest: dict[str, Any]
) -> None:
    stored = body(metadata, rest)
    left, end = without_managed_fields(stored)
    whole, read = orjson.loads(b"{" + stored), orjson.loads(b"{" + left)
    for value in (whole, read):
        value["metadata"].pop("managedFields", None)
    assert read == whole
    assert end == metadata_end(stored)


@pytest.mark.parametrize("managed", [None, [], [{"manager": "m", "fieldsV1": {"f:data": {}}}]])
@pytest.mark.parametrize("rest", [{}, {"data": {"a": "b"}}, {"spec": {"list": [{}]}, "status": {}}])
def test_metadata_of_usual_objects_is_found_without_parsing_the_body(
    managed: list[Any] | None, rest: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    metadata: dict[str, Any] = {
        "name": "a",
        "uid": "u",
        "labels": {"a": "b"},
        "annotations": {"last": '{"spec":{"x":[{}]},"y":"\\n"}'},
        "finalizers": ["x/y"],
    }
    if managed is not None:
        metadata["managedFields"] = managed
    stored = body(metadata, rest)
    monkeypatch.setattr(body_metadata, "_end_by_parsing", None)
    assert orjson.loads(stored[METADATA_START : metadata_end(stored)])["name"] == "a"


@given(metadatas, rests)
def test_owners_and_finalizers_are_those_of_the_object(
    metadata: dict[str, Any], rest: dict[str, Any]
) -> None:
    version = Version("n/a", 7, "v1", body(metadata, rest))
    assert version.owner_references() == metadata.get("ownerReferences", [])
    assert version.finalizers() == metadata.get("finalizers", [])
    assert version.generation() == metadata.get("generation", 0)


@pytest.mark.parametrize("owners", [None, [], [{"name": "]}", "uid": "u"}]])
@pytest.mark.parametrize("names", [None, [], ['"', "x/y"]])
@pytest.mark.parametrize("managed", [None, [{"fieldsV1": {"ownerReferences": [{"name": "c"}]}}]])
def test_owners_and_finalizers_are_found_without_parsing_the_rest(
    owners: list[Any] | None, names: list[str] | None, managed: list[Any] | None
) -> None:
    lists = {"ownerReferences": owners, "finalizers": names, "managedFields": managed}
    metadata: dict[str, Any] = {
        "name": "a",
        "uid": "u",
        "annotations": {"ownerReferences": "[", "a": '"ownerReferences":[{"name":"b"}]'},
        **{name: value for name, value in lists.items() if value is not None},
    }
    stored = body(metadata, {"spec": {"template": {"metadata": {"finalizers": ["z"]}}}})
    no_json = stored[: metadata_end(stored)]
    assert body_metadata.owner_references(no_json) == (owners or [])
    assert body_metadata.finalizers(no_json) == (names or [])


def test_owners_are_read_from_metadata_of_another_form() -> None:
    stored = body({"name": "a", "creationTimestamp": None, "ownerReferences": [{"name": "b"}]}, {})
    assert Version("n/a", 7, "v1", stored).owner_references() == [{"name": "b"}]


@pytest.mark.parametrize("without", [0, 1, 2])
def test_an_entry_without_a_set_is_not_cut_out_with_the_set_before_it(without: int) -> None:
    entries: list[dict[str, Any]] = [
        {
            "manager": manager,
            "operation": "Update",
            "apiVersion": "v1",
            "fieldsType": "FieldsV1",
            "fieldsV1": {"f:data": {f"f:{number}": {} for number in range(100)}},
        }
        for manager in ("a", "b", "c")
    ]
    del entries[without]["fieldsV1"]
    entries[without]["subresource"] = "status"
    stored = body({"name": "a", "managedFields": entries}, {"data": {}})
    version = Version("a", 7, "v1", stored)
    assert version.object_to_write()["metadata"]["managedFields"] == entries


def test_managed_fields_of_a_template_stay_in_the_body() -> None:
    template = {"metadata": {"managedFields": [{"manager": "other"}]}, "spec": {}}
    stored = body({"name": "a", "uid": "u"}, {"spec": {"template": template}})
    version = Version("a", 7, "v1", stored)
    assert orjson.loads(version.metadata) == {"name": "a", "uid": "u", "resourceVersion": "7"}
    assert version.content()["spec"]["template"] == template
