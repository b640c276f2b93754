"""Watchers of all resources, the history of one key, and remembered authors, without a server."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from support.backends import MemoryBackend, thing
from support.listening import next_events

from fairlead.auth.authentication.user import User
from fairlead.operations import operation as module
from fairlead.operations.operation import Operation, RevisionAuthors
from fairlead.storage import audience as watching
from fairlead.storage.audience import Watcher
from fairlead.storage.backend import Compacted
from fairlead.storage.reads import read_page
from fairlead.storage.selection import EVERYTHING
from fairlead.storage.sqlite.log import EmbeddedLog
from fairlead.storage.store import Store

Test = Callable[[Store], Awaitable[None]]


def run(test: Test) -> None:
    async def main() -> None:
        store = Store(EmbeddedLog(MemoryBackend()))
        await store.open()
        try:
            await asyncio.wait_for(test(store), 20)
        finally:
            await store.close()

    asyncio.run(main())


async def put(store: Store, resource: str, key: str, number: int = 0) -> int:
    collection = store.collection(resource)
    over = collection.latest(key)
    return (await store.put(collection, key, thing(number), over)).revision


def hearing(store: Store, after: int = 0) -> Watcher:
    watcher = Watcher("", EVERYTHING, after or store.revision)
    store.watch_all(watcher)
    return watcher


def test_a_watcher_of_everything_hears_of_all_resources_in_order() -> None:
    async def test(store: Store) -> None:
        await put(store, "core/a", "before")
        watcher = hearing(store)
        await put(store, "core/a", "x")
        await put(store, "core/new", "x")
        await put(store, "core/a", "x")
        rows: list[tuple[str, str]] = []
        while len(rows) < 3:
            rows += [(kind, change.resource) for kind, change in await next_events(watcher)]
        assert rows == [("ADDED", "core/a"), ("ADDED", "core/new"), ("MODIFIED", "core/a")]
        store.unwatch_all(watcher)
        await put(store, "core/a", "y")
        await asyncio.sleep(0)
        assert not watcher.pending

    run(test)


def test_one_that_does_not_take_what_it_hears_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watching, "MAX_PENDING", 3)

    async def test(store: Store) -> None:
        watcher = hearing(store)
        for number in range(5):
            await put(store, "core/a", str(number))
        await asyncio.sleep(0)
        assert (watcher.lagging, watcher.closed) == (True, True)

    run(test)


def test_it_ends_with_the_store_and_cannot_begin_before_what_is_known() -> None:
    async def test(store: Store) -> None:
        watcher = hearing(store)
        for number in range(5):
            await put(store, "core/a", "x", number)
        await store.compact(3)
        with pytest.raises(Compacted):
            hearing(store, after=2)
        store.end_watches()
        assert watcher.closed
        assert not watcher.lagging

    run(test)


def test_the_past_of_a_key_is_what_the_collection_tells_of_it() -> None:
    async def test(store: Store) -> None:
        collection = store.collection("core/a")
        for number in range(4):
            await put(store, "core/a", "x", number)
            await put(store, "core/a", "y", number)
        await store.delete(collection, "x", collection.heads["x"])
        await put(store, "core/a", "x")
        for floor in (0, 3, 4, 9, 10):
            await store.compact(floor)
            listed = [event for event in collection.events_after(floor) if event.key == "x"]
            changes = collection.changes_of("x")
            assert [(change.kind, change.revision) for change in changes] == [
                (item.kind, item.revision) for item in listed
            ]
            assert [change.before and change.before.revision for change in changes] == [
                item.before and item.before.revision for item in listed
            ]
            for revision in range(floor, store.revision + 1):
                page = await read_page(collection, "", EVERYTHING, revision, 0, None)
                then = {entry.key: entry for entry in page.entries}.get("x")
                assert collection.version_at("x", revision) is then
        assert collection.changes_of("never") == []

    run(test)


def test_the_newest_writers_are_remembered_and_never_more_than_twice_as_many(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "_GENERATION_SIZE", 10)
    known = RevisionAuthors()
    no_resource: Any = None  # authors are noted whatever the resource is
    operation = Operation(User("u" * 1000), "create", no_resource)
    for revision in range(1, 96):
        known.note(revision, operation)
        assert len(known) <= 20
    assert known.find(95) is not None
    assert known.find(86) is not None
    assert known.find(1) is None
    result = known.find(95)
    assert result is not None
    assert len(result.user) == 256
