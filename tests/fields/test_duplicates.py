"""Ownership of objects whose lists have several items with one key, from release 1.36 on."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.base.dialect import KUBERNETES
from fairlead.base.release import V1_36
from fairlead.codec.types.builtin import BuiltinTypes
from fairlead.fields.conflicts import ApplyConflict, InvalidConfiguration
from fairlead.fields.entries import OneVersion
from fairlead.fields.field_sets import of
from fairlead.fields.ownership import apply, track_update

VERSIONS = OneVersion("v1", BuiltinTypes(KUBERNETES, V1_36).struct("core/v1.PodTemplate"))
E_STEP = 'k:{"name":"E"}'
Pairs = tuple[tuple[str, str], ...]
Object = dict[str, Any]


def options(**more: Any) -> Object:
    now = "2024-01-01T00:00:00Z"
    return {
        "api_version": "v1",
        "now": now,
        "dialect": KUBERNETES,
        "merges_duplicates": True,
        **more,
    }


def template(*pairs: tuple[str, str]) -> Object:
    env = [{"name": name, "value": value} for name, value in pairs]
    spec = {"containers": [{"name": "a", "env": env}]}
    return {
        "apiVersion": "v1",
        "kind": "PodTemplate",
        "metadata": {"name": "t"},
        "template": {"spec": spec},
    }


def created(*pairs: tuple[str, str]) -> Object:
    value = template(*pairs)
    value["metadata"]["managedFields"] = track_update(
        VERSIONS, None, value, **options(manager="creator")
    )
    return value


def env_of(value: Object) -> list[tuple[str, str]]:
    env = value["template"]["spec"]["containers"][0]["env"]
    return [(item["name"], item["value"]) for item in env]


def owners(entries: list[Any]) -> Object:
    """The fields of E by manager."""
    found = {}
    for entry in entries:
        containers = entry["fieldsV1"]["f:template"]["f:spec"]["f:containers"]
        env = containers['k:{"name":"a"}'].get("f:env", {})
        if E_STEP in env:
            found[entry["manager"]] = env[E_STEP]
    return found


def test_the_creator_owns_items_with_one_key_as_one() -> None:
    value = created(("E", "a"), ("E", "b"))
    assert owners(value["metadata"]["managedFields"]) == {"creator": {}}


def test_items_that_a_configuration_does_not_set_stay() -> None:
    live = created(("E", "a"), ("E", "b"))
    result, entries = apply(VERSIONS, live, template(("F", "c")), **options(manager="other"))
    assert env_of(result) == [("E", "a"), ("E", "b"), ("F", "c")]
    result["metadata"]["managedFields"] = entries
    result, entries = apply(VERSIONS, result, template(("G", "d")), **options(manager="other"))
    assert env_of(result) == [("E", "a"), ("E", "b"), ("G", "d")]
    assert owners(entries) == {"creator": {}}


def test_setting_such_an_item_conflicts_with_its_owner() -> None:
    live = created(("E", "a"), ("E", "b"))
    with pytest.raises(ApplyConflict, match='conflict with "creator" using v1'):
        apply(VERSIONS, live, template(("E", "c")), **options(manager="other"))
    forced = options(manager="other", force=True)
    result, entries = apply(VERSIONS, live, template(("E", "c")), **forced)
    assert env_of(result) == [("E", "c")]
    assert list(owners(entries)) == ["other"]


def test_a_change_of_one_of_the_items_takes_over_all() -> None:
    live = created(("E", "a"), ("E", "b"))
    new = template(("E", "a"), ("E", "c"))
    assert owners(track_update(VERSIONS, live, new, **options(manager="other"))) == {"other": {}}
    same = template(("E", "a"), ("E", "b"))
    unchanged = track_update(VERSIONS, live, same, **options(manager="other"))
    assert owners(unchanged) == {"creator": {}}


def test_earlier_releases_do_not_track_such_an_object() -> None:
    live = template(("E", "a"), ("E", "b"))
    early = options(manager="m", merges_duplicates=False)
    assert track_update(VERSIONS, None, live, **early) == []
    with pytest.raises(InvalidConfiguration, match="duplicate entries for key"):
        apply(VERSIONS, live, template(("F", "c")), **early)


def test_nobody_owns_such_items_where_a_request_cannot_write() -> None:
    """Neither does a configuration with them conflict with their owner."""
    versions = OneVersion("v1", BuiltinTypes(KUBERNETES, V1_36).struct("core/v1.Node"))

    def node(*addresses: str) -> Object:
        items = [{"type": "InternalIP", "address": address} for address in addresses]
        head = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}}
        return {**head, "status": {"addresses": items}}

    live, main = node("1.2.3.4", "1.2.3.5"), options(ignored=of(("f:status",)))
    assert track_update(versions, None, live, **main, manager="creator") == []
    (entry,) = track_update(versions, None, live, **options(manager="agent"))
    live["metadata"]["managedFields"] = [entry]
    config = node("1.2.3.6")
    config["metadata"]["labels"] = {"a": "b"}
    _, entries = apply(versions, live, config, **main, manager="applier")
    assert {item["manager"]: item["fieldsV1"] for item in entries} == {
        "applier": {"f:metadata": {"f:labels": {"f:a": {}}}},
        "agent": entry["fieldsV1"],
    }
