"""Random objects of the type model never get a 500, and accepted ones are returned as stored."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from support.generating import objects_of
from support.namespaces import Space, random_word
from support.process import ServerProcess

from fairlead.base.dialect import KUBERNETES
from fairlead.codec.types.builtin import BuiltinTypes
from fairlead.resources.registry import Resource, Resources

RESOURCES = Resources(KUBERNETES, BuiltinTypes(KUBERNETES))
CREATABLE = [
    resource
    for version in RESOURCES.group_versions()
    for resource in version.resources.values()
    if "create" in resource.verbs
]


def collection(space: Space, resource: Resource) -> str:
    base = f"/apis/{resource.api_version}" if resource.group else f"/api/{resource.api_version}"
    if resource.namespaced:
        return f"{base}/namespaces/{space.name}/{resource.name}"
    return f"{base}/{resource.name}"


@pytest.fixture(scope="module")
def quiet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Space]:
    """A namespace on a server without controllers that change the objects of clients."""
    directory = tmp_path_factory.mktemp("quiet")
    running = ServerProcess(directory, "kubernetes", ("--controllers=-*",)).start()
    space = Space(running, running.client())
    space.ready_for_pods()
    yield space
    running.stop()


@pytest.mark.parametrize("resource", CREATABLE, ids=lambda resource: resource.key)
def test_no_object_is_answered_with_a_500(quiet: Space, resource: Resource) -> None:
    path = collection(quiet, resource)

    @settings(suppress_health_check=list(HealthCheck))
    @given(objects_of(resource.struct, 7))
    def check(value: dict[str, Any]) -> None:
        value.pop("kind", None)
        value.pop("apiVersion", None)
        metadata = value.get("metadata") or {}
        value["metadata"] = {"name": random_word(), "labels": metadata.get("labels")}
        answer = quiet.client.post(path, value, dryRun="All")
        assert answer.status < 500, (value, answer.text)
        if answer.status == 201 and "get" in resource.verbs:
            comes_back(quiet, path, answer.body)

    check()


def comes_back(space: Space, path: str, accepted: dict[str, Any]) -> None:
    """Write the result of a dry run; writing back what is read then is no change."""
    for name in ("uid", "creationTimestamp", "managedFields", "generation"):
        accepted["metadata"].pop(name, None)
    answer = space.client.post(path, accepted)
    assert answer.status < 500, (accepted, answer.text)
    if answer.status != 201:
        return
    item = f"{path}/{answer.body['metadata']['name']}"
    read = space.client.get(item).body
    assert read == answer.body
    again = space.client.put(item, read)
    assert again.status < 500, (read, again.text)
    if again.status == 200:
        assert again.body["metadata"]["resourceVersion"] == read["metadata"]["resourceVersion"]
    space.client.delete(item)
