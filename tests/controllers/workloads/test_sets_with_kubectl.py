"""Updates of StatefulSets and DaemonSets with kubectl."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from support.daemon_sets import Daemons
from support.kubectl import KUBECTL, Kubectl
from support.namespaces import Space
from support.stateful_sets import Sets

pytestmark = pytest.mark.skipif(KUBECTL is None, reason="kubectl is not installed: not tried out")


@pytest.fixture
def kubectl(kubernetes: Space, tmp_path: Path) -> Kubectl:
    return Kubectl(kubernetes.server, kubernetes.name, tmp_path)


@pytest.fixture
def stateful(kubernetes: Space) -> Sets:
    return Sets(kubernetes)


@pytest.fixture
def daemons(kubernetes: Space) -> Iterator[Daemons]:
    daemons = Daemons(kubernetes)
    daemons.add_nodes("a", "b")
    yield daemons
    daemons.remove_nodes()


def revisions(kubectl: Kubectl, of: str) -> list[str]:
    lines = kubectl("rollout", "history", of).splitlines()[2:]
    return [line.split()[0] for line in lines if line]


def test_a_stateful_set_is_rolled_out_and_back(stateful: Sets, kubectl: Kubectl) -> None:
    stateful.create(2)
    with kubectl.start("rollout", "status", "statefulset/web", "--timeout=30s") as process:
        stateful.grow(2)
        message, _ = process.communicate(timeout=30)
    done = "partitioned roll out complete: 2 new pods have been updated..."
    assert message.splitlines()[-1] == done
    assert process.returncode == 0
    kubectl("set", "image", "statefulset/web", "c=two")
    stateful.finish_update("two")
    assert revisions(kubectl, "statefulset/web") == ["1", "2"]
    assert "Image:\tone" in kubectl("rollout", "history", "sts/web", "--revision=1")
    kubectl("rollout", "undo", "statefulset/web")
    stateful.finish_update("one")
    assert revisions(kubectl, "statefulset/web") == ["2", "3"]
    kubectl("rollout", "undo", "statefulset/web", "--to-revision=2")
    stateful.finish_update("two")


def test_a_stateful_set_is_restarted_and_scaled(stateful: Sets, kubectl: Kubectl) -> None:
    stateful.create(2)
    stateful.grow(2)
    before = {stateful.uid(name) for name in stateful.names()}
    kubectl("rollout", "restart", "statefulset/web")
    stateful.await_set(observedGeneration=2)
    stateful.finish_update("one")
    assert not before & {stateful.uid(name) for name in stateful.names()}
    kubectl("scale", "statefulset/web", "--replicas=1")
    stateful.await_pods(1)


def test_a_daemon_set_is_rolled_out_and_back(daemons: Daemons, kubectl: Kubectl) -> None:
    daemons.create()
    with kubectl.start("rollout", "status", "daemonset/web", "--timeout=30s") as process:
        daemons.make_available(2)
        message, _ = process.communicate(timeout=30)
    assert message.splitlines()[-1] == 'daemon set "web" successfully rolled out'
    kubectl("set", "image", "daemonset/web", "c=two")
    daemons.finish_update("two", 2)
    assert revisions(kubectl, "daemonset/web") == ["1", "2"]
    assert "Image:\ttwo" in kubectl("rollout", "history", "ds/web", "--revision=2")
    kubectl("rollout", "undo", "daemonset/web")
    daemons.finish_update("one", 2)
    assert revisions(kubectl, "daemonset/web") == ["2", "3"]
    before = daemons.names()
    kubectl("rollout", "restart", "daemonset/web")
    daemons.await_set(observedGeneration=4)
    daemons.finish_update("one", 2)
    assert not before & daemons.names()
