"""`fairlead cordon`, `uncordon`, `taint` and `drain`."""

from __future__ import annotations

import json
from typing import Any

import pytest
from support.commands import Commands
from support.namespaces import random_word

Object = dict[str, Any]


@pytest.fixture
def node(fairlead: Commands) -> str:
    """The name of a node of its own, which runs nothing."""
    name = f"node-{random_word()}"
    labels = {"kept-for": name}
    _apply(fairlead, {"kind": "Node", "metadata": {"name": name, "labels": labels}})
    fairlead.space.ready_for_pods()
    return name


def _apply(fairlead: Commands, value: Object) -> None:
    fairlead("apply", "-f", "-", text=json.dumps({"apiVersion": "v1", **value}))


def _pod(fairlead: Commands, node: str, name: str, **metadata: Any) -> None:
    volumes = metadata.pop("volumes", [])
    container = {"name": "c", "image": "one"}
    spec = {"nodeName": node, "containers": [container], "volumes": volumes}
    _apply(fairlead, {"kind": "Pod", "metadata": {"name": name, **metadata}, "spec": spec})


def _taints(fairlead: Commands, node: str) -> list[tuple[str, str, str]]:
    spec = json.loads(fairlead("get", "node", node, "-o", "json"))["spec"]
    found = [(one["key"], one.get("value", ""), one["effect"]) for one in spec.get("taints", [])]
    return [taint for taint in found if not taint[0].startswith("node.")]


def test_nodes_are_cordoned_and_uncordoned(fairlead: Commands, node: str) -> None:
    assert fairlead("cordon", node) == f"node/{node} cordoned\n"
    assert fairlead("cordon", f"node/{node}") == f"node/{node} already cordoned\n"
    assert "SchedulingDisabled" in fairlead("get", "node", node)
    assert fairlead("uncordon", "-l", f"kept-for={node}") == f"node/{node} uncordoned\n"
    assert fairlead("cordon", node, "--dry-run=client") == f"node/{node} cordoned (dry run)\n"
    assert "SchedulingDisabled" not in fairlead("get", "node", node)


def test_a_missing_node_and_no_node_are_errors(fairlead: Commands) -> None:
    ran = fairlead.run("cordon", "nowhere")
    assert (ran.code, ran.errors) == (
        1,
        'Error from server (NotFound): nodes "nowhere" not found\n',
    )
    assert "name the nodes" in fairlead.run("drain").errors


def test_taints_are_added_changed_and_removed(fairlead: Commands, node: str) -> None:
    assert fairlead("taint", "nodes", node, "a=1:NoSchedule", "b:NoExecute").endswith(" tainted\n")
    assert set(_taints(fairlead, node)) == {("a", "1", "NoSchedule"), ("b", "", "NoExecute")}
    ran = fairlead.run("taint", "nodes", node, "a=2:NoSchedule")
    assert (ran.code, "--overwrite replaces it" in ran.errors) == (1, True)
    out = fairlead("taint", "nodes", node, "a=2:NoSchedule", "--overwrite")
    assert out == f"node/{node} modified\n"
    assert fairlead("taint", "nodes", node, "b:NoExecute-", "a-") == f"node/{node} untainted\n"
    assert _taints(fairlead, node) == []


@pytest.mark.parametrize(
    ("word", "problem"),
    [
        ("a=b:Never", "an effect is NoSchedule"),
        ("a=b c:NoSchedule", "is no taint"),
        ("gone-", "has no taint gone"),
    ],
)
def test_what_is_no_taint_is_refused(
    fairlead: Commands, node: str, word: str, problem: str
) -> None:
    ran = fairlead.run("taint", "nodes", node, word)
    assert (ran.code, problem in ran.errors) == (1, True)


def test_pods_that_would_be_lost_keep_a_node_from_being_drained(
    fairlead: Commands, node: str
) -> None:
    _pod(fairlead, node, "bare")
    _pod(fairlead, node, "local", volumes=[{"name": "v", "emptyDir": {}}])
    ran = fairlead.run("drain", node)
    assert ran.code == 1
    assert "without a controller (--force deletes them for good)" in ran.errors
    assert "with local data (--delete-emptydir-data deletes it)" in ran.errors
    assert fairlead("get", "pods", "-o", "name") == "pod/bare\npod/local\n"


def test_a_node_is_drained(fairlead: Commands, node: str) -> None:
    _pod(fairlead, node, "bare")
    space = fairlead.space.name
    ran = fairlead.run("drain", node, "--force", "--grace-period=0")
    assert ran.out.splitlines() == [
        f"node/{node} cordoned",
        f"evicting pod {space}/bare",
        "pod/bare evicted",
        f"node/{node} drained",
    ]
    assert f"Warning: deleting pods without a controller: {space}/bare" in ran.errors
    assert fairlead("get", "pods", "-o", "name") == ""


def test_pods_of_daemon_sets_and_of_other_labels_stay(fairlead: Commands, node: str) -> None:
    template = {
        "metadata": {"labels": {"app": "agent"}},
        "spec": {"containers": [{"name": "c", "image": "one"}], "nodeSelector": {"kept-for": node}},
    }
    agents = fairlead.space.collection("daemonsets", "apps")
    selector = {"matchLabels": {"app": "agent"}}
    agent = agents.create("agent", spec={"selector": selector, "template": template})
    owner = {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "name": "agent",
        "uid": agent["metadata"]["uid"],
        "controller": True,
    }
    _pod(fairlead, node, "mine", labels={"app": "agent"}, ownerReferences=[owner])
    assert "of DaemonSets (--ignore-daemonsets" in fairlead.run("drain", node).errors
    _pod(fairlead, node, "kept")
    ran = fairlead.run("drain", node, "--ignore-daemonsets", "--pod-selector=app=agent")
    assert (ran.code, ran.out.splitlines()[-1]) == (0, f"node/{node} drained")


def test_a_budget_holds_a_pod_until_the_timeout(fairlead: Commands, node: str) -> None:
    _pod(fairlead, node, "held", labels={"app": "held"})
    spec = {"minAvailable": 1, "selector": {"matchLabels": {"app": "held"}}}
    budget = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget"}
    _apply(fairlead, {**budget, "metadata": {"name": "b"}, "spec": spec})
    status = {"conditions": [{"type": "Ready", "status": "True"}], "phase": "Running"}
    fairlead("patch", "pod", "held", "--subresource=status", "-p", json.dumps({"status": status}))
    fairlead("wait", "pdb/b", "--for=jsonpath={.status.currentHealthy}=1", "--timeout=10s")
    ran = fairlead.run("drain", node, "--force", "--timeout=1s", "--grace-period=0")
    assert (ran.code, "not evicted within --timeout" in ran.errors) == (1, True)
    fairlead("drain", node, "--force", "--disable-eviction", "--grace-period=0")
    assert fairlead("get", "pods", "-o", "name") == ""
