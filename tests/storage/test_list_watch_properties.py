"""For any history: lists at any kept revision, their pages, and watches between them agree."""

from __future__ import annotations

import asyncio
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fairlead.storage.entry import Entry, body_of, encode
from hypothesis import given, settings
from hypothesis import strategies as st

from fairlead.storage.collection import Collection
from fairlead.storage.selection import EVERYTHING, Selection, parse_fields, parse_labels
from fairlead.storage.sqlite import SqliteLog
from fairlead.storage.store import Store
from fairlead.storage.watcher import ADDED, DELETED, MODIFIED, event_type

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
histories = st.lists(st.one_of(puts, puts, deletes, compactions), max_size=60)

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
    """What the state was at every revision."""

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
    """The selections above, said in another way."""
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


def build(history: list[Any]) -> tuple[Collection, Model]:
    """Play a history on a collection and on the model."""
    collection, model = Collection("things"), Model()
    collection.select_fields = fields_of
    for operation in history:
        match operation:
            case "put", key, labels, phase:
                previous = collection.head(key)
                revision = model.change(key, (labels, phase))
                body = body_of(encode(value_of(key, labels, phase)), revision)
                collection.add(Entry(key, revision, body, previous, collection.fields_of))
            case "delete", key if key in model.now:
                previous = collection.head(key)
                revision = model.change(key, None)
                collection.add(Entry(key, revision, None, previous, collection.fields_of))
            case "compact", part:
                model.floor = model.floor + int((model.revision - model.floor) * part)
                collection.forget(model.floor)
    return collection, model


def briefly(entries: list[Entry]) -> list[tuple[str, int]]:
    return [(entry.key, entry.revision) for entry in entries]


@settings(deadline=None, max_examples=150)
@given(histories)
def test_the_list_at_any_kept_revision_is_what_was_there_then(history: list[Any]) -> None:
    collection, model = build(history)
    for revision in range(model.floor, model.revision + 1):
        for namespace in SCOPES:
            for name, selection in SELECTIONS.items():
                page = collection.page(namespace, selection, revision, 0, None)
                assert briefly(page.entries) == model.listed(revision, namespace, name)
                assert (page.last_key, page.remaining) == (None, None)


@settings(deadline=None, max_examples=150)
@given(histories)
def test_the_current_list_is_the_newest_state(history: list[Any]) -> None:
    collection, model = build(history)
    for namespace in SCOPES:
        for name, selection in SELECTIONS.items():
            listed = briefly(collection.current(namespace, selection))
            assert listed == model.listed(model.revision, namespace, name)
    assert len(collection) == len(model.now)


@settings(deadline=None, max_examples=150)
@given(histories, st.integers(1, 5))
def test_pages_of_an_old_revision_make_up_the_old_list(history: list[Any], limit: int) -> None:
    collection, model = build(history)
    for revision in range(model.floor, model.revision + 1):
        for namespace in ("", "a", "ab"):
            for name in ("all", "l=1", "not name"):
                selection = SELECTIONS[name]
                whole = model.listed(revision, namespace, name)
                found: list[tuple[str, int]] = []
                after: str | None = None
                while True:
                    page = collection.page(namespace, selection, revision, limit, after)
                    found += briefly(page.entries)
                    left = len(whole) - len(found)
                    if page.last_key is None:
                        assert (left, page.remaining) == (0, None)
                        break
                    assert len(page.entries) == limit
                    assert page.remaining == (left if name == "all" else None)
                    after = page.last_key
                assert found == whole


@settings(deadline=None, max_examples=150)
@given(histories)
def test_a_watch_from_any_kept_revision_leads_from_the_list_then_to_the_list_now(
    history: list[Any],
) -> None:
    collection, model = build(history)
    for revision in range(model.floor, model.revision + 1):
        for namespace in ("", "a", "ab"):
            for name, selection in SELECTIONS.items():
                state = dict(model.listed(revision, namespace, name))
                for entry in collection.events_after(revision):
                    if namespace and entry.namespace != namespace:
                        continue
                    apply(state, event_type(entry, selection), entry)
                assert sorted(state.items()) == model.listed(model.revision, namespace, name)


def apply(state: dict[str, int], kind: str | None, entry: Entry) -> None:
    """Take an event as a client does that holds the state before it."""
    if kind is None:
        assert entry.key not in state
    elif kind == ADDED:
        assert entry.key not in state
        state[entry.key] = entry.revision
    elif kind == MODIFIED:
        assert entry.key in state
        state[entry.key] = entry.revision
    else:
        assert kind == DELETED
        assert entry.key in state
        del state[entry.key]


