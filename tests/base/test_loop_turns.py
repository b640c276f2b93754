"""Turns of many tasks in the iterations of the event loop."""

from __future__ import annotations

import asyncio

from fairlead.base.slices import Turns


def test_turns_go_to_the_tasks_that_waited_longest() -> None:
    turns, taken = Turns(2), list[str]()

    async def work(name: str) -> None:
        for _ in range(2):
            await turns.take()
            taken.append(name)

    async def all_work() -> None:
        await asyncio.gather(*map(work, "abcde"))

    asyncio.run(all_work())
    assert "".join(taken) == "abcdeabcde"


def test_turns_of_one_iteration_are_limited() -> None:
    turns, taken = Turns(2), list[int]()

    async def all_work() -> None:
        iteration = 0

        async def work() -> None:
            await turns.take()
            taken.append(iteration)

        tasks = [asyncio.create_task(work()) for _ in range(7)]
        while not all(task.done() for task in tasks):
            iteration += 1
            await asyncio.sleep(0)

    asyncio.run(all_work())
    assert len(taken) == 7
    assert max(map(taken.count, taken)) == 2


def test_turns_of_cancelled_tasks_go_to_others() -> None:
    turns = Turns(1)

    async def cancel_two() -> None:
        tasks = [asyncio.create_task(turns.take()) for _ in range(3)]
        await asyncio.sleep(0)
        tasks[0].cancel()
        tasks[1].cancel()
        await tasks[2]

    asyncio.run(cancel_two())


def test_turns_serve_a_loop_after_another_has_ended() -> None:
    turns = Turns(1)

    async def leave() -> None:
        asyncio.get_running_loop().create_task(turns.take())
        await asyncio.sleep(0)

    asyncio.run(leave())
    asyncio.run(turns.take())
