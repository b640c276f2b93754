"""Long work is done beside the event loop, so that nobody else waits for it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

LONG_BODY = 32 * 1024  # bytes; what is done about more than that is not done on the loop


async def aside(size: int, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Do something with an object or what was sent, of so many bytes: in a thread if they are many.
    The work may read what others write, but writes nothing that others read."""
    if size <= LONG_BODY:
        return work(*args, **kwargs)
    return await asyncio.to_thread(work, *args, **kwargs)