@settings(deadline=None, max_examples=40)
@given(histories)
def test_what_compaction_gives_up_is_what_nothing_needs(history: list[Any]) -> None:
    """The log without the superseded revisions loads to the same lists."""
    collection, model = Collection("things"), Model()
    kept: dict[int, tuple[str, bytes | None]] = {}
    for operation in history:
        match operation:
            case "put", key, labels, phase:
                previous = collection.head(key)
                revision = model.change(key, (labels, phase))
                encoded = encode(value_of(key, labels, phase))
                kept[revision] = (key, encoded)
                body = body_of(encoded, revision)
                collection.add(Entry(key, revision, body, previous, fields_of))
            case "delete", key if key in model.now:
                previous = collection.head(key)
                revision = model.change(key, None)
                kept[revision] = (key, None)
                collection.add(Entry(key, revision, None, previous, fields_of))
            case "compact", part:
                model.floor = model.floor + int((model.revision - model.floor) * part)
                for gone in collection.forget(model.floor):
                    kept.pop(gone, None)
    again = Collection("things")
    for revision, (key, value) in sorted(kept.items()):
        loaded = body_of(value, revision) if value is not None else None
        entry = Entry(key, revision, loaded, again.head(key), fields_of)
        again.add(entry, to_history=revision > model.floor)
    for revision in range(model.floor, model.revision + 1):
        for name in ("all", "l=1", "phase"):
            page = again.page("", SELECTIONS[name], revision, 0, None)
            assert briefly(page.entries) == model.listed(revision, "", name)


@settings(deadline=None, max_examples=25)
@given(st.lists(histories, min_size=1, max_size=3))
def test_what_is_loaded_from_disk_is_what_was_there(parts: list[list[Any]]) -> None:
    """Write, close, open, write on: every kept revision reads as before, and revisions rise."""
    with tempfile.TemporaryDirectory() as name:
        asyncio.run(_replay_on_disk(Path(name), parts))


async def _replay_on_disk(directory: Path, parts: list[list[Any]]) -> None:
    model = Model()
    revisions = [0]  # of the store, by revision of the model
    for history in parts:
        store = Store(SqliteLog(directory))
        await store.open()
        collection = store.collection("things")
        collection.select_fields = fields_of
        _compare(store, collection, model, revisions)
        for operation in history:
            await _play(store, collection, model, revisions, operation)
        _compare(store, collection, model, revisions)
        await store.close()
    assert revisions == sorted(set(revisions))


async def _play(
    store: Store, collection: Collection, model: Model, revisions: list[int], operation: Any
) -> None:
    match operation:
        case "put", key, labels, phase:
            current = store.latest(collection, key)
            expected = current.revision if current is not None else 0
            entry = await store.put(collection, key, value_of(key, labels, phase), expected)
            model.change(key, (labels, phase))
            revisions.append(entry.revision)
        case "delete", key if key in model.now:
            entry = await store.delete(collection, key, revisions[model.now[key][0]])
            model.change(key, None)
            revisions.append(entry.revision)
        case "compact", part:
            floor = model.floor + int((model.revision - model.floor) * part)
            if floor > model.floor:
                model.floor = floor
                await store.compact(revisions[floor])


def _compare(store: Store, collection: Collection, model: Model, revisions: list[int]) -> None:
    assert store.revision == revisions[-1]
    assert store.floor == revisions[model.floor]
    for revision in range(model.floor, model.revision + 1):
        for name in ("all", "l=1", "phase"):
            page = collection.page("", SELECTIONS[name], revisions[revision], 0, None)
            expected = [
                (key, revisions[number]) for key, number in model.listed(revision, "", name)
            ]
            assert briefly(page.entries) == expected
            state = dict(expected)
            for entry in collection.events_after(revisions[revision]):
                apply(state, event_type(entry, SELECTIONS[name]), entry)
            newest = model.listed(model.revision, "", name)
            assert sorted(state.items()) == [(key, revisions[number]) for key, number in newest]
    for entry in page.entries:
        labels, phase = model.states[model.revision][entry.key][1:]
        assert entry.object()["status"] == {"phase": phase}
        assert entry.object()["metadata"].get("labels", {}) == labels
