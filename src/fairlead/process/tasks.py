"""Supervises the background tasks of a server."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from fairlead.base.logs import Logger

logger = Logger("fairlead")

Work = Callable[[], Coroutine[Any, Any, None]]

MIN_PAUSE, MAX_PAUSE = 0.1, 30.0
MAX_FAILURES = 10  # in a row, each after less than STABLE_SECONDS
STABLE_SECONDS = 60.0


class Supervisor:
    """Keeps background tasks running. A task that ends is restarted after a pause that doubles. A
    task that keeps failing stops the server: `give_up` is called with the reason."""

    def __init__(self, give_up: Callable[[str], None]) -> None:
        self._give_up = give_up
        self._tasks: list[asyncio.Task[None]] = []

    def start(self, name: str, work: Work) -> None:
        self._tasks.append(asyncio.create_task(self._keep(name, work), name=name))

    async def _keep(self, name: str, work: Work) -> None:
        loop = asyncio.get_running_loop()
        failures = 0
        while True:
            began = loop.time()
            try:
                await work()
            except Exception:
                logger.exception("a task failed", task=name)
            else:
                logger.error("a task has ended", task=name)
            failures = 1 if loop.time() - began > STABLE_SECONDS else failures + 1
            if failures >= MAX_FAILURES:
                self._give_up(f"{name} cannot be kept running")
                return
            await asyncio.sleep(min(MAX_PAUSE, MIN_PAUSE * 2 ** (failures - 1)))

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
