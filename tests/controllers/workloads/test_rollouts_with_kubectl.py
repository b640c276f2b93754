"""Rollouts with kubectl."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.kubectl import KUBECTL, Kubectl
from support.namespaces import Space
from support.waiting import eventually
from support.workloads import Workloads

pytestmark = pytest.mark.skipif(KUBECTL is None, reason="kubectl is not installed: not tried out")

DONE = 'deployment "web" successfully rolled out'


@pytest.fixture
def work(kubernetes: Space) -> Workloads:
    return Workloads(kubernetes)


@pytest.fixture
def kubectl(kubernetes: Space, tmp_path: Path) -> Kubectl:
    return Kubectl(kubernetes.server, kubernetes.name, tmp_path)


def test_a_deployment_is_created_and_waited_for(work: Workloads, kubectl: Kubectl) -> None:
    kubectl("create", "deployment", "web", "--image=one", "--replicas=2")
    with kubectl.start("rollout", "status", "deployment/web", "--timeout=30s") as process:
        work.make_ready(work.await_pods(2))
        message, _ = process.communicate(timeout=30)
    assert message.splitlines()[-1] == DONE
    assert process.returncode == 0


def test_a_rollout_is_undone(work: Workloads, kubectl: Kubectl) -> None:
    for image in ("one", "two"):
        if image == "one":
            work.create_deployment(1)
        else:
            kubectl("set", "image", "deployment/web", "c=two")
        work.finish()
    revisions = [
        line.split()[0]
        for line in kubectl("rollout", "history", "deploy/web").splitlines()[2:]
        if line
    ]
    assert revisions == ["1", "2"]
    assert "Image:\tone" in kubectl("rollout", "history", "deploy/web", "--revision=1")
    kubectl("rollout", "undo", "deployment/web")
    work.finish()
    assert work.sizes() == {"one": 1, "two": 0}
    kubectl("rollout", "undo", "deployment/web", "--to-revision=2")
    work.finish()
    assert work.sizes() == {"one": 0, "two": 1}
    assert "Image:\ttwo" in kubectl("rollout", "history", "deploy/web", "--revision=4")


def test_a_deployment_is_restarted(work: Workloads, kubectl: Kubectl) -> None:
    work.create_deployment(2)
    work.finish()
    before = work.names()
    kubectl("rollout", "restart", "deployment/web")
    eventually(lambda: len(work.replica_sets.names()) == 2, "a new ReplicaSet")
    work.finish()
    work.await_pods(2)
    assert not before & work.names()
    assert kubectl("rollout", "status", "deployment/web").strip() == DONE


def test_a_rollout_is_paused_and_resumed(work: Workloads, kubectl: Kubectl) -> None:
    work.create_deployment(1)
    work.finish()
    kubectl("rollout", "pause", "deployment/web")
    kubectl("set", "image", "deployment/web", "c=two")
    work.await_observed(work.deployments, "web")
    assert work.sizes() == {"one": 1}
    kubectl("rollout", "resume", "deployment/web")
    work.finish()
    assert work.sizes() == {"one": 0, "two": 1}


def test_workloads_are_scaled(work: Workloads, kubectl: Kubectl) -> None:
    work.create_deployment(1)
    work.await_pods(1)
    kubectl("scale", "deployment/web", "--current-replicas=1", "--replicas=3")
    work.await_pods(3)
    kubectl("scale", "deployment/web", "--replicas=0")
    work.await_pods(0)
    assert kubectl("wait", "deployment/web", "--for=condition=Available", "--timeout=20s")
