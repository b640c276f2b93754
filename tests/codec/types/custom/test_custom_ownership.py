"""Owners of the fields of custom resources, also when a definition changes under them."""

from __future__ import annotations

from typing import Any

import pytest
from support.custom_schemas import of_field

from fairlead.base.dialect import KUBERNETES
from fairlead.base.release import V1_36
from fairlead.fields.conflicts import ApplyConflict, InvalidConfiguration
from fairlead.fields.entries import OneVersion
from fairlead.fields.ownership import apply
from fairlead.resources.custom.schema.custom_schema import CustomSchema

API_VERSION = "example.com/v1"
ITEM = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "v": {"type": "integer"}},
    "required": ["name"],
}
ATOMIC_LIST = of_field({"type": "array", "items": ITEM})
KEYED_LIST = of_field(
    {
        "type": "array",
        "items": ITEM,
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["name"],
    }
)
GRANULAR = of_field({"type": "object", "additionalProperties": {"type": "string"}})
ATOMIC = of_field(
    {
        "type": "object",
        "additionalProperties": {"type": "string"},
        "x-kubernetes-map-type": "atomic",
    }
)


def applied(
    schema: CustomSchema, live: dict[str, Any] | None, manager: str, value: Any, force: bool = False
) -> dict[str, Any]:
    config = {
        "apiVersion": API_VERSION,
        "kind": "Widget",
        "metadata": {"name": "a"},
        "spec": {"f": value},
    }
    created, entries = apply(
        OneVersion(API_VERSION, schema.struct),
        live,
        config,
        manager=manager,
        api_version=API_VERSION,
        now="2024-01-31T12:00:00Z",
        dialect=KUBERNETES,
        force=force,
    )
    return {**created, "metadata": {**created["metadata"], "managedFields": entries}}


def owned(value: dict[str, Any], manager: str) -> Any:
    """What a manager owns below the spec."""
    entries = value["metadata"]["managedFields"]
    (owned,) = [entry for entry in entries if entry["manager"] == manager]
    return owned["fieldsV1"]["f:spec"]


def test_items_of_a_keyed_list_have_owners_of_their_own() -> None:
    value = applied(KEYED_LIST, None, "one", [{"name": "a", "v": 1}])
    both = applied(KEYED_LIST, value, "two", [{"name": "b", "v": 2}])
    assert both["spec"]["f"] == [{"name": "a", "v": 1}, {"name": "b", "v": 2}]
    assert list(owned(both, "two")["f:f"]) == ['k:{"name":"b"}']


def test_a_list_without_keys_has_one_owner() -> None:
    value = applied(ATOMIC_LIST, None, "one", [{"name": "a"}])
    assert owned(value, "one") == {"f:f": {}}
    with pytest.raises(ApplyConflict):
        applied(ATOMIC_LIST, value, "two", [{"name": "b"}])


def test_what_becomes_atomic_belongs_as_a_whole_to_those_who_owned_a_part() -> None:
    item = applied(GRANULAR, None, "one", {"a": "1"})
    both = applied(GRANULAR, item, "two", {"b": "2"})
    with pytest.raises(ApplyConflict) as refused:
        applied(ATOMIC, both, "three", {"a": "1", "b": "3"})
    assert {conflict.manager for conflict in refused.value.conflicts} == {"one", "two"}


def test_what_becomes_granular_has_no_owners_inside() -> None:
    value = applied(ATOMIC, None, "one", {"a": "1"})
    both = applied(GRANULAR, value, "two", {"a": "2"})
    assert both["spec"]["f"] == {"a": "2"}
    assert owned(both, "one") == {"f:f": {}}
    assert owned(both, "two") == {"f:f": {"f:a": {}}}


def test_a_list_that_gets_keys_has_no_owners_inside_and_back_again() -> None:
    value = applied(ATOMIC_LIST, None, "one", [{"name": "a", "v": 1}])
    both = applied(KEYED_LIST, value, "two", [{"name": "a", "v": 2}])
    assert both["spec"]["f"] == [{"name": "a", "v": 2}]
    with pytest.raises(ApplyConflict):
        applied(ATOMIC_LIST, both, "three", [{"name": "c"}])


def test_items_that_lack_keys() -> None:
    """Release 1.36 tells items apart by the keys that they have, and refuses those without any."""
    item = {"type": "object", "properties": {name: {"type": "string"} for name in "abv"}}
    described = {
        "type": "array",
        "items": item,
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["b", "a"],
    }
    later = of_field(described, release=V1_36)
    one = applied(later, None, "one", [{"b": "1"}, {"a": "1", "v": "x"}])
    both = applied(later, one, "two", [{"a": "1", "b": "1"}])
    assert both["spec"]["f"] == [{"b": "1"}, {"a": "1", "v": "x"}, {"a": "1", "b": "1"}]
    assert list(owned(both, "one")["f:f"]) == ['k:{"a":"1"}', 'k:{"b":"1"}']
    assert list(owned(both, "two")["f:f"]) == ['k:{"a":"1","b":"1"}']
    with pytest.raises(ApplyConflict):
        applied(later, both, "two", [{"a": "1", "v": "y"}])
    with pytest.raises(InvalidConfiguration, match=r'omits all key fields \["b" "a"\]'):
        applied(later, None, "one", [{"v": "x"}])
    with pytest.raises(InvalidConfiguration, match='omits key field "b"'):
        applied(of_field(described), None, "one", [{"a": "1"}])
