"""Writes are acknowledged after their commit, batched, and fail together when it fails."""

from __future__ import annotations

import asyncio
import gc
import threading
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Any

import pytest
from support.backends import FULL, MemoryBackend, thing

from fairlead.storage.audience import Watcher
from fairlead.storage.backend import (
    ConditionFailed,
    Conflict,
    Fault,
    Outcome,
    Precondition,
    Row,
    StorageError,
    Write,
)
from fairlead.storage.selection import EVERYTHING
from fairlead.storage.sqlite.log import EmbeddedLog
from fairlead.storage.store import Store
from fairlead.storage.version import Change, Version

Test = Callable[[Store, MemoryBackend], Awaitable[None]]


def run(test: Test) -> None:
    async def main() -> None:
        backend = MemoryBackend()
        store = Store(EmbeddedLog(backend))
        await store.open()
        try:
            await test(store, backend)
        finally:
            backend.gate.set()
            await store.close()

    asyncio.run(main())


async def entered(backend: MemoryBackend) -> None:
    """Wait until the writer is in the middle of a commit."""
    assert await asyncio.to_thread(backend.entered.wait, 10)


def watcher(after: int = 0) -> Watcher:
    return Watcher("", EVERYTHING, after)


def heard(watching: Watcher) -> list[str]:
    return [f"{kind} {change.key}" for kind, change in watching.pending]


def test_a_write_is_acknowledged_after_its_commit_and_not_before() -> None:
    async def test(store: Store, backend: MemoryBackend) -> None:
        things = store.collection("core/things")
        backend.gate.clear()
        write = store.put(things, "a", thing(1), None)
        await entered(backend)
        assert not write.done()
        backend.gate.set()
        entry = await write
        assert [record.revision for record in backend.rows] == [entry.revision]

    run(test)


def test_reads_and_watchers_see_commits_only() -> None:
    async def test(store: Store, backend: MemoryBackend) -> None:
        things = store.collection("core/things")
        watching = watcher()
        store.watch(things, watching)
        backend.gate.clear()
        write = store.put(things, "a", thing(1), None)
        await entered(backend)
        assert things.get("a") is None
        assert things.current("") == []
        assert (store.revision, heard(watching)) == (0, [])
        backend.gate.set()
        await write
        assert things.get("a") is not None
        assert store.revision == 1
        await asyncio.sleep(0)
        assert heard(watching) == ["ADDED a"]

    run(test)


def test_a_write_builds_on_the_one_before_it_though_it_is_still_pending() -> None:
    async def test(store: Store, backend: MemoryBackend) -> None:
        things = store.collection("core/things")
        backend.gate.clear()
        first = store.put(things, "a", thing(1), None)
        await entered(backend)
        pending = things.latest("a")
        assert pending is not None
        second = store.put(things, "a", thing(2), pending)
        await asyncio.sleep(0)
        changed = things.latest("a")
        assert changed is not None
        third = store.delete(things, "a", changed)
        await asyncio.sleep(0)
        backend.gate.set()
        entries = await asyncio.gather(first, second, third)
        assert [entry.revision for entry in entries] == [1, 2, 3]
        assert things.get("a") is None
        assert backend.batches == [1, 2]

    run(test)


def test_what_is_written_during_a_commit_goes_into_the_next_one_together() -> None:
    async def test(store: Store, backend: MemoryBackend) -> None:
        things = store.collection("core/things")
        backend.gate.clear()
        first = store.put(things, "first", thing(), None)
        await entered(backend)
        rest = [store.put(things, f"k{n}", thing(n), None) for n in range(50)]
        await asyncio.sleep(0)
        backend.gate.set()
        await asyncio.gather(first, *rest)
        assert backend.batches == [1, 50]

    run(test)


async def fail_all(store: Store, backend: MemoryBackend, writes: list[Any]) -> list[Any]:
    backend.failure = FULL
    results = await asyncio.gather(*writes, return_exceptions=True)
    backend.failure = None
    return results


def test_a_failed_commit_fails_everything_in_it_and_leaves_the_state_before() -> None:
    async def test(store: Store, backend: MemoryBackend) -> None:
        things = store.collection("core/things")
        before = await store.put(things, "a", thing(1), None)
        results = await fail_all(
            store,
            backend,
            [
                store.put(things, "a", thing(2), before),
                store.put(things, "b", thing(3), None),
                store.put(things, "c", thing(3), None),
            ],
        )
        assert all(isinstance(result, StorageError) for result in results)
        assert things.get("a") is before
        assert things.latest("a") is before
        assert things.latest("b") is None
        assert things.current("") == [before]
        assert store.revision == before.revision
        assert [record.revision for record in backend.rows] == [before.revision]

    run(test)


