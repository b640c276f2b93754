"""Taints and labels derived from the other state of a node."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from fairlead.base.dialect import Dialect
from fairlead.codec.types.times import now
from fairlead.controllers.nodes.lifecycle.conditions import conditions_of
from fairlead.operations.api import Object
from fairlead.resources.core.pods import NO_EXECUTE, NO_SCHEDULE

# Taint by type and status of a condition.
_BY_CONDITION = {
    ("Ready", "False"): "node.@/not-ready",
    ("Ready", "Unknown"): "node.@/unreachable",
    ("MemoryPressure", "True"): "node.@/memory-pressure",
    ("DiskPressure", "True"): "node.@/disk-pressure",
    ("NetworkUnavailable", "True"): "node.@/network-unavailable",
    ("PIDPressure", "True"): "node.@/pid-pressure",
}
_UNSCHEDULABLE = "node.@/unschedulable"
# Deprecated labels, and the labels whose values they copy.
_FOLLOWING = {"beta.@/os": "@/os", "beta.@/arch": "@/arch"}


class NodeTaints:
    """Computes taints and labels, with the names of a dialect. Methods return the same object if
    nothing changes."""

    def __init__(self, dialect: Dialect) -> None:
        label = dialect.label
        self._by_condition = {state: label(key) for state, key in _BY_CONDITION.items()}
        self._unschedulable = label(_UNSCHEDULABLE)
        self._scheduling = {*self._by_condition.values(), self._unschedulable}
        self._following = {label(old): label(new) for old, new in _FOLLOWING.items()}
        self._evicting = {
            status: self._by_condition["Ready", status] for status in ("False", "Unknown")
        }

    def evicting(self, node: Object) -> str | None:
        """The key of the eviction taint on the node, or None."""
        return next(
            (
                taint["key"]
                for taint in node["spec"].get("taints") or ()
                if taint["effect"] == NO_EXECUTE and taint["key"] in self._evicting.values()
            ),
            None,
        )

    def keeping_pods_away(self, node: Object) -> Object:
        """The node with exactly the NoSchedule taints that follow from its conditions."""
        spec = node["spec"]
        keys = [
            self._by_condition[state]
            for condition in conditions_of(node)
            if (state := (condition["type"], condition["status"])) in self._by_condition
        ]
        if spec.get("unschedulable"):
            keys.append(self._unschedulable)
        return _tainted(node, NO_SCHEDULE, dict.fromkeys(keys), self._scheduling)

    def with_no_execute_taint(self, node: Object, ready: str) -> Object:
        """The node with the NoExecute taint for this status of Ready; any other status removes
        it."""
        keys = {self._evicting[ready]: None} if ready in self._evicting else {}
        return _tainted(node, NO_EXECUTE, keys, self._evicting.values())

    def labelled(self, node: Object) -> Object:
        """The node with the deprecated labels for OS and architecture."""
        metadata = node["metadata"]
        labels: dict[str, str] = metadata.get("labels") or {}
        labels_to_set = {old: labels[new] for old, new in self._following.items() if new in labels}
        if all(labels.get(name) == value for name, value in labels_to_set.items()):
            return node
        return {**node, "metadata": {**metadata, "labels": {**labels, **labels_to_set}}}


def _tainted(node: Object, effect: str, keys: Mapping[str, None], ours: Collection[str]) -> Object:
    """The node with the wanted taints of an effect and no others among `ours`."""
    before: list[Object] = node["spec"].get("taints") or []
    taints = [
        taint
        for taint in before
        if taint["effect"] != effect or taint["key"] not in ours or taint["key"] in keys
    ]
    present = {taint["key"] for taint in taints if taint["effect"] == effect}
    moment = now()
    added = [
        {"key": key, "effect": effect, "timeAdded": moment} for key in keys if key not in present
    ]
    if not added and len(taints) == len(before):
        return node
    spec = {**node["spec"], "taints": [*taints, *added]}
    if not spec["taints"]:
        del spec["taints"]
    return {**node, "spec": spec}
