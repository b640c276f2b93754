"""Stores that share a source: each follows the writes of all."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from support.backends import thing
from support.sources import MemorySource, Shared
from support.waiting import comes_true

from fairlead.storage.audience import Watcher
from fairlead.storage.backend import (
    Compacted,
    ConditionFailed,
    Conflict,
    Precondition,
    StorageError,
    Write,
)
from fairlead.storage.collection import Collection
from fairlead.storage.followed import FollowedLog
from fairlead.storage.reads import read_page
from fairlead.storage.selection import EVERYTHING
from fairlead.storage.store import Store
from fairlead.storage.version import Change, encode
from fairlead.storage.writes import Companion

THINGS = "core/things"


class Side:
    """One of two stores, and its collection."""

    def __init__(self, shared: Shared) -> None:
        self.source = MemorySource(shared)
        self.store = Store(FollowedLog(self.source))

    @property
    def collection(self) -> Collection:
        return self.store.collection(THINGS)

    async def put(self, key: str, number: int) -> int:
        over = self.collection.latest(key)
        return (await self.store.put(self.collection, key, thing(number), over)).revision

    def names(self) -> list[str]:
        return [version.key for version in self.collection.current("")]


Test = Callable[[Shared, Side, Side], Awaitable[None]]


def run(test: Test) -> None:
    async def main() -> None:
        shared = Shared()
        sides = Side(shared), Side(shared)
        for side in sides:
            await side.store.open()
        try:
            await asyncio.wait_for(test(shared, *sides), 20)
        finally:
            shared.back()
            shared.moving.set()
            for side in sides:
                await side.store.close()

    asyncio.run(main())


def test_followed_log_has_the_writes_of_another_store_after_catching_up() -> None:
    async def test(shared: Shared, side: Side, other: Side) -> None:
        revision = await side.put("a", 1)
        await other.store.catch_up()
        assert other.collection.heads["a"].revision == revision
        assert other.collection.heads["a"].object()["data"] == {"n": "1"}
        assert b'"resourceVersion":"%d"' % revision in (other.collection.heads["a"].body or b"")

    run(test)


def test_followed_log_answers_a_write_when_its_own_cache_has_it() -> None:
    async def test(shared: Shared, side: Side, other: Side) -> None:
        shared.moving.clear()
        writing = asyncio.create_task(side.put("a", 1))
        await comes_true(lambda: bool(shared.kept.rows), "so far")
        await asyncio.sleep(0.01)
        assert not writing.done()
        shared.moving.set()
        assert await writing == side.collection.heads["a"].revision

    run(test)


def test_followed_log_does_not_take_an_equal_write_of_another_store_for_its_own() -> None:
    async def test(shared: Shared, side: Side, other: Side) -> None:
        side.source.sending.clear()
        writing = asyncio.create_task(side.put("a", 1))
        first = await other.put("a", 1)
        gone = await other.store.delete(other.collection, "a", other.collection.heads["a"])
        await side.store.catch_up()
        assert not side.names()
        side.source.sending.set()
        revision = await writing
        assert first < gone.revision < revision == side.collection.heads["a"].revision
        messages = [(change.kind, change.revision) for change in side.collection.events_after(0)]
        assert messages == [("ADDED", first), ("DELETED", gone.revision), ("ADDED", revision)]
        page = await read_page(side.collection, "", EVERYTHING, first, 0, None)
        assert [(entry.key, entry.revision) for entry in page.entries] == [("a", first)]

    run(test)


def test_followed_log_keeps_the_version_that_the_writer_made() -> None:
    async def test(shared: Shared, side: Side, other: Side) -> None:
        count = await side.store.put(side.collection, "a", thing(1), None)
        assert side.collection.heads["a"] is count

    run(test)


def test_followed_log_refuses_a_write_over_a_change_of_another_store() -> None:
    async def test(shared: Shared, side: Side, other: Side) -> None:
        await side.put("a", 1)
        await other.store.catch_up()
        stale = other.collection.heads["a"]
        await side.put("a", 2)
        with pytest.raises(Conflict):
            await other.store.put(other.collection, "a", thing(3), stale)
        await other.put("a", 3)  # sees what it was refused for
        await side.store.catch_up()
        assert side.collection.heads["a"].object()["data"] == {"n": "3"}

    run(test)


def test_followed_log_queues_writes_of_one_key() -> None:
    async def test(shared: Shared, side: Side, other: Side) -> None:
        revisions = await asyncio.gather(*(side.put("a", number) for number in range(20)))
        assert revisions == sorted(revisions)
        assert side.collection.heads["a"].object()["data"] == {"n": "19"}
        assert not side.collection.pending

    run(test)


def test_followed_log_refuses_what_builds_on_a_refused_write() -> None:
    async def test(shared: Shared, side: Side, other: Side) -> None:
        await side.put("a", 0)
        await other.store.catch_up()
        shared.moving.clear()
        overtaking = asyncio.create_task(other.put("a", 1))
        await comes_true(lambda: len(shared.kept.rows) == 2, "so far")
        behind = asyncio.gather(side.put("a", 2), side.put("a", 3), return_exceptions=True)
        await asyncio.sleep(0)
        shared.moving.set()
        assert [type(item) for item in await behind] == [Conflict, Conflict]
        await overtaking

    run(test)


def test_followed_log_refuses_what_builds_on_a_refused_companion() -> None:
    """A new object's writer would take a conflict for an object of that name."""

    async def test(shared: Shared, side: Side, other: Side) -> None:
        await side.put("sum", 0)
        await other.store.catch_up()
        shared.moving.clear()
        overtaking = asyncio.create_task(other.put("sum", 1))
        await comes_true(lambda: len(shared.kept.rows) == 2, "so far")

        async def add(key: str) -> None:
            total = side.collection.latest("sum")
            assert total is not None
            condition = Precondition(THINGS, "sum", total.revision)
            companion = Companion(side.collection, thing(5), total)
            await side.store.put(side.collection, key, thing(), None, (condition,), [companion])

        behind = asyncio.gather(*map(add, "abc"), return_exceptions=True)
        await asyncio.sleep(0)
        shared.moving.set()
        assert [type(item) for item in await behind] == [ConditionFailed] * 3
        await overtaking
        await asyncio.gather(*map(add, "abc"))  # they see what they were refused for

    run(test)