def test_what_was_queued_behind_a_failed_commit_fails_with_it() -> None:
    async def test(store: Store, backend: MemoryBackend) -> None:
        things = store.collection("core/things")
        before = await store.put(things, "a", thing(1), None)
        backend.gate.clear()
        backend.entered.clear()
        first = store.put(things, "a", thing(2), before)
        await entered(backend)
        newer = things.latest("a")
        assert newer is not None
        second = store.put(things, "a", thing(3), newer)
        other = store.put(things, "b", thing(4), None)
        await asyncio.sleep(0)
        backend.fail_once = FULL
        backend.gate.set()
        results = await asyncio.gather(first, second, other, return_exceptions=True)
        assert all(isinstance(result, StorageError) for result in results)
        assert things.latest("a") is before
        assert things.latest("b") is None
        assert [row.revision for row in backend.rows] == [before.revision]

    run(test)


def test_writes_after_a_failed_commit_work_and_get_new_revisions() -> None:
    async def test(store: Store, backend: MemoryBackend) -> None:
        things = store.collection("core/things")
        before = await store.put(things, "a", thing(1), None)
        await fail_all(store, backend, [store.put(things, "a", thing(2), before)])
        assert not store.healthy
        after = await store.put(things, "a", thing(3), before)
        assert store.healthy
        assert after.revision > before.revision
        assert things.current("") == [after]

    run(test)


def test_watchers_hear_nothing_of_a_failed_write() -> None:
    async def test(store: Store, backend: MemoryBackend) -> None:
        things = store.collection("core/things")
        watching = watcher()
        store.watch(things, watching)
        await fail_all(store, backend, [store.put(things, "a", thing(), None)])
        await store.put(things, "b", thing(), None)
        await asyncio.sleep(0)
        assert heard(watching) == ["ADDED b"]
        assert [change.key for change in things.events_after(0)] == ["b"]

    run(test)


def test_a_write_from_an_old_revision_is_a_conflict_and_takes_no_revision() -> None:
    async def test(store: Store, backend: MemoryBackend) -> None:
        things = store.collection("core/things")
        first = await store.put(things, "a", thing(1), None)
        second = await store.put(things, "a", thing(2), first)
        for over in (None, first):
            with pytest.raises(Conflict):
                await store.put(things, "a", thing(3), over)
        with pytest.raises(Conflict):
            await store.delete(things, "a", first)
        third = await store.put(things, "a", thing(3), second)
        assert third.revision == second.revision + 1

    run(test)


def test_a_deleted_key_is_written_as_new() -> None:
    async def test(store: Store, backend: MemoryBackend) -> None:
        things = store.collection("core/things")
        first = await store.put(things, "a", thing(1), None)
        gone = await store.delete(things, "a", first)
        assert gone.deleted
        with pytest.raises(Conflict):
            await store.put(things, "a", thing(2), first)
        again = await store.put(things, "a", thing(2), None)
        assert [change.added for change in things.events_after(gone.revision)] == [True]
        assert things.get("a") is again

    run(test)


def test_many_tasks_that_swap_one_key_form_one_chain() -> None:
    """Compare-and-swap under contention: every success follows the previous one."""

    async def test(store: Store, backend: MemoryBackend) -> None:
        things = store.collection("core/things")
        start = await store.put(things, "a", thing(0), None)
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
                    created = await store.put(things, "a", thing(number + 1), current)
                except Conflict:
                    conflicts += 1
                    await store.wait_for(current.revision + 1, 10)
                    continue
                done.append((current.revision, created.revision))
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
    """Each write builds on the previous result, and many go into one batch."""

    async def test(store: Store, backend: MemoryBackend) -> None:
        things = store.collection("core/things")

        async def write(number: int) -> None:
            await store.put(things, "a", thing(number), things.latest("a"))

        await asyncio.gather(*(write(number) for number in range(300)))
        assert store.revision == 300
        assert len(backend.batches) <= 3

    run(test)


def test_closing_commits_what_is_queued() -> None:
    async def main() -> None:
        backend = MemoryBackend()
        store = Store(EmbeddedLog(backend))
        await store.open()
        things = store.collection("core/things")
        writes = [store.put(things, f"k{n}", thing(), None) for n in range(20)]
        await asyncio.sleep(0)
        await store.close()
        assert len(await asyncio.gather(*writes)) == 20
        assert len(backend.rows) == 20

    asyncio.run(main())


def test_wait_for_a_revision_ends_when_it_is_reached_or_time_is_up() -> None:
    async def test(store: Store, backend: MemoryBackend) -> None:
        things = store.collection("core/things")
        assert await store.wait_for(0, 0.01)
        assert not await store.wait_for(1, 0.01)
        waiting = asyncio.create_task(store.wait_for(2, 10))
        await store.put(things, "a", thing(), None)
        assert not waiting.done()
        await store.put(things, "b", thing(), None)
        assert await waiting

    run(test)


