"""A watcher's queue: adding, taking and closing."""

from __future__ import annotations

import asyncio

import pytest
from support.listening import next_events

from fairlead.storage import audience as module
from fairlead.storage.audience import Event, Watcher
from fairlead.storage.collection import Collection
from fairlead.storage.selection import EVERYTHING, Selection, parse_labels
from fairlead.storage.version import Change, Version, body_of, encode


def event_texts(events: list[Event]) -> list[str]:
    return [f"{kind} {change.key}@{change.revision}" for kind, change in events]


def watching(scope: str = "", selection: Selection = EVERYTHING, after: int = 0) -> Watcher:
    return Watcher(scope, selection, after)


class Feed:
    """A collection that is written to and published from, revision by revision."""

    def __init__(self) -> None:
        self.collection = Collection("core/things")
        self.revision = 0

    def put(self, key: str, *, unbatched: bool = False, **labels: str) -> None:
        self.revision += 1
        value = {"metadata": {"name": key.rpartition("/")[2], "labels": labels}}
        body = body_of(encode(value), self.revision)
        self._publish(Version(key, self.revision, "v1", body), unbatched=unbatched)

    def delete(self, key: str) -> None:
        self.revision += 1
        self._publish(Version(key, self.revision, "v1", None))

    def _publish(self, version: Version, *, unbatched: bool = False) -> None:
        self.collection.publish(self.collection.add(version), unbatched=unbatched)


class Telling:
    """A listener that records its calls."""

    def __init__(
        self, watcher: Watcher, *, passes_on: bool = False, failure: Exception | None = None
    ) -> None:
        self.calls: list[str] = []
        self._watcher = watcher
        self._passes_on = passes_on
        self._failure = failure
        watcher.listener = self

    def pass_on(self, kind: str, change: Change) -> bool:
        if self._failure is not None:
            raise self._failure
        if self._passes_on:
            self.calls.append(f"{kind} {change.key}")
        return self._passes_on

    def wake(self) -> None:
        self.calls.append("wake")

    def closed(self) -> None:
        self.calls.append("closed lagging" if self._watcher.lagging else "closed")


@pytest.fixture
def feed() -> Feed:
    return Feed()


def test_watcher_gets_events_in_order(feed: Feed) -> None:
    watcher = watching()
    feed.collection.audience.add(watcher)
    feed.put("a/x")
    feed.put("a/x")
    feed.delete("a/x")
    assert event_texts(watcher.pending) == ["ADDED a/x@1", "MODIFIED a/x@2", "DELETED a/x@3"]


def test_a_watcher_hears_of_its_scope_only(feed: Feed) -> None:
    everything, namespace, item = watching(""), watching("a/"), watching("a/x")
    for watcher in (everything, namespace, item):
        feed.collection.audience.add(watcher)
    feed.put("a/x")
    feed.put("a/y")
    feed.put("ab/x")
    assert [len(watcher.pending) for watcher in (everything, namespace, item)] == [3, 2, 1]


def test_a_watcher_hears_of_nothing_up_to_its_start(feed: Feed) -> None:
    watcher = watching(after=2)
    feed.collection.audience.add(watcher)
    for _ in range(3):
        feed.put("a/x")
    assert event_texts(watcher.pending) == ["MODIFIED a/x@3"]


def test_watcher_hears_what_enters_and_leaves_its_selection(feed: Feed) -> None:
    watcher = watching(selection=Selection(parse_labels("l=1")))
    feed.collection.audience.add(watcher)
    feed.put("a/x", l="2")
    feed.put("a/x", l="1")
    feed.put("a/x", l="1", m="1")
    feed.put("a/x", l="2")
    feed.delete("a/x")
    assert event_texts(watcher.pending) == ["ADDED a/x@2", "MODIFIED a/x@3", "DELETED a/x@4"]


def test_watcher_that_was_removed_hears_nothing(feed: Feed) -> None:
    watcher = watching()
    feed.collection.audience.add(watcher)
    feed.collection.audience.remove(watcher)
    feed.put("a/x")
    assert watcher.pending == []
    assert list(feed.collection.audience) == []
    feed.collection.audience.remove(watcher)


