"""Waiting for what has no event of its own."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from support.client import PATIENCE


def eventually(holds: Callable[[], bool], what: str, patience: float = PATIENCE) -> None:
    """Ask again, shortly after, until it holds; fail the test if it does not."""
    deadline = time.monotonic() + patience
    while not holds():
        assert time.monotonic() < deadline, f"still not so: {what}"
        time.sleep(0.01)


async def comes_true(holds: Callable[[], bool], what: str, patience: float = PATIENCE) -> None:
    """The same on an event loop, which goes on meanwhile."""
    deadline = time.monotonic() + patience
    while not holds():
        assert time.monotonic() < deadline, f"still not so: {what}"
        await asyncio.sleep(0.005)