@pytest.mark.parametrize("seconds", [0.001, 60])
def test_cancelled_wait_for_a_revision_leaves_nothing_behind(seconds: float) -> None:
    def futures() -> int:
        gc.collect()
        return sum(isinstance(object_, asyncio.Future) for object_ in gc.get_objects())

    async def test(store: Store, backend: MemoryBackend) -> None:
        before = futures()
        for _ in range(50):
            with suppress(TimeoutError):
                async with asyncio.timeout(0.002):
                    await store.wait_for(10, seconds)
        assert futures() - before < 10

    run(test)


def test_wait_for_a_revision_ends_at_that_revision() -> None:
    async def test(store: Store, backend: MemoryBackend) -> None:
        things = store.collection("core/things")
        waiting = {n: asyncio.create_task(store.wait_for(n, 10)) for n in (3, 1, 2, 4)}
        await asyncio.sleep(0)
        for number in (1, 2, 3):
            await store.put(things, f"k{number}", thing(), None)
            await asyncio.sleep(0)
            assert [n for n, task in waiting.items() if task.done()] == [
                n for n in waiting if n <= number
            ]
        await store.put(things, "last", thing(), None)
        assert await asyncio.gather(*waiting.values()) == [True] * 4

    run(test)


def test_compaction_goes_on_after_it_failed_once() -> None:
    async def main() -> None:
        backend = MemoryBackend()
        store = Store(EmbeddedLog(backend), retention=0.02)
        await store.open()
        things = store.collection("core/things")
        backend.failing_compactions = 1
        keeping = asyncio.create_task(store.keep_compacting())
        try:
            for number in range(100):
                await store.put(things, "a", thing(number), things.get("a"))
                await asyncio.sleep(0.02)
                if backend.compactions:
                    break
            assert not keeping.done(), "the task that compacts has died"
            assert backend.compactions > 0
        finally:
            keeping.cancel()
            await store.close()

    asyncio.run(main())


def test_cache_has_a_change_before_followers_and_watchers_hear_of_it() -> None:
    async def test(store: Store, backend: MemoryBackend) -> None:
        things = store.collection("core/things")
        seen: list[tuple[str, int, int]] = []

        def look(change: Change) -> None:
            result = things.get("a")
            seen.append((change.key, store.revision, result.revision if result else 0))

        store.follow(things, look, essential=True)
        store.follow(things, look, essential=False)
        await store.put(things, "a", thing(), None)
        assert seen == [("a", 1, 1)], "the writer was answered before the ordinary follower"
        await asyncio.sleep(0)
        assert seen == [("a", 1, 1)] * 2

    run(test)


def test_write_cancelled_during_its_commit_still_settles_for_others() -> None:
    async def test(store: Store, backend: MemoryBackend) -> None:
        things = store.collection("core/things")
        backend.gate.clear()
        writer = store.put(things, "a", thing(1), None)
        await entered(backend)
        pending = things.latest("a")
        assert pending is not None
        other = asyncio.create_task(store.wait_committed(pending))
        await asyncio.sleep(0)
        writer.cancel()
        await asyncio.sleep(0)
        backend.gate.set()
        await other
        assert things.get("a") is pending

    run(test)


def test_a_precondition_on_another_key_is_checked_with_what_is_pending() -> None:
    async def test(store: Store, backend: MemoryBackend) -> None:
        things, spaces = store.collection("core/things"), store.collection("core/spaces")
        exists = [Precondition("core/spaces", "ns")]
        with pytest.raises(ConditionFailed):
            await store.put(things, "ns/a", thing(), None, exists)
        backend.gate.clear()
        space = store.put(spaces, "ns", thing(), None)
        await entered(backend)
        write = store.put(things, "ns/a", thing(), None, exists)
        backend.gate.set()
        created, _ = await asyncio.gather(space, write)
        await store.put(things, "ns/b", thing(), None, [Precondition("core/spaces", "ns", 1)])
        await store.delete(spaces, "ns", created)
        with pytest.raises(ConditionFailed) as refused:
            await store.put(things, "ns/c", thing(), None, exists)
        assert refused.value.condition == exists[0]
        assert store.revision == 4

    run(test)


class Shared(MemoryBackend):
    """A backend with other writers: before each batch one of them takes a revision."""

    def append(self, writes: Sequence[Write]) -> list[Outcome]:
        super().append([Write("core/others", f"k{self.revision}", "v1", b"{}", 0)])
        return super().append(writes)


