"""Whether a node has room: for what a pod asks, for one more pod, and for its ports."""

from __future__ import annotations

from fairlead.controllers.simulation.scheduler.cluster import Cluster, NodeSummary
from fairlead.controllers.simulation.scheduler.facts import Wish
from fairlead.controllers.simulation.scheduler.verdict import Event, Filter, Refusal

_UNTIL = Event.NODE | Event.POD_GONE
_PORTS = Refusal(("node(s) didn't have free ports for the requested pod ports",), False, _UNTIL)


def enough(wish: Wish, cluster: Cluster) -> Filter | None:
    wanted = [(name, amount) for name, amount in wish.facts.requests.items() if amount]

    def judge(node: NodeSummary) -> Refusal | None:
        offered, taken = node.allocatable, node.requested
        missing = []
        if len(node.pods) >= offered.get("pods", 0):
            missing.append("Too many pods")
        for name, amount in wanted:
            if amount > offered.get(name, 0) - taken.get(name, 0):
                missing.append(f"Insufficient {name}")
        return Refusal(tuple(missing), False, _UNTIL) if missing else None

    return judge


def free_ports(wish: Wish, cluster: Cluster) -> Filter | None:
    wanted = wish.facts.ports
    if not wanted:
        return None

    def judge(node: NodeSummary) -> Refusal | None:
        clash = any(port.clashes_with(taken) for taken in node.ports() for port in wanted)
        return _PORTS if clash else None

    return judge
