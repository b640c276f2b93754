"""The log backend: events as lines of a file or of the standard output."""

from __future__ import annotations

import asyncio
import os
from concurrent.futures import ThreadPoolExecutor

from fairlead.audit.backend import Outcome, lose
from fairlead.audit.rotation import RotatingFile

PLUGIN = "log"
STDOUT = "-"


class FileLog:
    """Writes to a file of this machine, which does not wait for its disk."""

    def __init__(self, file: RotatingFile) -> None:
        self._file = file

    def deliver(self, event: bytes) -> bool:
        try:
            self._file.write(event)
        except OSError as error:
            lose(PLUGIN, error.strerror or str(error))
            return False
        return True

    def _write(self, events: list[bytes]) -> tuple[int, str]:
        """How many could not be written, and why."""
        lost, why = 0, ""
        for event in events:
            try:
                self._file.write(event)
            except OSError as error:
                lost, why = lost + 1, error.strerror or str(error)
        return lost, why

    async def deliver_aside(self, events: list[bytes]) -> bool:
        lost, why = await asyncio.to_thread(self._write, events)
        if lost:
            lose(PLUGIN, why, lost)
        return not lost

    async def close(self) -> None:
        await asyncio.to_thread(self._file.close)


class StreamLog:
    """Writes to the standard output, in a thread: whoever reads it may be slow or gone."""

    def __init__(self, descriptor: int = 1) -> None:
        self._descriptor = descriptor
        self._thread = ThreadPoolExecutor(1, "audit log")

    def deliver(self, event: bytes) -> Outcome:
        return self.deliver_aside([event])

    async def deliver_aside(self, events: list[bytes]) -> bool:
        loop = asyncio.get_running_loop()
        try:
            await loop.run_in_executor(self._thread, self._write, b"".join(events))
        except OSError as error:
            lose(PLUGIN, error.strerror or str(error), len(events))
            return False
        return True

    def _write(self, data: bytes) -> None:
        while data:
            data = data[os.write(self._descriptor, data) :]

    async def close(self) -> None:
        self._thread.shutdown(wait=False)
