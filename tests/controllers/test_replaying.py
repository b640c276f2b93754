"""A controller is told of what exists in steps, and of what changes meanwhile in its order."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from support.backends import MemoryBackend, thing

from fairlead.controllers.pacing import Pace
from fairlead.controllers.replaying import Replay
from fairlead.storage.change import Change
from fairlead.storage.embedded import EmbeddedLog
from fairlead.storage.store import Store

Told = list[tuple[str, bool]]  # keys, and whether they were there


class _Slow(Pace):
    """One object a round of the loop."""

    async def keep(self) -> None:
        await asyncio.sleep(0)


def replayed(meanwhile: Callable[[Store, Replay], Awaitable[None]]) -> Told:
    """What a listener hears of five objects while something else is done after a few rounds."""
    told: Told = []

    def tell(change: Change) -> None:
        told.append((change.key, change.after is not None))

    async def main() -> None:
        store = Store(EmbeddedLog(MemoryBackend()))
        await store.open()
        things = store.collection("core/things")
        for name in "abcde":
            await store.put(things, name, thing(name), None)
        replay = Replay(things, tell)
        store.follow(things, replay.listen, essential=False, replay=False)
        running = asyncio.create_task(replay.run(_Slow()))
        while len(told) < 2:
            await asyncio.sleep(0)
        await meanwhile(store, replay)
        await running
        await store.put(things, "z", thing("z"), None)
        while told[-1:] != [("z", True)]:
            await asyncio.sleep(0)
        await store.close()

    asyncio.run(asyncio.wait_for(main(), 20))
    return told


def test_what_changes_meanwhile_is_told_afterwards() -> None:
    async def delete(store: Store, replay: Replay) -> None:
        things = store.collection("core/things")
        current = store.latest(things, "e")
        assert current is not None
        await store.delete(things, current)
        await store.put(things, "f", thing("f"), None)

    expected = [(name, True) for name in "abcde"] + [("e", False), ("f", True), ("z", True)]
    assert replayed(delete) == expected


def test_it_begins_again_where_changes_were_lost() -> None:
    async def lose(store: Store, replay: Replay) -> None:
        await store.put(store.collection("core/things"), "f", thing("f"), None)
        replay.begin_again()

    told = replayed(lose)
    assert told[-7:] == [(name, True) for name in "abcdefz"]


@pytest.mark.parametrize("rounds", [0, 1])
def test_nothing_is_told_after_its_end(rounds: int) -> None:
    told: Told = []

    async def main() -> None:
        store = Store(EmbeddedLog(MemoryBackend()))
        await store.open()
        things = store.collection("core/things")
        for name in "abc":
            await store.put(things, name, thing(name), None)
        replay = Replay(things, lambda change: told.append((change.key, True)))
        running = asyncio.create_task(replay.run(_Slow()))
        for _ in range(rounds):
            await asyncio.sleep(0)
        replay.end()
        await running
        await store.close()

    asyncio.run(main())
    assert told == []
