"""The garbage collector and concurrent changes of an object."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from support.api import CONFIG_MAPS, NAMESPACES, Object, on_api, system

from fairlead.base.errors import StatusError, forbidden, internal
from fairlead.controllers.garbage.collector import GarbageCollector
from fairlead.controllers.namespace_remains import NoRemoteResources
from fairlead.operations.api import Api
from fairlead.operations.client import Client, system_user
from fairlead.operations.options import DeleteOptions
from fairlead.storage.version import Change

Meanwhile = Callable[[str], Awaitable[None]]


class Late(Client):
    """A client that makes another change, named by the object, before each of its writes."""

    meanwhile: Meanwhile | None = None

    async def delete(
        self, key: str, namespace: str, name: str, options: DeleteOptions | None = None
    ) -> None:
        if self.meanwhile is not None:
            await self.meanwhile(name)
        await super().delete(key, namespace, name, options)

    async def change(self, key: str, namespace: str, name: str, *more: Any) -> Object:
        if self.meanwhile is not None:
            await self.meanwhile(name)
        return await super().change(key, namespace, name, *more)


class Notes:
    """Stands for the recorder of events."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def record(self, resource: Any, value: Any, kind: str, reason: str, text: str) -> None:
        self.texts.append(text)


class Scene:
    """A collector of ConfigMaps that is run step by step."""

    def __init__(self, api: Api) -> None:
        self.api = api
        self.client = system(api)
        self.late = Late(api, system_user("collector"))
        self.notes = Notes()
        notes: Any = self.notes  # in place of a Recorder, which writes events
        self.collector = GarbageCollector(api, self.late, notes, NoRemoteResources())
        self.collector.grow_by(self._follow)

    def _follow(self, resource: str, keys: Any, *, replay: bool = True) -> Callable[[], None]:
        collection = self.api.collection(self.api.resources.named(resource))

        def read_keys(change: Change) -> None:
            list(keys(change))

        self.api.store.follow(collection, read_keys, essential=True)
        return lambda: None

    async def create(
        self, name: str, *owners: Object, namespace: str = "work", **metadata: Any
    ) -> Object:
        references = {"ownerReferences": list(owners)} if owners else {}
        place = {"name": name, "namespace": namespace, **references, **metadata}
        return await self.client.create(CONFIG_MAPS, {"metadata": place})

    async def remove(self, name: str, **options: Any) -> None:
        await self.client.delete(CONFIG_MAPS, "work", name, DeleteOptions(**options))

    def found(self, name: str) -> Object | None:
        return self.client.find(CONFIG_MAPS, "work", name)

    def owners(self, name: str) -> list[str]:
        value = self.found(name)
        assert value is not None
        return [
            owner_reference["name"]
            for owner_reference in value["metadata"].get("ownerReferences") or ()
        ]

    async def sync(self, name: str) -> None:
        await self.collector.sync(f"core/configmaps work/{name}")


def reference(owner: Object, **more: Any) -> Object:
    metadata = owner["metadata"]
    kind = {"apiVersion": "v1", "kind": "ConfigMap"}
    return {**kind, "name": metadata["name"], "uid": metadata["uid"], **more}


def on_scene(directory: Path, work: Callable[[Scene], Awaitable[None]]) -> None:
    async def run(api: Api) -> None:
        await work(Scene(api))

    on_api(directory, run)


def test_a_dependent_whose_owner_is_gone_is_deleted(tmp_path: Path) -> None:
    async def work(scene: Scene) -> None:
        owner = await scene.create("owner")
        await scene.create("child", reference(owner))
        await scene.sync("child")
        assert scene.found("child") is not None
        await scene.remove("owner")
        await scene.sync("child")
        assert scene.found("child") is None

    on_scene(tmp_path, work)


def test_a_dependent_that_was_freed_while_its_delete_was_on_its_way_stays(tmp_path: Path) -> None:
    async def work(scene: Scene) -> None:
        owner = await scene.create("owner")
        await scene.create("child", reference(owner))
        await scene.remove("owner")

        async def free(name: str) -> None:
            scene.late.meanwhile = None

            def freed(old: Object) -> Object:
                return {**old, "metadata": {**old["metadata"], "ownerReferences": []}}

            await scene.client.change(CONFIG_MAPS, "work", name, freed)

        scene.late.meanwhile = free
        with pytest.raises(StatusError) as refused:
            await scene.sync("child")
        assert refused.value.code == 409
        assert scene.owners("child") == []

    on_scene(tmp_path, work)


