"""Writes to an object that changes all the time: they yield to the event loop, and end in a
conflict."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from support.api import CONFIG_MAPS, OPTIONS, config_map, on_api, operation, system
from support.compiled import plain_only
from support.writes import apply, create, update

from fairlead.admission.plugin import Attributes, PluginBase
from fairlead.base.errors import StatusError
from fairlead.fields.values import copied
from fairlead.operations import commits
from fairlead.operations.api import Api
from fairlead.operations.binding import bind
from fairlead.operations.delete import delete
from fairlead.operations.operation import Operation
from fairlead.operations.options import DeleteOptions, WriteOptions
from fairlead.storage.backend import Precondition
from fairlead.storage.collection import Collection
from fairlead.storage.version import Version

ATTEMPTS = 7


class Restless(PluginBase):
    """Changes the object, or the precondition of its create, during every admission."""

    name = "Restless"

    def __init__(self) -> None:
        self.calls = 0
        self.api: Api | None = None

    async def validate(self, attributes: Attributes) -> None:
        if self.api is None:
            return
        self.calls += 1
        never = Precondition("core/secrets", "work/none", 1)
        attributes.context.requires.append(never)
        collection = self.api.collection(attributes.resource)
        current = collection.latest(f"work/{attributes.name}")
        if current is not None:
            value = current.object()
            value["metadata"].pop("resourceVersion")
            value["metadata"]["annotations"] = {"moved": str(self.calls)}
            await self.api.store.put(collection, current.key, value, current)


async def _create(api: Api) -> None:
    await create(api, operation(api, "create"), config_map("new"), OPTIONS)


async def _update(api: Api) -> None:
    await update(api, operation(api, "update", "a"), lambda: config_map("a", x="2"), OPTIONS)


async def _apply(api: Api) -> None:
    config = {"kind": "ConfigMap", "apiVersion": "v1", **config_map("a", x="2")}
    await apply(api, operation(api, "patch", "a"), config, OPTIONS)


async def _delete(api: Api) -> None:
    await delete(api, operation(api, "delete", "a"), DeleteOptions())


@pytest.mark.parametrize("write", [_create, _update, _apply, _delete])
def test_retried_write_to_an_object_that_keeps_changing_ends_in_a_conflict(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write: Callable[[Api], Awaitable[None]]
) -> None:
    for module in ("commits", "retries"):
        monkeypatch.setattr(f"fairlead.operations.{module}.MAX_ATTEMPTS", ATTEMPTS)
    restless = Restless()

    async def work(api: Api) -> None:
        await system(api).create(CONFIG_MAPS, config_map("a") | {"metadata": _named("a")})
        restless.api = api
        with pytest.raises(StatusError) as refused:
            await asyncio.wait_for(write(api), 30)
        assert (refused.value.code, refused.value.reason) == (409, "Conflict")
        assert "has been modified; please apply your changes" in refused.value.message
        assert ATTEMPTS <= restless.calls <= ATTEMPTS + 1
        restless.api = None
        await write(api)

    on_api(tmp_path, work, [restless])


def _named(name: str) -> dict[str, str]:
    return {"name": name, "namespace": "work"}


@plain_only
def test_a_binding_that_always_comes_too_late_is_a_conflict_and_lets_others_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def work(api: Api) -> None:
        pods = api.resources.named("core/v1/pods")
        spec = {"containers": [{"name": "c", "image": "i", "resources": {}}]}
        pod = {"metadata": _named("p"), "spec": spec, "status": {}}
        await system(api).create("core/v1/pods", pod)
        binding = {"metadata": _named("p"), "target": {"kind": "Node", "name": "n"}}
        tried = Operation(
            operation(api, "create").user, "create", pods.subresources["binding"], "work", "p"
        )
        turns = 0

        async def others() -> None:
            nonlocal turns
            while True:
                turns += 1
                await asyncio.sleep(0)

        version = api.collection(pods).latest("work/p")
        assert version is not None
        stale = version.with_revision(version.revision - 1)
        monkeypatch.setattr(Collection, "latest", lambda *place: stale)
        running = asyncio.create_task(others())
        with pytest.raises(StatusError) as refused:
            await bind(api, tried, binding, OPTIONS)
        running.cancel()
        assert (refused.value.code, refused.value.reason) == (409, "Conflict")
        assert turns >= commits.MAX_ATTEMPTS
        monkeypatch.undo()
        await bind(api, tried, binding, OPTIONS)

    on_api(tmp_path, work)


class Slow(PluginBase):
    """Yields to the event loop before it admits."""

    name = "Slow"

    async def validate(self, attributes: Attributes) -> None:
        for _ in range(5):
            await asyncio.sleep(0)


def test_concurrent_applies_of_an_absent_object_create_and_then_change(
    tmp_path: Path,
) -> None:
    async def work(api: Api) -> None:
        def applying(manager: str) -> Awaitable[Version]:
            config = {
                "kind": "ConfigMap",
                "apiVersion": "v1",
                **config_map("new", **{manager: "1"}),
            }
            options = WriteOptions(False, manager, "Strict")
            operations.append(operation(api, "patch", "new"))
            return apply(api, operations[-1], config, options)

        operations: list[Operation] = []
        await asyncio.gather(applying("one"), applying("other"))
        assert sorted(operation.creates for operation in operations) == [False, True]
        entry = api.lookup(CONFIG_MAPS, "work", "new")
        assert entry is not None
        assert entry["data"] == {"one": "1", "other": "1"}

    on_api(tmp_path, work, [Slow()])


def test_concurrent_puts_of_an_absent_object_create_and_then_replace(
    tmp_path: Path,
) -> None:
    async def work(api: Api) -> None:
        def putting(holder: str) -> Awaitable[Version]:
            value = {"metadata": {"name": "e", "labels": {"holder": holder}}}
            wanted = operation(api, "update", "e", "core/v1/endpoints")
            operations.append(wanted)
            return update(api, wanted, lambda: copied(value), OPTIONS)

        operations: list[Operation] = []
        done = await asyncio.gather(putting("one"), putting("other"))
        assert sorted(operation.creates for operation in operations) == [False, True]
        entry = api.lookup("core/v1/endpoints", "work", "e")
        last = next(v for v, made in zip(done, operations, strict=True) if not made.creates)
        assert entry == last.object()

    on_api(tmp_path, work, [Slow()])


@pytest.mark.parametrize("write", [_create, _update, _apply])
def test_write_with_a_moved_precondition_is_admitted_again(
    tmp_path: Path, write: Callable[[Api], Awaitable[None]]
) -> None:
    class Mistaken(PluginBase):
        """Adds a false precondition once."""

        name = "Mistaken"
        calls = 0

        async def validate(self, attributes: Attributes) -> None:
            if attributes.resource.name == "configmaps":
                self.calls += 1
                if self.calls == 2:
                    wrong = Precondition("core/secrets", "work/none", 1)
                    attributes.context.requires.append(wrong)

    mistaken = Mistaken()

    async def work(api: Api) -> None:
        await system(api).create(CONFIG_MAPS, {"metadata": _named("a")})
        await write(api)
        assert mistaken.calls == 3

    on_api(tmp_path, work, [mistaken])
