"""Companions: committed together with a write, or not at all."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from support.backends import MemoryBackend, thing

from fairlead.storage.backend import ConditionFailed, Conflict, Precondition, Write
from fairlead.storage.collection import Collection
from fairlead.storage.sqlite.log import EmbeddedLog
from fairlead.storage.store import Store
from fairlead.storage.writes import Companion

Test = Callable[[Store, Collection, Collection], Awaitable[None]]


def run(test: Test) -> None:
    async def main() -> None:
        store = Store(EmbeddedLog(MemoryBackend()))
        await store.open()
        try:
            await test(store, store.collection("core/things"), store.collection("core/sums"))
        finally:
            await store.close()

    asyncio.run(main())


def test_a_companion_is_committed_right_behind_the_write() -> None:
    async def test(store: Store, collection: Collection, sums: Collection) -> None:
        total = await store.put(sums, "n", thing(0), None)
        companion = Companion(sums, thing(1), total)
        created = await store.put(collection, "a", thing(), None, (), [companion])
        sum_ = sums.get("n")
        assert sum_ is companion.version
        assert sum_ is not None
        assert sum_.revision == created.revision + 1

    run(test)


def test_companion_of_a_refused_write_is_refused_too() -> None:
    async def test(store: Store, collection: Collection, sums: Collection) -> None:
        total = await store.put(sums, "n", thing(0), None)
        await store.put(collection, "a", thing(), None)
        with pytest.raises(Conflict):
            await store.put(collection, "a", thing(), None, (), [Companion(sums, thing(1), total)])
        assert sums.get("n") is total

    run(test)


def test_a_companion_that_moved_refuses_the_write() -> None:
    async def test(store: Store, collection: Collection, sums: Collection) -> None:
        total = await store.put(sums, "n", thing(0), None)
        await store.put(sums, "n", thing(1), total)
        with pytest.raises(ConditionFailed):
            await store.put(collection, "a", thing(), None, (), [Companion(sums, thing(2), total)])
        assert collection.get("a") is None

    run(test)


def test_companions_of_many_writes_build_on_each_other_in_one_commit() -> None:
    async def test(store: Store, collection: Collection, sums: Collection) -> None:
        await store.put(sums, "n", thing(0), None)

        async def add(number: int) -> None:
            newest = sums.latest("n")
            assert newest is not None
            unchanged = Precondition("core/sums", "n", newest.revision)
            more = Companion(sums, thing(number), newest)
            await store.put(collection, f"k{number}", thing(), None, [unchanged], [more])

        await asyncio.gather(*(add(number) for number in range(1, 51)))
        assert len(collection.current("")) == 50
        assert [change.revision for change in sums.events_after(1)] == list(range(3, 102, 2))

    run(test)


def test_group_of_writes_may_begin_with_a_deletion() -> None:
    async def test(store: Store, collection: Collection, sums: Collection) -> None:
        old = await store.put(collection, "a", thing(), None)
        deletion = Write("core/things", "a", "v1", None, old.revision)
        await store.append([deletion, Write("core/things", "b", "v1", b"{}", 0)])
        assert collection.get("a") is None
        assert collection.get("b") is not None

    run(test)


@pytest.mark.parametrize("stale", [0, 1, 2])
def test_group_of_writes_is_written_as_a_whole_or_not_at_all(stale: int) -> None:
    async def test(store: Store, collection: Collection, sums: Collection) -> None:
        group = [Write("core/things", key, "v1", b"{}", 0) for key in "abc"]
        group[stale].expected = 7
        with pytest.raises((Conflict, ConditionFailed)):
            await store.append(group)
        assert collection.current("") == []
        assert store.revision == 0
        group = [Write("core/things", key, "v1", b"{}", 0) for key in "abc"]
        assert await store.append(group) == [1, 2, 3]

    run(test)


def test_group_of_writes_waits_for_pending_writes_of_its_keys() -> None:
    async def test(store: Store, collection: Collection, sums: Collection) -> None:
        first = store.put(collection, "a", thing(), None)
        await asyncio.sleep(0)
        with pytest.raises(Conflict):
            await store.append([Write("core/things", "a", "v1", b"{}", 0)])
        created = await first
        assert collection.get("a") is created

    run(test)


@pytest.mark.parametrize("has_companion", [False, True])
def test_write_whose_precondition_is_a_refused_write_is_refused_too(has_companion: bool) -> None:
    async def test(store: Store, collection: Collection, sums: Collection) -> None:
        total = await store.put(sums, "n", thing(0), None)
        stale = Write("core/things", "x", "v1", b"{}", 7)
        doomed = asyncio.create_task(store.append([stale]))
        await asyncio.sleep(0)
        newest = collection.latest("x")
        assert newest is not None
        condition = Precondition("core/things", "x", newest.revision)
        alongside = [Companion(sums, thing(1), total)] if has_companion else []
        with pytest.raises(ConditionFailed):
            await store.put(collection, "a", thing(), None, [condition], alongside)
        with pytest.raises(Conflict):
            await doomed
        assert collection.get("a") is None
        assert sums.get("n") is total

    run(test)
