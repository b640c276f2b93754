"""Stores of several processes on one log: the owner feeds the others, and writes for them."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from pathlib import Path

import pytest
from support.backends import thing
from support.listening import next_events
from support.local import Family
from support.waiting import comes_true

from fairlead.storage.audience import Watcher
from fairlead.storage.backend import Compacted, ConditionFailed, Conflict, Precondition, Write
from fairlead.storage.selection import EVERYTHING
from fairlead.storage.store import Store
from fairlead.storage.version import encode
from fairlead.storage.workers import channel
from fairlead.storage.workers import page as page_module
from fairlead.storage.workers.page import CONNECTIONS, READING, WRITING, Page

THINGS = "core/things"


@pytest.fixture
def run(tmp_path: Path) -> Callable[[Callable[[Family], Awaitable[None]]], None]:
    def run(test: Callable[[Family], Awaitable[None]]) -> None:
        async def main() -> None:
            family = Family(tmp_path)
            await family.start_owner()
            try:
                await asyncio.wait_for(test(family), 20)
            finally:
                await family.close()

        asyncio.run(main())

    return run


Run = Callable[[Callable[[Family], Awaitable[None]]], None]


async def put(store: Store, key: str, number: object = 0) -> int:
    things = store.collection(THINGS)
    version = await store.put(things, key, thing(number), things.latest(key))
    return version.revision


def numbers(store: Store) -> dict[str, str]:
    versions = store.collection(THINGS).current("")
    return {version.key: version.object()["data"]["n"] for version in versions}


def test_worker_begins_with_everything_as_it_is_stored(run: Run) -> None:
    async def test(family: Family) -> None:
        for turn in range(2):
            await asyncio.gather(*(put(family.owner, f"k{n}", n + turn) for n in range(1500)))
        follower = await family.follower()
        assert numbers(follower) == numbers(family.owner)
        owned, followed = family.owner.collection(THINGS), follower.collection(THINGS)
        assert {key: head.body for key, head in followed.heads.items()} == {
            key: head.body for key, head in owned.heads.items()
        }
        assert follower.revision == family.owner.revision

    run(test)


def test_workers_have_each_others_writes_after_catching_up(run: Run) -> None:
    async def test(family: Family) -> None:
        stores = [family.owner, await family.follower(), await family.follower()]
        for number in range(30):
            writer = stores[number % 3]
            await put(writer, f"k{number}", number)
            for reader in stores:
                await reader.catch_up()
                assert numbers(reader)[f"k{number}"] == str(number)

    run(test)


def test_workers_page_has_a_revision_before_its_writer_is_answered(run: Run) -> None:
    async def test(family: Family) -> None:
        for number in range(10):
            revision = await put(family.owner, "a", number)
            assert family.page.revision >= revision

    run(test)


def test_workers_conflict_comes_with_a_revision_that_shows_why(run: Run) -> None:
    async def test(family: Family) -> None:
        source = family.source()
        taken = await put(family.owner, "a")
        value = encode(thing(1))
        with pytest.raises(Conflict) as conflict:
            await source.write([Write(THINGS, "a", "v1", value, 0)])
        assert conflict.value.visible_at >= taken
        missing = Precondition("core/others", "gone")
        with pytest.raises(ConditionFailed) as failed:
            await source.write([Write(THINGS, "b", "v1", value, 0, [missing])])
        assert failed.value.condition == missing
        assert await source.write([Write(THINGS, "a", "v1", value, taken)]) == [taken + 1]
        await source.close()

    run(test)


def test_workers_group_of_writes_is_taken_as_a_whole_or_not_at_all(run: Run) -> None:
    async def test(family: Family) -> None:
        source = family.source()
        taken = await put(family.owner, "a")
        value = encode(thing(1))

        def write(key: str, expected: int) -> Write:
            return Write(THINGS, key, "v1", value, expected)

        for group in (
            [write("a", taken + 7), write("b", 0)],  # the first one's key has moved on
            [write("b", 0), write("a", 0)],  # there is one already
            [write("b", 0), write("a", taken + 7)],
            [write("b", 0), write("c", taken)],  # there is none
        ):
            with pytest.raises((Conflict, ConditionFailed)):
                await source.write(group)
            assert numbers(family.owner) == {"a": "0"}
            assert family.page.revision == taken
        assert await source.write([write("b", 0), write("a", taken)]) == [taken + 1, taken + 2]
        assert numbers(family.owner) == {"a": "1", "b": "1"}
        await source.close()

    run(test)


def test_workers_writes_to_one_key_are_taken_one_after_the_other(run: Run) -> None:
    async def test(family: Family) -> None:
        stores = [family.owner, await family.follower(), await family.follower()]
        await put(family.owner, "hot", 0)

        async def count(store: Store) -> None:
            done = 0
            while done < 20:
                await store.catch_up()
                over = store.collection(THINGS).latest("hot")
                assert over is not None
                number = int(over.object()["data"]["n"]) + 1
                try:
                    await store.put(store.collection(THINGS), "hot", thing(number), over)
                except Conflict:
                    continue
                done += 1

        await asyncio.gather(*map(count, stores))
        for store in stores:
            await store.catch_up()
            assert numbers(store) == {"hot": "60"}

    run(test)


def test_workers_read_history_from_the_owner(run: Run) -> None:
    async def test(family: Family) -> None:
        for number in range(4):
            await put(family.owner, "a", number)
        source = family.source()
        (row,) = (await source.state(THINGS, 2, "", None, 0)).rows
        assert row.revision == 2
        steps = await source.changes(THINGS, 1, 4)
        assert [step.row.revision for step in steps] == [2, 3, 4]
        assert [step.before.revision for step in steps if step.before] == [1, 2, 3]
        await family.owner.compact(3)
        with pytest.raises(Compacted):
            await source.state(THINGS, 2, "", None, 0)
        assert await source.size() > 0
        await source.close()

    run(test)


def test_a_watch_at_a_follower_goes_on_when_the_owner_was_lost(run: Run) -> None:
    async def test(family: Family) -> None:
        follower = await family.follower()
        seen: list[int] = []
        things = follower.collection(THINGS)
        watcher = Watcher("", EVERYTHING, follower.revision)
        async for changes in follower.watch(things, watcher):
            seen += [change.revision for change in changes]
        for number in range(3):
            await put(family.owner, "a", number)
        await follower.catch_up()
        await family.lose_owner()
        await comes_true(lambda: not follower.healthy, "the loss is noticed")
        assert numbers(follower) == {"a": "2"}
        waiting = asyncio.ensure_future(put(follower, "b"))  # until there is an owner again
        await family.start_owner()
        for number in range(3):
            await put(family.owner, "c", number)
        revision = await waiting
        await follower.catch_up()
        while not seen or seen[-1] < family.owner.revision:
            seen += [change.revision for _, change in await next_events(watcher)]
        assert seen == list(range(1, family.owner.revision + 1))
        assert revision in seen
        assert follower.healthy

    run(test)


def test_worker_whose_revision_was_compacted_begins_again(run: Run) -> None:
    async def test(family: Family) -> None:
        await put(family.owner, "a")
        source = family.source()
        for number in range(5):
            await put(family.owner, "a", number)
        await family.owner.compact(4)
        with pytest.raises(Compacted):
            await anext(source.feed(2))
        async with aclosing(source.feed(4)) as feed:
            assert [row.revision for row in (await anext(feed)).rows] == [5, 6]
        with pytest.raises(Compacted):
            await anext(source.feed(99))
        await source.close()

    run(test)


def test_worker_that_does_not_read_is_cut_off(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(channel, "MAX_UNREAD", 100_000)

    async def test(family: Family) -> None:
        loop = asyncio.get_running_loop()
        deaf = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        deaf.setblocking(False)
        await loop.sock_connect(deaf, family.path)
        await loop.sock_sendall(deaf, channel.framed((1, "feed", 0)))
        follower = await family.follower()
        await loop.sock_recv(deaf, 10)
        for number in range(100):
            await put(family.owner, "a", "x" * 10_000 + str(number))
        count = 0
        while data := await loop.sock_recv(deaf, 1 << 20):
            count += len(data)
        assert count < 900_000
        deaf.close()
        await follower.catch_up()
        assert numbers(follower)["a"].endswith("99")

    run(test)


def test_workers_socket_refuses_processes_of_other_users(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def test(family: Family) -> None:
        monkeypatch.setattr(os, "geteuid", lambda: 4242)
        loop = asyncio.get_running_loop()
        stranger = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        stranger.setblocking(False)
        await loop.sock_connect(stranger, family.path)
        assert await loop.sock_recv(stranger, 10) == b""
        stranger.close()

    run(test)


def test_workers_owner_that_falls_silent_is_unhealthy(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 17
    monkeypatch.setattr(page_module, "monotonic_ns", lambda: now)
    page = Page(2)
    assert not page.healthy
    page.set_healthy(True)
    assert page.healthy
    now += 5_000_000_000
    assert not page.healthy
    page.set_healthy(True)
    assert page.healthy
    page.set_healthy(False)
    assert not page.healthy


def test_workers_page_counts_for_all_and_forgets_dead_processes() -> None:
    page = Page(3)
    for number in range(3):
        slot = page.slot(number)
        slot.occupy(100 + number)
        slot.set_ready(True)
        slot.counts[READING] += number
        slot.counts[WRITING] += 1
        slot.count_connection("10.0.0.1", 2)
    assert (page.total(READING), page.total(WRITING), page.total(CONNECTIONS)) == (3, 3, 6)
    assert page.connections_from("10.0.0.1") == 6
    assert list(page.loads()) == [2, 2, 2]
    page.slot(2).clear()
    assert (page.total(READING), page.total(WRITING), page.total(CONNECTIONS)) == (1, 2, 4)
    assert page.connections_from("10.0.0.1") == 4
    assert list(page.loads()) == [2, 2]
