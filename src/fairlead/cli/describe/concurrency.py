"""Bounded concurrency with ordered results."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")

_AT_ONCE = 8


async def in_order(
    work: Callable[[Item], Awaitable[Result]], items: Sequence[Item]
) -> AsyncIterator[Result]:
    """Run `work` on all items, up to 8 at a time, and yield the results in the order of the items.
    Closing the iterator cancels the running tasks."""
    running: deque[asyncio.Future[Result]] = deque()
    try:
        for item in items:
            if len(running) == _AT_ONCE:
                yield await running.popleft()
            running.append(asyncio.ensure_future(work(item)))
        while running:
            yield await running.popleft()
    finally:
        for task in running:
            task.cancel()
