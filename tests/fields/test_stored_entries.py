"""The sets of managedFields are cut out of stored objects as text, without a visible difference."""

from __future__ import annotations

import copy
import json
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.patching import CONFIG_MAP, Object

from fairlead.base.dialect import KUBERNETES
from fairlead.fields.entries import OneVersion, fields_of
from fairlead.fields.field_sets import FieldSet
from fairlead.fields.json_patch import apply_json_patch
from fairlead.fields.ownership import track_update
from fairlead.fields.stored_entries import StoredEntry, with_plain_entries
from fairlead.fields.values import copied
from fairlead.storage.body_metadata import MIN_CUT_BYTES
from fairlead.storage.version import Version

FIELDS: FieldSet = {"f:data": {".": {}, "f:a": {}, 'k:{"name":"x"}': {".": {}, "f:b": {}}}}
LONG: FieldSet = {"f:metadata": {"f:labels": {"f:" + "x" * MIN_CUT_BYTES: {}}}}
VERSIONS = OneVersion("v1", CONFIG_MAP)


def entry(manager: str, fields: Any = None, **more: Any) -> Object:
    value = {
        "manager": manager,
        "operation": "Update",
        "apiVersion": "v1",
        "time": "2024-01-01T00:00:00Z",
    }
    return {
        **value,
        "fieldsType": "FieldsV1",
        "fieldsV1": {**(FIELDS if fields is None else fields), **LONG},
        **more,
    }


def stored(*entries: Object, **content: Any) -> Object:
    metadata: Object = {"name": "a", "uid": "b"}
    if entries:
        metadata["managedFields"] = list(entries)
    return {"metadata": metadata, **content}


def body_of(value: Object) -> bytes:
    return orjson.dumps(value)[1:]


def cut(body: bytes) -> Object:
    return Version("a", 7, "v1", body).object_to_write()


def unread(*entries: Object, **content: Any) -> list[Any]:
    managed_fields: list[Any] = cut(body_of(stored(*entries, **content)))["metadata"][
        "managedFields"
    ]
    return managed_fields


CUT = {
    "one": stored(entry("a"), data={"x": "y"}),
    "several, with and without a subresource": stored(
        entry("a"), entry("b", subresource="status"), entry("c"), entry("d", subresource="scale")
    ),
    "no fields": stored(entry("a"), {**entry("b"), "fieldsV1": {}}, data={}),
    "no content": stored(entry("a")),
    "names like the list itself": stored(
        entry(
            '"},{"manager":"',
            {'f:},{"manager":"': {}, 'f:,"fieldsV1":': {'f:,"subresource":"': {}}},
        ),
        data={},
    ),
    "the same in its content": stored(entry("a"), data=stored(entry("b"), entry("c"))),
}
READ = {
    "none": stored(data={"x": "y"}),
    "only in its content": stored(data=stored(entry("b"))),
    "the end of the list in a name": stored(entry("a", {"f:}]},": {}, "f:b": {}}), data={}),
    "short": stored({**entry("a"), "fieldsV1": FIELDS}),
    "another order": stored(entry("a"), {"operation": "Update", **entry("b")}),
}


@pytest.mark.parametrize("value", [*CUT.values(), *READ.values()], ids=[*CUT, *READ])
def test_stored_entries_are_read_as_they_were_written(value: Any) -> None:
    item = cut(body_of(value))
    assert body_of(item) == body_of(value)
    assert item == value
    assert value == item
    assert json.loads(json.dumps(item)) == value
    assert orjson.dumps(with_plain_entries(item)) == orjson.dumps(value)


@pytest.mark.parametrize("value", CUT.values(), ids=CUT)
def test_stored_entries_leave_owned_fields_unparsed(value: Any) -> None:
    entries = cut(body_of(value))["metadata"]["managedFields"]
    assert {type(item) for item in entries} == {StoredEntry}


@pytest.mark.parametrize("value", READ.values(), ids=READ)
def test_stored_entries_of_unusual_form_are_parsed(value: Any) -> None:
    entries = cut(body_of(value))["metadata"].get("managedFields", [])
    assert StoredEntry not in {type(item) for item in entries}


