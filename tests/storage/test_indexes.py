"""Indexes of labels and fields: when they are made, and what happens meanwhile."""

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
    """A collection with objects of which every third has the label `l` of its own number."""

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
        return [int(found.name) for found in await select(self.collection, "", selection)]


def run(test: Callable[[Things], Coroutine[Any, Any, None]]) -> None:
    asyncio.run(test(Things()))


def test_index_saves_a_search_through_all_objects(monkeypatch: pytest.MonkeyPatch) -> None:
    looked_at: list[str] = []
    matches = Selection.matches

    def counted(selection: Selection, version: Version) -> bool:
        looked_at.append(version.key)
        return matches(selection, version)

    async def test(things: Things) -> None:
        await things.find("l=1")
        monkeypatch.setattr(Selection, "matches", counted)
        assert await things.find("l in (3,6,7)") == [3, 6]
        assert looked_at == ["a/00003", "a/00006"]

    run(test)


def test_an_index_is_kept_current() -> None:
    async def test(things: Things) -> None:
        assert await things.find("l=3") == [3]
        things.put(4, l="3")
        things.put(3, l="4")
        assert await things.find("l=3") == [4]
        things.delete(4)
        assert await things.find("l=3") == []
        assert len(await things.find("l")) == MANY // 3

    run(test)


def test_index_has_what_changed_while_it_was_built(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fairlead.base.backlog.SECONDS", 0.0)

    async def test(things: Things) -> None:
        making = asyncio.create_task(things.find("l=x"))
        for _ in range(5):
            await asyncio.sleep(0)
        assert not making.done()
        things.put(0, l="x")
        things.put(MANY - 1, l="x")
        things.put(1, l="x")
        things.delete(1)
        things.put(MANY, l="x")
        assert await making == [0, MANY - 1, MANY]

    run(test)


def test_index_that_is_being_built_is_awaited_by_other_lists(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made: list[object] = []
    build_index = reads._build_index

    async def counted(indexes: Indexes, fact: Fact, heads: Mapping[str, Version]) -> None:
        made.append(fact)
        await build_index(indexes, fact, heads)

    monkeypatch.setattr(reads, "_build_index", counted)
    monkeypatch.setattr("fairlead.base.backlog.SECONDS", 0.0)

    async def test(things: Things) -> None:
        asked = [asyncio.create_task(things.find(f"l={number}")) for number in (3, 6, 7)]
        await asyncio.sleep(0)
        asked.append(asyncio.create_task(things.find("l=9")))
        await asyncio.sleep(0)
        asked[0].cancel()  # who makes it leaves
        assert [await one for one in asked[1:]] == [[6], [], [9]]
        assert len(made) == 2

    run(test)


def test_index_that_was_unused_for_longest_goes_when_there_are_too_many() -> None:
    async def test(things: Things) -> None:
        await things.find("l=1")
        for number in range(collection.MAX_INDEXES - 1):
            await things.find(f"k{number}=1")
        await things.find("l=3")
        await things.find("another=1")
        facts = [fact.name for fact in things.collection.indexes.built]
        assert len(facts) == collection.MAX_INDEXES
        assert "l" in facts
        assert "k0" not in facts

    run(test)


def test_index_is_not_built_for_few_objects() -> None:
    async def test(things: Things) -> None:
        for number in range(100, MANY):
            things.delete(number)
        things.collection.forget(things.revision)
        assert await things.find("l=3") == [3]
        assert not things.collection.indexes

    run(test)
