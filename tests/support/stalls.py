"""Measures how long a server's event loop was blocked: the test's side and the server's side.

Time is the CPU time of the loop's thread, which other processes do not affect.
"""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

TICK = 0.002  # seconds between two looks at the clock


def prelude(report: Path) -> str:
    """Return the prelude that makes a server record its stalls; see ServerProcess."""
    folder = Path(__file__).parent.parent
    return (
        f"import sys; sys.path.append({str(folder)!r});"
        f" from support import stalls; stalls.write_down({str(report)!r})"
    )


def write_down(report: str) -> None:
    """In the server: write a line for each stall of the loop."""
    from fairlead.process.lifecycle import Server

    run = Server.run
    lines = Path(report).open("a", buffering=1)  # noqa: SIM115 (open as long as the server runs)

    async def watched(server: Server) -> None:
        loop = asyncio.get_running_loop()
        last = time.thread_time()

        def tick() -> None:
            nonlocal last
            spent = time.thread_time() - last
            if spent > TICK:
                lines.write(f"{spent}\n")
            last = time.thread_time()
            loop.call_later(TICK, tick)

        tick()
        await run(server)

    setattr(Server, "run", watched)  # noqa: B010 (of a type that has it otherwise)


class Report:
    """Reads the stalls that a server recorded since the last read."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._read = 0

    def longest(self) -> float:
        lines = self._path.read_text().splitlines()
        new, self._read = lines[self._read :], len(lines)
        return max(map(float, new), default=0.0)
