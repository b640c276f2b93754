"""For any history: lists at any kept revision, their pages, and watches between them agree."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairlead.storage.audience import Watcher, event_type
from fairlead.storage.collection import Collection
from fairlead.storage.reads import prepare_index, read_page, select
from fairlead.storage.selection import EVERYTHING, Selection, parse_fields, parse_labels
from fairlead.storage.sqlite.backend import SqliteBackend
from fairlead.storage.sqlite.log import EmbeddedLog
from fairlead.storage.store import Store
from fairlead.storage.version import ADDED, DELETED, MODIFIED, Change, Version, body_of, encode

# Namespaces whose names begin alike: a range must not take in its neighbours.
NAMESPACES = ("a", "a-b", "a0", "ab", "b")
KEYS = [f"{namespace}/{name}" for namespace in NAMESPACES for name in ("x", "y", "y-z")]
LABELS: list[dict[str, str]] = [{}, {"l": "1"}, {"l": "2"}, {"l": "1", "m": ""}]
SELECTIONS = {
    "all": EVERYTHING,
    "l=1": Selection(parse_labels("l=1")),
    "l!=1": Selection(parse_labels("l!=1")),
    "!l": Selection(parse_labels("!l")),
    "l,m": Selection(parse_labels("l,m")),
    "name": Selection((), parse_fields("metadata.name=y")),
    "not name": Selection((), parse_fields("metadata.name!=y")),
    "namespace": Selection((), parse_fields("metadata.namespace=a")),
    "both": Selection(parse_labels("l=1"), parse_fields("metadata.name=x,metadata.namespace=ab")),
    "phase": Selection((), parse_fields("phase=up")),
}
SCOPES = ("", *NAMESPACES, "none")

keys = st.sampled_from(KEYS)
puts = st.tuples(st.just("put"), keys, st.sampled_from(LABELS), st.sampled_from(["up", "down"]))
deletes = st.tuples(st.just("delete"), keys)
compactions = st.tuples(st.just("compact"), st.floats(0, 1))
indexings = st.tuples(st.just("index"), st.sampled_from(list(SELECTIONS)))
histories = st.lists(st.one_of(puts, puts, deletes, compactions, indexings), max_size=60)


@pytest.fixture(autouse=True, scope="module")
def _index_few() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("fairlead.storage.reads.FEW", 0)
        yield


State = dict[str, tuple[int, dict[str, str], str]]  # key: (revision, labels, phase)


def fields_of(value: dict[str, Any]) -> dict[str, str]:
    return {"phase": value["status"]["phase"]}


def value_of(key: str, labels: dict[str, str], phase: str) -> dict[str, Any]:
    namespace, name = key.split("/")
    metadata: dict[str, Any] = {"name": name, "namespace": namespace}
    if labels:
        metadata["labels"] = labels
    return {"metadata": metadata, "status": {"phase": phase}}


@dataclass
class Model:
    """The state at every revision."""

    states: list[State] = field(default_factory=lambda: [{}])
    floor: int = 0

    @property
    def now(self) -> State:
        return self.states[-1]

    @property
    def revision(self) -> int:
        return len(self.states) - 1

    def change(self, key: str, kept: tuple[dict[str, str], str] | None) -> int:
        state = dict(self.now)
        revision = self.revision + 1
        if kept is None:
            del state[key]
        else:
            state[key] = (revision, *kept)
        self.states.append(state)
        return revision

    def listed(self, revision: int, namespace: str, selection: str) -> list[tuple[str, int]]:
        return [
            (key, row[0])
            for key, row in sorted(self.states[revision].items())
            if (not namespace or key.startswith(f"{namespace}/")) and selects(selection, key, row)
        ]


def selects(selection: str, key: str, row: tuple[int, dict[str, str], str]) -> bool:
    """The selections above, implemented independently."""
    namespace, name = key.split("/")
    labels = row[1]
    return {
        "all": True,
        "l=1": labels.get("l") == "1",
        "l!=1": labels.get("l") != "1",
        "!l": "l" not in labels,
        "l,m": "l" in labels and "m" in labels,
        "name": name == "y",
        "not name": name != "y",
        "namespace": namespace == "a",
        "both": labels.get("l") == "1" and (namespace, name) == ("ab", "x"),
        "phase": row[2] == "up",
    }[selection]


async def build(history: list[Any]) -> tuple[Collection, Model]:
    """Play a history on a collection and on the model."""
    collection, model = Collection("core/things"), Model()
    collection.select_fields = fields_of
    for operation in history:
        match operation:
            case "put", key, labels, phase:
                revision = model.change(key, (labels, phase))
                body = body_of(encode(value_of(key, labels, phase)), revision)
                collection.add(Version(key, revision, "v1", body, collection.fields_of))
            case "delete", key if key in model.now:
                revision = model.change(key, None)
                collection.add(Version(key, revision, "v1", None))
            case "compact", part:
                model.floor = model.floor + int((model.revision - model.floor) * part)
                collection.forget(model.floor)
            case "index", name:
                await prepare_index(collection, "", SELECTIONS[name])
    return collection, model


def briefly(versions: list[Version]) -> list[tuple[str, int]]:
    return [(version.key, version.revision) for version in versions]


@given(histories)
def test_the_list_at_any_kept_revision_is_what_was_there_then(history: list[Any]) -> None:
    asyncio.run(_the_list_at_any_kept_revision_is_what_was_there_then(history))


async def _the_list_at_any_kept_revision_is_what_was_there_then(history: list[Any]) -> None:
    collection, model = await build(history)
    for revision in range(model.floor, model.revision + 1):
        for namespace in SCOPES:
            for name, selection in SELECTIONS.items():
                page = await read_page(collection, namespace, selection, revision, 0, None)
                assert briefly(page.entries) == model.listed(revision, namespace, name)
                assert (page.last_key, page.remaining) == (None, None)


@given(histories)
def test_the_current_list_is_the_newest_state(history: list[Any]) -> None:
    asyncio.run(_the_current_list_is_the_newest_state(history))


async def _the_current_list_is_the_newest_state(history: list[Any]) -> None:
    collection, model = await build(history)
    for namespace in SCOPES:
        for name, selection in SELECTIONS.items():
            expected = model.listed(model.revision, namespace, name)
            assert briefly(collection.current(namespace, selection)) == expected
            assert briefly(await select(collection, namespace, selection)) == expected
    assert len(collection) == len(model.now)


@given(histories, st.integers(1, 5))
def test_pages_of_an_old_revision_make_up_the_old_list(history: list[Any], limit: int) -> None:
    asyncio.run(_pages_of_an_old_revision_make_up_the_old_list(history, limit))


async def _pages_of_an_old_revision_make_up_the_old_list(history: list[Any], limit: int) -> None:
    collection, model = await build(history)
    for revision in range(model.floor, model.revision + 1):
        for namespace in ("", "a", "ab"):
            for name in ("all", "l=1", "not name"):
                selection = SELECTIONS[name]
                whole = model.listed(revision, namespace, name)
                rows: list[tuple[str, int]] = []
                after: str | None = None
                while True:
                    page = await read_page(collection, namespace, selection, revision, limit, after)
                    rows += briefly(page.entries)
                    left = len(whole) - len(rows)
                    if page.last_key is None:
                        assert (left, page.remaining) == (0, None)
                        break
                    assert len(page.entries) == limit
                    assert page.remaining == (left if name == "all" else None)
                    after = page.last_key
                assert rows == whole


@given(histories)
def test_a_watch_from_any_kept_revision_leads_from_the_list_then_to_the_list_now(
    history: list[Any],
) -> None:
    collection, model = asyncio.run(build(history))
    for revision in range(model.floor, model.revision + 1):
        for namespace in ("", "a", "ab"):
            for name, selection in SELECTIONS.items():
                state = dict(model.listed(revision, namespace, name))
                for change in collection.events_after(revision):
                    if namespace and change.namespace != namespace:
                        continue
                    apply(state, event_type(change, selection), change)
                assert sorted(state.items()) == model.listed(model.revision, namespace, name)


def apply(state: dict[str, int], kind: str | None, change: Change) -> None:
    """Take an event as a client does that holds the state before it."""
    if kind is None:
        assert change.key not in state
    elif kind == ADDED:
        assert change.key not in state
        state[change.key] = change.revision
    elif kind == MODIFIED:
        assert change.key in state
        state[change.key] = change.revision
    else:
        assert kind == DELETED
        assert change.key in state
        del state[change.key]


@settings(max_examples=25)
@given(st.lists(histories, min_size=1, max_size=3))
def test_what_is_loaded_from_disk_is_what_was_there(parts: list[list[Any]]) -> None:
    """Write, close, open, write on: every kept revision reads as before, and revisions rise."""
    with tempfile.TemporaryDirectory() as name:
        asyncio.run(_replay_on_disk(Path(name), parts))


async def _replay_on_disk(directory: Path, parts: list[list[Any]]) -> None:
    model = Model()
    revisions = [0]  # of the store, by revision of the model
    for history in parts:
        store = Store(EmbeddedLog(SqliteBackend(directory)), history_memory=4000)
        await store.open()
        collection = store.collection("core/things")
        collection.select_fields = fields_of
        await _compare(store, collection, model, revisions)
        for operation in history:
            await _play(store, collection, model, revisions, operation)
        await _compare(store, collection, model, revisions)
        await store.close()
    assert revisions == sorted(set(revisions))


async def _play(
    store: Store, collection: Collection, model: Model, revisions: list[int], operation: Any
) -> None:
    match operation:
        case "put", key, labels, phase:
            current = collection.latest(key)
            version = await store.put(collection, key, value_of(key, labels, phase), current)
            model.change(key, (labels, phase))
            revisions.append(version.revision)
        case "delete", key if key in model.now:
            current = collection.latest(key)
            assert current is not None
            version = await store.delete(collection, key, current)
            model.change(key, None)
            revisions.append(version.revision)
        case "compact", part:
            floor = model.floor + int((model.revision - model.floor) * part)
            if floor > model.floor:
                model.floor = floor
                await store.compact(revisions[floor])
        case "index", name:
            await prepare_index(collection, "", SELECTIONS[name])


async def _compare(
    store: Store, collection: Collection, model: Model, revisions: list[int]
) -> None:
    """Lists, pages and watches of every kept revision, whether memory has it or the disk."""
    assert store.revision == revisions[-1]
    assert store.floor == revisions[model.floor]
    for revision in range(model.floor, model.revision + 1):
        for name in ("all", "l=1", "phase"):
            expected = [
                (key, revisions[number]) for key, number in model.listed(revision, "", name)
            ]
            at, selection = revisions[revision], SELECTIONS[name]
            page = await store.page(collection, "", selection, at, 0)
            assert briefly(page.entries) == expected
            assert await _paged(store, collection, name, at) == expected
            state = dict(expected)
            watcher = Watcher("", selection, at)
            async for changes in store.watch(collection, watcher):
                for change in changes:
                    apply(state, event_type(change, selection), change)
            collection.audience.remove(watcher)
            newest = model.listed(model.revision, "", name)
            assert sorted(state.items()) == [(key, revisions[number]) for key, number in newest]
    for version in page.entries:
        labels, phase = model.states[model.revision][version.key][1:]
        assert version.object()["status"] == {"phase": phase}
        assert version.object()["metadata"].get("labels", {}) == labels


async def _paged(
    store: Store, collection: Collection, name: str, revision: int
) -> list[tuple[str, int]]:
    rows: list[tuple[str, int]] = []
    after: str | None = None
    left: list[int] = []
    while True:
        page = await store.page(collection, "", SELECTIONS[name], revision, 2, after)
        rows += briefly(page.entries)
        if page.last_key is None:
            break
        assert (page.remaining is None) == (name != "all")
        left.append(len(rows) + (page.remaining or 0))
        after = page.last_key
    assert name != "all" or set(left) <= {len(rows)}
    return rows
