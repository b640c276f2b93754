"""Runs many writes with limited concurrency, so that they share commits and do not starve other
requests."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

_MAX_CONCURRENT = 32

Act = Callable[[], Awaitable[object]]


async def run_all(acts: Sequence[Act]) -> list[Exception]:
    """Run all; returns the exceptions of those that failed."""
    failures: list[Exception] = []

    async def attempt(act: Act) -> None:
        try:
            await act()
        except Exception as error:
            failures.append(error)

    for start in range(0, len(acts), _MAX_CONCURRENT):
        async with asyncio.TaskGroup() as group:
            for act in acts[start : start + _MAX_CONCURRENT]:
                group.create_task(attempt(act))
                await asyncio.sleep(0)  # start one per iteration of the event loop
    return failures


async def run_growing(acts: Sequence[Act]) -> None:
    """Run batches of 1, 2, 4, ... so that a systematic error occurs once instead of for each write.
    Raises the first exception after its batch has finished."""
    start, size = 0, 1
    while start < len(acts):
        failures = await run_all(acts[start : start + size])
        if failures:
            raise failures[0]
        start, size = start + size, 2 * size
