"""Commands of clients sleep by the clock of the server."""

from __future__ import annotations

import asyncio

import pytest

from fairlead.base import clock
from fairlead.controllers.simulation.runtime.terminal import Pipes, Terminal

_LONG = 3600.0


class Silent:
    """The streams of a client that types nothing."""

    async def read(self) -> bytes:
        await asyncio.Event().wait()
        return b""

    async def write(self, stream: int, data: bytes) -> None: ...


@pytest.mark.parametrize("kind", [Pipes, Terminal])
def test_a_pause_ends_when_the_clock_is_moved(kind: type[Pipes]) -> None:
    async def pause() -> None:
        streams = kind(Silent())
        pausing = asyncio.create_task(streams.pause(_LONG))
        await asyncio.sleep(0.01)  # it has begun
        assert not pausing.done()
        clock.advance(_LONG)
        await asyncio.wait_for(pausing, 10)
        streams.close()

    try:
        asyncio.run(pause())
    finally:
        clock.reset()
