"""Forgetting history that has been kept long enough, or that there is too much of."""

from __future__ import annotations

import asyncio
import logging

from fairlead.storage.backend import StorageError
from fairlead.storage.log import Log
from fairlead.storage.state import State

logger = logging.getLogger("fairlead.storage")


class Compaction:
    """Raises the floor of a store, in memory and on disk."""

    def __init__(self, state: State, log: Log) -> None:
        self._state = state
        self._history = state.history
        self._log = log
        self._unswept = False  # the disk still has what can no longer be told

    async def keep_up(self) -> None:
        """Forget what is older than the retention, for ever."""
        state = self._state
        while True:
            await asyncio.sleep(self._history.interval)
            floor = self._history.due(state.revision)
            if floor > state.floor or self._unswept:
                try:
                    await self.compact(max(floor, state.floor))
                except StorageError as error:
                    logger.error("cannot compact the store: %s; the next round tries again", error)

    async def compact(self, floor: int) -> None:
        """Forget history up to a revision, in small steps: on disk they are between commits."""
        self._state.floor = floor
        while (step := self._history.step_to(floor)) < floor:
            self._let_go(step)
            await asyncio.sleep(0)
        self.tell_no_more(floor)
        await self._log.compact(floor)
        self._unswept = False

    def tell_no_more(self, floor: int) -> None:
        """Forget history up to a revision; on disk the next compaction does."""
        self._state.floor = max(floor, self._state.floor)
        self._let_go(floor)
        self._unswept = True

    def _let_go(self, floor: int) -> None:
        self._history.compacted(floor)
        self._state.forget_in_memory(max(floor, self._history.floor))
