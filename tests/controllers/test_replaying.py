"""A new controller gets existing objects in steps, and concurrent changes in order."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from support.backends import MemoryBackend, thing

from fairlead.base.slices import TimeSlices
from fairlead.controllers.subscription import Replay
from fairlead.storage.sqlite.log import EmbeddedLog
from fairlead.storage.store import Store
from fairlead.storage.version import Change

Keys = list[tuple[str, bool]]  # keys, and whether they were there


class _Halting(TimeSlices):
    """Stops after some pieces of work until it may go on."""

    def __init__(self, pieces: int) -> None:
        super().__init__()
        self._left = pieces
        self.halted = asyncio.Event()
        self.goes_on = asyncio.Event()

    async def pause(self) -> None:
        if not self._left:
            self.halted.set()
            await self.goes_on.wait()
        else:
            self._left -= 1


async def run(replay: Replay, slices: TimeSlices) -> None:
    for _ in replay.steps():
        await slices.pause()


def replayed(meanwhile: Callable[[Store, Replay], Awaitable[None]]) -> Keys:
    """What a listener hears of five objects, when something else is done after two of them."""
    messages: Keys = []

    async def main() -> None:
        ended = asyncio.Event()

        def tell(change: Change) -> None:
            messages.append((change.key, change.after is not None))
            if change.key == "z":
                ended.set()

        store = Store(EmbeddedLog(MemoryBackend()))
        await store.open()
        things = store.collection("core/things")
        for name in "abcde":
            await store.put(things, name, thing(name), None)
        replay = Replay(things, tell)
        store.follow(things, replay.listen, essential=False, replay=False)
        slices = _Halting(2)
        running = asyncio.create_task(run(replay, slices))
        await slices.halted.wait()
        await meanwhile(store, replay)
        slices.goes_on.set()
        await running
        await store.put(things, "z", thing("z"), None)
        await ended.wait()
        await store.close()

    asyncio.run(asyncio.wait_for(main(), 20))
    return messages


def test_replay_delivers_changes_after_the_existing_objects() -> None:
    async def delete(store: Store, replay: Replay) -> None:
        things = store.collection("core/things")
        current = things.latest("e")
        assert current is not None
        await store.delete(things, "e", current)
        await store.put(things, "f", thing("f"), None)

    expected = [(name, True) for name in "abcde"] + [("e", False), ("f", True), ("z", True)]
    assert replayed(delete) == expected


def test_replay_begins_again_where_changes_were_lost() -> None:
    async def lose(store: Store, replay: Replay) -> None:
        await store.put(store.collection("core/things"), "f", thing("f"), None)
        replay.restart()

    reported = replayed(lose)
    assert list(dict.fromkeys(reported[2:])) == [(name, True) for name in "abcdefz"]


def test_replay_delivers_nothing_after_its_end() -> None:
    async def end(store: Store, replay: Replay) -> None:
        store.unfollow(store.collection("core/things"), replay.listen)
        replay.end()
        store.follow(store.collection("core/things"), replay.listen, essential=False, replay=False)

    assert replayed(end) == [("a", True), ("b", True), ("z", True)]
