"""Writes in batches that grow while they succeed."""

from __future__ import annotations

import asyncio
from functools import partial

import pytest

from fairlead.controllers.workloads.batches import run_all, run_growing


def test_growing_batches_stop_at_the_first_failure() -> None:
    tried = []

    async def fail() -> None:
        tried.append(1)
        raise ValueError("no")

    async def work() -> None:
        with pytest.raises(ValueError, match="no"):
            await run_growing([fail] * 100)

    asyncio.run(work())
    assert len(tried) == 1


def test_batches_double_and_the_one_that_fails_is_the_last() -> None:
    tried: list[int] = []

    async def work() -> None:
        async def act(number: int) -> None:
            tried.append(number)
            if number == 4:
                raise ValueError(number)

        acts = [lambda number=number: act(number) for number in range(20)]
        with pytest.raises(ValueError, match="4"):
            await run_growing(acts)

    asyncio.run(work())
    assert tried == list(range(7))


def test_all_of_runs_everything_and_returns_the_failures() -> None:
    done: list[int] = []

    async def work() -> list[Exception]:
        async def act(number: int) -> None:
            done.append(number)
            if number % 50 == 0:
                raise ValueError(number)

        return await run_all([partial(act, number) for number in range(101)])

    assert [str(failure) for failure in asyncio.run(work())] == ["0", "50", "100"]
    assert len(done) == 101
