"""A killed server resumes the simulation of starting and stopping pods."""

from __future__ import annotations

import random
from functools import partial

from support.namespaces import Collection, Space
from support.process import MOVABLE_CLOCK, FreshServer
from support.simulation import Pods, behaviour
from support.waiting import eventually
from support.workloads import LABELS, is_complete, template

REPLICAS = 40


def has_ready(deployments: Collection, minimum: int) -> bool:
    return bool(deployments.read("web")["status"].get("readyReplicas", 0) >= minimum)


def test_a_rollout_is_finished_by_the_next_server(fresh_server: FreshServer) -> None:
    server = fresh_server("--simulate-nodes=4")
    space = Space(server, server.client())
    space.ready_for_pods()
    spec = {"replicas": REPLICAS, "selector": {"matchLabels": LABELS}, "template": template("one")}
    space.collection("deployments", "apps").create("web", spec=spec)
    for image in ("two", "three"):
        deployments = space.collection("deployments", "apps")
        wanted = random.randrange(REPLICAS)
        eventually(partial(has_ready, deployments, wanted), f"{wanted} are ready")
        change = {"spec": {"template": template(image)}}
        assert deployments.patch("web", change).status == 200
        server.kill()
        server.start()
        space.client = server.client()
    deployments, pods = space.collection("deployments", "apps"), space.collection("pods")
    eventually(lambda: is_complete(deployments.read("web")), "it is rolled out", 60)
    eventually(lambda: len(pods.list().body["items"]) == REPLICAS, "nothing is left over", 60)
    items = pods.list().body["items"]
    assert {pod["spec"]["containers"][0]["image"] for pod in items} == {"three"}
    assert len({pod["status"]["podIP"] for pod in items}) == REPLICAS


def test_times_go_on_over_a_restart(fresh_server: FreshServer) -> None:
    server = fresh_server("--simulate-nodes=1", prelude=MOVABLE_CLOCK)
    pods = Pods(Space(server, server.client()))
    pods.create("late", annotations=behaviour(start_delay="1h"))
    pods.create("short", restartPolicy="Never", annotations=behaviour(exit_after="1h"))
    pods.create(
        "stopping", annotations=behaviour(stop_after="1h"), terminationGracePeriodSeconds=9999
    )
    pods.await_waiting("ContainerCreating", "late")
    pods.await_ready("short", "stopping")
    pods.collection.remove("stopping")
    server.kill()
    server.start()
    pods.space.client = pods.collection.client = server.client()
    assert pods.is_ready("short")
    assert pods.status("late")["phase"] == "Pending"
    assert pods.collection.get("stopping").status == 200
    server.advance(3600)
    pods.await_ready("late")
    pods.await_phase("Succeeded", "short")
    pods.await_gone("stopping")
