"""Long answers are made in steps of about a millisecond, and others have their turn in between."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from weakref import WeakKeyDictionary

from fairlead.wire.incoming.exchange import Turn

STEP_SECONDS = 0.001
PIECE_BYTES = 256 * 1024
_STEP_PIECES = 10  # that could be sent within a step

_turns: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock] = WeakKeyDictionary()


class Encoded:
    """The pieces of an answer. `size` is that of all of them, if it is known when the first one is
    there."""

    def __init__(self, made: Callable[[Encoded], AsyncGenerator[bytes]]) -> None:
        self.size: int | None = None
        self.pieces = made(self)

    def __aiter__(self) -> AsyncGenerator[bytes]:
        return self.pieces


async def rest(turn: Turn | None) -> None:
    """Between two steps."""
    await (turn(_STEP_PIECES) if turn is not None else asyncio.sleep(0))


def one_step() -> asyncio.Lock:
    """Held during a step: however many lists are written, others wait for one step of one."""
    return _turns.setdefault(asyncio.get_running_loop(), asyncio.Lock())
