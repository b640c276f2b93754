"""Recovers the embedded store after a failure, or stops the process."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from fairlead.storage.backend import Backend, Fault, StorageError
from fairlead.storage.log import log_fatal
from fairlead.storage.writes import Writer

logger = logging.getLogger("fairlead.storage")

PROBE_EVERY = 1.0


class Health:
    """Tracks whether the store can be written.

    A PASSING failure ends when an ordinary write or a probe succeeds. After a DOUBTFUL failure the
    writer is held until `Backend.recover` succeeds; a recovery that fails is retried after a
    PASSING failure, else the failure is FATAL.
    """

    def __init__(self, backend: Backend, writer: Writer) -> None:
        self.on_fatal: Callable[[str], None] = log_fatal
        self.healthy = True
        self._backend = backend
        self._writer = writer
        self._doubtful = False
        self._gave_up = False
        self._said = ""
        self._mending: asyncio.Task[None] | None = None

    async def begin(self) -> None:
        """Probe the store; a PASSING failure only marks it unhealthy, others raise StorageError."""
        try:
            await self._writer.run(self._backend.probe)
        except StorageError as error:
            if error.fault is not Fault.PASSING:
                await self._writer.drain().wait()
                await self._writer.stop()
                raise
            self.failed(error)

    def stop(self) -> None:
        if self._mending is not None:
            self._mending.cancel()

    def worked(self) -> None:
        """A write reached the disk."""
        if not self.healthy and not self._doubtful and not self._gave_up:
            self.healthy = True
            self._said = ""
            logger.warning("the store can be written again")

    def failed(self, error: StorageError) -> None:
        if str(error) != self._said:  # log it once, not for every refused write
            self._said = str(error)
            logger.error("%s", error)
        self.healthy = False
        if error.fault is Fault.FATAL:
            self.give_up(str(error))
        if self._gave_up:
            return
        if error.fault is Fault.DOUBTFUL and not self._doubtful:
            self._doubtful = True
            self._writer.hold()
        if self._mending is None or self._mending.done():
            self._mending = asyncio.get_running_loop().create_task(self._mend())

    def give_up(self, message: str) -> None:
        """Refuse all writes and report the failure as fatal."""
        self.healthy = False
        if not self._gave_up:
            self._gave_up = True
            self._writer.refuse(StorageError(message, Fault.FATAL))
            self.on_fatal(message)

    async def _mend(self) -> None:
        while not self.healthy and not self._gave_up:
            if not self._doubtful:
                await asyncio.sleep(PROBE_EVERY)
                if self.healthy:
                    return
            try:
                await self._writer.run(
                    self._backend.recover if self._doubtful else self._backend.probe
                )
            except StorageError as error:
                await self._still_failing(error)
            else:
                self._doubtful = False
                self.worked()
                self._writer.release()

    async def _still_failing(self, error: StorageError) -> None:
        if error.fault is Fault.FATAL or (self._doubtful and error.fault is Fault.DOUBTFUL):
            self.give_up(str(error))
        elif error.fault is Fault.DOUBTFUL:
            self.failed(error)
        elif self._doubtful:
            self._writer.refuse(error)
            await asyncio.sleep(PROBE_EVERY)
