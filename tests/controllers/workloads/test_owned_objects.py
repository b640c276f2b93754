"""Finding objects by their controller."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest
from support.api import on_api, system

from fairlead.controllers.workloads.index import Owned, Selectors, read_full
from fairlead.controllers.workloads.owners import controller_of
from fairlead.operations.api import Api
from fairlead.storage.version import Version

Object = dict[str, Any]
PODS = "core/v1/pods"
OWNER: Object = {"metadata": {"name": "r", "namespace": "work", "uid": "uid-r"}}


def reference(uid: str = "uid-r", *, controller: bool = True, name: str = "r") -> Object:
    replica_set = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": name, "uid": uid}
    return {**replica_set, "controller": True} if controller else replica_set


def pod(name: str, *references: Object) -> Object:
    metadata = {"name": name, "namespace": "work", "labels": {"app": "a"}}
    spec = {"containers": [{"name": "c", "image": "i", "resources": {}}]}
    return {
        "metadata": {**metadata, "ownerReferences": list(references)},
        "spec": spec,
        "status": {},
    }


def names(items: list[Any]) -> list[str]:
    return sorted(item.name for item in items)


def test_objects_are_found_by_their_controller_as_soon_as_they_are_written(tmp_path: Path) -> None:
    async def work(api: Api) -> None:
        objects = system(api)
        owned = Owned(objects.collection(PODS), read_full)
        assert owned.of(OWNER) == []
        await objects.create(PODS, pod("a", reference()))
        await objects.create(PODS, pod("b", reference(controller=False)))
        await objects.create(PODS, pod("c", reference("uid-s")))
        assert names(owned.of(OWNER)) == ["a"]
        assert names(owned.orphans("work")) == ["b"]

        def take(current: Object) -> Object:
            metadata = {**current["metadata"], "ownerReferences": [reference()]}
            return {**current, "metadata": metadata}

        await objects.change(PODS, "work", "b", take)
        await objects.delete(PODS, "work", "a")
        assert names(owned.of(OWNER)) == ["b"]
        assert owned.orphans("work") == []

    on_api(tmp_path, work)


def test_an_index_that_missed_a_part_of_the_history_begins_again(tmp_path: Path) -> None:
    async def work(api: Api) -> None:
        objects = system(api)
        collection = objects.collection(PODS)
        owned = Owned(collection, read_full)
        for name in ("a", "b"):
            await objects.create(PODS, pod(name, reference()))
        (before,) = [item for item in owned.of(OWNER) if item.name == "a"]
        await objects.delete(PODS, "work", "b")
        await objects.create(PODS, pod("c", reference()))
        collection.forget(api.store.revision)
        assert names(owned.of(OWNER)) == ["a", "c"]
        assert before in owned.of(OWNER), "what has not changed is not read again"

    on_api(tmp_path, work)


def test_owners_are_found_by_what_they_select(tmp_path: Path) -> None:
    async def work(api: Api) -> None:
        objects = system(api)
        pods, maps = objects.collection(PODS), objects.collection("core/v1/configmaps")
        selectors = Selectors(maps, lambda value: {"matchLabels": value.get("data") or {}})
        for name, label in (("one", "a"), ("two", "b")):
            metadata = {"name": name, "namespace": "work"}
            await objects.create(
                "core/v1/configmaps", {"metadata": metadata, "data": {"app": label}}
            )
        await objects.create(PODS, pod("p"))
        (version,) = pods.current("work")
        assert selectors.selecting(version) == ["work/one"]
        await objects.delete("core/v1/configmaps", "work", "one")
        assert selectors.selecting(version) == []

    on_api(tmp_path, work)


def stored(value: Object) -> Version:
    return Version("work/x", 1, "v1", orjson.dumps(value)[1:])


ODD = reference(name="a}]b")
CASES: dict[str, tuple[Object, Object | None]] = {
    "none": ({"metadata": {}, "spec": {}}, None),
    "one": ({"metadata": {"ownerReferences": [reference()]}, "spec": {}}, reference()),
    "no controller": (
        {"metadata": {"ownerReferences": [reference(controller=False)]}, "spec": {}},
        None,
    ),
    "the second": (
        {"metadata": {"ownerReferences": [reference("x", controller=False), reference()]}},
        reference(),
    ),
    "a text that looks like the end": ({"metadata": {"ownerReferences": [ODD]}, "spec": {}}, ODD),
    "of the template": (
        {"metadata": {}, "spec": {"template": {"metadata": {"ownerReferences": [reference()]}}}},
        None,
    ),
    "of the remembered": (
        {"metadata": {}, "data": {"spec": {"x": {"ownerReferences": [reference()]}}}},
        None,
    ),
    "behind labels of odd names": (
        {
            "metadata": {
                "labels": {"a": "b", "spec": "x", "data": "", "ownerReferences": "["},
                "ownerReferences": [reference()],
            },
            "spec": {},
        },
        reference(),
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_the_controller_is_read_from_the_bytes(case: str) -> None:
    value, expected = CASES[case]
    assert controller_of(stored(value)) == expected
