"""How long a server's event loop was held up: for tests, and for the server that they watch.

Time is the CPU time of the loop's thread, so that what else the machine does is not counted.
"""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

_TICK = 0.002


def prelude(report: Path) -> str:
    """The line that makes a server write down its stalls; see ServerProcess."""
    folder = Path(__file__).parent.parent
    return (
        f"import sys; sys.path.append({str(folder)!r});"
        f" from support import stalls; stalls.write_down({str(report)!r})"
    )


def write_down(report: str) -> None:
    """In the server: a line for each time that the loop came late."""
    from fairlead.process.lifecycle import Server

    run = Server.run
    lines = Path(report).open("a", buffering=1)  # noqa: SIM115 (open as long as the server runs)

    async def watched(server: Server) -> None:
        loop = asyncio.get_running_loop()
        last = time.thread_time()

        def tick() -> None:
            nonlocal last
            spent = time.thread_time() - last
            if spent > _TICK:
                lines.write(f"{spent}\n")
            last = time.thread_time()
            loop.call_later(_TICK, tick)

        tick()
        await run(server)

    setattr(Server, "run", watched)  # noqa: B010 (of a type that has it otherwise)


class Report:
    """What a server wrote down since the last look."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._read = 0

    def longest(self) -> float:
        lines = self._path.read_text().splitlines()
        new, self._read = lines[self._read :], len(lines)
        return max(map(float, new), default=0.0)
