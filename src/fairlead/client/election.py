"""Leader election with a Lease: the holder leads as long as it renews the lease."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import UTC, datetime
from math import ceil
from random import uniform

from fairlead.base.records import dataclass
from fairlead.client.access.model import AccessError
from fairlead.client.errors import AlreadyExists, ApiError, Conflict, NotFound, Unreachable
from fairlead.client.resources import Object, Resource

_LOG = logging.getLogger(__name__)
_JITTER = 1.2  # spread of the pauses between attempts to acquire


@dataclass(frozen=True, slots=True)
class Pace:
    """Timing in seconds: duration of a lease, deadline for its holder to renew it, and pause
    between attempts."""

    lease: float = 15.0
    renewal: float = 10.0
    retry: float = 2.0

    def __post_init__(self) -> None:
        if not self.lease > self.renewal > self.retry * _JITTER or self.retry <= 0:
            raise ValueError(
                "a lease must last longer than its renewal may take, and that longer than"
                f" {_JITTER} times the pause between tries, which is more than none"
            )


class LeaderElection:
    """A candidate for the Lease `name`; `identity` must be unique. Does not trust other clocks: a
    lease expires when it was observed unchanged for its duration.

    `lead` runs while leading and is cancelled at the end; it may return early without giving up
    leadership. `stopped` is called after leading, `new_leader` whenever the observed leader
    changes, even to this candidate.
    """

    def __init__(
        self,
        leases: Resource,
        name: str,
        namespace: str,
        identity: str,
        lead: Callable[[], Awaitable[None]],
        *,
        stopped: Callable[[], None] | None = None,
        new_leader: Callable[[str], None] | None = None,
        pace: Pace | None = None,
    ) -> None:
        if not identity:
            raise ValueError("a candidate needs an identity")
        self.leader = ""  # as last observed
        self._leases = leases
        self._name, self._namespace, self._identity = name, namespace, identity
        self._lead = lead
        self._stopped = stopped
        self._new_leader = new_leader
        self._pace = pace or Pace()
        self._seen: Object | None = None
        self._seen_at = 0.0
        self._leads_until: float | None = None

    @property
    def is_leading(self) -> bool:
        """Whether this candidate leads. Compares with the deadline, so it is right even if the
        event loop was blocked."""
        return self._leads_until is not None and _now() < self._leads_until

    async def run(self) -> None:
        """Wait for leadership and lead until it is lost, then return. Releases the lease when
        cancelled. Raises what `lead` raises."""
        await self._acquire()
        tasks = [asyncio.create_task(self._work()), asyncio.create_task(self._renew())]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            # Release the lease only after the work has ended.
            results = await asyncio.gather(*tasks, return_exceptions=True)
            self._leads_until = None
            if self._stopped is not None:
                self._stopped()
            await self._release()
        for result in results:
            if isinstance(result, Exception):
                raise result

    async def _work(self) -> None:
        await self._lead()
        await asyncio.Event().wait()

    async def _acquire(self) -> None:
        while True:
            began = _now()
            with suppress(TimeoutError):
                async with asyncio.timeout(self._pace.renewal):
                    if await self._try():
                        self._leads_until = began + self._pace.renewal
                        return
            await asyncio.sleep(self._pace.retry * uniform(1, 1 + _JITTER))

    async def _renew(self) -> None:
        """Renew the lease until that fails for too long or another candidate leads."""
        while self.is_leading and self.leader == self._identity:
            until = self._leads_until
            try:
                async with asyncio.timeout_at(until):
                    await asyncio.sleep(self._pace.retry)
                    began = _now()
                    if await self._try():
                        self._leads_until = began + self._pace.renewal
            except TimeoutError:
                _LOG.warning("%s could not renew the lease %s", self._identity, self._name)

    async def _try(self) -> bool:
        """Try to acquire or renew the lease; returns whether it is held."""
        try:
            return await self._claim()
        except (AlreadyExists, Conflict):
            return False  # another candidate was faster
        except (AccessError, ApiError, Unreachable) as error:
            _LOG.warning("the lease %s: %s", self._name, error)
            return False

    async def _claim(self) -> bool:
        try:
            lease = await self._leases.get(self._name, self._namespace)
        except NotFound:
            metadata = {"name": self._name, "namespace": self._namespace}
            type = self._leases.type
            fresh = {"apiVersion": type.api_version, "kind": type.kind, "metadata": metadata}
            self._observe(await self._leases.create(self._claimed(fresh), self._namespace))
            return True
        self._observe(lease)
        spec = lease.get("spec") or {}
        lasts = max(self._pace.lease, spec.get("leaseDurationSeconds") or 0)
        is_free = spec.get("holderIdentity") in (None, "", self._identity)
        if not is_free and _now() < self._seen_at + lasts:
            return False
        self._observe(await self._leases.replace(self._claimed(lease), self._namespace))
        return True

    def _claimed(self, lease: Object) -> Object:
        """The lease with this candidate as holder."""
        spec: Object = dict(lease.get("spec") or {})
        now = _timestamp()
        if spec.get("holderIdentity") != self._identity:
            spec["leaseTransitions"] = spec.get("leaseTransitions", -1) + 1
            spec["acquireTime"] = now
        spec["holderIdentity"] = self._identity
        spec["leaseDurationSeconds"] = ceil(self._pace.lease)
        spec["renewTime"] = now
        return {**lease, "spec": spec}

    def _observe(self, lease: Object) -> None:
        if self._seen is None or self._seen.get("spec") != lease.get("spec"):
            self._seen_at = _now()
        self._seen = lease
        holder = str((lease.get("spec") or {}).get("holderIdentity") or "")
        if holder != self.leader:
            self.leader = holder
            if holder and self._new_leader is not None:
                self._new_leader(holder)

    async def _release(self) -> None:
        """Release the lease, so that other candidates need not wait for its expiry."""
        if self._seen is None or self.leader != self._identity:
            return
        now = _timestamp()
        spec = {**self._seen["spec"], "holderIdentity": "", "leaseDurationSeconds": 1}
        spec |= {"renewTime": now, "acquireTime": now}
        with suppress(AccessError, ApiError, Unreachable, TimeoutError):
            async with asyncio.timeout(self._pace.renewal):
                self._observe(
                    await self._leases.replace({**self._seen, "spec": spec}, self._namespace)
                )


def _now() -> float:
    return asyncio.get_running_loop().time()


def _timestamp() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
