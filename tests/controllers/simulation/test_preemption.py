"""Preemption: which pods the scheduler evicts."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from support.client import Object
from support.scheduling import Nodes, far, pod, term

from fairlead.controllers.simulation.scheduler.facts import PendingPod
from fairlead.controllers.simulation.scheduler.preemption import choose, ineligible

FULL = {"cpu": "2"}


@pytest.fixture
def nodes() -> Nodes:
    return Nodes()


def chosen(nodes: Nodes, pending: PendingPod, *budgets: Object) -> tuple[str, list[str], str]:
    """The node where room is made, who goes, or why not."""
    result = nodes.result(pending)
    assert not result.nodes
    outcome, why = asyncio.run(
        choose(pending, result, nodes.cluster, nodes.judge, lambda: list(budgets))
    )
    if outcome is None:
        return "", [], why
    return outcome.node.name, [victim.key.partition("/")[2] for victim in outcome.victims], why


def high(**fields: Any) -> PendingPod:
    return pod("high", **{"requests": FULL, "priority": 100, **fields})


def fill(nodes: Nodes, **priorities: int) -> None:
    for name, priority in priorities.items():
        nodes.place(f"on-{name}", name, requests=FULL, priority=priority)


def test_preemption_removes_pods_of_the_lowest_priority(nodes: Nodes) -> None:
    fill(nodes, n0=10, n1=5, n2=20, n3=100)
    assert chosen(nodes, high()) == ("n1", ["on-n1"], "")


def test_preemption_removes_as_few_pods_as_possible(nodes: Nodes) -> None:
    fill(nodes, n1=50, n2=50, n3=50)
    for name in ("a", "b", "c"):
        nodes.place(name, "n0", requests={"cpu": "600m"}, priority=10)
    assert chosen(nodes, high(requests={"cpu": "700m"})) == ("n0", ["c"], "")


def test_preemption_chooses_the_node_whose_pods_started_last(nodes: Nodes) -> None:
    fill(nodes, n2=90, n3=90)
    for node, day in (("n0", 1), ("n1", 2)):
        nodes.place(f"on-{node}", node, requests=FULL)
        nodes.cluster.summaries[node].pods[f"default/on-{node}"].started = f"2024-01-0{day}"
    assert chosen(nodes, high())[0] == "n1"


def test_preemption_spares_disruption_budgets_where_possible(nodes: Nodes) -> None:
    fill(nodes, n1=50, n2=50, n3=50)
    nodes.place("guarded", "n0", labels={"app": "web"}, requests=FULL)
    budget = {
        "metadata": {"namespace": "default", "name": "b"},
        "spec": {"selector": {"matchLabels": {"app": "web"}}},
        "status": {"disruptionsAllowed": 0},
    }
    assert chosen(nodes, high(), budget)[0] != "n0"
    assert chosen(nodes, high(), {**budget, "status": {"disruptionsAllowed": 1}})[0] == "n0"


def test_preemption_removes_nothing_where_that_does_not_help(nodes: Nodes) -> None:
    fill(nodes, n0=0, n1=0, n2=100)
    nodes.describe("n3", {}, taints=[{"key": "a", "effect": "NoSchedule"}])
    node, _, why = chosen(nodes, high(requests={"cpu": "3"}))
    assert node == ""
    assert why == (
        "0/4 nodes are available: 1 No preemption victims found for incoming pod,"
        " 1 Preemption is not helpful for scheduling, 2 Insufficient cpu."
    )


def test_preemption_removes_pods_that_break_anti_affinity(nodes: Nodes) -> None:
    nodes.place("a", "n0", labels={"app": "web"})
    nodes.place("b", "n1", labels={"app": "web"}, priority=50)
    assert chosen(nodes, high(affinity=far(term()))) == ("n0", ["a"], "")


def test_preemption_leaves_the_cluster_unchanged_by_its_choice(nodes: Nodes) -> None:
    fill(nodes, n0=10, n1=5, n2=20, n3=30)
    before = {name: dict(item.requested) for name, item in nodes.cluster.summaries.items()}
    chosen(nodes, high())
    after = {name: dict(item.requested) for name, item in nodes.cluster.summaries.items()}
    assert after == before


def test_preemption_waits_for_the_pods_that_it_removed(nodes: Nodes) -> None:
    fill(nodes, n0=10)
    pending = high()
    pending.pod["status"]["nominatedNodeName"] = "n0"
    assert ineligible(pending, nodes.cluster) == ""
    nodes.cluster.summaries["n0"].pods["default/on-n0"].deleting = True
    text = "not eligible due to a terminating pod on the nominated node."
    assert ineligible(pending, nodes.cluster) == text
