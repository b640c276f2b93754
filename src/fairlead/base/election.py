"""Leader election with a Lease: the holder leads as long as it renews the lease.

A candidate takes a lease that is free, or that it has observed unchanged for the lease's duration
by its own monotonic clock. The times in the lease are informational, since clocks differ.

`Election` is the algorithm; a `LeaseAccess` reads and writes the lease for it, through the client
library or through the operations of a server.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from math import ceil, inf
from random import uniform
from typing import Any

from fairlead.base.logs import Logger

_LOG = Logger("fairlead.election")
JITTER = 1.2  # maximum relative jitter of the pause between attempts to acquire
_RELEASE_TIMEOUT = 2.0  # seconds
_RELEASE_PAUSE = 0.2  # seconds between attempts after a conflict
_CONFLICT = 409

Object = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Pace:
    """Timing in seconds: duration of a lease, deadline for its holder to renew it, and pause
    between attempts."""

    lease: float = 15.0
    renewal: float = 10.0
    retry: float = 2.0

    def __post_init__(self) -> None:
        if not self.lease > self.renewal > self.retry * JITTER or self.retry <= 0:
            raise ValueError(
                "a lease must last longer than the renewal deadline, the deadline must be longer"
                f" than {JITTER} times the retry pause, and the pause must not be 0"
            )


class LeaseAccess(ABC):
    """Reads and writes one lease, and measures time. `errors` are the exceptions after which an
    attempt is repeated; a conflict has the code 409."""

    errors: tuple[type[Exception], ...]

    def __init__(self, namespace: str, name: str) -> None:
        self.namespace, self.name = namespace, name

    @abstractmethod
    async def read(self) -> Object | None:
        """Return the lease, None if there is none."""

    @abstractmethod
    async def write(self, lease: Object | None, spec: Object) -> Object:
        """Write the spec if `lease` is still the current version; None creates the lease. Returns
        what was written."""

    async def wait(self, seconds: float) -> None:
        """Wait for a time; an access that hears of changes may return at the next one."""
        await asyncio.sleep(seconds)

    def steady(self) -> float:
        """Return a monotonic time in seconds."""
        return asyncio.get_running_loop().time()

    def now(self) -> datetime:
        return datetime.now(UTC)

    def timeout(self, seconds: float) -> AbstractAsyncContextManager[object]:
        """Cancel the body after so many seconds of the monotonic clock; raises TimeoutError."""
        return asyncio.timeout(seconds)


class Election:
    """A candidate for a lease; `identity` must be unique.

    `lead` runs while leading and is cancelled at the end; it may return early without giving up
    leadership. The lease is released when it has ended, or after `patience` seconds. `stopped` is
    called after leading, `new_leader` whenever the observed leader changes, even to this candidate.
    """

    def __init__(
        self,
        lease: LeaseAccess,
        identity: str,
        lead: Callable[[], Awaitable[None]],
        *,
        stopped: Callable[[], None] | None = None,
        new_leader: Callable[[str], None] | None = None,
        pace: Pace | None = None,
        patience: float | None = None,
    ) -> None:
        if not identity:
            raise ValueError("a candidate needs an identity")
        self.leader = ""  # as last observed
        self._lease = lease
        self._label = f"{lease.namespace}/{lease.name}"
        self._identity = identity
        self._lead = lead
        self._stopped = stopped
        self._new_leader = new_leader
        self._pace = pace or Pace()
        self._patience = patience
        self._seen: Object | None = None  # the spec that was last observed
        self._seen_at = -inf
        self._leads = False
        self._renewed_at = -inf  # start of the last successful write
        self._reported = ""

    @property
    def is_leading(self) -> bool:
        """Whether this candidate leads. Compares with the deadline, so it is right even if the
        event loop was blocked."""
        return self._leads and self._seconds_left() > 0

    def _seconds_left(self) -> float:
        """Seconds until the deadline to renew the lease."""
        return self._renewed_at + self._pace.renewal - self._lease.steady()

    async def run(self) -> None:
        """Wait for leadership and lead until it is lost, then return. Releases the lease when
        cancelled. Raises what `lead` raises."""
        await self._acquire()
        self._leads = True
        work, renewal = (
            asyncio.create_task(self._work()),
            asyncio.create_task(self._keep_renewing()),
        )
        try:
            await asyncio.wait({work, renewal}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            was_lost = renewal.done()
            self._leads = False
            await self._cancel(work, renewal)
            if self._stopped is not None:
                self._stopped()
            if not was_lost:
                await self._release()
        for task in (work, renewal):
            if task.done() and not task.cancelled():
                task.result()  # re-raises its exception

    async def _work(self) -> None:
        await self._lead()
        await asyncio.Event().wait()

    async def _cancel(self, *tasks: asyncio.Task[None]) -> None:
        """Cancel the tasks and wait until they have ended, at most for `patience`."""
        for task in tasks:
            task.cancel()
        _, left = await asyncio.wait(tasks, timeout=self._patience)
        if left:
            _LOG.error("work that only the leader may do does not end", tasks=left)

    async def _acquire(self) -> None:
        while not await self._try_to_acquire():
            await self._lease.wait(uniform(1, 1 + JITTER) * self._pace.retry)

    async def _try_to_acquire(self) -> bool:
        with suppress(TimeoutError), self._reported_errors():
            async with self._lease.timeout(self._pace.renewal):
                lease = await self._read()
                if lease is None or self._is_free(lease):
                    await self._acquire_or_renew(lease)
                    return True
        return False

    def _is_free(self, lease: Object) -> bool:
        if self.leader in ("", self._identity):
            return True
        lasts = max(self._pace.lease, _spec(lease).get("leaseDurationSeconds") or 0)
        return self._lease.steady() >= self._seen_at + lasts

    async def _keep_renewing(self) -> None:
        """Renew the lease until another candidate holds it or the deadline passes. A deleted lease
        is created again."""
        due = self._lease.steady() + self._pace.retry
        try:
            while True:
                async with self._lease.timeout(self._seconds_left()):
                    await self._lease.wait(max(0.0, due - self._lease.steady()))
                    is_due = self._lease.steady() >= due
                    if is_due:
                        due = self._lease.steady() + self._pace.retry
                    with self._reported_errors():
                        lease = await self._read()
                        if lease is not None and self.leader != self._identity:
                            return
                        if is_due:
                            await self._acquire_or_renew(lease)
        except TimeoutError:
            _LOG.warning("a lease could not be renewed", identity=self._identity, lease=self._label)

    async def _acquire_or_renew(self, lease: Object | None) -> None:
        """Acquire or renew the lease, with a precondition on its version."""
        began = self._lease.steady()
        old, moment = _spec(lease), self._timestamp()
        spec = {
            **old,
            "holderIdentity": self._identity,
            "leaseDurationSeconds": ceil(self._pace.lease),
            "renewTime": moment,
        }
        if old.get("holderIdentity") != self._identity:
            spec["acquireTime"] = moment
            spec["leaseTransitions"] = old.get("leaseTransitions", 0) + 1 if old else 0
        self._observe(await self._lease.write(lease, spec))
        self._renewed_at, self._reported = began, ""

    async def _release(self) -> None:
        """Release the lease, so that other candidates need not wait for its expiry."""
        errors: tuple[type[Exception], ...] = (*self._lease.errors, TimeoutError)
        try:
            async with asyncio.timeout(_RELEASE_TIMEOUT):
                while not await self._try_to_release():
                    await self._lease.wait(_RELEASE_PAUSE)
        except errors as error:
            _LOG.warning("cannot release a lease", lease=self._label, err=str(error) or "no answer")

    async def _try_to_release(self) -> bool:
        """Returns False after a conflict: a cancelled renewal may still be committed."""
        lease = await self._read()
        if lease is None or self.leader != self._identity:
            return True
        moment = self._timestamp()
        spec = {**_spec(lease), "holderIdentity": "", "leaseDurationSeconds": 1}
        spec |= {"renewTime": moment, "acquireTime": moment}
        try:
            self._observe(await self._lease.write(lease, spec))
        except self._lease.errors as error:
            if not _is_conflict(error):
                raise
            return False
        return True

    async def _read(self) -> Object | None:
        lease = await self._lease.read()
        if lease is not None:
            self._observe(lease)
        return lease

    def _observe(self, lease: Object) -> None:
        spec = _spec(lease)
        if spec != self._seen:
            self._seen, self._seen_at = spec, self._lease.steady()
        holder = str(spec.get("holderIdentity") or "")
        if holder != self.leader:
            self.leader = holder
            if holder and self._new_leader is not None:
                self._new_leader(holder)

    @contextmanager
    def _reported_errors(self) -> Iterator[None]:
        """Suppress errors of the access and log them, once per text. Conflicts are expected."""
        try:
            yield
        except self._lease.errors as error:
            text = str(error)
            if text != self._reported and not _is_conflict(error):
                self._reported = text
                _LOG.warning("cannot write a lease", lease=self._label, err=text)

    def _timestamp(self) -> str:
        return self._lease.now().strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _spec(lease: Object | None) -> Object:
    return (lease or {}).get("spec") or {}


def _is_conflict(error: Exception) -> bool:
    return getattr(error, "code", None) == _CONFLICT
