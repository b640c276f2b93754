"""One server's metrics from those of its workers, any of which may be asked."""

from __future__ import annotations

import asyncio
import marshal
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

from fairlead.api.metrics import Metrics
from fairlead.base.metrics import Family, merged
from fairlead.process.workers.slot import socket_of
from fairlead.storage.backend import StorageError
from fairlead.storage.workers.calls import Desk, ask
from fairlead.storage.workers.channel import Channel

_PATIENCE = 2.0  # seconds for a worker that is busy, stopped or being started
_RISING = ("counter", "histogram")


class Gathering:
    """The metrics of all workers. `directory` is theirs alone, with the socket of each.

    Whatever a worker has told of its counts it has written down before: the one that follows when
    it dies goes on from there, so that no count ever falls.
    """

    def __init__(self, directory: Path, worker: int, workers: int, desk: Desk) -> None:
        self._directory = directory
        self._worker = worker
        self._workers = workers
        self._before = self._written(worker)
        self._metrics: Metrics | None = None
        desk.offers["metrics"] = self._tell

    async def __call__(self, metrics: Metrics) -> list[Family]:
        """Those of all, the first worker's before the others'."""
        self._metrics = metrics
        others = [number for number in range(self._workers) if number != self._worker]
        told = await asyncio.gather(*map(self._ask, others))
        by_number = {self._worker: self._own(metrics), **dict(zip(others, told, strict=True))}
        return merged(by_number[number] for number in range(self._workers))

    def answer_for(self, metrics: Metrics) -> None:
        """Others may ask from now on."""
        self._metrics = metrics

    async def _tell(self, channel: Channel, number: int) -> list[tuple[Any, ...]]:
        await asyncio.sleep(0)
        if self._metrics is None:
            raise StorageError("this worker is still starting")
        return [family.plain() for family in self._own(self._metrics)]

    def _own(self, metrics: Metrics) -> list[Family]:
        families = merged((metrics.families(), self._before))
        counts = [family.plain() for family in families if family.kind in _RISING]
        path = self._path(self._worker)
        fresh = path.with_suffix(".new")
        with suppress(OSError):
            fresh.write_bytes(marshal.dumps(counts))
            os.replace(fresh, path)
        return families

    async def _ask(self, worker: int) -> list[Family]:
        """Of one that does not answer: what it has told before."""
        try:
            told = await ask(str(socket_of(self._directory, worker)), "metrics", patience=_PATIENCE)
        except StorageError:
            return self._written(worker)
        return [Family(*one) for one in told]

    def _written(self, worker: int) -> list[Family]:
        try:
            content = self._path(worker).read_bytes()
        except OSError:
            return []
        return [Family(*one) for one in marshal.loads(content)]

    def _path(self, worker: int) -> Path:
        return self._directory / f"counts-{worker}"
