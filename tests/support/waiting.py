"""Polls for conditions that have no event."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

from support.client import PATIENCE


def eventually(holds: Callable[[], bool], what: str, patience: float = PATIENCE) -> None:
    """Poll until the condition holds; fail the test at the deadline."""
    deadline = time.monotonic() + patience
    while not holds():
        assert time.monotonic() < deadline, f"still not so: {what}"
        time.sleep(0.01)


def await_value(look: Callable[[], Any], patience: float = PATIENCE) -> Any:
    """Poll until `look` returns something true, and return that."""
    deadline = time.monotonic() + patience
    while not (result := look()):
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.01)
    return result


async def comes_true(holds: Callable[[], bool], what: str, patience: float = PATIENCE) -> None:
    """Like `eventually`, without blocking the event loop."""
    deadline = time.monotonic() + patience
    while not holds():
        assert time.monotonic() < deadline, f"still not so: {what}"
        await asyncio.sleep(0.005)
