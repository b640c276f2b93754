"""A watcher's queue: what is put in, how it is taken out, and when it is cut off."""

from __future__ import annotations

import asyncio

import pytest
from fairlead.storage.entry import Entry, body_of, encode

from fairlead.storage import watcher as module
from fairlead.storage.collection import Collection
from fairlead.storage.selection import EVERYTHING, Selection, parse_labels
from fairlead.storage.watcher import Watcher


def frame(kind: str, entry: Entry) -> bytes:
    return f"{kind} {entry.key}@{entry.revision}".encode()


def watching(scope: str = "", selection: Selection = EVERYTHING, after: int = 0) -> Watcher:
    return Watcher(scope, selection, after, frame)


class Feed:
    """A collection that is written to and published from, revision by revision."""

    def __init__(self) -> None:
        self.collection = Collection("things")
        self.revision = 0

    def put(self, key: str, **labels: str) -> Entry:
        self.revision += 1
        value = {"metadata": {"name": key.rpartition("/")[2], "labels": labels}}
        body = body_of(encode(value), self.revision)
        return self._publish(Entry(key, self.revision, body, self.collection.head(key)))

    def delete(self, key: str) -> Entry:
        self.revision += 1
        return self._publish(Entry(key, self.revision, None, self.collection.head(key)))

    def _publish(self, entry: Entry) -> Entry:
        self.collection.add(entry)
        self.collection.publish(entry)
        return entry


@pytest.fixture
def feed() -> Feed:
    return Feed()


def test_events_arrive_in_order(feed: Feed) -> None:
    watcher = watching()
    feed.collection.watch(watcher)
    feed.put("a/x")
    feed.put("a/x")
    feed.delete("a/x")
    assert watcher.pending == [b"ADDED a/x@1", b"MODIFIED a/x@2", b"DELETED a/x@3"]


def test_a_watcher_hears_of_its_scope_only(feed: Feed) -> None:
    everything, namespace, item = watching(""), watching("a/"), watching("a/x")
    for watcher in (everything, namespace, item):
        feed.collection.watch(watcher)
    feed.put("a/x")
    feed.put("a/y")
    feed.put("ab/x")
    assert [len(watcher.pending) for watcher in (everything, namespace, item)] == [3, 2, 1]


def test_a_watcher_hears_of_nothing_up_to_its_start(feed: Feed) -> None:
    watcher = watching(after=2)
    feed.collection.watch(watcher)
    for _ in range(3):
        feed.put("a/x")
    assert watcher.pending == [b"MODIFIED a/x@3"]


def test_what_enters_and_leaves_a_selection(feed: Feed) -> None:
    watcher = watching(selection=Selection(parse_labels("l=1")))
    feed.collection.watch(watcher)
    feed.put("a/x", l="2")
    feed.put("a/x", l="1")
    feed.put("a/x", l="1", m="1")
    feed.put("a/x", l="2")
    feed.delete("a/x")
    assert watcher.pending == [b"ADDED a/x@2", b"MODIFIED a/x@3", b"DELETED a/x@4"]


def test_after_unwatching_nothing_is_heard(feed: Feed) -> None:
    watcher = watching()
    feed.collection.watch(watcher)
    feed.collection.unwatch(watcher)
    feed.put("a/x")
    assert watcher.pending == []
    assert list(feed.collection.watchers()) == []
    feed.collection.unwatch(watcher)


def test_a_watcher_that_lets_too_much_pile_up_is_cut_off(
    feed: Feed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST_PENDING", 5)
    lazy, eager = watching(), watching()
    feed.collection.watch(lazy)
    feed.collection.watch(eager)
    for _ in range(6):
        feed.put("a/x")
        eager.pending.clear()
    assert lazy.closed
    assert lazy.lagging
    assert lazy.pending == []
    assert not eager.closed
    feed.put("a/x")
    assert lazy.pending == []
    assert len(eager.pending) == 1


def test_taking_waits_for_the_next_event(feed: Feed) -> None:
    async def main() -> None:
        watcher = watching()
        feed.collection.watch(watcher)
        taking = asyncio.create_task(watcher.take())
        await asyncio.sleep(0)
        assert not taking.done()
        feed.put("a/x")
        feed.put("a/y")
        assert await taking == [b"ADDED a/x@1", b"ADDED a/y@2"]

    asyncio.run(main())


def test_taking_ends_empty_when_woken() -> None:
    async def main() -> None:
        watcher = watching()
        taking = asyncio.create_task(watcher.take())
        await asyncio.sleep(0)
        watcher.wake()
        assert await taking == []

    asyncio.run(main())


def test_who_serves_a_watcher_is_told_when_it_is_cut_off(
    feed: Feed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST_PENDING", 1)
    told: list[bool] = []
    watcher = watching()
    watcher.on_close = lambda: told.append(watcher.lagging)
    feed.collection.watch(watcher)
    feed.put("a/x")
    feed.put("a/x")
    assert told == [True]


def test_a_closed_watcher_still_gives_out_what_it_has(feed: Feed) -> None:
    async def main() -> None:
        watcher = watching()
        feed.collection.watch(watcher)
        feed.put("a/x")
        watcher.close()
        feed.put("a/x")
        assert await watcher.take() == [b"ADDED a/x@1"]
        assert await watcher.take() == []

    asyncio.run(main())


def test_closing_wakes_who_waits() -> None:
    async def main() -> None:
        watcher = watching()
        taking = asyncio.create_task(watcher.take())
        await asyncio.sleep(0)
        watcher.close()
        assert await taking == []

    asyncio.run(main())


def test_listeners_are_called_before_watchers(feed: Feed) -> None:
    order: list[str] = []
    feed.collection.listeners.append(lambda entry: order.append(f"listener {entry.revision}"))
    feed.collection.watch(
        Watcher("", EVERYTHING, 0, lambda kind, entry: order.append("watcher") or b"")  # type: ignore[func-returns-value]
    )
    feed.put("a/x")
    assert order == ["listener 1", "watcher"]
