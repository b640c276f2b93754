"""The stored and the served bytes of an object."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.storage.version import (
    HAS_FINALIZERS,
    HAS_OWNERS,
    TERMINATING,
    Version,
    body_of,
    encode,
    encoded_of,
    ordered,
)

UID = "613978e8-90f0-4168-a29b-2a5031e4e4a2"


@pytest.mark.parametrize(
    "metadata",
    [
        {"name": "a", "namespace": "n", "uid": UID, "labels": {"resourceVersion": "1"}},
        {"name": "a", "generateName": "g-", "uid": UID, "generation": 1},
        {"name": 'odd"resourceVersion":"5', "uid": UID, "generation": 1},
        {"name": "without-uid"},
        {"annotations": {'"resourceVersion":"': '"resourceVersion":"7",'}},
    ],
)
def test_version_body_gives_back_the_revision_that_was_put_in(
    metadata: dict[str, object],
) -> None:
    kept = encode({"metadata": metadata, "data": {"resourceVersion": "9"}})
    body = body_of(kept, 12345)
    assert orjson.loads(b"{" + body)["metadata"] == {**metadata, "resourceVersion": "12345"}
    assert encoded_of(body) == kept


@pytest.mark.parametrize(
    ("metadata", "hints"),
    [
        ({"name": "a"}, 0),
        ({"name": "a", "annotations": {"a": '"finalizers":["x"]'}}, 0),
        ({"name": "a", "deletionTimestamp": "2024-01-01T00:00:00Z"}, TERMINATING),
        (
            {"name": "a", "ownerReferences": [{"uid": UID}], "finalizers": ["x"]},
            HAS_OWNERS | HAS_FINALIZERS,
        ),
        ({"name": "a", "finalizers": ["x"], "managedFields": [{"manager": "m"}]}, HAS_FINALIZERS),
        ({"name": "a", "managedFields": [{"fieldsV1": {"f:x": {"finalizers": {}}}}]}, 0),
    ],
)
def test_version_flags_are_the_same_for_bytes_and_for_objects(
    metadata: dict[str, object], hints: int
) -> None:
    value = {"metadata": metadata}
    body = body_of(encode(value), 7)
    read, known = Version("n/a", 7, "v1", body), Version("n/a", 7, "v1", body)
    known.set_facts(value)
    assert (read.hints, known.hints) == (hints, hints)


def stored(value: dict[str, Any]) -> Version:
    return Version("n/a", 7, "v1", body_of(encode(ordered(value)), 7))


def mentions(field: str, text: str | None = None, **fields: Any) -> bool:
    """Whether an object with these fields beside its metadata mentions the field."""
    return stored({"metadata": {"name": "a", "uid": UID}, **fields}).mentions(field, text)


def test_mentions_finds_a_field_at_any_depth() -> None:
    assert mentions("taints", spec={"taints": []})
    assert mentions("taints", spec={"list": [{"a": {"taints": None}}]})
    assert not mentions("taints", spec={"list": ["taints"], "text": "taints"})
    assert not mentions("taints", spec={"taint": [], "xtaints": 1, "taintsx": {}})


def test_mentions_counts_labels_and_annotations_as_fields() -> None:
    version = stored({"metadata": {"name": "a", "labels": {"taints": "x"}}})
    assert version.mentions("taints")
    assert version.mentions("taints", "x")


def test_mentions_compares_the_text_of_the_field() -> None:
    assert mentions("claimName", "a", spec={"claimName": "a"})
    assert not mentions("claimName", "a", spec={"claimName": "ab", "name": "a"})
    assert not mentions("claimName", "a", spec={"claimName": ["a"]})


@pytest.mark.parametrize(
    "text",
    [
        '"taints":',
        '"taints":"x"',
        '{"taints":"x"}',
        '\\"taints":"x"',
        '\\\\"taints":"x"',
        '","taints":"x',
        "\\u0022taints\\u0022:\\u0022x\\u0022",
    ],
)
def test_mentions_ignores_texts_that_look_like_the_field(text: str) -> None:
    metadata = {"name": "a", "labels": {"a": text}, "annotations": {text: text}}
    version = stored({"metadata": metadata, "data": {"a": text}, "list": [text]})
    assert not version.mentions("taints")
    assert not version.mentions("taints", "x")


def test_mentions_ignores_names_in_managed_fields() -> None:
    fields: dict[str, Any] = {"f:spec": {"f:taints": {}, 'k:{"taints":"x"}': {}}}
    version = stored({"metadata": {"name": "a", "managedFields": [{"fieldsV1": fields}]}})
    assert not version.mentions("taints")


def test_mentions_nothing_in_a_deletion() -> None:
    assert not Version("n/a", 7, "v1", None).mentions("metadata")


hostile = st.sampled_from(['"', "\\", "é", "\u2028", "\x00", "\x7f", "</", "😀", ""])
texts = hostile | st.text(max_size=4)
contents = st.recursive(
    texts | st.none(),
    lambda inner: st.dictionaries(texts, inner, max_size=3) | st.lists(inner, max_size=2),
    max_leaves=8,
)


def fields_of(value: Any) -> list[tuple[str, Any]]:
    if isinstance(value, list):
        return [field for item in value for field in fields_of(item)]
    if isinstance(value, dict):
        return [*value.items(), *(field for item in value.values() for field in fields_of(item))]
    return []


@given(contents)
def test_mentions_misses_no_field_whatever_its_name_and_text(content: Any) -> None:
    version = stored({"metadata": {"name": "a"}, "data": content})
    for field, value in fields_of(content):
        assert version.mentions(field)
        assert not isinstance(value, str) or version.mentions(field, value)


@pytest.mark.parametrize(
    "metadata",
    [
        {"name": "a", "uid": UID},
        {"name": "a", "generateName": "g-", "namespace": "n", "uid": UID},
        {"name": 'a"uid":"b', "uid": UID},
        {"name": "a", "uid": UID, "labels": {"uid": "x"}, "ownerReferences": [{"uid": "y"}]},
        {"name": "a", "namespace": '\\"', "uid": 'odd"\\'},
        {"name": "a", "uid": ""},
    ],
)
def test_version_uid_is_that_of_the_object(metadata: dict[str, Any]) -> None:
    assert stored({"metadata": metadata}).uid == metadata["uid"]