def test_stored_entry_behaves_like_a_dictionary() -> None:
    [item] = unread(entry("a"))
    assert item["fieldsV1"] == item.get("fieldsV1") == fields_of(item)
    assert fields_of(item) == {**FIELDS, **LONG}
    assert dict(item) == {**item} == copied(dict(item)) == entry("a")
    assert list(item.items()) == list(entry("a").items())
    assert list(item.values()) == list(entry("a").values())
    assert type({**item}["fieldsV1"]) is dict
    assert item.get("subresource", "none") == "none"
    assert copied(item) is copy.copy(item) is copy.deepcopy(item) is item


@pytest.mark.parametrize(
    "other",
    [
        entry("b"),
        entry("a", {"f:data": {}}),
        entry("a", subresource="status"),
        {name: item for name, item in entry("a").items() if name != "fieldsV1"},
        [],
    ],
    ids=["manager", "fields", "more", "less", "list"],
)
def test_entries_that_differ_are_not_equal(other: Any) -> None:
    [item] = unread(entry("a"))
    assert item != other
    assert other != item


def test_fields_in_another_order_are_equal() -> None:
    [item] = unread(entry("a", {"f:a": {}, "f:b": {}}))
    assert item == entry("a", {"f:b": {}, "f:a": {}})


def test_a_json_patch_reaches_into_the_entries() -> None:
    value = cut(body_of(stored(entry("a"))))
    path = "/metadata/managedFields/0/fieldsV1/f:data/f:a"
    patched = apply_json_patch(value, [{"op": "remove", "path": path}])
    assert "f:a" not in patched["metadata"]["managedFields"][0]["fieldsV1"]["f:data"]
    assert value == stored(entry("a"))


def test_an_update_leaves_the_entries_of_others_as_they_are() -> None:
    fields: FieldSet = {"f:data": {".": {}, "f:a": {}}}
    live = cut(body_of(stored(entry("first", fields), data={"a": "1"})))
    [first] = live["metadata"]["managedFields"]
    new = {**live, "data": {"a": "1", "b": "2"}}
    options: Any = {"api_version": "v1", "now": "2025-01-01T00:00:00Z", "dialect": KUBERNETES}
    entries = track_update(VERSIONS, live, new, manager="second", **options)
    assert entries[0] is first
    assert fields_of(entries[1]) == {"f:data": {"f:b": {}}}
    entries = track_update(
        VERSIONS, live, {**live, "data": {"a": "2"}}, manager="second", **options
    )
    assert [fields_of(item) for item in entries] == [
        {"f:data": {}, **LONG},
        {"f:data": {"f:a": {}}},
    ]


def test_stored_entries_with_equal_texts_are_parsed_once() -> None:
    first, other = unread(entry("a"), entry("b"))
    assert fields_of(first) is fields_of(other)


_MAPS = st.dictionaries(
    st.sampled_from(["a", "b", "ab", "f:a", 'q"', "data", "x" * 30]), st.sampled_from("12")
)


@given(_MAPS, _MAPS, _MAPS)
def test_an_update_leaves_unparsed_only_sets_that_it_does_not_change(
    first: dict[str, str], second: dict[str, str], third: dict[str, str]
) -> None:
    """Types that are fixed need not be compared with every set."""

    def update(versions: OneVersion, live: Object, labels: dict[str, str], manager: str) -> Object:
        new = copied(live)
        new["metadata"]["labels"] = {**labels, **LONG_LABELS}
        new["data"] = labels
        entries = track_update(
            versions,
            live if live.get("data") is not None else None,
            new,
            manager=manager,
            api_version="v1",
            now="2024-01-01T00:00:00Z",
            dialect=KUBERNETES,
        )
        new["metadata"]["managedFields"] = entries
        return cut(orjson.dumps(with_plain_entries(new))[1:])

    results = []
    for versions in (VERSIONS, OneVersion("v1", CONFIG_MAP, are_fixed=True)):
        value: Object = {"metadata": {"name": "a", "uid": "b"}}
        for labels, manager in ((first, "one"), (second, "two"), (third, "three")):
            value = update(versions, value, labels, manager)
        results.append(with_plain_entries(value))
    assert results[0] == results[1]


LONG_LABELS = {f"{letter * 40}": "x" for letter in "xyz"}
