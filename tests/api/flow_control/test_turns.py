"""Turns on the event loop: short requests go first, and flows share the rest."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from fairlead.api.flow_control.turns import WHOLE, Turns


def run(play: Callable[[Turns], Awaitable[None]]) -> None:
    async def main() -> None:
        await play(Turns(asyncio.get_running_loop()))

    asyncio.run(main())


def test_nobody_waits_for_the_first_turn() -> None:
    async def play(turns: Turns) -> None:
        turn = turns.wait("a", WHOLE)
        try:
            turn.send(None)
        except StopIteration:
            return
        raise AssertionError("it waits")

    run(play)


def test_what_arrives_during_a_turn_is_done_before_the_next() -> None:
    done: list[str] = []

    async def large(turns: Turns, name: str) -> None:
        for _ in range(3):
            await turns.wait(name, WHOLE)
            done.append(name)
            if name == "a":
                # As a connection does: bytes are read, then a task answers them.
                asyncio.get_running_loop().call_soon(lambda: asyncio.create_task(small()))

    async def small() -> None:
        done.append("small")

    async def play(turns: Turns) -> None:
        await asyncio.gather(large(turns, "a"), large(turns, "b"))

    run(play)
    for place, name in enumerate(done):
        if name == "a":
            assert done[place + 1] == "small"


def test_flows_take_turns_however_many_requests_they_have() -> None:
    done: list[str] = []

    async def large(turns: Turns, name: str) -> None:
        await turns.wait(name, WHOLE)
        done.append(name)

    async def play(turns: Turns) -> None:
        noisy = [large(turns, "noisy") for _ in range(10)]
        await asyncio.gather(*noisy, large(turns, "quiet"))

    run(play)
    assert "quiet" in done[:4]
    assert len(done) == 11


def test_small_pieces_go_together_while_nobody_else_asks() -> None:
    async def pieces_in_a_row(turns: Turns) -> int:
        count = 0
        while count < 20:
            turn = turns.wait("a", 1)
            try:
                turn.send(None)
            except StopIteration:
                count += 1
            else:
                turn.close()
                return count
        return count

    async def play(turns: Turns) -> None:
        assert await pieces_in_a_row(turns) == WHOLE
        await asyncio.sleep(0.01)
        turns.others += 1
        assert await pieces_in_a_row(turns) == 1

    run(play)


def test_whoever_was_cut_off_holds_nobody_up() -> None:
    async def play(turns: Turns) -> None:
        await turns.wait("a", WHOLE)
        waiting = [asyncio.create_task(turns.wait("b", WHOLE)) for _ in range(5)]
        await asyncio.sleep(0)
        for task in waiting:
            task.cancel()
        await asyncio.wait_for(turns.wait("c", WHOLE), 5)

    run(play)
