"""What makes a server one of several workers: the store and the counts that it shares."""

from __future__ import annotations

import asyncio

from fairlead.api.metrics import Metrics
from fairlead.base.metrics import Family
from fairlead.process.workers.metrics import Gathering
from fairlead.process.workers.slot import OWNER, Place, socket_of
from fairlead.storage.followed import FollowedLog
from fairlead.storage.sqlite.log import EmbeddedLog
from fairlead.storage.store import Store
from fairlead.storage.workers.calls import Desk
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
