"""One of all servers on a store leads."""

from __future__ import annotations

import asyncio
import time
from functools import partial

import pytest
from support.client import Object
from support.election import LEASE, NAMESPACE, Election, hold
from support.waiting import comes_true

from fairlead.admission.plugin import Attributes, PluginBase
from fairlead.base import clock
from fairlead.controllers.metrics import LEADING
from fairlead.controllers.servers.election import LEASES
from fairlead.operations.client import Client, system_user


def test_election_lets_the_first_server_lead_and_writes_its_lease() -> None:
    async def course(election: Election) -> None:
        await election.join("a")
        await election.leader("a")
        await election.join("b")
        spec = election.lease["spec"]
        assert spec["holderIdentity"] == "a"
        assert spec["leaseDurationSeconds"] == 15
        assert spec["leaseTransitions"] == 0
        assert spec["acquireTime"] == spec["renewTime"]
        assert LEADING.value(of=("lead",)) == 1

    hold(course)


def test_election_leaves_the_lead_to_a_leader_that_renews() -> None:
    async def course(election: Election) -> None:
        await election.join("a")
        await election.leader("a")
        await election.join("b")
        before = election.lease["spec"]
        await election.pass_time(40)
        spec = election.lease["spec"]
        assert (await election.leader("a")).starts == 1
        assert spec["renewTime"] > before["renewTime"]
        assert spec["acquireTime"] == before["acquireTime"]
        assert spec["leaseTransitions"] == 0

    hold(course)


def test_election_hands_the_lead_over_at_once_at_an_orderly_end() -> None:
    async def course(election: Election) -> None:
        first = await election.join("a")
        await election.leader("a")
        await election.join("b")
        await asyncio.sleep(0)
        await first.stop()
        assert not first.works
        await election.leader("b")  # no time has passed
        assert election.lease["spec"]["leaseTransitions"] == 1

    hold(course)


@pytest.mark.parametrize("hangs", [False, True])
def test_election_stops_a_leader_that_cannot_renew_before_another_starts(hangs: bool) -> None:
    async def course(election: Election) -> None:
        first = await election.join("a")
        await election.leader("a")
        second = await election.join("b")
        first.client.is_cut, first.client.hangs = True, hangs
        await election.pass_time(9)
        assert first.works
        await election.pass_time(2)
        await comes_true(lambda: not first.works, "it stops after ten seconds")
        assert not second.works
        await election.pass_time(10)
        await election.leader("b")
        first.client.is_cut = first.client.hangs = False
        await election.pass_time(30)
        assert (first.starts, second.starts) == (1, 1)

    hold(course)


def test_election_lets_a_stopped_leader_lead_again() -> None:
    async def course(election: Election) -> None:
        only = await election.join("a")
        await election.leader("a")
        only.client.is_cut = True
        await election.pass_time(12)
        await comes_true(lambda: not only.works, "it stops")
        only.client.is_cut = False
        await election.pass_time(5)
        await election.leader("a")
        assert only.starts == 2
        only.writes.put_nowait("again")
        await comes_true(lambda: election.has("again"), "it writes")

    hold(course)


