"""All rules together: which nodes will do for a pod, and what is said if none does."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from fairlead.controllers.simulation.scheduler.cluster import Cluster, NodeSummary
from fairlead.controllers.simulation.scheduler.facts import Wish
from fairlead.controllers.simulation.scheduler.limits import weighable
from fairlead.controllers.simulation.scheduler.pod_affinity import far, near, repelled
from fairlead.controllers.simulation.scheduler.room import enough, free_ports
from fairlead.controllers.simulation.scheduler.selection import selected
from fairlead.controllers.simulation.scheduler.taints import cordoned, untolerated
from fairlead.controllers.simulation.scheduler.topology_spread import even
from fairlead.controllers.simulation.scheduler.verdict import Event, Filter, Refusal, Rule
from fairlead.controllers.simulation.scheduler.volumes import VolumeRule


class Verdict(NamedTuple):
    """The nodes that will do, and why each of the others will not."""

    nodes: Sequence[NodeSummary]
    refusals: dict[str, Refusal]

    @property
    def until(self) -> Event:
        """What may change it."""
        found = Event.NODE
        for refusal in self.refusals.values():
            found |= refusal.until
        return found


class Judge:
    """Asks the rules one after the other; the first that refuses a node is the one that is told."""

    def __init__(self, cluster: Cluster, volumes: VolumeRule) -> None:
        self._cluster = cluster
        self._rules: tuple[Rule, ...] = (
            weighable,
            cordoned,
            untolerated,
            selected,
            free_ports,
            enough,
            volumes.reachable,
            even,
            near,
            far,
            repelled,
        )
        # Those whose answer depends on which pods there are.
        self._of_pods: tuple[Rule, ...] = (free_ports, enough, even, near, far, repelled)

    def judge(self, wish: Wish) -> Verdict:
        cluster = self._cluster
        filters = self._filters(wish, self._rules)
        nodes, refusals = [], {}
        for node in cluster.nodes:
            refusal = _first(filters, node)
            if refusal is None and cluster.nominated:
                refusal = self._beside_nominated(wish, node)
            if refusal is None:
                nodes.append(node)
            else:
                refusals[node.name] = refusal
        return Verdict(nodes, refusals)

    def judge_room(self, wish: Wish, node: NodeSummary) -> Refusal | None:
        """Whether a node that will do but for the pods on it does with those it has just now."""
        refusal = _first(self._filters(wish, self._of_pods), node)
        return refusal or self._beside_nominated(wish, node)

    def _beside_nominated(self, wish: Wish, node: NodeSummary) -> Refusal | None:
        """Room that was made for pods that count at least as much is theirs."""
        facts = wish.facts
        others = self._cluster.nominated_on(node.name, facts.priority, facts.key)
        if not others:
            return None
        with self._cluster.with_placed(others, node.name):
            return _first(self._filters(wish, self._of_pods), node)

    def _filters(self, wish: Wish, rules: Sequence[Rule]) -> list[Filter]:
        made = (rule(wish, self._cluster) for rule in rules)
        return [one for one in made if one is not None]


def _first(filters: Iterable[Filter], node: NodeSummary) -> Refusal | None:
    for one in filters:
        refusal = one(node)
        if refusal is not None:
            return refusal
    return None


def explained(nodes: int, reasons: Iterable[Sequence[str]]) -> str:
    """Why none of so many nodes will do, from the reasons of each."""
    counts = Counter(reason for each in reasons for reason in each)
    listed = ", ".join(sorted(f"{count} {reason}" for reason, count in counts.items()))
    return f"0/{nodes} nodes are available: {listed}."
