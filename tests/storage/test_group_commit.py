"""Writes are acknowledged after their commit, batched, and fail together when it fails."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from fairlead.storage.entry import Entry
from fairlead.storage.log import StorageError
from support.logs import MemoryLog, thing

from fairlead.storage.selection import EVERYTHING
from fairlead.storage.store import Conflict, Store
from fairlead.storage.watcher import Watcher

Test = Callable[[Store, MemoryLog], Awaitable[None]]


def run(test: Test) -> None:
    async def main() -> None:
        log = MemoryLog()
        store = Store(log)
        await store.open()
        try:
            await test(store, log)
        finally:
            log.gate.set()
            await store.close()

    asyncio.run(main())


async def entered(log: MemoryLog) -> None:
    """Wait until the writer is in the middle of a commit."""
    assert await asyncio.to_thread(log.entered.wait, 10)


def watcher(after: int = 0) -> Watcher:
    return Watcher("", EVERYTHING, after, lambda kind, entry: f"{kind} {entry.key}".encode())


def test_a_write_is_acknowledged_after_its_commit_and_not_before() -> None:
    async def test(store: Store, log: MemoryLog) -> None:
        things = store.collection("things")
        log.gate.clear()
        write = asyncio.create_task(store.put(things, "a", thing(1), 0))
        await entered(log)
        assert not write.done()
        log.gate.set()
        entry = await write
        assert [record.revision for record in log.kept] == [entry.revision]

    run(test)


def test_reads_and_watchers_see_commits_only() -> None:
    async def test(store: Store, log: MemoryLog) -> None:
        things = store.collection("things")
        watching = watcher()
        store.watch(things, watching)
        log.gate.clear()
        write = asyncio.create_task(store.put(things, "a", thing(1), 0))
        await entered(log)
        assert things.get("a") is None
        assert things.current("") == []
        assert (store.revision, watching.pending) == (0, [])
        log.gate.set()
        await write
        assert things.get("a") is not None
        assert store.revision == 1
        assert watching.pending == [b"ADDED a"]

    run(test)


def test_a_write_builds_on_the_one_before_it_though_it_is_still_pending() -> None:
    async def test(store: Store, log: MemoryLog) -> None:
        things = store.collection("things")
        log.gate.clear()
        first = asyncio.create_task(store.put(things, "a", thing(1), 0))
        await entered(log)
        pending = store.latest(things, "a")
        assert pending is not None
        second = asyncio.create_task(store.put(things, "a", thing(2), pending.revision))
        third = asyncio.create_task(store.delete(things, "a", pending.revision + 1))
        await asyncio.sleep(0)
        log.gate.set()
        entries = await asyncio.gather(first, second, third)
        assert [entry.revision for entry in entries] == [1, 2, 3]
        assert things.get("a") is None
        assert log.batches == [1, 2]

    run(test)


def test_what_is_written_during_a_commit_goes_into_the_next_one_together() -> None:
    async def test(store: Store, log: MemoryLog) -> None:
        things = store.collection("things")
        log.gate.clear()
        first = asyncio.create_task(store.put(things, "first", thing(), 0))
        await entered(log)
        rest = [asyncio.create_task(store.put(things, f"k{n}", thing(n), 0)) for n in range(50)]
        await asyncio.sleep(0)
        log.gate.set()
        await asyncio.gather(first, *rest)
        assert log.batches == [1, 50]

    run(test)


async def fail_all(store: Store, log: MemoryLog, writes: list[Any]) -> list[Any]:
    log.failing = True
    results = await asyncio.gather(*writes, return_exceptions=True)
    log.failing = False
    return results


def test_a_failed_commit_fails_everything_in_it_and_leaves_the_state_before() -> None:
    async def test(store: Store, log: MemoryLog) -> None:
        things = store.collection("things")
        before = await store.put(things, "a", thing(1), 0)
        results = await fail_all(
            store,
            log,
            [
                store.put(things, "a", thing(2), before.revision),
                store.put(things, "b", thing(3), 0),
                store.put(things, "c", thing(3), 0),
            ],
        )
        assert all(isinstance(result, StorageError) for result in results)
        assert things.get("a") is before
        assert store.latest(things, "a") is before
        assert store.latest(things, "b") is None
        assert things.current("") == [before]
        assert store.revision == before.revision
        assert [record.revision for record in log.kept] == [before.revision]

    run(test)


def test_what_was_queued_behind_a_failed_commit_fails_with_it() -> None:
    async def test(store: Store, log: MemoryLog) -> None:
        things = store.collection("things")
        before = await store.put(things, "a", thing(1), 0)
        log.gate.clear()
        log.entered.clear()
        first = asyncio.create_task(store.put(things, "a", thing(2), before.revision))
        await entered(log)
        newer = store.latest(things, "a")
        assert newer is not None
        second = asyncio.create_task(store.put(things, "a", thing(3), newer.revision))
        other = asyncio.create_task(store.put(things, "b", thing(4), 0))
        await asyncio.sleep(0)
        log.failing = True
        log.gate.set()
        results = await asyncio.gather(first, second, other, return_exceptions=True)
        assert all(isinstance(result, StorageError) for result in results)
        assert store.latest(things, "a") is before
        assert store.latest(things, "b") is None

    run(test)


def test_later_writes_work_and_revisions_do_not_come_twice() -> None:
    async def test(store: Store, log: MemoryLog) -> None:
        things = store.collection("things")
        before = await store.put(things, "a", thing(1), 0)
        await fail_all(store, log, [store.put(things, "a", thing(2), before.revision)])
        assert not store.healthy
        after = await store.put(things, "a", thing(3), before.revision)
        assert store.healthy
        assert after.revision > before.revision
        assert after.previous is before
        assert things.current("") == [after]

    run(test)


def test_watchers_hear_nothing_of_a_failed_write() -> None:
    async def test(store: Store, log: MemoryLog) -> None:
        things = store.collection("things")
        watching = watcher()
        store.watch(things, watching)
        await fail_all(store, log, [store.put(things, "a", thing(), 0)])
        await store.put(things, "b", thing(), 0)
        assert watching.pending == [b"ADDED b"]
        assert [entry.key for entry in things.events_after(0)] == ["b"]

    run(test)


def test_a_write_from_an_old_revision_is_a_conflict_and_takes_no_revision() -> None:
    async def test(store: Store, log: MemoryLog) -> None:
        things = store.collection("things")
        first = await store.put(things, "a", thing(1), 0)
        second = await store.put(things, "a", thing(2), first.revision)
        for expected in (0, first.revision, second.revision + 1):
            with pytest.raises(Conflict):
                await store.put(things, "a", thing(3), expected)
            with pytest.raises(Conflict):
                await store.delete(things, "a", expected)
        third = await store.put(things, "a", thing(3), second.revision)
        assert third.revision == second.revision + 1

    run(test)


def test_a_deleted_key_is_written_as_new() -> None:
    async def test(store: Store, log: MemoryLog) -> None:
        things = store.collection("things")
        first = await store.put(things, "a", thing(1), 0)
        gone = await store.delete(things, "a", first.revision)
        with pytest.raises(Conflict):
            await store.put(things, "a", thing(2), gone.revision)
        again = await store.put(things, "a", thing(2), 0)
        assert not again.existed_before

    run(test)


def test_many_tasks_that_swap_one_key_form_one_chain() -> None:
    """Compare-and-swap under contention: every success follows the one before it."""

    async def test(store: Store, log: MemoryLog) -> None:
        things = store.collection("things")
        start = await store.put(things, "a", thing(0), 0)
        done: list[tuple[int, int]] = []
        conflicts = 0

        async def increment(times: int) -> None:
            nonlocal conflicts
            while times:
                current = things.get("a")
                assert current is not None
                await asyncio.sleep(0)
                number = int(current.object()["data"]["n"])
                try:
                    made: Entry = await store.put(things, "a", thing(number + 1), current.revision)
                except Conflict:
                    conflicts += 1
                    await store.wait_for(current.revision + 1, 10)
                    continue
                done.append((current.revision, made.revision))
                times -= 1

        await asyncio.gather(*(increment(5) for _ in range(20)))
        final = things.get("a")
        assert final is not None
        assert final.object()["data"]["n"] == "100"
        done.sort()
        assert [old for old, _ in done] == [start.revision, *(new for _, new in done[:-1])]
        assert conflicts > 0

    run(test)


def test_writes_of_one_hot_key_share_their_commits() -> None:
    """Each works on the result of the one before, and many go into one batch."""

    async def test(store: Store, log: MemoryLog) -> None:
        things = store.collection("things")

        async def write(number: int) -> None:
            current = store.latest(things, "a")
            expected = current.revision if current is not None else 0
            await store.put(things, "a", thing(number), expected)

        await asyncio.gather(*(write(number) for number in range(300)))
        assert store.revision == 300
        assert len(log.batches) <= 3

    run(test)


def test_closing_commits_what_is_queued() -> None:
    async def main() -> None:
        log = MemoryLog()
        store = Store(log)
        await store.open()
        things = store.collection("things")
        writes = [asyncio.create_task(store.put(things, f"k{n}", thing(), 0)) for n in range(20)]
        await asyncio.sleep(0)
        await store.close()
        assert len(await asyncio.gather(*writes)) == 20
        assert len(log.kept) == 20

    asyncio.run(main())


def test_waiting_for_a_revision_ends_when_it_is_reached_or_time_is_up() -> None:
    async def test(store: Store, log: MemoryLog) -> None:
        things = store.collection("things")
        assert await store.wait_for(0, 0.01)
        assert not await store.wait_for(1, 0.01)
        waiting = asyncio.create_task(store.wait_for(2, 10))
        await store.put(things, "a", thing(), 0)
        assert not waiting.done()
        await store.put(things, "b", thing(), 0)
        assert await waiting

    run(test)


def test_compaction_goes_on_after_it_failed_once() -> None:
    async def main() -> None:
        log = MemoryLog()
        store = Store(log, retention=0.02)
        await store.open()
        things = store.collection("things")
        log.failing_compactions = 1
        keeping = asyncio.create_task(store.keep_compacting())
        try:
            for number in range(100):
                current = things.get("a")
                await store.put(things, "a", thing(number), current.revision if current else 0)
                await asyncio.sleep(0.02)
                if log.compactions:
                    break
            assert not keeping.done(), "the task that compacts has died"
            assert log.compactions > 0
        finally:
            keeping.cancel()
            await store.close()

    asyncio.run(main())
