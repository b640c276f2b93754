"""The controller of ReplicaSets on its own API, one sync at a time."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from support.api import on_api, system

from fairlead.admission.plugin import DELETE, Attributes, Plugin, PluginBase
from fairlead.base.errors import StatusError, forbidden
from fairlead.controllers.events import EventWriter, Recorder
from fairlead.controllers.workloads.index import Owned
from fairlead.controllers.workloads.pods import PODS, read_pod
from fairlead.controllers.workloads.replicas import REPLICA_SETS, Replicas
from fairlead.operations.api import Api
from fairlead.operations.client import Client

Object = dict[str, Any]


class NoPodIsDeleted(PluginBase):
    async def validate(self, attributes: Attributes) -> None:
        if attributes.operation == DELETE and attributes.resource.key == PODS:
            raise forbidden(attributes.resource.ref(attributes.name), "it is needed")


def replica_set(replicas: int) -> Object:
    labels = {"app": "a"}
    template = {
        "metadata": {"labels": labels},
        "spec": {"containers": [{"name": "c", "image": "i", "resources": {}}]},
    }
    spec = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template}
    return {"metadata": {"name": "r", "namespace": "work"}, "spec": spec, "status": {}}


def with_controller(
    directory: Path,
    work: Callable[[Replicas, Client], Awaitable[None]],
    plugins: Sequence[Plugin] = (),
) -> None:
    async def run(api: Api) -> None:
        objects = system(api)
        events = Recorder(EventWriter(), objects, "test")
        pods = Owned(objects.collection(PODS), read_pod)
        await work(Replicas(REPLICA_SETS, api, objects, events, pods), objects)

    on_api(directory, run, plugins)


async def resize(objects: Client, replicas: int) -> None:
    await objects.change(
        REPLICA_SETS,
        "work",
        "r",
        lambda old: {**old, "spec": {**old["spec"], "replicas": replicas}},
    )


def count(objects: Client) -> int:
    return len(objects.collection(PODS))


def test_no_more_than_500_pods_are_made_or_removed_in_one_go(tmp_path: Path) -> None:
    async def work(controller: Replicas, objects: Client) -> None:
        await objects.create(REPLICA_SETS, replica_set(600))
        for expected in (500, 600, 600):
            await controller.sync("work/r")
            assert count(objects) == expected
        await resize(objects, 0)
        for expected in (100, 0):
            await controller.sync("work/r")
            assert count(objects) == expected

    with_controller(tmp_path, work)


def test_pods_that_cannot_be_deleted_are_told_in_a_condition(tmp_path: Path) -> None:
    async def work(controller: Replicas, objects: Client) -> None:
        await objects.create(REPLICA_SETS, replica_set(1))
        await controller.sync("work/r")
        await resize(objects, 0)
        with pytest.raises(StatusError, match="it is needed"):
            await controller.sync("work/r")
        kept_set = objects.find(REPLICA_SETS, "work", "r")
        assert kept_set is not None
        (condition,) = kept_set["status"]["conditions"]
        assert (condition["type"], condition["status"], condition["reason"]) == (
            "ReplicaFailure",
            "True",
            "FailedDelete",
        )
        assert "it is needed" in condition["message"]
        await resize(objects, 1)
        await controller.sync("work/r")
        kept_set = objects.find(REPLICA_SETS, "work", "r")
        assert kept_set is not None
        assert "conditions" not in kept_set["status"]

    with_controller(tmp_path, work, [NoPodIsDeleted()])


def test_an_owner_that_is_gone_gives_no_work(tmp_path: Path) -> None:
    async def work(controller: Replicas, objects: Client) -> None:
        assert await controller.sync("work/gone") is None

    with_controller(tmp_path, work)
