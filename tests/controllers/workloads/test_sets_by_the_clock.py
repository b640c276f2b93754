"""StatefulSets and DaemonSets: timeouts. The clock is moved."""

from __future__ import annotations

import pytest
from support.daemon_sets import Daemons
from support.namespaces import Space
from support.process import MOVABLE_CLOCK, FreshServer, ServerProcess
from support.stateful_sets import Sets
from support.waiting import eventually
from support.workloads import READY, Workloads

from fairlead.codec.types.times import now

LONG = 1000.0  # seconds, more than any pause here


def ready_since_now(work: Workloads, *names: str) -> None:
    condition = {**READY["conditions"][0], "lastTransitionTime": now()}
    work.set_status(names, phase="Running", conditions=[condition])


@pytest.mark.parametrize("dialect", ["kubernetes", "cluster"])
def test_sets_go_by_the_clock(fresh_server: FreshServer, dialect: str) -> None:
    # Nodes that nobody hears of for so long would not fit any more.
    flag = "--controllers=*,-nodelifecycle"
    server = fresh_server(flag, dialect=dialect, prelude=MOVABLE_CLOCK)
    daemons_that_fail_are_replaced_ever_more_slowly(server)
    pods_have_to_be_ready_for_a_while(server)


def pods_have_to_be_ready_for_a_while(server: ServerProcess) -> None:
    stateful = Sets(Space(server, server.client()))
    stateful.create(2, minReadySeconds=100_000)
    stateful.await_pods(1)
    ready_since_now(stateful, "web-0")
    status = stateful.await_set(readyReplicas=1)
    assert (status["availableReplicas"], stateful.names()) == (0, {"web-0"})

    daemons = Daemons(Space(server, server.client()))
    daemons.add_nodes("a")
    daemons.create(minReadySeconds=100_000)
    ready_since_now(daemons, *daemons.await_pods(1))
    status = daemons.await_set(numberReady=1)
    assert (status.get("numberAvailable", 0), status["numberUnavailable"]) == (0, 1)

    server.advance(100_001)
    stateful.await_set(availableReplicas=1, replicas=2)
    assert stateful.names() == {"web-0", "web-1"}
    daemons.await_set(numberAvailable=1, numberUnavailable=0)


def daemons_that_fail_are_replaced_ever_more_slowly(server: ServerProcess) -> None:
    work = Daemons(Space(server, server.client()))
    work.add_nodes("a")
    work.create()
    for _ in range(9):
        server.advance(LONG)
        (name,) = work.await_pods(1)
        fail(work, name)
        await_another(work, name)
    (name,) = work.await_pods(1)
    fail(work, name)
    assert work.names() == {name}
    server.advance(LONG)
    await_another(work, name)


def await_another(work: Daemons, name: str) -> None:
    eventually(lambda: len(work.names() - {name}) == 1, f"another pod than {name}")


def fail(work: Daemons, name: str) -> None:
    """Have a pod fail, and wait until its controller has seen it."""
    work.set_status([name], **READY)
    work.await_set(numberReady=1)
    work.set_status([name], phase="Failed", conditions=[{"type": "Ready", "status": "False"}])
    work.await_set(numberReady=0)
