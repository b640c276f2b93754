"""Many writes at once, a few under way at a time: they share their commits and leave room for
others."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

_UNDER_WAY = 32

Act = Callable[[], Awaitable[object]]


async def all_of(acts: Sequence[Act]) -> list[Exception]:
    """Do all of them; gives what those raised that failed."""
    failures: list[Exception] = []

    async def attempt(act: Act) -> None:
        try:
            await act()
        except Exception as error:
            failures.append(error)

    for start in range(0, len(acts), _UNDER_WAY):
        async with asyncio.TaskGroup() as group:
            for act in acts[start : start + _UNDER_WAY]:
                group.create_task(attempt(act))
                await asyncio.sleep(0)  # each begins in a round of its own: others get their turn
    return failures


async def growing(acts: Sequence[Act]) -> None:
    """Do one, then two, then four and so on, so that what is bound to fail fails once and not for
    each of many. Raises the first failure, when its batch is through."""
    start, size = 0, 1
    while start < len(acts):
        failures = await all_of(acts[start : start + size])
        if failures:
            raise failures[0]
        start, size = start + size, 2 * size
