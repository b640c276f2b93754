"""Workloads on simulated nodes, with kubectl."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.kubectl import KUBECTL, Kubectl, compared
from support.simulation import Pods, behaviour
from support.waiting import eventually

pytestmark = pytest.mark.skipif(KUBECTL is None, reason="kubectl is not installed: not tried out")

DONE = 'deployment "web" successfully rolled out'


@pytest.fixture
def kubectl(pods: Pods, tmp_path: Path) -> Kubectl:
    return Kubectl(pods.server, pods.space.name, tmp_path)


def test_a_deployment_is_rolled_out_changed_and_taken_back(kubectl: Kubectl) -> None:
    kubectl("create", "deployment", "web", "--image=nginx", "--replicas=3")
    assert DONE in kubectl("rollout", "status", "deployment/web", "--timeout=30s")
    kubectl("set", "image", "deployment/web", "nginx=nginx:2")
    assert DONE in kubectl("rollout", "status", "deployment/web", "--timeout=30s")
    kubectl("rollout", "undo", "deployment/web")
    assert DONE in kubectl("rollout", "status", "deployment/web", "--timeout=30s")
    kubectl("wait", "pods", "-l", "app=web", "--for=condition=Ready", "--timeout=30s")
    kubectl("scale", "deployment", "web", "--replicas=0")


def test_logs_are_shown(kubectl: Kubectl, pods: Pods) -> None:
    pods.create(annotations=behaviour(log="hello\nthere"))
    kubectl("wait", "pod/p", "--for=condition=Ready", "--timeout=30s")
    assert kubectl("logs", "p") == "hello\nthere\n"
    assert kubectl("logs", "p", "--tail=1") == "there\n"


@compared
def test_a_pod_is_run_to_its_end_and_waited_for(kubectl: Kubectl) -> None:
    kubectl("run", "once", "--image=busybox", "--restart=Never")
    phase = "--for=jsonpath={.status.phase}=Succeeded"
    assert "condition met" in kubectl("wait", "pod/once", phase, "--timeout=30s")


def test_a_node_is_emptied_and_taken_out_of_use(kubectl: Kubectl, pods: Pods) -> None:
    kubectl("create", "deployment", "web", "--image=nginx", "--replicas=4")
    kubectl("rollout", "status", "deployment/web", "--timeout=30s")
    try:
        kubectl("cordon", "simulated-1")
        assert "SchedulingDisabled" in kubectl("get", "node", "simulated-1")
        kubectl("drain", "simulated-1", "--ignore-daemonsets", "--force", "--timeout=30s")
        kubectl("rollout", "status", "deployment/web", "--timeout=30s")
        eventually(lambda: _nodes(kubectl) == {"simulated-0", "simulated-2"}, "it is empty")
    finally:
        kubectl("uncordon", "simulated-1")
    pods.create("back", nodeSelector={pods.space.dialect.label("@/hostname"): "simulated-1"})
    kubectl("wait", "pod/back", "--for=condition=Ready", "--timeout=30s")
    kubectl("scale", "deployment", "web", "--replicas=0")


def _nodes(kubectl: Kubectl) -> set[str]:
    items = json.loads(kubectl("get", "pods", "-l", "app=web", "-o", "json"))["items"]
    return {pod["spec"].get("nodeName", "") for pod in items}
