"""The revision history of a template."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from support.api import on_api, system

from fairlead.controllers.workloads.history import (
    REVISIONS,
    CurrentRevision,
    History,
    template_data,
)
from fairlead.operations.api import Api

Object = dict[str, Any]
SETS = "apps/v1/statefulsets"
DAEMON_SETS = "apps/v1/daemonsets"
HASH = "controller.example.com/hash"


def stateful_set(image: str) -> Object:
    labels = {"app": "a"}
    template = {
        "metadata": {"labels": labels},
        "spec": {"containers": [{"name": "c", "image": image, "resources": {}}]},
    }
    spec = {"selector": {"matchLabels": labels}, "template": template, "updateStrategy": {}}
    spec["serviceName"] = "s"
    return {"metadata": {"name": "web", "namespace": "work"}, "spec": spec, "status": {}}


class Remembering:
    def __init__(self, api: Api, owner: Object) -> None:
        self.owner = owner
        self.objects = system(api)
        self.history = History(self.objects, api.resources.named(SETS), HASH)

    async def current(self, image: str, collisions: int = 0) -> CurrentRevision:
        self.owner["spec"]["template"]["spec"]["containers"][0]["image"] = image
        known = await self.history.of(self.owner)
        data = template_data(self.owner)
        return await self.history.current(self.owner, known, data, collisions)

    async def numbers(self) -> list[int]:
        return [item["revision"] for item in await self.history.of(self.owner)]


async def remembering(api: Api) -> Remembering:
    return Remembering(api, await system(api).create(SETS, stateful_set("one")))


def test_clients_find_the_revision_of_a_template_by_the_bytes_of_its_patch(tmp_path: Path) -> None:
    async def work(api: Api) -> None:
        some = await remembering(api)
        value = (await some.current("one")).revision
        owner = await system(api).get(SETS, "work", "web")
        patch = {"spec": {"template": {**owner["spec"]["template"], "$patch": "replace"}}}
        assert json.dumps(value["data"]) == json.dumps(patch, sort_keys=True)
        assert list(value["data"]["spec"]["template"]) == ["$patch", "metadata", "spec"]
        (entry,) = value["metadata"]["managedFields"]
        assert entry["fieldsV1"]["f:data"] == {}

    on_api(tmp_path, work)


def test_owners_of_two_kinds_have_revisions_of_their_own(tmp_path: Path) -> None:
    async def work(api: Api) -> None:
        some = await remembering(api)
        daemon_set = await system(api).create(DAEMON_SETS, stateful_set("one"))
        history = History(some.objects, api.resources.named(DAEMON_SETS), HASH)
        mine = (await some.current("one")).revision
        other = await history.current(daemon_set, [], template_data(some.owner), 0)
        assert mine["data"] == other.revision["data"]
        (reference,) = other.revision["metadata"]["ownerReferences"]
        assert reference["kind"] == "DaemonSet"

    on_api(tmp_path, work)


def test_each_template_has_a_revision(tmp_path: Path) -> None:
    async def work(api: Api) -> None:
        some = await remembering(api)
        first = (await some.current("one")).revision
        second = (await some.current("two")).revision
        assert (await some.current("two")).revision == second
        assert await some.numbers() == [1, 2]
        text = first["metadata"]["labels"][HASH]
        assert first["metadata"]["name"] == f"web-{text}"
        assert first["metadata"]["labels"]["app"] == "a"
        assert first["data"]["spec"]["template"]["$patch"] == "replace"
        (reference,) = first["metadata"]["ownerReferences"]
        assert reference["uid"] == some.owner["metadata"]["uid"]

    on_api(tmp_path, work)


def test_a_template_that_comes_back_gets_the_highest_number(tmp_path: Path) -> None:
    async def work(api: Api) -> None:
        some = await remembering(api)
        first = (await some.current("one")).revision
        await some.current("two")
        again = (await some.current("one")).revision
        assert again["metadata"]["name"] == first["metadata"]["name"]
        assert await some.numbers() == [2, 3]

    on_api(tmp_path, work)


def test_a_name_that_is_taken_leads_to_another(tmp_path: Path) -> None:
    async def work(api: Api) -> None:
        some = await remembering(api)
        first = (await some.current("one")).revision["metadata"]["name"]
        await some.objects.delete(REVISIONS, "work", first)
        other = {"metadata": {"name": first, "namespace": "work"}, "data": {"x": 1}, "revision": 1}
        await some.objects.create(REVISIONS, other)
        created = await some.current("one")
        assert created.collisions == 1
        assert created.revision["metadata"]["name"] != first

    on_api(tmp_path, work)


def test_the_oldest_revisions_go_but_not_the_live_ones(tmp_path: Path) -> None:
    async def work(api: Api) -> None:
        some = await remembering(api)
        revisions = [(await some.current(image)).revision for image in ("a", "b", "c", "d", "e")]
        live = {revisions[0]["metadata"]["name"], revisions[4]["metadata"]["name"]}
        await some.history.truncate(await some.history.of(some.owner), live, 1)
        assert await some.numbers() == [1, 4, 5]

    on_api(tmp_path, work)


def test_a_revision_without_a_controller_is_adopted(tmp_path: Path) -> None:
    async def work(api: Api) -> None:
        some = await remembering(api)
        metadata = {"name": "stray", "namespace": "work", "labels": {"app": "a"}}
        stray = {"metadata": metadata, "data": template_data(some.owner), "revision": 7}
        await some.objects.create(REVISIONS, stray)
        assert await some.numbers() == [7]
        object_ = some.objects.find(REVISIONS, "work", "stray")
        assert object_ is not None
        (reference,) = object_["metadata"]["ownerReferences"]
        assert reference["kind"] == "StatefulSet"

    on_api(tmp_path, work)
