"""Leader election with a Lease.

A server that wrote the Lease leads until it fails to renew it within the deadline. Others take it
when it is free, or when it has not changed for its duration by their own monotonic clock. The times
in the Lease are informational, since clocks differ.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Callable, Coroutine
from contextlib import suppress
from random import uniform
from typing import Any

from fairlead.base import clock
from fairlead.base.errors import StatusError
from fairlead.base.records import dataclass
from fairlead.codec.types.times import format_micro_time
from fairlead.controllers.events import NORMAL, Recorder
from fairlead.controllers.metrics import LEADING
from fairlead.operations.api import Api, Object
from fairlead.operations.client import Client
from fairlead.operations.write_pipeline import carry
from fairlead.storage.backend import StorageError
from fairlead.storage.change import Change

logger = logging.getLogger("fairlead.controllers")

LEASES = "coordination/v1/leases"
JITTER = 1.2  # maximum relative jitter of the pause between attempts
_LAST_WORDS = 2.0  # seconds to release the lease at shutdown
_PATIENCE = 5.0  # seconds that cancelled work may take to end

Work = Callable[[], Coroutine[Any, Any, None]]


@dataclass(frozen=True, slots=True)
class Terms:
    """The Lease and its times in seconds. Others may take it after `duration` without a renewal;
    the leader stops after `deadline`, which is shorter. `pause` is between attempts."""

    namespace: str
    name: str
    duration: float
    deadline: float
    pause: float


class Elector:
    """A candidate in an election; `identity` must be unique."""

    def __init__(
        self, api: Api, client: Client, recorder: Recorder, terms: Terms, identity: str
    ) -> None:
        self._api = api
        self._client = client
        self._recorder = recorder
        self._terms = terms
        self._identity = identity
        self._key = f"{terms.namespace}/{terms.name}"
        self._moved = asyncio.Event()
        self._seen: Object = {}
        self._seen_at = -math.inf
        self._renewed = -math.inf  # start of the last successful renewal (monotonic)
        self._leads = False
        self._said = ""

    @property
    def leads(self) -> bool:
        """Whether this server leads and its last renewal is within the deadline."""
        return self._leads and clock.steady() < self._renewed + self._terms.deadline

    async def run(self, work: Work) -> None:
        """Run `work` whenever this server leads, until cancelled; raises if the work fails."""
        collection = self._client.collection(LEASES)
        self._api.store.follow(collection, self._notice, essential=False)
        LEADING.set(0, of=(self._terms.name,))
        try:
            while True:
                await self._acquire()
                await self._lead(work)
        finally:
            self._api.store.unfollow(collection, self._notice)

    def _notice(self, change: Change) -> None:
        if change.key == self._key:
            self._moved.set()

    async def _acquire(self) -> None:
        while not (self._is_free(found := self._find()) and await self._write(found)):
            await self._wait(uniform(1, 1 + JITTER) * self._terms.pause)

    async def _wait(self, seconds: float) -> None:
        """Wait for a time, or until the lease changes."""
        with suppress(TimeoutError):
            async with clock.timeout(seconds):
                await self._moved.wait()
        self._moved.clear()

    def _find(self) -> Object | None:
        """The committed lease; an uncommitted write may still fail."""
        version = self._client.collection(LEASES).get(self._key)
        return version.object() if version is not None else None

    def _is_free(self, found: Object | None) -> bool:
        if found is None:
            return True
        spec = found.get("spec") or {}
        if spec != self._seen:
            self._seen, self._seen_at = spec, clock.steady()
        holder = spec.get("holderIdentity")
        if not holder or holder == self._identity:
            return True
        return clock.steady() >= self._seen_at + self._terms.duration

    def _is_lost(self, found: Object | None) -> bool:
        """Whether another server holds the lease. A deleted lease can be created again."""
        if found is None:
            return False
        holder: str | None = (found.get("spec") or {}).get("holderIdentity")
        return holder != self._identity

    async def _write(self, found: Object | None) -> bool:
        """Take or renew the lease, with a precondition on `found`; returns whether it succeeded."""
        began, terms = clock.steady(), self._terms
        try:
            if found is None:
                metadata = {"name": terms.name, "namespace": terms.namespace}
                lease = {"metadata": metadata, "spec": self._spec({})}
                await self._client.create(LEASES, lease)
            else:
                spec = self._spec(found.get("spec") or {})
                await self._client.replace(LEASES, {**found, "spec": spec})
        except (StatusError, StorageError) as error:
            self._report(error)
            return False
        self._renewed, self._said = began, ""
        return True

    def _spec(self, old: Object) -> Object:
        moment = format_micro_time(clock.now())
        spec = {
            **old,
            "holderIdentity": self._identity,
            "leaseDurationSeconds": math.ceil(self._terms.duration),
            "renewTime": moment,
        }
        if old.get("holderIdentity") != self._identity:
            spec["acquireTime"] = moment
            spec["leaseTransitions"] = old.get("leaseTransitions", 0) + 1 if old else 0
        return spec

    def _report(self, error: Exception) -> None:
        """Log an error, once per text. Conflicts are expected."""
        text = str(error)
        if text != self._said and not (isinstance(error, StatusError) and error.code == 409):
            self._said = text
            logger.warning("cannot write the lease %s: %s", self._key, text)

    async def _lead(self, work: Work) -> None:
        self._leads = True
        LEADING.set(1, of=(self._terms.name,))
        self._tell("became leader")
        working = asyncio.create_task(self._fenced(work))
        keeping = asyncio.create_task(self._keep())
        try:
            await asyncio.wait({working, keeping}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            was_lost = keeping.done()
            self._leads = False
            LEADING.set(0, of=(self._terms.name,))
            await _ended(working, keeping)
            if not was_lost:
                await self._release()
        self._tell("stopped leading")
        for task in (working, keeping):
            if task.done() and not task.cancelled():
                task.result()  # re-raises its exception

    async def _fenced(self, work: Work) -> None:
        carry(lambda: self.leads)
        await work()

    async def _keep(self) -> None:
        """Renew the lease until another server holds it or the deadline passes."""
        is_ours = True
        with suppress(TimeoutError):
            while is_ours:
                async with clock.timeout(self._renewed + self._terms.deadline - clock.steady()):
                    is_ours = await self._renew()

    async def _renew(self) -> bool:
        """Renew after a pause, retrying until it succeeds; False if another server holds the
        lease."""
        while True:
            due = clock.steady() + self._terms.pause
            while (left := due - clock.steady()) > 0 and not self._is_lost(self._find()):
                await self._wait(left)
            found = self._find()
            if self._is_lost(found):
                return False
            if await self._write(found):
                return True

    async def _release(self) -> None:
        """Give up the lease so that another server can lead immediately."""
        moment = format_micro_time(clock.now())
        given_up = {"holderIdentity": "", "leaseDurationSeconds": 1}

        def change(lease: Object) -> Object:
            if self._is_lost(lease):
                return lease
            times = {"renewTime": moment, "acquireTime": moment}
            return {**lease, "spec": {**lease["spec"], **given_up, **times}}

        try:
            async with asyncio.timeout(_LAST_WORDS):
                await self._client.change(LEASES, self._terms.namespace, self._terms.name, change)
        except (StatusError, StorageError, TimeoutError) as error:
            logger.warning("cannot release the lease %s: %s", self._key, error or "no answer")

    def _tell(self, what: str) -> None:
        text = f"{self._identity} {what}"
        logger.info("%s (lease %s)", text, self._key)
        lease = self._find()
        if lease is not None:
            resource = self._client.resource(LEASES)
            self._recorder.record(resource, lease, NORMAL, "LeaderElection", text)


async def _ended(*tasks: asyncio.Task[None]) -> None:
    """Cancel tasks and wait up to 5 s. A task that does not end is fenced: its writes fail."""
    for task in tasks:
        task.cancel()
    _, left = await asyncio.wait(tasks, timeout=_PATIENCE)
    if left:
        logger.error("tasks of the leader do not end: %s", left)
