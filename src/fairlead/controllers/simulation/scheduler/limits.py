"""Pods that ask for so much that weighing it would hold everybody up."""

from __future__ import annotations

from fairlead.controllers.simulation.scheduler.cluster import Cluster
from fairlead.controllers.simulation.scheduler.facts import Wish
from fairlead.controllers.simulation.scheduler.verdict import Event, Filter, Refusal

_PARTS = ("tolerations", "nodeSelector", "affinity", "topologySpreadConstraints")
_OF_PODS = ("podAffinity", "podAntiAffinity")
# Each is held against every node, those about pods against every pod too.
_MOST, _MOST_OF_PODS = 5_000, 400


def weighable(wish: Wish, cluster: Cluster) -> Filter | None:
    """Refuses all nodes to pods that ask for too much."""
    spec = wish.spec
    asked = sum(_leaves(spec.get(name), _MOST + 1) for name in _PARTS)
    affinity = spec.get("affinity") or {}
    of_pods = sum(_leaves(affinity.get(name), _MOST_OF_PODS + 1) for name in _OF_PODS)
    if asked <= _MOST and of_pods <= _MOST_OF_PODS:
        return None
    text = "pod has more scheduling terms than the simulated scheduler weighs"
    refusal = Refusal((text,), True, Event.NOTHING)
    return lambda node: refusal


def _leaves(value: object, most: int) -> int:
    """How many texts and numbers something holds; counting ends at `most`."""
    count, rest = 0, [value]
    while rest and count < most:
        one = rest.pop()
        if isinstance(one, dict):
            rest.extend(one.values())
        elif isinstance(one, list):
            rest.extend(one)
        elif one is not None:
            count += 1
    return count
