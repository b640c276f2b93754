"""Servers that are killed while pods are on their way go on where they were."""

from __future__ import annotations

import random
from functools import partial

from support.process import MOVABLE_CLOCK, FreshServer
from support.simulation import Pods, told
from support.things import Space, Things
from support.waiting import eventually
from support.workloads import LABELS, is_complete, template

REPLICAS = 40


def has_ready(deployments: Things, least: int) -> bool:
    return bool(deployments.read("web")["status"].get("readyReplicas", 0) >= least)


def test_a_rollout_is_finished_by_the_next_server(fresh_server: FreshServer) -> None:
    server = fresh_server("--simulate-nodes=4")
    space = Space(server, server.client())
    space.ready_for_pods()
    spec = {"replicas": REPLICAS, "selector": {"matchLabels": LABELS}, "template": template("one")}
    space.things("deployments", "apps").create("web", spec=spec)
    for image in ("two", "three"):
        deployments = space.things("deployments", "apps")
        wanted = random.randrange(REPLICAS)
        eventually(partial(has_ready, deployments, wanted), f"{wanted} are ready")
        change = {"spec": {"template": template(image)}}
        assert deployments.patch("web", change).status == 200
        server.kill()
        server.start()
        space.client = server.client()
    deployments, pods = space.things("deployments", "apps"), space.things("pods")
    eventually(lambda: is_complete(deployments.read("web")), "it is rolled out", 60)
    eventually(lambda: len(pods.list().body["items"]) == REPLICAS, "nothing is left over", 60)
    found = pods.list().body["items"]
    assert {pod["spec"]["containers"][0]["image"] for pod in found} == {"three"}
    assert len({pod["status"]["podIP"] for pod in found}) == REPLICAS


def test_times_go_on_over_a_restart(fresh_server: FreshServer) -> None:
    server = fresh_server("--simulate-nodes=1", prelude=MOVABLE_CLOCK)
    pods = Pods(Space(server, server.client()))
    pods.create("late", annotations=told(start_delay="1h"))
    pods.create("short", restartPolicy="Never", annotations=told(exit_after="1h"))
    pods.create("stopping", annotations=told(stop_after="1h"), terminationGracePeriodSeconds=9999)
    pods.await_waiting("ContainerCreating", "late")
    pods.await_ready("short", "stopping")
    pods.things.remove("stopping")
    server.kill()
    server.start()
    pods.space.client = pods.things.client = server.client()
    assert pods.is_ready("short")
    assert pods.status("late")["phase"] == "Pending"
    assert pods.things.get("stopping").status == 200
    server.advance(3600)
    pods.await_ready("late")
    pods.await_phase("Succeeded", "short")
    pods.await_gone("stopping")
