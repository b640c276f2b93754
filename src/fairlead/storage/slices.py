"""Long loops over versions that yield to the event loop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from time import perf_counter

from fairlead.storage.selection import Selection
from fairlead.storage.version import Version

_A_TURN = 0.004  # seconds of work before yielding
_BETWEEN_LOOKS = 64  # versions between two looks at the clock


async def in_batches(versions: Sequence[Version]) -> AsyncIterator[Sequence[Version]]:
    """Yield batches of 64 versions; yields to the event loop after every 4 ms of work."""
    began = perf_counter()
    for start in range(0, len(versions), _BETWEEN_LOOKS):
        yield versions[start : start + _BETWEEN_LOOKS]
        if perf_counter() - began > _A_TURN:
            await asyncio.sleep(0)
            began = perf_counter()


async def selected(
    versions: Sequence[Version], selection: Selection, most: int = 0
) -> list[Version]:
    """Return the selected versions in their order, at most `most` (0: all)."""
    found: list[Version] = []
    async for some in in_batches(versions):
        found += filter(selection.matches, some)
        if most and len(found) >= most:
            return found[:most]
    return found
