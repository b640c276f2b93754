"""Followers of commits are called in order and once, and cannot harm a commit or each other."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

import pytest
from support.backends import MemoryBackend, thing
from support.compiled import plain_only
from support.logged import logged
from support.waiting import comes_true

from fairlead.storage import audience
from fairlead.storage.audience import Watcher
from fairlead.storage.backend import StorageError
from fairlead.storage.collection import Collection
from fairlead.storage.selection import EVERYTHING
from fairlead.storage.sqlite.log import EmbeddedLog
from fairlead.storage.store import Store
from fairlead.storage.version import Change

Test = Callable[[Store], Awaitable[None]]


def run(test: Test) -> None:
    async def main() -> None:
        store = Store(EmbeddedLog(MemoryBackend()))
        await store.open()
        try:
            await test(store)
        finally:
            await store.close()

    asyncio.run(main())


def change_text(change: Change) -> str:
    kind = "added" if change.added else "deleted" if change.deleted else "changed"
    return f"{kind} {change.key}@{change.revision}"


async def replayed(store: Store, watcher: Watcher) -> list[str]:
    things = store.collection("core/things")
    pieces = [piece async for piece in store.watch(things, watcher)]
    return [change_text(change) for piece in pieces for change in piece]


@pytest.mark.parametrize("essential", [True, False])
def test_a_follower_is_told_of_what_there_is_and_then_of_every_change(essential: bool) -> None:
    async def test(store: Store) -> None:
        things = store.collection("core/things")
        gone = await store.put(things, "gone", thing(), None)
        await store.delete(things, "gone", gone)
        first = await store.put(things, "a", thing(1), None)
        heard: list[str] = []
        store.follow(things, lambda change: heard.append(change_text(change)), essential=essential)
        assert heard == ["added a@3"]
        second = await store.put(things, "a", thing(2), first)
        await store.delete(things, "a", second)
        await store.put(things, "a", thing(3), None)
        await asyncio.sleep(0)
        assert heard[1:] == ["changed a@4", "deleted a@5", "added a@6"]

    run(test)


def test_follower_that_begins_between_a_commit_and_its_delivery_hears_of_it_once() -> None:
    async def test(store: Store) -> None:
        things = store.collection("core/things")
        created = await store.put(things, "a", thing(1), None)
        # The writer is answered, but the change is not handed out yet.
        heard: list[str] = []
        store.follow(things, lambda change: heard.append(change_text(change)), essential=False)
        watcher, late = Watcher("", EVERYTHING, 0), Watcher("", EVERYTHING, created.revision)
        past = await replayed(store, watcher) + await replayed(store, late)
        await store.put(things, "a", thing(2), created)
        await asyncio.sleep(0)
        assert heard == ["added a@1", "changed a@2"]
        assert past == ["added a@1"]
        for item in (watcher, late):
            assert [change_text(change) for _, change in item.pending] == ["changed a@2"]

    run(test)


def test_follower_that_was_removed_hears_nothing() -> None:
    async def test(store: Store) -> None:
        things = store.collection("core/things")
        heard: list[str] = []

        def listen(change: Change) -> None:
            heard.append(change_text(change))

        store.follow(things, listen, essential=False)
        store.follow(things, listen, essential=True)
        store.unfollow(things, listen)
        await store.put(things, "a", thing(), None)
        await asyncio.sleep(0)
        assert heard == []

    run(test)


def test_a_follower_that_fails_harms_nobody_and_looks_at_everything_again(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audience, "_RESYNC_PAUSE", 0.02)

    async def test(store: Store) -> None:
        things = store.collection("core/things")
        seen: list[list[str]] = []
        heard: list[str] = []

        def fail(change: Change) -> None:
            if change.key == "bad":
                raise KeyError("no such field")

        def look_again() -> None:
            seen.append([version.key for version in things.current("")])

        watcher = Watcher("", EVERYTHING, 0)
        store.watch(things, watcher)
        store.follow(things, fail, essential=False, resync=look_again)
        store.follow(things, lambda change: heard.append(change_text(change)), essential=False)
        names = ("a", "bad", "b")
        await asyncio.gather(*(store.put(things, name, thing(), None) for name in names))
        await comes_true(lambda: bool(seen), "it looks again")
        assert seen == [["a", "b", "bad"]]
        assert heard == ["added a@1", "added bad@2", "added b@3"]
        assert len(watcher.pending) == 3
        result = things.latest("bad")
        await store.put(things, "bad", thing(1), result)
        await comes_true(lambda: len(seen) == 2, "it looks again after another failure")
        assert store.healthy

    with caplog.at_level(logging.ERROR):
        run(test)
    assert [bool(record.exc_info) for record in caplog.records] == [True, False]


def test_an_essential_follower_that_fails_stops_the_process() -> None:
    async def test(store: Store) -> None:
        things = store.collection("core/things")
        messages: list[str] = []
        store.log.on_fatal = messages.append

        def fail(change: Change) -> None:
            raise KeyError("no such field")

        store.follow(things, fail, essential=True)
        await store.put(things, "a", thing(), None)
        assert len(messages) == 1
        assert "core/things a at revision 1: KeyError" in messages[0]
        assert "\n" not in messages[0]
        assert not store.healthy
        with pytest.raises(StorageError):
            await store.put(things, "b", thing(), None)

    run(test)


def test_a_forgotten_resource_has_no_readers_but_keeps_its_objects() -> None:
    async def test(store: Store) -> None:
        things = store.collection("core/things")
        things.select_fields = lambda value: {"n": value["data"]["n"]}
        heard: list[str] = []
        watcher = Watcher("", EVERYTHING, 0)
        store.watch(things, watcher)
        store.follow(things, lambda change: heard.append(change_text(change)), essential=True)
        created = await store.put(things, "a", thing(7), None)
        assert created.fields == {"n": "7"}
        heard.clear()
        store.forget("core/things")
        assert watcher.closed
        again = store.collection("core/things")
        again.select_fields = lambda value: {"other": "x"}
        result = again.get("a")
        assert result is not None
        assert result.fields == {"other": "x"}
        gone = await store.delete(again, "a", result)
        assert heard == []
        store.forget("core/things")
        assert store.collection("core/things") is not again
        assert gone.deleted

    run(test)


def test_followers_hear_of_commits_before_their_resource_is_forgotten() -> None:
    async def test(store: Store) -> None:
        things = store.collection("core/things")
        heard: list[str] = []
        store.follow(things, lambda change: heard.append(change_text(change)), essential=False)
        await store.put(things, "a", thing(), None)
        store.forget("core/things")
        assert heard == ["added a@1"]

    run(test)


def test_follower_without_replay_hears_of_later_changes_only() -> None:
    async def test(store: Store) -> None:
        things = store.collection("core/things")
        heard: list[str] = []
        await store.put(things, "a", thing(), None)
        store.follow(
            things, lambda change: heard.append(change_text(change)), essential=False, replay=False
        )
        await store.put(things, "b", thing(), None)
        await comes_true(lambda: heard == ["added b@2"], "the second is told")

    run(test)


def test_followers_hear_of_a_large_batch_in_steps_and_in_order() -> None:
    async def test(store: Store) -> None:
        things = store.collection("core/things")
        heard: list[tuple[int, int]] = []
        turn = 0

        async def count_turns() -> None:
            nonlocal turn
            while len(heard) < 1200:
                turn += 1
                await asyncio.sleep(0)

        store.follow(things, lambda change: heard.append((change.revision, turn)), essential=False)
        writes = [store.put(things, f"k{number}", thing(), None) for number in range(1200)]
        await asyncio.gather(count_turns(), *writes)
        assert [revision for revision, _ in heard] == list(range(1, 1201))
        assert len({turn for _, turn in heard}) >= 3

    run(test)


def test_delivered_revision_never_runs_ahead_of_watchers() -> None:
    async def test(store: Store) -> None:
        things = store.collection("core/things")
        heard = [0]
        watched: list[tuple[int, int, int]] = []

        async def look() -> None:
            while heard[-1] < 1200:
                watched.append((store.delivered_revision, heard[-1], store.revision))
                await asyncio.sleep(0)

        store.follow(things, lambda change: heard.append(change.revision), essential=False)
        writes = [store.put(things, f"k{number}", thing(), None) for number in range(1200)]
        await asyncio.gather(look(), *writes)
        assert all(item == last for item, last, _ in watched)
        assert any(item < revision for item, _, revision in watched)
        assert store.delivered_revision == store.revision == 1200

    run(test)


class Broken:
    """A watch listener whose methods all raise."""

    def pass_on(self, kind: str, change: Change) -> bool:
        raise KeyError("no such field")

    def wake(self) -> None:
        raise KeyError("no such field")

    def closed(self) -> None:
        raise KeyError("no such field")


@pytest.mark.parametrize("everywhere", [False, True])
@pytest.mark.parametrize("changes", [1, 3])
def test_a_watcher_whose_listener_raises_is_ended_and_the_others_go_on(
    everywhere: bool, changes: int
) -> None:
    async def test(store: Store) -> None:
        things = store.collection("core/things")
        watchers = [Watcher("", EVERYTHING, 0) for _ in range(3)]
        for watcher in watchers:
            store.watch_all(watcher) if everywhere else store.watch(things, watcher)
        before, broken, after = watchers
        broken.listener = Broken()
        puts = (store.put(things, f"k{number}", thing(), None) for number in range(changes))
        await asyncio.gather(*puts)
        await comes_true(lambda: broken.closed, "the broken one is ended")
        assert isinstance(broken.failure, KeyError)
        await store.put(things, "later", thing(), None)
        await comes_true(lambda: len(after.pending) == changes + 1, "the others go on")
        assert before.pending == after.pending
        assert not before.closed

    run(test)


def test_watches_end_with_the_store_though_a_listener_raises() -> None:
    async def test(store: Store) -> None:
        things = store.collection("core/things")
        broken, sound = Watcher("", EVERYTHING, 0), Watcher("", EVERYTHING, 0)
        broken.listener = Broken()
        for watcher in (broken, sound):
            store.watch(things, watcher)
        store.end_watches()
        assert broken.closed
        assert sound.closed

    run(test)


@plain_only
def test_after_a_change_that_cannot_be_told_its_watchers_are_ended_and_delivery_goes_on(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    publish = Collection.publish

    def failing(self: Collection, change: Change, *, unbatched: bool = False) -> None:
        if change.key == "bad":
            raise KeyError("no such field")
        publish(self, change, unbatched=unbatched)

    monkeypatch.setattr(Collection, "publish", failing)

    async def test(store: Store) -> None:
        things, others = store.collection("core/things"), store.collection("core/others")
        lost, unconcerned = Watcher("", EVERYTHING, 0), Watcher("", EVERYTHING, 0)
        store.watch(things, lost)
        store.watch(others, unconcerned)
        await asyncio.gather(
            store.put(things, "bad", thing(), None), store.put(others, "a", thing(), None)
        )
        await comes_true(lambda: lost.closed, "its watcher is ended")
        assert isinstance(lost.failure, KeyError)
        await store.put(others, "b", thing(), None)
        await comes_true(lambda: len(unconcerned.pending) == 2, "the others hear of everything")
        assert not unconcerned.closed

    run(test)
    assert 'cannot deliver a change resource="core/things" key="bad"' in logged(caplog)
