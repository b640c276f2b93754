"""The epoch: a write based on a revision fails if the epoch was written after it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from itertools import count

import pytest
from support.backends import OTHERS, THINGS, write
from support.etcd import Etcd, needs_etcd
from support.plain_codec import PlainCodec

from fairlead.storage.backend import Conflict, EpochMoved, Write
from fairlead.storage.etcd.source import EtcdSource

pytestmark = needs_etcd

_spaces = count()


def run(etcd: Etcd, test: Callable[[EtcdSource, EtcdSource], Awaitable[None]]) -> None:
    """Run a test with two connections to one store, where `others` move the epoch and `things` do
    not."""
    prefix = f"/epoch{next(_spaces)}"

    async def main() -> None:
        first, other = (
            EtcdSource([etcd.url], PlainCodec(), prefix, weighs=OTHERS.__eq__) for _ in range(2)
        )
        for source in (first, other):
            await source.open()
        try:
            await asyncio.wait_for(test(first, other), 30)
        finally:
            for source in (first, other):
                await source.close()

    asyncio.run(main())


def resting(wanted: Write, since: int) -> Write:
    wanted.since = since
    return wanted


async def put(source: EtcdSource, *group: Write) -> int:
    return (await source.write(group))[-1]


def test_epoch_stays_when_a_write_does_not_change_it(etcd: Etcd) -> None:
    async def test(source: EtcdSource, other: EtcdSource) -> None:
        since = await put(source, write("a"))
        assert await put(other, write("b")) > since
        assert await put(source, resting(write("c"), since)) > since

    run(etcd, test)


def test_epoch_that_changed_refuses_writes_that_rest_on_the_one_before(etcd: Etcd) -> None:
    async def test(source: EtcdSource, other: EtcdSource) -> None:
        since = await put(source, write("a"))
        moved = 0
        for value in (b"1", b"2", None):
            moved = await put(other, write("x", value, moved, resource=OTHERS))
            with pytest.raises(EpochMoved) as refused:
                await put(source, resting(write("b"), since))
            assert refused.value.visible_at >= moved
            since = moved
        assert await put(source, resting(write("b"), moved)) > moved

    run(etcd, test)


def test_epoch_does_not_matter_to_a_write_that_rests_on_none(etcd: Etcd) -> None:
    async def test(source: EtcdSource, other: EtcdSource) -> None:
        moved = await put(other, write("x", resource=OTHERS))
        assert await put(source, write("a")) > moved

    run(etcd, test)


def test_epoch_conflict_comes_after_a_conflict_of_the_key(etcd: Etcd) -> None:
    async def test(source: EtcdSource, other: EtcdSource) -> None:
        since = await put(source, write("a"))
        await put(other, write("x", resource=OTHERS))
        with pytest.raises(Conflict) as refused:
            await put(source, resting(write("a"), since))
        assert not isinstance(refused.value, EpochMoved)

    run(etcd, test)


def test_epoch_is_not_changed_by_companions(etcd: Etcd) -> None:
    async def test(source: EtcdSource, other: EtcdSource) -> None:
        since = await put(source, write("a"))
        await put(other, write("b"), write("x", resource=OTHERS))
        await put(source, resting(write("c"), since))

    run(etcd, test)


def test_epoch_is_not_part_of_feed_or_snapshot(etcd: Etcd) -> None:
    async def test(source: EtcdSource, other: EtcdSource) -> None:
        first = await put(source, write("a"))
        moved = await put(source, write("x", resource=OTHERS))
        assert {row.key for row in (await other.snapshot()).rows} == {"a", "x"}
        async for reached in other.feed(first):
            if reached.revision >= moved:
                assert [(row.resource, row.key) for row in reached.rows] == [(OTHERS, "x")]
                break
        assert await other.changes(THINGS, first, moved) == []

    run(etcd, test)
