"""What makes a server one of several workers: the store and the counts that it shares."""

from __future__ import annotations

import asyncio
import marshal
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

from fairlead.api.metrics import Metrics
from fairlead.base.metrics import Family, merged
from fairlead.process.workers.slot import OWNER, Place, socket_of
from fairlead.storage.backend import StorageError
from fairlead.storage.followed import FollowedLog
from fairlead.storage.sqlite.log import EmbeddedLog
from fairlead.storage.store import Store
from fairlead.storage.workers.calls import Desk, ask
from fairlead.storage.workers.channel import Channel
from fairlead.storage.workers.owner import Sharing
from fairlead.storage.workers.source import SharedSource

_HEALTH_EVERY = 0.2  # seconds


class Worker:
    """The parts of a place that live on its event loop."""

    def __init__(self, place: Place, workers: int) -> None:
        self.place = place
        self.slot = place.slot
        self._desk = Desk(place.peers)
        self._gathering = Gathering(place.directory, place.number, workers, self._desk)
        self._sharing: Sharing | None = None

    @property
    def leads(self) -> bool:
        """Whether first objects and controllers are this one's to look after. Workers that share
        no log are servers of their own in that."""
        return not self.place.follows_owner

    @property
    def keeps_files(self) -> bool:
        """Whether certificates and the client configuration are this one's to renew."""
        return self.place.number == OWNER

    def followed_log(self) -> FollowedLog:
        """The log of the owner."""
        path = socket_of(self.place.directory, OWNER)
        return FollowedLog(SharedSource(str(path), self.place.page))

    def share(self, log: EmbeddedLog) -> None:
        """Let the others follow this log, from when `open` is awaited."""
        self._sharing = log.sharing = Sharing(self.place.page, self._desk, log)

    def opened(self, store: Store) -> None:
        """Nothing was written to the store yet."""
        if self._sharing is not None:
            self._sharing.begin(store)

    @property
    def store_is_healthy(self) -> bool:
        """What the owner of its log says, if that is another one."""
        return not self.place.follows_owner or self.place.page.healthy

    async def tell_health(self) -> None:
        """For ever, as the owner: whoever is asked knows whether the store can be written."""
        assert self._sharing is not None
        while True:
            self._sharing.tell_health()
            await asyncio.sleep(_HEALTH_EVERY)

    async def open(self) -> None:
        """Answer the others from now on."""
        await self._desk.open()

    async def gather(self, metrics: Metrics) -> list[Family]:
        """The metrics of all workers."""
        return await self._gathering(metrics)

    def answer_for(self, metrics: Metrics) -> None:
        self._gathering.answer_for(metrics)

    async def followers_gone(self, patience: float) -> None:
        """Wait until nobody needs this one's log any more."""
        if self._sharing is not None:
            await self._desk.deserted(patience)

    async def close(self) -> None:
        await self._desk.close()


# One server's metrics from those of its workers, any of which may be asked.

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
