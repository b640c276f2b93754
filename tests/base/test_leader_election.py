"""Leader election, independent of how the lease is accessed."""

from __future__ import annotations

import asyncio
from copy import deepcopy

from fairlead.base.election import Election, LeaseAccess, Object, Pace

PACE = Pace(lease=30.0, renewal=20.0, retry=0.01)


class Refused(Exception):
    code = 409


class LeaseInMemory(LeaseAccess):
    """A lease with a version; its clock moves by the time that is waited."""

    errors = (Refused,)

    def __init__(self) -> None:
        super().__init__("n", "it")
        self.lease: Object | None = None
        self.time = 0.0
        self.conflicts = 0  # how many writes are still refused

    def steady(self) -> float:
        return self.time

    async def wait(self, seconds: float) -> None:
        self.time += seconds
        await asyncio.sleep(0)

    async def read(self) -> Object | None:
        return deepcopy(self.lease)

    async def write(self, lease: Object | None, spec: Object) -> Object:
        if self.conflicts or lease != self.lease:
            self.conflicts = max(0, self.conflicts - 1)
            raise Refused("it has changed")
        version = lease["version"] + 1 if lease else 1
        self.lease = {"version": version, "spec": spec}
        return deepcopy(self.lease)


async def until_leading(lease: LeaseInMemory) -> asyncio.Task[None]:
    """Run an election until it leads."""
    leads = asyncio.Event()

    async def lead() -> None:
        leads.set()

    task = asyncio.create_task(Election(lease, "us", lead, pace=PACE).run())
    async with asyncio.timeout(20):
        await leads.wait()
    return task


def test_a_conflict_does_not_prevent_the_release_of_a_lease() -> None:
    async def scenario() -> None:
        lease = LeaseInMemory()
        task = await until_leading(lease)
        lease.conflicts = 1
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert lease.lease is not None
        assert lease.lease["spec"]["holderIdentity"] == ""

    asyncio.run(scenario())


def test_a_lease_of_another_candidate_is_respected_for_the_duration_that_it_has() -> None:
    async def scenario() -> None:
        lease = LeaseInMemory()
        spec = {"holderIdentity": "another", "leaseDurationSeconds": 600}
        lease.lease = {"version": 1, "spec": spec}
        task = await until_leading(lease)
        assert lease.time >= 600
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    asyncio.run(scenario())
