"""Extends a server to one of several workers: the shared log and the shared metrics."""

from __future__ import annotations

import asyncio
import marshal
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

from fairlead.api.metrics import Metrics
from fairlead.base.metrics import Family, merged
from fairlead.process.workers.hangs import BEAT_EVERY, StartBeats
from fairlead.process.workers.slot import OWNER, WorkerSlot, socket_of
from fairlead.storage.backend import StorageError
from fairlead.storage.followed import FollowedLog
from fairlead.storage.sqlite.log import EmbeddedLog
from fairlead.storage.store import Store
from fairlead.storage.workers.calls import RpcServer, call_once
from fairlead.storage.workers.channel import Channel
from fairlead.storage.workers.owner import Sharing
from fairlead.storage.workers.source import SharedSource

_HEALTH_EVERY = 0.2  # seconds


class Worker:
    """The parts of a `WorkerSlot` that need the event loop."""

    def __init__(self, slot: WorkerSlot, workers: int) -> None:
        self.worker_slot = slot
        self.slot = slot.slot
        self.workers = workers
        self._start_beats = StartBeats(self.slot)
        self._rpc = RpcServer(slot.peers)
        self._aggregator = MetricsAggregator(slot.directory, slot.number, workers, self._rpc)
        self._sharing: Sharing | None = None

    @property
    def leads(self) -> bool:
        """Return whether this worker creates the initial objects and runs controllers. Workers
        without a shared log all do, like separate servers."""
        return not self.worker_slot.follows_owner

    @property
    def keeps_files(self) -> bool:
        """Return whether this worker renews the certificates and the kubeconfig."""
        return self.worker_slot.number == OWNER

    def followed_log(self) -> FollowedLog:
        """Return a log that follows the owner's."""
        path = socket_of(self.worker_slot.directory, OWNER)
        return FollowedLog(SharedSource(str(path), self.worker_slot.page))

    def share_log(self, log: EmbeddedLog) -> None:
        """Serve this log to the other workers once `open` was awaited."""
        self._sharing = log.sharing = Sharing(self.worker_slot.page, self._rpc, log)

    def share_store(self, store: Store) -> None:
        """Start sharing the store. Call it before anything is written."""
        if self._sharing is not None:
            self._sharing.begin(store)

    @property
    def store_is_healthy(self) -> bool:
        """Return the health that the owner of the log reports; True in the owner itself."""
        return not self.worker_slot.follows_owner or self.worker_slot.page.healthy

    async def publish_health(self) -> None:
        """Publish the health of the store to the other workers, forever. For the owner only."""
        assert self._sharing is not None
        while True:
            self._sharing.publish_health()
            await asyncio.sleep(_HEALTH_EVERY)

    async def beat(self) -> None:
        """Count beats, which show the parent that this worker does not hang, until cancelled."""
        try:
            while True:
                self.slot.beat()
                await asyncio.sleep(BEAT_EVERY)
        finally:  # closing files may block the loop for long
            self.slot.end_beats()

    def notify_ready(self, data_found: str) -> None:
        """Notify the parent that this worker is ready; see `WorkerSlot.notify_ready`."""
        self._start_beats.end()
        self.worker_slot.notify_ready(data_found)

    async def open(self) -> None:
        """Start serving the other workers."""
        await self._rpc.open()

    async def gather(self, metrics: Metrics) -> list[Family]:
        """Return the metrics of all workers."""
        return await self._aggregator(metrics)

    def answer_for(self, metrics: Metrics) -> None:
        self._aggregator.answer_for(metrics)

    async def followers_gone(self, patience: float) -> None:
        """Wait until no worker is connected to this log, at most `patience` seconds."""
        if self._sharing is not None:
            await self._rpc.wait_disconnected(patience)

    async def close(self) -> None:
        await self._rpc.close()


# Merges the metrics of all workers. Any worker can serve them.

_PEER_TIMEOUT = 2.0  # seconds for a worker that is busy, stopped or starting
_RISING_KINDS = ("counter", "histogram")


class MetricsAggregator:
    """The metrics of all workers. `directory` is private to them and holds their sockets.

    A worker writes its counts to a file before it reports them. Its successor after a crash
    continues from that file, so that no counter ever decreases.
    """

    def __init__(self, directory: Path, worker: int, workers: int, server: RpcServer) -> None:
        self._directory = directory
        self._worker = worker
        self._workers = workers
        self._before = self._written(worker)
        self._metrics: Metrics | None = None
        server.handlers["metrics"] = self._answer_metrics

    async def __call__(self, metrics: Metrics) -> list[Family]:
        """Return the merged metrics. Common metrics come from the worker with the lowest number."""
        self._metrics = metrics
        others = [number for number in range(self._workers) if number != self._worker]
        answers = await asyncio.gather(*map(self._ask, others))
        by_number = {self._worker: self._own(metrics), **dict(zip(others, answers, strict=True))}
        return merged(by_number[number] for number in range(self._workers))

    def answer_for(self, metrics: Metrics) -> None:
        """Serve these metrics to the other workers."""
        self._metrics = metrics

    async def _answer_metrics(self, channel: Channel, number: int) -> list[tuple[Any, ...]]:
        await asyncio.sleep(0)
        if self._metrics is None:
            raise StorageError("this worker is still starting")
        return [family.as_tuple() for family in self._own(self._metrics)]

    def _own(self, metrics: Metrics) -> list[Family]:
        families = merged((metrics.families(), self._before))
        counts = [family.as_tuple() for family in families if family.kind in _RISING_KINDS]
        path = self._path(self._worker)
        fresh = path.with_suffix(".new")
        with suppress(OSError):
            fresh.write_bytes(marshal.dumps(counts))
            os.replace(fresh, path)
        return families

    async def _ask(self, worker: int) -> list[Family]:
        """Return the metrics of another worker, or those it last wrote if it does not answer."""
        try:
            families = await call_once(
                str(socket_of(self._directory, worker)), "metrics", timeout=_PEER_TIMEOUT
            )
        except StorageError:
            return self._written(worker)
        return [Family(*family) for family in families]

    def _written(self, worker: int) -> list[Family]:
        try:
            content = self._path(worker).read_bytes()
        except OSError:
            return []
        return [Family(*family) for family in marshal.loads(content)]

    def _path(self, worker: int) -> Path:
        return self._directory / f"counts-{worker}"
