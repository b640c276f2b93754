"""Verbs on objects of any kind, as the client library has them."""

from __future__ import annotations

from typing import Any

import pytest
from support.namespaces import Space
from support.talking import talk

from fairlead.client import Client
from fairlead.client.errors import AlreadyExists, BadRequest, Conflict, Forbidden, Invalid, NotFound
from fairlead.client.resources import JSON_PATCH, STRATEGIC_PATCH


def config_map(name: str, **data: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def test_an_object_is_created_read_changed_and_deleted(space: Space) -> None:
    async def work(client: Client) -> None:
        maps = await client.resource("configmaps")
        stored = await maps.create(config_map("a", k="1"))
        assert stored["metadata"]["namespace"] == space.name
        stored["data"]["k"] = "2"
        changed = await maps.replace(stored)
        assert await maps.get("a") == changed
        await maps.delete("a")
        with pytest.raises(NotFound) as refused:
            await maps.get("a")
        assert refused.value.message == 'configmaps "a" not found'
        assert refused.value.details["name"] == "a"

    talk(space, work)


def test_an_object_goes_where_it_says(space: Space) -> None:
    async def work(client: Client) -> None:
        maps = await client.resource("configmaps")
        value = config_map("elsewhere")
        value["metadata"]["namespace"] = "default"
        stored = await maps.create(value)
        assert stored["metadata"]["namespace"] == "default"
        await maps.delete("elsewhere", "default")

    talk(space, work)


def test_every_kind_of_patch(space: Space) -> None:
    async def work(client: Client) -> None:
        maps = await client.resource("configmaps")
        await maps.create(config_map("a", k="1"))
        merged = await maps.patch("a", {"data": {"m": "1"}})
        assert merged["data"] == {"k": "1", "m": "1"}
        step = [{"op": "remove", "path": "/data/k"}]
        assert (await maps.patch("a", step, type=JSON_PATCH))["data"] == {"m": "1"}
        strategic = await maps.patch("a", {"data": {"s": "1"}}, type=STRATEGIC_PATCH)
        assert strategic["data"] == {"m": "1", "s": "1"}

    talk(space, work)


def test_an_apply_that_would_take_fields_of_others_is_a_conflict(space: Space) -> None:
    async def work(client: Client) -> None:
        maps = await client.resource("configmaps")
        await maps.apply(config_map("a", k="mine"), manager="one")
        with pytest.raises(Conflict) as refused:
            await maps.apply(config_map("a", k="yours"), manager="two")
        assert [cause["field"] for cause in refused.value.causes] == [".data.k"]
        forced = await maps.apply(config_map("a", k="yours"), manager="two", force=True)
        assert forced["data"] == {"k": "yours"}

    talk(space, work)


def test_a_list_has_all_pages(space: Space) -> None:
    async def work(client: Client) -> None:
        maps = await client.resource("cm")
        for number in range(7):
            await maps.create(config_map(f"a{number}"))
        sizes = [len(page["items"]) async for page in maps.pages(limit=3, labelSelector="")]
        whole = await maps.list(limit=2)
        names = [item["metadata"]["name"] for item in whole["items"]]
        assert sum(sizes) == len(names)
        assert sizes[:2] == [3, 3]
        assert [name for name in names if name.startswith("a")] == [f"a{n}" for n in range(7)]
        assert "continue" not in whole["metadata"]
        everywhere = await maps.list("")
        assert len(everywhere["items"]) > len(names)

    talk(space, work)


def test_a_collection_is_deleted_by_its_labels(space: Space) -> None:
    async def work(client: Client) -> None:
        maps = await client.resource("cm")
        for name in ("a", "b"):
            value = config_map(name)
            value["metadata"]["labels"] = {"name": name}
            await maps.create(value)
        await maps.delete_collection(labelSelector="name=a")
        left = [item["metadata"]["name"] for item in (await maps.list())["items"]]
        assert "a" not in left
        assert "b" in left

    talk(space, work)


def test_subresources(space: Space) -> None:
    async def work(client: Client) -> None:
        deployments = await client.resource("deployments")
        template = {
            "metadata": {"labels": {"app": "a"}},
            "spec": {"containers": [{"name": "c", "image": "i"}]},
        }
        spec = {"replicas": 0, "selector": {"matchLabels": {"app": "a"}}, "template": template}
        await deployments.create(
            {
                "apiVersion": "apps/v1",
                "kind": "Deployment",
                "metadata": {"name": "a"},
                "spec": spec,
            }
        )
        scale = await deployments.get("a", subresource="scale")
        scale["spec"]["replicas"] = 3
        del scale["metadata"]["resourceVersion"]  # the controller moves it
        await deployments.replace(scale, subresource="scale")
        assert (await deployments.get("a"))["spec"]["replicas"] == 3
        patch = {"status": {"observedGeneration": 7}}
        status = await deployments.patch("a", patch, subresource="status")
        assert status["kind"] == "Deployment"
        assert (await deployments.get("a"))["spec"]["replicas"] == 3

    talk(space, work)


@pytest.mark.both_dialects
def test_a_subresource_that_is_created(space: Space) -> None:
    async def work(client: Client) -> None:
        accounts = await client.resource("sa")
        account = await accounts.create({"metadata": {"name": "robot"}})
        group = (await client.discovery.dialect()).group_name("authentication.@")
        wanted = {"apiVersion": f"{group}/v1", "kind": "TokenRequest", "spec": {"audiences": ["x"]}}
        name = account["metadata"]["name"]
        answer = await accounts.create(wanted, name=name, subresource="token")
        assert answer["status"]["token"].count(".") == 2

    talk(space, work)


def test_refusals_have_classes_of_their_own(space: Space) -> None:
    async def work(client: Client) -> None:
        maps = await client.resource("configmaps")
        stored = await maps.create(config_map("a"))
        with pytest.raises(AlreadyExists):
            await maps.create(config_map("a"))
        with pytest.raises(Invalid) as refused:
            await maps.create(config_map("Not A Name"))
        assert refused.value.code == 422
        assert [cause["field"] for cause in refused.value.causes] == ["metadata.name"]
        with pytest.raises(BadRequest):
            await maps.list(labelSelector="a=b=c=(")
        stored["metadata"]["resourceVersion"] = "1"
        with pytest.raises(Conflict):
            await maps.replace(stored)

    talk(space, work)


def test_a_user_without_rights(space: Space) -> None:
    from fairlead.client import Impersonation

    async def work(client: Client) -> None:
        other = client.access._replace(impersonation=Impersonation("jane", ("a", "b")))
        async with Client(other) as jane:
            maps = await jane.resource("configmaps")
            with pytest.raises(Forbidden) as refused:
                await maps.list()
            assert 'User "jane" cannot list resource "configmaps"' in refused.value.message

    talk(space, work)


@pytest.mark.parametrize("name", ["", ".", "..", "../pods/x"])
def test_a_name_that_would_lead_elsewhere_is_never_sent(space: Space, name: str) -> None:
    async def work(client: Client) -> None:
        maps = await client.resource("configmaps")
        await maps.create(config_map("kept"))
        for item in (
            maps.delete(name),
            maps.get(name),
            maps.patch(name, {}),
            maps.replace(config_map(name)),
            maps.apply(config_map(name), manager="m"),
        ):
            with pytest.raises(ValueError, match="resource name"):
                await item
        assert (await maps.get("kept"))["metadata"]["name"] == "kept"

    talk(space, work)
