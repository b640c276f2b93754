"""A killed server resumes creating and updating the pods of sets."""

from __future__ import annotations

from support.daemon_sets import Daemons
from support.namespaces import Space
from support.process import FreshServer, ServerProcess
from support.stateful_sets import CLAIM, Sets, mounting
from support.waiting import eventually
from support.workloads import Workloads

PODS = 8


def roll_until(work: Workloads, image: str, count: int) -> None:
    """Go on with an update until there are so many pods of an image."""

    def far_enough() -> bool:
        work.make_ready()
        return list(work.images().values()).count(image) >= count

    eventually(far_enough, f"{count} pods of {image}")


def await_revisions(work: Workloads, count: int) -> None:
    """Wait until so many revisions are left, which have numbers of their own."""

    def left() -> bool:
        numbers = [item["revision"] for item in work.revisions.list().body["items"]]
        return len(numbers) == len(set(numbers)) == count

    eventually(left, f"{count} revisions")


def kill_and_restart(server: ServerProcess, *works: Workloads) -> None:
    server.kill()
    server.start()
    for work in works:
        work.reconnect(server.client())


def test_sets_survive_the_death_of_their_server(fresh_server: FreshServer) -> None:
    server = fresh_server()
    stateful = Sets(Space(server, server.client()))
    daemons = Daemons(Space(server, server.client()))
    daemons.add_nodes(*map(str, range(PODS)))
    surging = {"rollingUpdate": {"maxSurge": 2, "maxUnavailable": 0}}
    daemons.create(updateStrategy=surging, revisionHistoryLimit=1)
    stateful.create(
        PODS,
        template=mounting(),
        volumeClaimTemplates=[CLAIM],
        podManagementPolicy="Parallel",
        revisionHistoryLimit=1,
    )
    eventually(lambda: len(stateful.pods.names()) >= 2, "some pods")
    kill_and_restart(server, stateful, daemons)
    stateful.await_set(replicas=PODS)
    daemons.await_set(currentNumberScheduled=PODS)
    assert (len(daemons.pods.names()), len(daemons.on_nodes())) == (PODS, PODS)
    for image, count in (("two", 3), ("three", 5)):
        for work in (stateful, daemons):
            work.update(image)
            roll_until(work, image, count)
        kill_and_restart(server, stateful, daemons)
    stateful.finish_update("three")
    daemons.finish_update("three", PODS)
    assert stateful.names() == {f"web-{ordinal}" for ordinal in range(PODS)}
    assert stateful.claim_names() == sorted(f"data-web-{ordinal}" for ordinal in range(PODS))
    for work in (stateful, daemons):
        await_revisions(work, 2)
