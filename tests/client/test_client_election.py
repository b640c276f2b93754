"""Of several candidates at most one leads at any time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from support.connected import connected
from support.namespaces import Space

from fairlead.client import Client, Resource
from fairlead.client.election import LeaderElection, Pace

QUICK = Pace(lease=1.0, renewal=0.6, retry=0.1)
CALM = Pace(lease=30.0, renewal=20.0, retry=0.1)  # nothing is lost because the machine is busy
PATIENCE = 20.0


class Candidates:
    """Who leads, and whether ever more than one did."""

    def __init__(self, client: Client, space: Space) -> None:
        self._client, self._space = client, space
        self.leases: dict[str, Resource] = {}  # that each candidate uses
        self.leading: set[str] = set()
        self.log: list[str] = []
        self.changed = asyncio.Event()

    def _note(self, text: str) -> None:
        assert len(self.leading) <= 1, self.leading
        self.log.append(text)
        self.changed.set()

    async def candidate(self, name: str, **choices: Any) -> LeaderElection:
        async def lead() -> None:
            self.leading.add(name)
            self._note(f"{name} leads")
            try:
                await asyncio.Event().wait()
            finally:
                self.leading.remove(name)
                self._note(f"{name} ends")

        leases = self.leases[name] = await self._client.resource("leases")
        choices = {"lead": lead, "pace": QUICK, **choices}
        return LeaderElection(leases, "it", self._space.name, name, **choices)

    async def until(self, text: str) -> None:
        await self.until_so(lambda: text in self.log)

    async def until_so(self, holds: Callable[[], bool]) -> None:
        async with asyncio.timeout(PATIENCE):
            while not holds():
                self.changed.clear()
                await self.changed.wait()


async def cancelled(task: asyncio.Task[None]) -> None:
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


def test_the_lead_goes_over_when_it_is_given_back(space: Space) -> None:
    leases = space.collection("leases", "coordination.@")

    async def scenario() -> None:
        async with connected(space.server) as client:
            ours = Candidates(client, space)
            seen: list[str] = []
            first = await ours.candidate("first", pace=CALM)
            second = await ours.candidate("second", pace=CALM, new_leader=seen.append)
            task = asyncio.create_task(first.run())
            await ours.until("first leads")
            two = asyncio.create_task(second.run())
            await asyncio.sleep(0.3)
            assert first.is_leading
            assert not second.is_leading
            assert second.leader == "first"
            assert leases.read("it")["spec"]["leaseTransitions"] == 0
            await cancelled(task)
            assert leases.read("it")["spec"]["holderIdentity"] in ("", "second", None)
            await ours.until("second leads")
            spec = leases.read("it")["spec"]
            assert (spec["holderIdentity"], spec["leaseTransitions"]) == ("second", 1)
            assert seen == ["first", "second"]
            await cancelled(two)

    asyncio.run(scenario())


def test_one_that_cannot_renew_ends_before_another_begins(kubernetes: Space) -> None:
    async def scenario() -> None:
        async with connected(kubernetes.server) as client, connected(kubernetes.server) as other:
            ours = Candidates(client, kubernetes)
            stopped: list[bool] = []
            first = await ours.candidate("first", stopped=lambda: stopped.append(True))
            task = asyncio.create_task(first.run())
            await ours.until("first leads")
            ours._client = other
            second = await ours.candidate("second")
            two = asyncio.create_task(second.run())

            async def unreachable(*_: Any, **__: Any) -> Any:
                await asyncio.Event().wait()

            leases: Any = ours.leases["first"]
            leases.get = leases.replace = unreachable
            await ours.until("second leads")
            assert ours.log == ["first leads", "first ends", "second leads"]
            await task
            assert stopped == [True]
            await cancelled(two)

    asyncio.run(scenario())


def test_a_lease_is_over_by_the_clock_of_those_who_watch_it(kubernetes: Space) -> None:
    leases = kubernetes.collection("leases", "coordination.@")
    spec = {"holderIdentity": "gone", "leaseDurationSeconds": 1, "leaseTransitions": 4}
    leases.create("it", spec={**spec, "renewTime": "2001-01-01T00:00:00.000000Z"})

    async def scenario() -> None:
        async with connected(kubernetes.server) as client:
            ours = Candidates(client, kubernetes)
            began = asyncio.get_running_loop().time()
            task = asyncio.create_task((await ours.candidate("us")).run())
            await ours.until("us leads")
            assert asyncio.get_running_loop().time() - began >= 1.0  # however old it says it is
            assert leases.read("it")["spec"]["leaseTransitions"] == 5
            await cancelled(task)

    asyncio.run(scenario())


def test_a_lead_that_fails_is_given_up(kubernetes: Space) -> None:
    async def fail() -> None:
        raise ValueError("of the work")

    async def scenario() -> None:
        async with connected(kubernetes.server) as client:
            candidate = await Candidates(client, kubernetes).candidate("us", lead=fail)
            with pytest.raises(ValueError, match="of the work"):
                await candidate.run()
            assert not candidate.is_leading
            assert candidate.leader == ""

    asyncio.run(scenario())


def test_many_candidates_lead_one_after_the_other(kubernetes: Space) -> None:
    async def scenario() -> None:
        async with connected(kubernetes.server) as client:
            ours = Candidates(client, kubernetes)
            names = [f"c{at}" for at in range(5)]
            candidates = {name: await ours.candidate(name, pace=CALM) for name in names}
            tasks = {name: asyncio.create_task(item.run()) for name, item in candidates.items()}
            while tasks:
                await ours.until_so(lambda: bool(ours.leading))
                (leader,) = ours.leading
                assert [name for name in tasks if candidates[name].is_leading] == [leader]
                await cancelled(tasks.pop(leader))
            assert [line.split()[1] for line in ours.log] == ["leads", "ends"] * 5

    asyncio.run(scenario())


@pytest.mark.parametrize("pace", [(1, 2, 0.1), (2, 1, 1), (3, 2, 0)])
def test_a_pace_that_cannot_work_is_refused(pace: tuple[float, float, float]) -> None:
    with pytest.raises(ValueError, match="longer"):
        Pace(*pace)
