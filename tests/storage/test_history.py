"""History: bounded in memory and on disk, read back completely, or refused."""

from __future__ import annotations

import asyncio
import time
import tracemalloc
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import pytest
from support.backends import MemoryBackend, thing
from support.waiting import comes_true

from fairlead.storage import state
from fairlead.storage.audience import Watcher
from fairlead.storage.backend import Compacted, Outcome, Write
from fairlead.storage.metrics import HISTORY_BYTES
from fairlead.storage.selection import EVERYTHING
from fairlead.storage.sqlite.backend import SqliteBackend
from fairlead.storage.sqlite.log import EmbeddedLog
from fairlead.storage.store import Store
from fairlead.storage.version import Change, Version

Test = Callable[[Store], Awaitable[None]]
MEGABYTE = 1 << 20


def run(store: Store, test: Test) -> None:
    async def main() -> None:
        await store.open()
        try:
            await test(store)
        finally:
            await store.close()

    asyncio.run(main())


def large(number: int, size: int) -> dict[str, object]:
    return {"metadata": {"name": "n"}, "data": {"n": str(number), "fill": "x" * size}}


async def events(store: Store, after: int) -> list[Change]:
    things = store.collection("core/things")
    watcher = Watcher("", EVERYTHING, after)
    changes: list[Change] = []
    try:
        async for piece in store.watch(things, watcher):
            changes += piece
    finally:
        things.audience.remove(watcher)
    return changes


@pytest.mark.parametrize("watched", [False, True])
def test_many_versions_of_a_large_object_hold_little_memory(tmp_path: Path, watched: bool) -> None:
    async def test(store: Store) -> None:
        things = store.collection("core/things")
        if watched:
            store.watch(things, Watcher("", EVERYTHING, 0))
        tracemalloc.start()
        for number in range(300):
            await store.put(things, "a", large(number, 900_000), things.latest("a"))
            for watcher in things.audience:
                for kind, change in watcher.take():
                    assert change.after is not None
                    change.frames[kind] = b"frame" + (change.after.body or b"")
        held, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert held < 20 * MEGABYTE
        changes = await events(store, 100)
        assert [change.revision for change in changes] == list(range(101, 301))

    run(Store(EmbeddedLog(SqliteBackend(tmp_path)), history_memory=8 * MEGABYTE), test)


def test_a_days_worth_of_history_is_read_back_within_a_memory_bound(tmp_path: Path) -> None:
    """About a write per second to a few hundred objects: the disk has what memory dropped."""
    writes, keys = 10_000, 300

    async def test(store: Store) -> None:
        things = store.collection("core/things")
        tracemalloc.start()
        for start in range(0, writes, keys):
            batch = (
                store.put(things, f"ns/k{n}", large(start + n, 500), things.latest(f"ns/k{n}"))
                for n in range(min(keys, writes - start))
            )
            await asyncio.gather(*batch)
        held, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert held < 4 * MEGABYTE
        assert store.floor == 0
        expected = 0
        watcher = Watcher("", EVERYTHING, 0)
        async for piece in store.watch(things, watcher):
            assert len(piece) <= 2000
            for change in piece:
                expected += 1
                assert change.revision == expected
                assert change.added == (expected <= keys)
        assert expected == writes
        page = await store.page(things, "ns", EVERYTHING, 5 * keys, 0)
        assert len(page.entries) == keys
        assert {version.revision for version in page.entries} == set(
            range(4 * keys + 1, 5 * keys + 1)
        )

    run(
        Store(EmbeddedLog(SqliteBackend(tmp_path)), retention=86_400, history_memory=MEGABYTE), test
    )


def test_history_on_disk_is_bounded_by_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(state, "_LONGEST_INTERVAL", 0.05)

    async def test(store: Store) -> None:
        things = store.collection("core/things")
        keeping = asyncio.create_task(store.keep_compacting())
        for number in range(200):
            await store.put(things, "a", large(number, 100_000), things.latest("a"))
        await comes_true(lambda: store.floor > 180, "the history is cut")
        file = backend.path  # beside it lies what was not moved into it yet, however much
        await comes_true(lambda: file.stat().st_size < 10 * MEGABYTE, "the room is given back")
        keeping.cancel()
        with pytest.raises(Compacted):
            await events(store, 1)

    backend = SqliteBackend(tmp_path)
    run(Store(EmbeddedLog(backend), retention=3600, history_bytes=MEGABYTE), test)


def test_a_replay_sees_every_event_though_compaction_passes_under_it() -> None:
    """Adds and deletes are read while all history is compacted."""

    async def test(store: Store) -> None:
        things = store.collection("core/things")
        for number in range(600):
            await store.put(things, f"k{number}", thing(number), None)
        for number in range(600):
            version = things.latest(f"k{number}")
            assert version is not None
            await store.delete(things, version.key, version)
        past = store.watch(things, Watcher("", EVERYTHING, 0))
        await store.compact(store.revision)
        seen = [change async for piece in past for change in piece]
        assert [change.added for change in seen] == [True] * 600 + [False] * 600
        assert all(b'"data"' in change.last_body() for change in seen[600:])

    run(Store(EmbeddedLog(MemoryBackend())), test)


