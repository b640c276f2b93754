"""The index of selecting objects and selected pods, at any size."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from support.backends import MemoryBackend

from fairlead.controllers import pod_members
from fairlead.controllers.pod_members import SelectedPods
from fairlead.storage.sqlite.log import EmbeddedLog
from fairlead.storage.store import Store
from fairlead.storage.version import Change

Object = dict[str, Any]
Put = Callable[..., Awaitable[None]]


def _name(pod: Object) -> str:
    name: str = pod["metadata"]["name"]
    return name


class World:
    """Pods and budgets in a store, and what is known of them."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._pods = store.collection("core/pods")
        self._budgets = store.collection("policy/budgets")
        self.members = SelectedPods(self._pods, lambda item: item.get("selector"), _name)
        self.keys: list[str] = []
        store.follow(self._budgets, self._budget_changed, essential=False)
        store.follow(self._pods, self._pod_changed, essential=False)

    def _budget_changed(self, change: Change) -> None:
        self.members.owner_changed(change)

    def _pod_changed(self, change: Change) -> None:
        self.keys += filter(None, self.members.pod_changed(change))

    async def pod(self, name: str, **labels: str) -> None:
        value = {"metadata": {"name": name, "namespace": "work", "labels": labels}}
        over = self._pods.latest(f"work/{name}")
        await self._store.put(self._pods, f"work/{name}", value, over)

    async def end(self, name: str) -> None:
        over = self._pods.latest(f"work/{name}")
        assert over is not None
        await self._store.delete(self._pods, f"work/{name}", over)

    async def budget(self, name: str, selector: Object) -> None:
        value = {"metadata": {"name": name, "namespace": "work"}, "selector": selector}
        over = self._budgets.latest(f"work/{name}")
        await self._store.put(self._budgets, f"work/{name}", value, over)
        await asyncio.sleep(0)

    async def of(self, name: str) -> list[str]:
        await asyncio.sleep(0)
        return await self.members.of(f"work/{name}")


def _in_world(work: Callable[[World], Awaitable[None]]) -> None:
    async def main() -> None:
        store = Store(EmbeddedLog(MemoryBackend()))
        await store.open()
        try:
            await work(World(store))
        finally:
            await store.close()

    asyncio.run(asyncio.wait_for(main(), 20))


A = {"matchLabels": {"app": "a"}}


@pytest.mark.parametrize("maximum", [100_000, 2])
def test_selected_pods_follow_labels_and_selectors(
    monkeypatch: pytest.MonkeyPatch, maximum: int
) -> None:
    """Those that there is no room for are looked for when they are asked for."""
    monkeypatch.setattr(pod_members, "_MAX_MEMBERS", maximum)

    async def work(world: World) -> None:
        for name in "abc":
            await world.pod(name, app="a")
        await world.budget("one", A)
        await world.budget("two", {"matchExpressions": [{"key": "app", "operator": "Exists"}]})
        assert await world.of("one") == await world.of("two") == ["a", "b", "c"]
        await world.pod("d", app="a")
        await world.pod("b", app="b")
        await world.end("a")
        assert await world.of("one") == ["c", "d"]
        assert await world.of("two") == ["b", "c", "d"]
        await world.budget("one", {"matchLabels": {"app": "b"}})
        assert await world.of("one") == ["b"]

    _in_world(work)


def test_selected_pods_miss_no_change_during_their_first_search() -> None:
    async def work(world: World) -> None:
        for number in range(50):
            await world.pod(f"p{number:02}", app="a")
        await world.budget("one", A)
        slow = [asyncio.create_task(world.of("one")) for _ in range(3)]
        await world.pod("p50", app="a")
        await world.end("p00")
        await asyncio.gather(*slow)
        assert await world.of("one") == [f"p{number:02}" for number in range(1, 51)]

    _in_world(work)


def test_selected_pods_tell_only_owners_whose_pods_change() -> None:
    async def work(world: World) -> None:
        await world.budget("one", A)
        await world.budget("two", {"matchLabels": {"app": "b"}})
        await world.pod("p", app="a")
        await world.pod("p", app="a", other="x")
        await world.pod("p", app="b")
        await world.end("p")
        await asyncio.sleep(0)
        assert world.keys[0] == "work/one"
        assert sorted(world.keys[1:3]) == ["work/one", "work/two"]
        assert world.keys[3:] == ["work/two"]

    _in_world(work)