def test_garbage_collector_leaves_a_new_object_of_the_same_name_alone(tmp_path: Path) -> None:
    async def work(scene: Scene) -> None:
        gone, stays = await scene.create("gone"), await scene.create("stays")
        references = reference(gone), reference(stays)
        await scene.create("child", *references)
        await scene.remove("gone")

        async def replace(name: str) -> None:
            scene.late.meanwhile = None
            await scene.remove(name)
            await scene.create(name, *references)

        scene.late.meanwhile = replace
        await scene.sync("child")
        assert scene.owners("child") == ["gone", "stays"]
        await scene.sync("child")
        assert scene.owners("child") == ["stays"]

    on_scene(tmp_path, work)


def test_garbage_collector_ignores_a_dependent_that_goes_while_it_is_orphaned(
    tmp_path: Path,
) -> None:
    async def work(scene: Scene) -> None:
        gone, stays = await scene.create("gone"), await scene.create("stays")
        await scene.create("child", reference(gone), reference(stays))
        await scene.remove("gone")
        scene.late.meanwhile = scene.remove
        await scene.sync("child")
        assert scene.found("child") is None

    on_scene(tmp_path, work)


def test_an_owner_keeps_its_orphan_step_until_every_dependent_is_free(tmp_path: Path) -> None:
    async def work(scene: Scene) -> None:
        owner = await scene.create("owner")
        for name in ("a", "b"):
            await scene.create(name, reference(owner))
        await scene.remove("owner", propagation="Orphan")

        async def refuse(name: str) -> None:
            if name == "a":
                raise forbidden(scene.api.resources.named(CONFIG_MAPS).ref(name), "no")

        scene.late.meanwhile = refuse
        with pytest.raises(StatusError):
            await scene.sync("owner")
        assert scene.owners("a") == ["owner"]
        value = scene.found("owner")
        assert value is not None
        assert value["metadata"]["finalizers"] == ["orphan"]
        scene.late.meanwhile = None
        await scene.sync("owner")
        assert scene.found("owner") is None
        assert scene.owners("a") == scene.owners("b") == []

    on_scene(tmp_path, work)


def test_a_failure_to_change_a_dependent_is_a_failure_to_be_tried_again(tmp_path: Path) -> None:
    async def work(scene: Scene) -> None:
        gone, stays = await scene.create("gone"), await scene.create("stays")
        await scene.create("child", reference(gone), reference(stays))
        await scene.remove("gone")

        async def fail(name: str) -> None:
            raise internal("the disk is full")

        scene.late.meanwhile = fail
        with pytest.raises(StatusError):
            await scene.sync("child")

    on_scene(tmp_path, work)


def test_garbage_collector_takes_an_owner_with_another_uid_for_absent(tmp_path: Path) -> None:
    async def work(scene: Scene) -> None:
        owner = await scene.create("owner")
        await scene.create("child", reference(owner))
        await scene.remove("owner")
        await scene.create("owner")
        await scene.sync("child")
        assert scene.found("child") is None

    on_scene(tmp_path, work)


def test_garbage_collector_keeps_what_has_an_owner_of_an_unknown_kind(tmp_path: Path) -> None:
    async def work(scene: Scene) -> None:
        owner = await scene.create("owner")
        unknown = {**reference(owner), "apiVersion": "example.com/v1", "kind": "Widget", "uid": "w"}
        await scene.create("child", reference(owner), unknown)
        await scene.remove("owner")
        await scene.sync("child")
        assert scene.owners("child") == ["owner", "owner"]

    on_scene(tmp_path, work)


def test_only_some_of_many_owners_in_other_namespaces_are_reported(tmp_path: Path) -> None:
    async def work(scene: Scene) -> None:
        await scene.client.create(NAMESPACES, {"metadata": {"name": "other"}})
        strangers = [await scene.create(f"o{n}", namespace="other") for n in range(40)]
        stays = await scene.create("stays")
        await scene.create("child", reference(stays), *map(reference, strangers))
        await scene.sync("child")
        assert len(scene.notes.texts) == 25
        assert 'does not exist in namespace "work"' in scene.notes.texts[0]

    on_scene(tmp_path, work)