def test_a_watcher_that_lets_too_much_pile_up_is_cut_off(
    feed: Feed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MAX_PENDING", 5)
    lazy, eager = watching(), watching()
    feed.collection.audience.add(lazy)
    feed.collection.audience.add(eager)
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


def test_watcher_take_waits_for_the_next_event(feed: Feed) -> None:
    async def main() -> None:
        watcher = watching()
        feed.collection.audience.add(watcher)
        taking = asyncio.create_task(next_events(watcher))
        await asyncio.sleep(0)
        assert not taking.done()
        feed.put("a/x")
        feed.put("a/y")
        assert event_texts(await taking) == ["ADDED a/x@1", "ADDED a/y@2"]

    asyncio.run(main())


def test_watcher_that_is_cut_off_tells_its_listener(
    feed: Feed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MAX_PENDING", 1)
    watcher = watching()
    reported = Telling(watcher).calls
    feed.collection.audience.add(watcher)
    feed.put("a/x")
    feed.put("a/x")
    assert reported == ["wake", "closed lagging"]


def test_a_closed_watcher_still_gives_out_what_it_has(feed: Feed) -> None:
    async def main() -> None:
        watcher = watching()
        feed.collection.audience.add(watcher)
        feed.put("a/x")
        watcher.close()
        feed.put("a/x")
        assert event_texts(await next_events(watcher)) == ["ADDED a/x@1"]
        assert await next_events(watcher) == []

    asyncio.run(main())


def test_watcher_that_is_closed_wakes_a_waiting_take() -> None:
    async def main() -> None:
        watcher = watching()
        taking = asyncio.create_task(next_events(watcher))
        await asyncio.sleep(0)
        watcher.close()
        assert await taking == []

    asyncio.run(main())


def test_a_watcher_that_holds_too_many_bytes_is_cut_off(
    feed: Feed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MAX_PENDING_BYTES", 2000)
    lazy, eager = watching(), watching()
    feed.collection.audience.add(lazy)
    feed.collection.audience.add(eager)
    for _ in range(5):
        feed.put("a/x", l="v" * 600)
        eager.pending.clear()
    assert lazy.lagging
    assert lazy.pending == []
    assert not eager.closed


def test_watcher_takes_one_event_however_large_it_is(
    feed: Feed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MAX_PENDING_BYTES", 100)
    watcher = watching()
    feed.collection.audience.add(watcher)
    feed.put("a/x", l="v" * 600)
    assert event_texts(watcher.pending) == ["ADDED a/x@1"]


class Broken(Selection):
    """A selection that raises for one of the objects."""

    def __bool__(self) -> bool:
        return True

    def matches(self, version: Version) -> bool:
        if version.name == "bad":
            raise ValueError("cannot tell")
        return True


def test_a_watcher_whose_selection_fails_ends_and_the_others_go_on(feed: Feed) -> None:
    broken, sound = watching(selection=Broken(parse_labels("l!=1"))), watching()
    feed.collection.audience.add(broken)
    feed.collection.audience.add(sound)
    feed.put("a/x")
    feed.put("a/bad")
    feed.put("a/y")
    assert event_texts(broken.pending) == ["ADDED a/x@1"]
    assert broken.closed
    assert isinstance(broken.failure, ValueError)
    assert event_texts(sound.pending) == ["ADDED a/x@1", "ADDED a/bad@2", "ADDED a/y@3"]


def test_watcher_passes_a_single_event_on_without_queueing_it(feed: Feed) -> None:
    watcher = watching()
    reported = Telling(watcher, passes_on=True).calls
    feed.collection.audience.add(watcher)
    feed.put("a/x", unbatched=True)
    assert (reported, watcher.pending) == (["ADDED a/x"], [])
    feed.put("a/x")
    assert (reported[1:], event_texts(watcher.pending)) == (["wake"], ["MODIFIED a/x@2"])


def test_watcher_passes_nothing_on_before_queued_events(feed: Feed) -> None:
    watcher = watching()
    reported = Telling(watcher, passes_on=True).calls
    feed.collection.audience.add(watcher)
    feed.put("a/x")
    feed.put("a/y", unbatched=True)
    assert (reported, event_texts(watcher.take())) == (["wake"], ["ADDED a/x@1", "ADDED a/y@2"])
    feed.put("a/z", unbatched=True)
    assert reported == ["wake", "ADDED a/z"]


def test_a_watcher_that_cannot_pass_an_event_on_ends_and_the_others_go_on(feed: Feed) -> None:
    broken, sound = watching(), watching()
    reported = Telling(broken, failure=OSError("no connection")).calls
    for watcher in (broken, sound):
        feed.collection.audience.add(watcher)
    feed.put("a/x", unbatched=True)
    assert broken.closed
    assert (reported, broken.pending) == (["closed"], [])
    assert isinstance(broken.failure, OSError)
    assert event_texts(sound.pending) == ["ADDED a/x@1"]


def test_what_a_watcher_holds_stays_whole_when_the_history_is_cut(feed: Feed) -> None:
    watcher = watching()
    feed.collection.audience.add(watcher)
    feed.put("a/x", l="1")
    feed.put("a/x", l="2")
    feed.delete("a/x")
    replayed = feed.collection.events_after(0)
    feed.collection.forget(3)
    gone: Change = replayed[-1]
    assert b'"l":"2"' in gone.last_body()
    assert [kind for kind, _ in watcher.pending] == ["ADDED", "MODIFIED", "DELETED"]
    assert feed.collection.events_after(0) == []


def test_audience_decides_once_for_watchers_of_the_same_selector(feed: Feed) -> None:
    requests: list[str] = []

    class Counted(Selection):
        def matches(self, version: Version) -> bool:
            requests.append(version.key)
            return super().matches(version)

    watchers = [watching(selection=Counted(parse_labels("l!=1"))) for _ in range(10)]
    for watcher in watchers:
        feed.collection.audience.add(watcher)
    feed.put("a/x", l="2")
    assert requests == ["a/x"]
    assert [event_texts(watcher.pending) for watcher in watchers] == [["ADDED a/x@1"]] * 10


def test_audience_does_not_ask_watchers_of_another_label_value(feed: Feed) -> None:
    class Unasked(Selection):
        def matches(self, version: Version) -> bool:
            raise AssertionError(version.key)

    feed.collection.audience.add(watching(selection=Unasked(parse_labels("l=1"))))
    others = watching(selection=Selection(parse_labels("l in (2,3)")))
    feed.collection.audience.add(others)
    feed.put("a/x", l="2")
    feed.put("a/x", l="3")
    feed.put("a/x", l="4")
    feed.put("a/x")
    assert event_texts(others.pending) == ["ADDED a/x@1", "MODIFIED a/x@2", "DELETED a/x@3"]


def test_audience_does_not_ask_watchers_of_a_label_that_an_object_lacks(feed: Feed) -> None:
    class Unasked(Selection):
        def matches(self, version: Version) -> bool:
            raise AssertionError(version.key)

    many = ",".join(map(str, range(100)))
    for selector in ("m", "m>3", f"m in ({many})", "m,m!=1,m!=2"):
        feed.collection.audience.add(watching(selection=Unasked(parse_labels(selector))))
    others = watching(selection=Selection(parse_labels("l")))
    feed.collection.audience.add(others)
    feed.put("a/x", l="1")
    feed.put("a/x")
    feed.put("a/x", l="")
    assert event_texts(others.pending) == ["ADDED a/x@1", "DELETED a/x@2", "ADDED a/x@3"]


def test_audience_keeps_nothing_of_watchers_that_left(feed: Feed) -> None:
    selections = [
        EVERYTHING,
        Selection(parse_labels("l=1,m in (1,2)")),
        Selection(parse_labels("!l")),
        Selection(parse_labels("l,m")),
        Selection(parse_labels("l=1,l=2")),
    ]
    watchers = [watching(selection=selection) for selection in selections * 2]
    for watcher in watchers:
        feed.collection.audience.add(watcher)
    for watcher in watchers:
        feed.collection.audience.remove(watcher)
    feed.put("a/x", l="1")
    assert not feed.collection.audience
    assert not any(watcher.pending for watcher in watchers)


def test_a_selection_of_very_many_values_is_heard_like_any_other(feed: Feed) -> None:
    values = ",".join(map(str, range(1500)))
    watcher = watching(selection=Selection(parse_labels(f"l in ({values})")))
    feed.collection.audience.add(watcher)
    feed.put("a/x", l="1499")
    feed.put("a/y", l="1500")
    feed.put("a/x", l="1500")
    assert event_texts(watcher.pending) == ["ADDED a/x@1", "DELETED a/x@3"]