def test_revision_of_a_write_is_the_backends_not_the_predicted_one() -> None:
    async def main() -> None:
        backend = Shared()
        store = Store(EmbeddedLog(backend))
        await store.open()
        things = store.collection("core/things")
        first = store.put(things, "a", thing(1), None)
        second = await store.put(things, "a", thing(2), things.latest("a"))
        assert ((await first).revision, second.revision) == (2, 3)
        assert second.object()["metadata"]["resourceVersion"] == "3"
        assert things.get("a") is second
        third = await store.put(things, "a", thing(3), second)
        assert third.revision == 5
        await store.close()

    asyncio.run(main())


def test_write_that_the_backend_refuses_is_a_conflict_and_leaves_the_state_before() -> None:
    """Another process changed the key; writes that build on the refused one are refused too."""

    async def test(store: Store, backend: MemoryBackend) -> None:
        things = store.collection("core/things")
        before = await store.put(things, "a", thing(1), None)
        backend.rows.append(Row(2, "core/things", "a", 1, "v1", b"{}"))
        backend.revision = 2
        first = store.put(things, "a", thing(2), before)
        await asyncio.sleep(0)
        second = store.put(things, "a", thing(3), things.latest("a"))
        other = store.put(things, "b", thing(4), None)
        results = await asyncio.gather(first, second, other, return_exceptions=True)
        assert [type(result) for result in results] == [Conflict, Conflict, Version]
        assert things.latest("a") is before
        assert store.healthy

    run(test)


def test_queued_writes_fail_at_once_when_the_store_is_given_up() -> None:
    async def test(store: Store, backend: MemoryBackend) -> None:
        store.log.on_fatal = lambda message: None
        things = store.collection("core/things")
        backend.gate.clear()
        backend.entered.clear()
        running = store.put(things, "a", thing(), None)
        await asyncio.to_thread(backend.entered.wait, 10)
        waiting = store.put(things, "b", thing(), None)
        await asyncio.sleep(0)
        store.log.give_up("the file is damaged")
        try:
            with pytest.raises(StorageError, match="the file is damaged"):
                await asyncio.wait_for(waiting, 10)
            assert not running.done()
            with pytest.raises(StorageError, match="the file is damaged"):
                await store.put(things, "c", thing(), None)
        finally:
            backend.gate.set()
        await running
        assert [item.key for item in things.current("")] == ["a"]

    run(test)


def test_queued_writes_are_refused_when_the_store_closes_during_a_repair() -> None:
    class Mending(MemoryBackend):
        proof = threading.Event()

        def recover(self) -> None:
            super().recover()
            self.proof.wait(10)

    async def main() -> None:
        backend = Mending()
        store = Store(EmbeddedLog(backend))
        await store.open()
        things = store.collection("core/things")
        backend.fail_once = StorageError("cut off", Fault.DOUBTFUL)
        with pytest.raises(StorageError, match="cut off"):
            await store.put(things, "a", thing(), None)
        waiting = store.put(things, "b", thing(), None)
        await asyncio.sleep(0)
        closing = asyncio.create_task(store.close())
        with pytest.raises(StorageError, match="shutting down"):
            await asyncio.wait_for(waiting, 10)
        backend.proof.set()
        await closing
        assert backend.rows == []

    asyncio.run(main())


def test_write_cancelled_before_its_commit_still_settles_for_others() -> None:
    async def test(store: Store, backend: MemoryBackend) -> None:
        things = store.collection("core/things")
        backend.gate.clear()
        first = store.put(things, "a", thing(), None)
        await asyncio.sleep(0)
        version = things.latest("a")
        assert version is not None
        other = asyncio.create_task(store.wait_committed(version))
        await asyncio.sleep(0)
        first.cancel()
        await asyncio.wait([first])
        backend.gate.set()
        await asyncio.wait_for(other, 10)
        assert things.get("a") is version

    run(test)


def test_settled_ends_at_once_for_a_write_that_is_on_disk() -> None:
    async def test(store: Store, backend: MemoryBackend) -> None:
        things = store.collection("core/things")
        created = await store.put(things, "a", thing(), None)
        await asyncio.wait_for(store.wait_committed(created), 5)
        await asyncio.wait_for(store.wait_all_committed(), 5)
        assert things.pending == {}

    run(test)


def test_predicted_revisions_of_lost_writes_are_free_again() -> None:
    async def test(store: Store, backend: MemoryBackend) -> None:
        things = store.collection("core/things")
        backend.fail_once = FULL
        lost = [store.put(things, f"k{number}", thing(), None) for number in range(5)]
        done = await asyncio.gather(*lost, return_exceptions=True)
        assert all(isinstance(item, StorageError) for item in done)
        assert store.next_revision == store.revision + 1 == 1

    run(test)
