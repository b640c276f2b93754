"""Controllers with much work yield to the event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from itertools import count, pairwise

import pytest

from fairlead.base import backlog
from fairlead.base.backlog import Backlog
from fairlead.base.slices import TimeSlices


@pytest.mark.parametrize("workers", [1, 3])
def test_pace_yields_to_the_event_loop_between_a_few_pieces_of_work(
    monkeypatch: pytest.MonkeyPatch, workers: int
) -> None:
    clock = count(0.0, 0.001)  # each look at the time takes a millisecond
    monkeypatch.setattr(backlog, "perf_counter", lambda: next(clock))
    rounds: list[int] = []  # the pieces that were done before each turn of the others

    async def main() -> None:
        slices, done = TimeSlices(), 0

        async def work() -> None:
            nonlocal done
            while done < 60:
                await slices.pause()
                done += 1

        async def others() -> None:
            while done < 60:
                rounds.append(done)
                await asyncio.sleep(0)

        await asyncio.gather(*(work() for _ in range(workers)), others())

    asyncio.run(main())
    steps = [after - before for before, after in pairwise(rounds)]
    assert len(rounds) > 10
    assert max(steps) <= 5


def test_backlog_is_worked_off_in_later_rounds_and_in_order(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = count(0.0, 0.001)  # each look at the time takes a millisecond
    monkeypatch.setattr(backlog, "perf_counter", lambda: next(clock))
    monkeypatch.setattr(backlog, "_STEPS_PER_CLOCK_READ", 1)
    done: list[tuple[str, int]] = []
    rounds: list[int] = []

    def steps(name: str) -> Iterator[None]:
        for number in range(10):
            done.append((name, number))
            yield

    async def main() -> None:
        work = Backlog()
        for name in "abc":
            work.add(steps(name))
        while len(work):
            rounds.append(len(done))
            await asyncio.sleep(0)
        work.add(steps("d"))
        while work:  # noqa: ASYNC110 - it shrinks with every iteration of the loop
            await asyncio.sleep(0)

    asyncio.run(main())
    assert done == [(name, number) for name in "abcd" for number in range(10)]
    assert len(rounds) > 5
    assert max(after - before for before, after in pairwise(rounds)) <= 5