def test_followed_log_takes_a_precondition_on_a_pending_write() -> None:
    async def test(shared: Shared, side: Side, other: Side) -> None:
        first = asyncio.create_task(side.put("a", 0))
        await asyncio.sleep(0)
        foreseen = side.collection.latest("a")
        assert foreseen is not None
        assert foreseen.commit is not None
        condition = Precondition(THINGS, "a", foreseen.revision)
        await side.store.put(side.collection, "b", thing(1), None, (condition,))
        await first
        with pytest.raises(ConditionFailed):
            await side.store.put(side.collection, "c", thing(1), None, (condition,))

    run(test)


def test_followed_log_writes_companions_together_with_their_write_or_not_at_all() -> None:
    async def test(shared: Shared, side: Side, other: Side) -> None:
        total = await side.store.put(side.collection, "sum", thing(0), None)
        companion = Companion(side.collection, thing(1), total)
        condition = Precondition(THINGS, "sum", total.revision)
        await side.store.put(side.collection, "a", thing(), None, (condition,), [companion])
        await other.store.catch_up()
        assert other.collection.heads["sum"].object()["data"] == {"n": "1"}
        moved = other.collection.heads["sum"]
        await side.put("sum", 5)
        other.collection.heads["sum"] = moved  # it has not heard of that yet
        stale = Companion(other.collection, thing(2), moved)
        with pytest.raises(ConditionFailed):
            await other.store.put(other.collection, "b", thing(), None, (), [stale])
        assert "b" not in other.names()

    run(test)


def test_followed_log_asks_the_source_once_for_all_that_catch_up_together() -> None:
    async def test(shared: Shared, side: Side, other: Side) -> None:
        await side.put("a", 1)
        before = shared.calls
        await asyncio.gather(*(other.store.catch_up() for _ in range(50)))
        assert shared.calls - before == 1
        await asyncio.gather(*(other.store.catch_up() for _ in range(3)))
        assert other.names() == ["a"]

    run(test)


def test_followed_log_reconnects_and_misses_nothing() -> None:
    async def test(shared: Shared, side: Side, other: Side) -> None:
        seen: list[int] = []
        other.store.follow(
            other.collection, lambda change: seen.append(change.revision), essential=True
        )
        await side.put("a", 1)
        shared.cut()
        with pytest.raises(StorageError):
            await side.put("b", 1)
        with pytest.raises(StorageError):
            await other.store.catch_up()
        await comes_true(lambda: not side.store.healthy and not other.store.healthy, "so far")
        shared.back()
        await side.put("b", 2)
        await side.put("a", 3)
        await other.store.catch_up()
        assert other.store.healthy
        assert seen == [1, 2, 3]

    run(test)


def test_followed_log_tells_followers_the_difference_after_a_gap_and_ends_watches() -> None:
    async def test(shared: Shared, side: Side, other: Side) -> None:
        for key in ("changed", "gone", "same"):
            await side.put(key, 1)
        await other.store.catch_up()
        rows: list[tuple[str, str]] = []

        def hear(change: Change) -> None:
            rows.append((change.kind, change.key))

        other.store.follow(other.collection, hear, essential=True, replay=False)
        watcher = Watcher("", EVERYTHING, other.store.revision)
        other.collection.audience.add(watcher)
        shared.cut()
        await comes_true(lambda: not other.store.healthy, "so far")
        source = MemorySource(shared)
        shared.away = False
        await _elsewhere(source, shared)
        await other.store.catch_up()
        assert sorted(rows) == [("ADDED", "new"), ("DELETED", "gone"), ("MODIFIED", "changed")]
        assert watcher.closed
        assert isinstance(watcher.failure, Compacted)
        assert other.names() == ["changed", "new", "same"]
        with pytest.raises(Compacted):
            other.store.check_kept(1)

    run(test)


async def _elsewhere(source: MemorySource, shared: Shared) -> None:
    """Another process writes while the feed is down, and compacts at once."""
    at = {row.key: row.revision for row in shared.kept.heads()}
    body = encode(thing(2))
    for write in (
        Write(THINGS, "changed", "v1", body, at["changed"]),
        Write(THINGS, "gone", "v1", None, at["gone"]),
        Write(THINGS, "new", "v1", body, 0),
    ):
        await source.write([write])
    await source.compact(shared.kept.revision)


def test_followed_log_reads_older_states_and_changes_from_the_source() -> None:
    async def test(shared: Shared, side: Side, other: Side) -> None:
        first = await side.put("a", 1)
        await side.put("b", 1)
        third = Side(shared)
        await third.store.open()
        page = await third.store.page(third.collection, "", EVERYTHING, first, 0)
        assert [version.key for version in page.entries] == ["a"]
        watcher = Watcher("", EVERYTHING, first)
        past = third.store.watch(third.collection, watcher)
        assert [change.key async for part in past for change in part] == ["b"]
        await third.store.close()

    run(test)
