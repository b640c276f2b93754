"""The contract of every source; each one joins by its factory."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from itertools import count
from pathlib import Path

import pytest
from support.backends import OTHERS, THINGS, write
from support.etcd import Etcd, needs_etcd
from support.local import owner_elsewhere
from support.plain_codec import PlainCodec
from support.sources import MemorySource, Shared, closing_feed

from fairlead.storage.backend import (
    Compacted,
    ConditionFailed,
    Conflict,
    Precondition,
    Row,
    Step,
    Write,
)
from fairlead.storage.etcd.source import EtcdSource
from fairlead.storage.log import Reached, Source

# Gives a new connection to the same store each time, not opened yet.
Connect = Callable[[], Source]
Factory = Callable[[Path], AbstractContextManager[Connect]]


@contextmanager
def memory(directory: Path) -> Iterator[Connect]:
    shared = Shared()
    yield lambda: MemorySource(shared)


_spaces = count()


@contextmanager
def shared_etcd(member: Etcd) -> Iterator[Connect]:
    prefix = f"/space{next(_spaces)}"
    yield lambda: EtcdSource([member.url], PlainCodec(), prefix)


FACTORIES: dict[str, Factory] = {"memory": memory, "local": owner_elsewhere}


@pytest.fixture(params=[*FACTORIES, pytest.param("etcd", marks=needs_etcd)])
def connect(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Connect]:
    if request.param == "etcd":
        manager: AbstractContextManager[Connect] = shared_etcd(request.getfixturevalue("etcd"))
    else:
        manager = FACTORIES[request.param](tmp_path)
    with manager as result:
        yield result


def run(connect: Connect, test: Callable[[Source, Source], Awaitable[None]]) -> None:
    """Run a test with two connections to one store."""

    async def main() -> None:
        first, other = connect(), connect()
        for source in (first, other):
            await source.open()
        try:
            await asyncio.wait_for(test(first, other), 30)
        finally:
            for source in (first, other):
                await source.close()

    asyncio.run(main())


async def put(source: Source, *group: Write) -> int:
    """Write these together; gives the last revision."""
    return (await source.write(group))[-1]


async def rows_until(feed: AsyncIterator[Reached], upto: int) -> list[Row]:
    """Return the rows of a feed up to a revision."""
    rows: list[Row] = []
    async for reached in feed:
        rows += reached.rows
        if reached.revision >= upto:
            return rows
    raise AssertionError("the feed ended")


def facts(rows: list[Row]) -> list[tuple[str, bytes | None]]:
    return [(row.key, row.value) for row in rows]


async def state(source: Source, revision: int, resource: str = THINGS) -> dict[str, int]:
    rows = (await source.state(resource, revision, "", None, 0)).rows
    return {row.key: row.revision for row in rows}


async def all_changes(source: Source, after: int, upto: int) -> list[list[Step]]:
    """In the pieces in which they come."""
    stepses: list[list[Step]] = []
    while steps := await source.changes(THINGS, after, upto):
        stepses.append(steps)
        after = steps[-1].row.revision
    return stepses


def test_source_revisions_rise_and_are_the_same_for_all(connect: Connect) -> None:
    async def test(source: Source, other: Source) -> None:
        first = await put(source, write("a"))
        second = await put(other, write("b"))
        assert first < second
        assert await source.fetch_newest() == await other.fetch_newest() == second

    run(connect, test)


def test_a_write_over_another_revision_than_the_expected_is_refused(connect: Connect) -> None:
    async def test(source: Source, other: Source) -> None:
        first = await put(source, write("a"))
        second = await put(other, write("a", b"2", first))
        for refused in (write("a"), write("a", b"3", first), write("b", b"3", first)):
            with pytest.raises(Conflict) as conflict:
                await put(source, refused)
            assert conflict.value.visible_at >= second
        assert await state(source, second) == {"a": second}

    run(connect, test)


def test_source_lets_one_of_two_writes_of_the_same_key_win(connect: Connect) -> None:
    async def test(first: Source, other: Source) -> None:
        tries = [put(source, write("a", b"%d" % n)) for n in range(10) for source in (first, other)]
        outcomes = await asyncio.gather(*tries, return_exceptions=True)
        assert sorted(type(outcome).__name__ for outcome in outcomes) == ["Conflict"] * 19 + ["int"]

    run(connect, test)


def test_a_deleted_key_can_be_used_again(connect: Connect) -> None:
    async def test(source: Source, other: Source) -> None:
        first = await put(source, write("a"))
        gone = await put(source, write("a", None, first))
        for refused in (write("a", None, gone), write("a", b"2", first)):
            with pytest.raises(Conflict):
                await put(other, refused)
        again = await put(other, write("a", b"again"))
        assert gone < again
        assert await state(source, again) == {"a": again}

    run(connect, test)


def test_source_writes_a_group_as_a_whole_or_not_at_all(connect: Connect) -> None:
    async def test(source: Source, other: Source) -> None:
        first = await put(source, write("a"))
        with pytest.raises(ConditionFailed) as failed:
            await put(source, write("b"), write("a", b"2"), write("c"))
        assert failed.value.condition[:2] == (THINGS, "a")
        assert failed.value.visible_at == first
        with pytest.raises(Conflict):
            await put(source, write("a"), write("b"))
        assert await state(other, await other.fetch_newest()) == {"a": first}
        last = await put(source, write("b"), write("a", b"2", first), write("x", resource=OTHERS))
        assert set(await state(other, last)) == {"a", "b"}
        assert set(await state(other, last, OTHERS)) == {"x"}

    run(connect, test)


def test_a_precondition_that_another_key_exists(connect: Connect) -> None:
    async def test(source: Source, other: Source) -> None:
        needs = (Precondition(OTHERS, "ns"),)
        with pytest.raises(ConditionFailed) as failed:
            await put(source, write("a", requires=needs))
        assert failed.value.condition == needs[0]
        number = await put(other, write("ns", resource=OTHERS))
        await put(source, write("a", requires=needs))
        gone = await put(other, write("ns", None, number, resource=OTHERS))
        with pytest.raises(ConditionFailed) as failed:
            await put(source, write("b", requires=needs))
        assert failed.value.visible_at >= gone

    run(connect, test)


def test_a_precondition_on_the_revision_of_another_key(connect: Connect) -> None:
    async def test(source: Source, other: Source) -> None:
        quota = write("quota", resource=OTHERS)
        [quota.revision] = await source.write([quota])
        await put(source, write("a", requires=(Precondition(OTHERS, "quota", quota),)))
        await put(source, write("b", requires=(Precondition(OTHERS, "none", 0),)))
        await put(other, write("quota", b"2", quota, resource=OTHERS))
        with pytest.raises(ConditionFailed):
            await put(source, write("c", requires=(Precondition(OTHERS, "quota", quota.revision),)))
        with pytest.raises(ConditionFailed):
            await put(source, write("c", requires=(Precondition(OTHERS, "quota", 0),)))

    run(connect, test)


def test_a_snapshot_has_what_is_there_at_its_revision(connect: Connect) -> None:
    async def test(source: Source, other: Source) -> None:
        first = await put(source, write("a", b"1"), write("b"))
        await put(source, write("b", None, await _revision(source, "b")))
        await put(source, write("a", b"2", await _revision(source, "a")))
        value = bytes(range(256))
        last = await put(source, Write(OTHERS, "ns/é☃", "example.com/v1", value, 0))
        assert first < last
        revision, rows = await other.snapshot()
        assert revision == last
        results = [(row.resource, row.key, row.api_version, row.value) for row in rows]
        assert sorted(results) == [
            (THINGS, "a", "v1", b"2"),
            (OTHERS, "ns/é☃", "example.com/v1", value),
        ]

    run(connect, test)


async def _revision(source: Source, key: str) -> int:
    return (await state(source, await source.fetch_newest()))[key]


def test_a_large_snapshot_is_whole_and_of_one_moment(connect: Connect) -> None:
    async def test(source: Source, other: Source) -> None:
        before = await put(source, *(write(f"k{n:04}", b"x" * 3000) for n in range(50)))
        await asyncio.gather(*(put(source, write(f"l{n:04}", b"x" * 3000)) for n in range(1500)))
        moving = [put(other, write(f"a{n}"), write(f"z{n}")) for n in range(50)]
        (revision, rows), _ = await asyncio.gather(source.snapshot(), asyncio.gather(*moving))
        assert revision > before
        keys = [row.key for row in rows]
        assert len(set(keys)) == len(keys)
        assert sum(key[0] in "kl" for key in keys) == 1550
        assert {key[1:] for key in keys if key[0] == "a"} == {
            key[1:] for key in keys if key[0] == "z"
        }
        assert all(row.revision <= revision for row in rows)

    run(connect, test)


def test_the_feed_tells_everything_in_order_whoever_wrote_it(connect: Connect) -> None:
    async def test(source: Source, other: Source) -> None:
        start = await put(source, write("before"))
        async with closing_feed(source, start) as feed:
            first = await put(other, write("a", b"1"))
            await put(source, write("b", b"2"), write("c", b"3"))
            last = await put(other, write("a", None, first))
            rows = await rows_until(feed, last)
            assert facts(rows) == [("a", b"1"), ("b", b"2"), ("c", b"3"), ("a", None)]
            revisions = [row.revision for row in rows]
            assert revisions == sorted(revisions)
            assert (revisions[0], revisions[-1]) == (first, last)

    run(connect, test)


def test_the_feed_tells_the_past_as_well_and_then_what_comes(connect: Connect) -> None:
    async def test(source: Source, other: Source) -> None:
        start = await put(source, write("a", b"1"))
        second = await put(source, write("a", b"2", start))
        async with closing_feed(other, start) as feed:
            assert facts(await rows_until(feed, second)) == [("a", b"2")]
            third = await put(source, write("a", b"3", second))
            assert facts(await rows_until(feed, third)) == [("a", b"3")]

    run(connect, test)


def test_feed_that_is_taken_up_again_loses_and_repeats_nothing(connect: Connect) -> None:
    async def test(source: Source, other: Source) -> None:
        start = last = await source.fetch_newest()
        writing = asyncio.gather(*(put(other, write(f"k{n}")) for n in range(200)))
        rows: list[Row] = []
        while len(rows) < 200:
            async with closing_feed(source, last) as feed:
                async for reached in feed:
                    rows += reached.rows
                    if reached.revision > last:
                        last = reached.revision
                        break
        assert sorted(row.key for row in rows) == sorted(f"k{n}" for n in range(200))
        assert sorted(await writing) == [row.revision for row in rows]
        assert rows[0].revision > start

    run(connect, test)


def test_source_keeps_equal_keys_of_two_resources_apart(connect: Connect) -> None:
    async def test(source: Source, other: Source) -> None:
        start = await source.fetch_newest()
        first = await put(source, write("a"))
        second = await put(source, write("a", resource=OTHERS))
        assert await state(source, second) == {"a": first}
        assert await state(source, second, OTHERS) == {"a": second}
        steps = await source.changes(OTHERS, start, second)
        assert [step.row.revision for step in steps] == [second]

    run(connect, test)


def test_source_changes_have_the_value_before_and_after(connect: Connect) -> None:
    async def test(source: Source, other: Source) -> None:
        start = await put(source, write("a", b"1"))
        await put(other, write("x", resource=OTHERS))
        await put(source, write("b", b"2"))
        third = await put(source, write("a", b"3", start))
        gone = await put(source, write("a", None, third))
        last = await put(source, write("a", b"5"))
        [steps] = await all_changes(other, start, last)
        assert [
            (step.row.key, step.before and step.before.value, step.row.value) for step in steps
        ] == [("b", None, b"2"), ("a", b"1", b"3"), ("a", b"3", None), ("a", None, b"5")]
        assert [step.row.previous for step in steps] == [0, start, third, 0]
        assert steps[2].row.revision == gone
        assert steps[2].before is not None
        assert steps[2].before.api_version == "v1"
        [until] = await all_changes(other, start, third)
        assert until == steps[:2]
        assert await other.changes(THINGS, last, last) == []

    run(connect, test)


def test_source_changes_come_in_pieces_that_make_up_all(connect: Connect) -> None:
    async def test(source: Source, other: Source) -> None:
        start = await source.fetch_newest()
        created = await asyncio.gather(
            *(put(source, write(f"k{n}", b"x" * 9000)) for n in range(700))
        )
        pieces = await all_changes(source, start, max(created))
        assert [step.row.revision for piece in pieces for step in piece] == sorted(created)
        assert max(map(len, pieces)) <= 500

    run(connect, test)


def test_source_has_the_state_at_every_revision(connect: Connect) -> None:
    async def test(source: Source, other: Source) -> None:
        start = await source.fetch_newest()
        a = await put(source, write("a"))
        b = await put(source, write("b"))
        second = await put(source, write("a", b"3", a))
        gone = await put(source, write("b", None, b))
        again = await put(source, write("b"))
        assert [await state(other, at) for at in (start, a, b, second, gone, again)] == [
            {},
            {"a": a},
            {"a": a, "b": b},
            {"a": second, "b": b},
            {"a": second},
            {"a": second, "b": again},
        ]

    run(connect, test)


def test_a_state_is_read_in_parts(connect: Connect) -> None:
    async def test(source: Source, other: Source) -> None:
        names = [*(f"ns/{name}" for name in "edcba"), "nt/a", "m/a"]
        last = await put(source, *map(write, names))
        rows, more = await source.state(THINGS, last, "ns/", "ns0", 2)
        assert ([row.key for row in rows], more) == (["ns/a", "ns/b"], 3)
        rows, more = await source.state(THINGS, last, "ns/b", "ns0", 0)
        assert ([row.key for row in rows], more) == (["ns/c", "ns/d", "ns/e"], 0)
        assert await source.state(THINGS, last, "ns/e", "ns0", 0) == ([], 0)
        rows, more = await source.state(THINGS, last, "ns/e", None, 0)
        assert ([row.key for row in rows], more) == (["nt/a"], 0)

    run(connect, test)


def test_compaction_keeps_the_state_at_the_floor_and_what_came_after(connect: Connect) -> None:
    async def test(first: Source, other: Source) -> None:
        a = await put(first, write("a"))
        b = await put(first, write("b"))
        second = await put(first, write("a", b"3", a))
        floor = await put(first, write("b", None, b))
        last = await put(first, write("a", b"5", second))
        await _compact(first, floor)
        assert first.floor == floor
        assert await state(first, floor) == {"a": second}
        assert await state(first, last) == {"a": last}
        [step] = await first.changes(THINGS, floor, last)
        assert step.before is not None
        assert step.before.value == b"3"
        for source in (first, other):
            for call in (source.changes(THINGS, second, last), state(source, second)):
                with pytest.raises(Compacted):
                    await call
            assert source.floor >= floor

    run(connect, test)


async def _compact(source: Source, floor: int) -> None:
    """Compact, after any earlier compaction."""
    while source.floor < floor:
        await source.compact(floor)


def test_a_feed_from_before_the_floor_says_that_it_is_compacted(connect: Connect) -> None:
    async def test(source: Source, other: Source) -> None:
        first = await put(source, write("a"))
        second = await put(source, write("a", b"2", first))
        third = await put(source, write("a", b"3", second))
        await _compact(source, third)
        with pytest.raises(Compacted):
            async with closing_feed(other, first) as feed:
                await rows_until(feed, third)
        assert other.floor > first
        async with closing_feed(other, third) as feed:
            last = await put(source, write("a", b"4", third))
            assert facts(await rows_until(feed, last)) == [("a", b"4")]

    run(connect, test)