def test_election_fences_writes_of_a_leader_that_slept_past_its_deadline(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def course(election: Election) -> None:
        only = await election.join("a")
        await election.leader("a")
        only.writes.put_nowait("before")
        await comes_true(lambda: election.has("before"), "who leads writes")
        monkeypatch.setattr(clock, "_steadily_ahead", 11.0)  # and no timer has rung
        only.writes.put_nowait("after")
        await comes_true(lambda: bool(only.refusals), "it is refused")
        assert only.refusals == ["503 this server no longer leads"]
        assert not election.has("after")

    hold(course)


def test_election_fences_writes_that_are_in_admission_at_the_deadline(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    begun, go_on = asyncio.Event(), asyncio.Event()

    class Slow(PluginBase):
        async def validate(self, attributes: Attributes) -> None:
            if attributes.resource.name == "configmaps":
                begun.set()
                await go_on.wait()

    async def course(election: Election) -> None:
        only = await election.join("a")
        await election.leader("a")
        only.writes.put_nowait("late")
        await begun.wait()
        monkeypatch.setattr(clock, "_steadily_ahead", 11.0)
        go_on.set()
        await comes_true(lambda: bool(only.refusals), "it is refused")
        assert not election.has("late")

    hold(course, [Slow()])


@pytest.mark.parametrize("written", ["2000-01-01T00:00:00.000000Z", "2099-01-01T00:00:00.000000Z"])
def test_election_ignores_the_times_in_the_lease(written: str) -> None:
    async def course(election: Election) -> None:
        spec = {
            "holderIdentity": "somebody",
            "leaseDurationSeconds": 1,
            "renewTime": written,
            "acquireTime": written,
            "leaseTransitions": 6,
        }
        metadata = {"name": LEASE, "namespace": NAMESPACE}
        await _admin(election).create(LEASES, {"metadata": metadata, "spec": spec})
        candidate = await election.join("a")
        await election.pass_time(14)
        assert not candidate.starts
        await election.pass_time(6)
        await election.leader("a")
        assert election.lease["spec"]["leaseTransitions"] == 7

    hold(course)


def test_the_lead_survives_a_machine_clock_that_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    async def course(election: Election) -> None:
        first = await election.join("a")
        await election.leader("a")
        second = await election.join("b")
        for there in (-3600.0, 3600.0):
            real = time.time()
            monkeypatch.setattr(clock, "_machine_time", lambda now=real + there: now)
            await election.pass_time(20)
            assert (first.starts, second.starts) == (1, 0)

    hold(course)


def test_a_lease_that_somebody_deletes_is_made_again() -> None:
    async def course(election: Election) -> None:
        first = await election.join("a")
        await election.leader("a")
        await _admin(election).delete(LEASES, NAMESPACE, LEASE)
        await election.pass_time(3)
        assert election.holder == "a"
        assert first.starts == 1

    hold(course)


def test_election_stops_a_leader_that_lost_the_lease_at_once() -> None:
    async def course(election: Election) -> None:
        first = await election.join("a")
        await election.leader("a")
        await _admin(election).change(
            LEASES,
            NAMESPACE,
            LEASE,
            lambda old: {**old, "spec": {**old["spec"], "holderIdentity": "somebody"}},
        )
        await comes_true(lambda: not first.works, "it stops, and no time has passed")
        assert LEADING.value(of=("lead",)) == 0
        assert election.holder == "somebody"

    hold(course)


def _with_labels(old: Object, labels: dict[str, str]) -> Object:
    return {**old, "metadata": {**old["metadata"], "labels": labels}}


def test_election_ignores_other_edits_of_the_lease() -> None:
    async def course(election: Election) -> None:
        first = await election.join("a")
        await election.leader("a")
        for step in range(3):
            relabel = partial(_with_labels, labels={"step": str(step)})
            await _admin(election).change(LEASES, NAMESPACE, LEASE, relabel)
            await election.pass_time(5)
        assert first.starts == 1
        assert election.lease["metadata"]["labels"] == {"step": "2"}

    hold(course)


def test_election_gives_the_lead_to_another_when_the_work_fails() -> None:
    async def course(election: Election) -> None:
        first = await election.join("a")
        await election.leader("a")
        await election.join("b")
        first.fails.set()
        (failure,) = await asyncio.gather(first.task, return_exceptions=True)
        assert isinstance(failure, ExceptionGroup)
        await election.leader("b")

    hold(course)


def test_election_events_tell_who_leads() -> None:
    async def course(election: Election) -> None:
        first = await election.join("a")
        writing = asyncio.create_task(first.events.run())
        await election.leader("a")

        def said() -> list[str]:
            events = _admin(election).list("core/v1/events", NAMESPACE)
            return [event["message"] for event in events if event["reason"] == "LeaderElection"]

        await comes_true(lambda: said() == ["a became leader"], "it is told")
        (event,) = _admin(election).list("core/v1/events", NAMESPACE)
        assert event["involvedObject"]["kind"] == "Lease"
        assert event["involvedObject"]["apiVersion"] == "coordination.k8s.io/v1"
        assert event["involvedObject"]["name"] == LEASE
        assert event["type"] == "Normal"
        writing.cancel()

    hold(course)


def test_election_has_no_leader_while_the_store_is_away() -> None:
    async def course(election: Election) -> None:
        first = await election.join("a")
        await election.leader("a")
        second = await election.join("b")
        election.servers.shared.cut()
        await election.pass_time(11)
        await comes_true(lambda: not first.works, "it stops after ten seconds")
        await election.pass_time(30)
        assert not second.starts
        election.servers.shared.back()
        await comes_true(lambda: first.api.store.healthy, "it is followed again")
        await election.pass_time(20)
        await comes_true(lambda: first.works or second.works, "one of them leads")

    hold(course)


def test_election_gives_no_lead_to_a_server_that_hears_no_renewals() -> None:
    async def course(election: Election) -> None:
        await election.join("a")
        await election.leader("a")
        second = await election.join("b")
        seen = election.lease["spec"]["renewTime"]
        await election.pass_time(3)
        assert election.lease["spec"]["renewTime"] > seen
        election.servers.shared.moving.clear()  # what is written is kept and told to nobody
        await election.pass_time(40)
        assert not second.starts
        election.servers.shared.moving.set()
        await election.pass_time(5)
        await comes_true(
            lambda: any(candidate.works for candidate in election.candidates), "one leads"
        )

    hold(course)


def test_election_lets_one_of_many_that_begin_at_once_lead() -> None:
    async def course(election: Election) -> None:
        candidates = [await election.join(f"c{number}") for number in range(20)]
        await comes_true(lambda: any(candidate.works for candidate in candidates), "one leads")
        await election.pass_time(5)
        assert sum(candidate.starts for candidate in candidates) == 1
        for _ in range(5):
            (leader,) = (candidate for candidate in candidates if candidate.works)
            await leader.stop()
            await comes_true(
                lambda: any(candidate.works for candidate in candidates), "another one leads"
            )
            await election.pass_time(1)

    hold(course)


def _admin(election: Election) -> Client:
    return Client(election.api, system_user("admin"))