def test_a_replay_from_disk_that_compaction_overtakes_is_refused(tmp_path: Path) -> None:
    async def test(store: Store) -> None:
        things = store.collection("core/things")
        for start in range(0, 3000, 500):
            await asyncio.gather(
                *(store.put(things, f"k{n}", thing(n), None) for n in range(start, start + 500))
            )
        past = store.watch(things, Watcher("", EVERYTHING, 0))
        first = await anext(past)
        assert first[0].revision == 1
        await store.compact(store.revision)
        with pytest.raises(Compacted):
            async for _ in past:
                pass

    run(Store(EmbeddedLog(SqliteBackend(tmp_path)), history_memory=100_000), test)


def test_history_pages_go_on_from_disk_after_memory_forgot_their_revision(tmp_path: Path) -> None:
    async def test(store: Store) -> None:
        things = store.collection("core/things")
        await asyncio.gather(*(store.put(things, f"k{n}", thing(n), None) for n in range(9)))
        at = store.revision
        first = await store.page(things, "", EVERYTHING, at, 4)
        for number in range(200):
            key = f"k{number % 9}"
            await store.put(things, key, thing(number), things.latest(key))
        assert things.floor > at
        second = await store.page(things, "", EVERYTHING, at, 4, first.last_key)
        third = await store.page(things, "", EVERYTHING, at, 4, second.last_key)
        results = [*first.entries, *second.entries, *third.entries]
        assert [version.key for version in results] == [f"k{n}" for n in range(9)]
        assert {version.revision for version in results} == set(range(1, 10))
        assert (first.remaining, second.remaining, third.remaining) == (5, 1, None)

    run(Store(EmbeddedLog(SqliteBackend(tmp_path)), history_memory=20_000), test)


def test_history_older_than_the_floor_is_refused() -> None:
    async def test(store: Store) -> None:
        things = store.collection("core/things")
        for number in range(5):
            await store.put(things, "a", thing(number), things.latest("a"))
        await store.compact(3)
        for revision in (1, 2):
            with pytest.raises(Compacted):
                await store.page(things, "", EVERYTHING, revision, 0)
            with pytest.raises(Compacted):
                store.watch(things, Watcher("", EVERYTHING, revision))
        page = await store.page(things, "", EVERYTHING, 3, 0)
        assert [version.revision for version in page.entries] == [3]

    run(Store(EmbeddedLog(MemoryBackend())), test)


class Slow(MemoryBackend):
    """Takes its time, so that there is always a write on its way."""

    def append(self, writes: Sequence[Write]) -> list[Outcome]:
        time.sleep(0.002)
        return super().append(writes)


def test_history_of_a_hot_key_is_freed_from_memory() -> None:
    """Each write builds on a pending one, and there is always a next one."""

    def depth(write: Write) -> int:
        return 1 + depth(write.expected) if isinstance(write.expected, Write) else 1

    async def test(store: Store) -> None:
        things = store.collection("core/things")
        under_way: deque[asyncio.Future[Version]] = deque()
        for number in range(100):
            under_way.append(store.put(things, "a", thing(number), things.latest("a")))
            await asyncio.sleep(0)
            if len(under_way) > 4:
                await under_way.popleft()
        newest = things.latest("a")
        assert newest is not None
        assert newest.commit is not None
        assert depth(newest.commit.write) <= 10
        await asyncio.gather(*under_way)

    run(Store(EmbeddedLog(Slow()), history_memory=10_000), test)


def test_forgetting_a_long_history_yields_to_the_event_loop() -> None:
    async def test(store: Store) -> None:
        things = store.collection("core/things")
        for number in range(3 * state._CHANGES_PER_STEP):
            await store.put(things, "a", large(number, 10), things.latest("a"))
        forgetting = asyncio.create_task(store.compact(store.revision))
        lengths: set[int] = set()  # of the history, as others saw it
        while not forgetting.done():
            lengths.add(len(things.events_after(things.floor)))
            await asyncio.sleep(0)
        await forgetting
        assert min(lengths) == 0
        assert len(lengths) >= 3

    run(Store(EmbeddedLog(MemoryBackend()), retention=86_400), test)


def test_the_metric_of_memory_adds_up_all_open_stores(tmp_path: Path) -> None:
    async def with_history(store: Store, bytes_in_all: int) -> None:
        """Make a history of about so many bytes, and have the store report it."""
        await store.open()
        things = store.collection("core/things")
        version = await store.put(things, "n", large(0, bytes_in_all // 10), None)
        for number in range(10):
            version = await store.put(things, "n", large(number, bytes_in_all // 10), version)
        store.drop_history(store.floor)

    async def main() -> None:
        first, second = (
            Store(EmbeddedLog(SqliteBackend(tmp_path / name)), retention=3600) for name in "ab"
        )
        before = HISTORY_BYTES.value()
        await with_history(first, MEGABYTE)
        await with_history(second, 2 * MEGABYTE)
        first.drop_history(first.floor)
        assert 3 * MEGABYTE < HISTORY_BYTES.value() - before < 3.2 * MEGABYTE
        await second.close()
        assert MEGABYTE < HISTORY_BYTES.value() - before < 1.2 * MEGABYTE
        await first.close()
        assert HISTORY_BYTES.value() == before

    asyncio.run(main())
