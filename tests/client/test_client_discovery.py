"""Finding a resource by a name that a user types."""

from __future__ import annotations

import asyncio
from contextlib import AbstractAsyncContextManager
from typing import Any
from unittest import mock

import pytest
from support.namespaces import Space, random_word
from support.talking import talk

from fairlead.base.dialect import Dialect
from fairlead.client import ApiError, Client, Resource, ResourceType, UnknownKind, UnknownResource
from fairlead.client.discovery import Discovery
from fairlead.client.session import Answer, Request, Session

WORDS = {
    "pods": ("", "pods"),
    "po": ("", "pods"),
    "Pod": ("", "pods"),
    "pod": ("", "pods"),
    "deploy": ("apps", "deployments"),
    "deployments.apps": ("apps", "deployments"),
    "deployments.v1.apps": ("apps", "deployments"),
    "cj": ("batch", "cronjobs"),
    "events": ("", "events"),
    "endpoints": ("", "endpoints"),
}


@pytest.mark.parametrize("word", WORDS)
def test_words_of_people(space: Space, word: str) -> None:
    async def work(client: Client) -> tuple[str, str]:
        result = (await client.resource(word)).type
        return result.group, result.name

    assert talk(space, work) == WORDS[word]


@pytest.mark.both_dialects
def test_a_group_can_be_named(space: Space) -> None:
    async def work(client: Client) -> None:
        group = (await client.discovery.dialect()).group_name("events.@")
        assert (await client.resource(f"events.{group}")).type.group == group
        assert (await client.resource("events.events")).type.group == group

    talk(space, work)


@pytest.mark.parametrize("word", ["", "nothings", "pods.nowhere", "pods.v2.apps", "."])
def test_nothing_is_meant(space: Space, word: str) -> None:
    async def work(client: Client) -> None:
        await client.resource(word)

    with pytest.raises(UnknownResource, match="does not serve"):
        talk(space, work)


def test_the_resource_of_an_object(space: Space) -> None:
    async def work(client: Client) -> None:
        result = await client.resource_of({"apiVersion": "apps/v1", "kind": "StatefulSet"})
        assert result.type.qualified == "statefulsets.apps"
        assert result.type.namespaced
        assert "scale" in result.type.subresources
        with pytest.raises(UnknownKind, match='does not serve the kind "Boat" in "apps/v1"'):
            await client.resource_of({"apiVersion": "apps/v1", "kind": "Boat"})

    talk(space, work)


@pytest.mark.both_dialects
def test_the_dialect_of_a_server(space: Space) -> None:
    async def work(client: Client) -> Dialect:
        return await client.discovery.dialect()

    assert talk(space, work) is space.server.dialect


def test_what_is_new_is_found_once_the_old_is_forgotten(space: Space) -> None:
    group = f"{random_word()}.example.org"

    async def work(client: Client) -> None:
        with pytest.raises(UnknownResource):
            await client.resource(f"boats.{group}")
        await _define(client, group)
        assert (await _await_resource(client, f"boats.{group}")).type.kind == "Boat"
        await (await client.resource("crd")).delete(f"boats.{group}")

    talk(space, work)


async def _await_resource(client: Client, word: str) -> Resource:
    """A resource that is about to be served."""
    while True:
        client.discovery.forget()
        try:
            return await client.resource(word)
        except UnknownResource:
            await asyncio.sleep(0.01)


async def _define(client: Client, group: str) -> None:
    definitions = await client.resource("crd")
    schema = {"openAPIV3Schema": {"type": "object"}}
    version = {"name": "v1", "served": True, "storage": True, "schema": schema}
    await definitions.create(
        {
            "apiVersion": definitions.type.api_version,
            "kind": "CustomResourceDefinition",
            "metadata": {"name": f"boats.{group}"},
            "spec": {
                "group": group,
                "scope": "Namespaced",
                "names": {"plural": "boats", "kind": "Boat"},
                "versions": [version],
            },
        }
    )


async def _all_resources(client: Client) -> tuple[list[ResourceType], list[str]]:
    """All resources, and the paths of the requests that it took to find them."""
    paths = []
    opened = client.session.open

    def count(request: Request) -> AbstractAsyncContextManager[Answer]:
        paths.append(request.path)
        return opened(request)

    with mock.patch.object(client.session, "open", count):
        return await client.discovery.all_resources(preferred_only=False), paths


def test_two_requests_find_all_resources_in_release_1_36(space_1_36: Space) -> None:
    resources, paths = talk(space_1_36, _all_resources)
    assert sorted(paths) == ["/api/v1", "/apis"]
    deployments = next(each for each in resources if each.qualified == "deployments.apps")
    assert deployments.namespaced
    assert deployments.singular == "deployment"
    assert deployments.short_names == ("deploy",)
    assert set(deployments.subresources) == {"scale", "status"}
    assert "deletecollection" in deployments.verbs


def test_aggregated_discovery_finds_the_same_resources(space_1_36: Space) -> None:
    async def work(client: Client) -> None:
        aggregated, _ = await _all_resources(client)
        client.discovery.forget()
        with mock.patch("fairlead.client.discovery._ACCEPT", "application/json"):
            assert (await _all_resources(client))[0] == aggregated

    talk(space_1_36, work)


def test_resources_that_may_be_outdated_are_requested() -> None:
    session = mock.create_autospec(Session)
    answers: dict[str, Any] = {
        "/apis": {
            "kind": "APIGroupDiscoveryList",
            "items": [
                {
                    "metadata": {"name": "example.com"},
                    "versions": [{"version": "v1", "freshness": "Stale"}],
                }
            ],
        }
    }

    async def answer(request: Request) -> Any:
        if request.path not in answers:
            raise ApiError({"code": 503})
        return answers[request.path]

    session.object.side_effect = answer

    async def work() -> None:
        discovery = Discovery(session)
        assert [group.name for group in await discovery.groups()] == ["", "example.com"]
        assert await discovery.resources("example.com", "v1") == ()
        assert session.object.call_count == 2

    asyncio.run(work())
