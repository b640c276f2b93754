"""Indexes of labels and fields: when they are built, and changes meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from typing import Any

import pytest

from fairlead.storage import collection, reads
from fairlead.storage.collection import Collection, Indexes
from fairlead.storage.reads import prepare_index, select
from fairlead.storage.selection import Fact, Selection, parse_labels
from fairlead.storage.version import Version, body_of, encode

MANY = 3000


class Things:
    """A collection in which every third object has the label `l` with its number."""

    def __init__(self) -> None:
        self.collection = Collection("core/things")
        self.revision = 0
        for number in range(MANY):
            self.put(number, l=str(number)) if number % 3 == 0 else self.put(number)

    def put(self, number: int, **labels: str) -> None:
        self.revision += 1
        metadata = {"name": f"{number:05}", "labels": labels}
        body = body_of(encode({"metadata": metadata}), self.revision)
        self.collection.add(Version(f"a/{number:05}", self.revision, "v1", body))

    def delete(self, number: int) -> None:
        self.revision += 1
        self.collection.add(Version(f"a/{number:05}", self.revision, "v1", None))

    async def find(self, text: str) -> list[int]:
        selection = Selection(parse_labels(text))
        await prepare_index(self.collection, "", selection)
        return [int(item.name) for item in await select(self.collection, "", selection)]


def run(test: Callable[[Things], Coroutine[Any, Any, None]]) -> None:
    asyncio.run(test(Things()))


def test_index_saves_a_search_through_all_objects(monkeypatch: pytest.MonkeyPatch) -> None:
    looked_at: list[str] = []
    matches = Selection.matches

    def counted(selection: Selection, version: Version) -> bool:
        looked_at.append(version.key)
        return matches(selection, version)

    async def test(collection: Things) -> None:
        await collection.find("l=1")
        monkeypatch.setattr(Selection, "matches", counted)
        assert await collection.find("l in (3,6,7)") == [3, 6]
        assert looked_at == ["a/00003", "a/00006"]

    run(test)


def test_an_index_is_kept_current() -> None:
    async def test(collection: Things) -> None:
        assert await collection.find("l=3") == [3]
        collection.put(4, l="3")
        collection.put(3, l="4")
        assert await collection.find("l=3") == [4]
        collection.delete(4)
        assert await collection.find("l=3") == []
        assert len(await collection.find("l")) == MANY // 3

    run(test)


def test_index_has_what_changed_while_it_was_built(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fairlead.base.backlog.SLICE_SECONDS", 0.0)

    async def test(collection: Things) -> None:
        making = asyncio.create_task(collection.find("l=x"))
        for _ in range(5):
            await asyncio.sleep(0)
        assert not making.done()
        collection.put(0, l="x")
        collection.put(MANY - 1, l="x")
        collection.put(1, l="x")
        collection.delete(1)
        collection.put(MANY, l="x")
        assert await making == [0, MANY - 1, MANY]

    run(test)


def test_index_that_is_being_built_is_awaited_by_other_lists(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    created: list[object] = []
    build_index = reads._build_index

    async def counted(indexes: Indexes, fact: Fact, heads: Mapping[str, Version]) -> None:
        created.append(fact)
        await build_index(indexes, fact, heads)

    monkeypatch.setattr(reads, "_build_index", counted)
    monkeypatch.setattr("fairlead.base.backlog.SLICE_SECONDS", 0.0)

    async def test(collection: Things) -> None:
        requests = [asyncio.create_task(collection.find(f"l={number}")) for number in (3, 6, 7)]
        await asyncio.sleep(0)
        requests.append(asyncio.create_task(collection.find("l=9")))
        await asyncio.sleep(0)
        requests[0].cancel()  # who makes it leaves
        assert [await request for request in requests[1:]] == [[6], [], [9]]
        assert len(created) == 2

    run(test)


def test_index_that_was_unused_for_longest_goes_when_there_are_too_many() -> None:
    async def test(resource: Things) -> None:
        await resource.find("l=1")
        for number in range(collection.MAX_INDEXES - 1):
            await resource.find(f"k{number}=1")
        await resource.find("l=3")
        await resource.find("another=1")
        facts = [fact.name for fact in resource.collection.indexes.built]
        assert len(facts) == collection.MAX_INDEXES
        assert "l" in facts
        assert "k0" not in facts

    run(test)


def test_index_is_not_built_for_few_objects() -> None:
    async def test(resource: Things) -> None:
        for number in range(100, MANY):
            resource.delete(number)
        resource.collection.forget(resource.revision)
        assert await resource.find("l=3") == [3]
        assert not resource.collection.indexes

    run(test)
