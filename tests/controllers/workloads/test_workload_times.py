"""Workloads: timeouts. The clock is moved."""

from __future__ import annotations

from support.namespaces import Space
from support.process import MOVABLE_CLOCK, FreshServer
from support.workloads import READY, Workloads, replicated, template

from fairlead.codec.types.times import now


def test_workloads_go_by_the_clock(fresh_server: FreshServer) -> None:
    server = fresh_server(prelude=MOVABLE_CLOCK)
    ready = Workloads(Space(server, server.client()))
    ready.replica_sets.create("r", spec=replicated(1, minReadySeconds=3600))
    names = ready.await_pods(1)
    condition = {**READY["conditions"][0], "lastTransitionTime": now()}
    ready.set_status(names, phase="Running", conditions=[condition])
    status = ready.await_status(ready.replica_sets, "r", readyReplicas=1)
    assert "availableReplicas" not in status

    stuck = Workloads(Space(server, server.client()))
    stuck.create_deployment(1, progressDeadlineSeconds=4000)
    stuck.await_condition(stuck.deployments, "web", "Progressing", "ReplicaSetUpdated")
    paused = Workloads(Space(server, server.client()))
    paused.create_deployment(1, progressDeadlineSeconds=4000)
    paused.await_condition(paused.deployments, "web", "Progressing", "ReplicaSetUpdated")
    paused.revise(paused=True)
    paused.await_condition(paused.deployments, "web", "Progressing", "DeploymentPaused")

    server.advance(3601)
    ready.await_status(ready.replica_sets, "r", availableReplicas=1)
    reported = stuck.condition(stuck.deployments, "web", "Progressing")
    assert reported["reason"] == "ReplicaSetUpdated"

    server.advance(1000)
    reported = stuck.await_condition(
        stuck.deployments, "web", "Progressing", "ProgressDeadlineExceeded"
    )
    name = stuck.replica_set_of("one")["metadata"]["name"]
    assert (reported["status"], reported["message"]) == (
        "False",
        f'ReplicaSet "{name}" has timed out progressing.',
    )
    reported = paused.condition(paused.deployments, "web", "Progressing")
    assert reported["reason"] == "DeploymentPaused"
    paused.revise(paused=False, template=template("two"))
    paused.finish()
    stuck.finish()
    reported = stuck.await_condition(
        stuck.deployments, "web", "Progressing", "NewReplicaSetAvailable"
    )
    assert reported["status"] == "True"
