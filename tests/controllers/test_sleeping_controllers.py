"""Lazy controllers are created with their first object."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from support.api import CONFIG_MAPS, on_api, system
from support.waiting import comes_true

from fairlead.controllers.catalogue import build_controllers, parse_controllers
from fairlead.controllers.dependencies import Dependencies
from fairlead.controllers.framework import Controllers, Keys, LazyController
from fairlead.operations.api import Api
from fairlead.process.flags.serve import add_serve_flags
from fairlead.storage.version import Change

SECRETS = "core/v1/secrets"
NAME = "sleeper"


class Sleeper:
    """Keeps what it is told of and what it works on."""

    workers = 2

    def __init__(self) -> None:
        self.changes: list[str] = []
        self.worked: list[str] = []

    def follows(self) -> Mapping[str, Keys]:
        return {CONFIG_MAPS: self._keys, SECRETS: self._keys}

    def _keys(self, change: Change) -> Iterable[str]:
        self.changes.append(change.key)
        return (change.key,)

    async def sync(self, key: str) -> None:
        self.worked.append(key)


class Bed:
    """A controller that is woken by ConfigMaps."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self.made: list[Sleeper] = []
        self.asleep = LazyController(NAME, (CONFIG_MAPS, "core/v1/unknown"), self._wake)

    def _wake(self) -> Sleeper:
        self.made.append(Sleeper())
        return self.made[-1]

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        task = asyncio.create_task(Controllers(self._api, [self.asleep]).run())
        try:
            await self.settled()
            yield
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    async def settled(self) -> None:
        """Until the queue has nothing to do for some rounds of the loop."""
        quiet = 0
        while quiet < 20:
            await asyncio.sleep(0)
            work = self._api.work.get(NAME)
            quiet = 0 if work is None or len(work) + work.working else quiet + 1


def _on_bed(directory: Path, work: Callable[[Api, Bed], Awaitable[None]]) -> None:
    async def run(api: Api) -> None:
        await work(api, Bed(api))

    on_api(directory, run)


async def _put(api: Api, resource: str, name: str) -> None:
    await system(api).create(resource, {"metadata": {"name": name, "namespace": "work"}})


def test_lazy_controller_sleeps_through_changes_of_other_resources(tmp_path: Path) -> None:
    async def work(api: Api, bed: Bed) -> None:
        async with bed.running():
            await _put(api, SECRETS, "a")
            await bed.settled()
            assert not bed.made

    _on_bed(tmp_path, work)


def test_lazy_controller_is_built_at_the_first_object_and_hears_of_all(tmp_path: Path) -> None:
    async def work(api: Api, bed: Bed) -> None:
        async with bed.running():
            await _put(api, SECRETS, "before")
            await _put(api, CONFIG_MAPS, "a")
            await comes_true(lambda: bool(bed.made and bed.made[0].worked), "it works")
            await bed.settled()
            (sleeper,) = bed.made
            assert sorted(sleeper.worked) == ["work/a", "work/before"]
            await _put(api, SECRETS, "after")
            await comes_true(lambda: "work/after" in sleeper.worked, "it goes on to work")
            assert len(sleeper.changes) == len(bed.made) * 3

    _on_bed(tmp_path, work)


def test_lazy_controller_is_built_at_the_start_where_there_are_objects(tmp_path: Path) -> None:
    async def work(api: Api, bed: Bed) -> None:
        await _put(api, CONFIG_MAPS, "a")
        async with bed.running():
            assert [item.worked for item in bed.made] == [["work/a"]]

    _on_bed(tmp_path, work)


def test_wait_for_idle_includes_a_lazy_controller_that_wakes_up(tmp_path: Path) -> None:
    async def work(api: Api, bed: Bed) -> None:
        async with bed.running():
            queue = api.work[NAME]
            busy = []
            api.store.follow(
                api.collection(api.resources.named(CONFIG_MAPS)),
                lambda change: busy.append(len(queue) + queue.working),
                essential=False,
            )
            await _put(api, CONFIG_MAPS, "a")
            await bed.settled()
            assert busy == [1]
            assert bed.made[0].worked == ["work/a"]

    _on_bed(tmp_path, work)


def test_lazy_controller_is_not_built_while_it_is_paused(tmp_path: Path) -> None:
    async def work(api: Api, bed: Bed) -> None:
        async with bed.running():
            queue = api.work[NAME]
            queue.pause()
            await _put(api, CONFIG_MAPS, "a")
            for _ in range(20):
                await asyncio.sleep(0)
            assert not bed.made
            queue.resume()
            await comes_true(lambda: bool(bed.made), "it is awake")

    _on_bed(tmp_path, work)


def test_lazy_controllers_follow_every_resource_that_wakes_them(tmp_path: Path) -> None:
    parser = argparse.ArgumentParser()
    add_serve_flags(parser)
    options = parser.parse_args([])

    async def work(api: Api) -> None:
        dependencies = Dependencies(api, options, tmp_path, tmp_path, tmp_path, "localhost", False)
        running = parse_controllers("*").running - {
            "csrsigning",
            "root-ca-cert-publisher",
            "serviceaccount-token",
        }
        asleep = [
            item
            for item in build_controllers(dependencies, running)
            if isinstance(item, LazyController)
        ]
        assert {"deployment", "job", "pod-garbage-collector"} < {item.name for item in asleep}
        for item in asleep:
            assert set(item.woken_by) <= item.wake().follows().keys()
        dependencies.close()

    on_api(tmp_path / "data", work)
