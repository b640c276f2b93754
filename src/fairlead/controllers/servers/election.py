"""Leader election among servers that share a store: the leader runs the controllers.

The Lease is read from the watch cache and written by an operation. Commits of it end a wait: a
server that lost the lease stops at once, and one that waits for it takes a released one at once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import AbstractAsyncContextManager, suppress
from datetime import datetime
from typing import Any

from fairlead.base import clock
from fairlead.base.election import Election, LeaseAccess, Pace
from fairlead.base.errors import StatusError
from fairlead.base.logs import Logger
from fairlead.controllers.events import NORMAL, Recorder
from fairlead.controllers.metrics import LEADING
from fairlead.operations.api import Api, Object
from fairlead.operations.client import Client
from fairlead.operations.write_pipeline import set_fence
from fairlead.storage.backend import StorageError
from fairlead.storage.version import Change

logger = Logger("fairlead.controllers")

LEASES = "coordination/v1/leases"
_PATIENCE = 5.0  # seconds that cancelled work may take to end; after that only the fence stops it

Work = Callable[[], Coroutine[Any, Any, None]]


class _StoredLease(LeaseAccess):
    """The lease in the store of this server, by the clock that tests can move."""

    errors = (StatusError, StorageError)

    def __init__(self, client: Client, namespace: str, name: str) -> None:
        super().__init__(namespace, name)
        self.key = f"{namespace}/{name}"
        self._client = client
        self._changed = asyncio.Event()

    def notice(self, change: Change) -> None:
        if change.key == self.key:
            self._changed.set()

    def committed(self) -> Object | None:
        """Return the committed lease; an uncommitted write may still fail."""
        version = self._client.collection(LEASES).get(self.key)
        return version.object() if version is not None else None

    async def read(self) -> Object | None:
        return self.committed()

    async def write(self, lease: Object | None, spec: Object) -> Object:
        if lease is not None:
            return await self._client.replace(LEASES, {**lease, "spec": spec})
        metadata = {"name": self.name, "namespace": self.namespace}
        return await self._client.create(LEASES, {"metadata": metadata, "spec": spec})

    async def wait(self, seconds: float) -> None:
        """Wait for a time, or until the lease changes."""
        with suppress(TimeoutError):
            async with clock.timeout(seconds):
                await self._changed.wait()
        self._changed.clear()

    def steady(self) -> float:
        return clock.steady()

    def now(self) -> datetime:
        return clock.now()

    def timeout(self, seconds: float) -> AbstractAsyncContextManager[object]:
        return clock.timeout(seconds)


class Elector:
    """Runs work whenever this server leads; `identity` must be unique among the servers."""

    def __init__(
        self,
        api: Api,
        client: Client,
        recorder: Recorder,
        lease: tuple[str, str],
        pace: Pace,
        identity: str,
        work: Work,
    ) -> None:
        self._api = api
        self._client = client
        self._recorder = recorder
        self._identity = identity
        self._work = work
        self._lease = _StoredLease(client, *lease)
        self._election = Election(
            self._lease,
            identity,
            self._lead,
            stopped=lambda: self._announce("stopped leading"),
            pace=pace,
            patience=_PATIENCE,
        )

    @property
    def leads(self) -> bool:
        """Whether this server leads and its last renewal is within the deadline."""
        return self._election.is_leading

    async def run(self) -> None:
        """Run the work whenever this server leads, until cancelled; raises if the work fails."""
        collection = self._client.collection(LEASES)
        store = self._api.store_of(collection.resource)
        store.follow(collection, self._lease.notice, essential=False)
        try:
            while True:
                LEADING.set(0, of=(self._lease.name,))
                await self._election.run()
        finally:
            store.unfollow(collection, self._lease.notice)

    async def _lead(self) -> None:
        LEADING.set(1, of=(self._lease.name,))
        self._announce("became leader")
        set_fence(lambda: self.leads)
        try:
            await self._work()
        finally:
            LEADING.set(0, of=(self._lease.name,))

    def _announce(self, news: str) -> None:
        """Log that this server gained or lost the lead, and record an event about the lease."""
        text = f"{self._identity} {news}"
        logger.info("leader election", news=text, lease=self._lease.key)
        lease = self._lease.committed()
        if lease is not None:
            resource = self._client.resource(LEASES)
            self._recorder.record(resource, lease, NORMAL, "LeaderElection", text)
