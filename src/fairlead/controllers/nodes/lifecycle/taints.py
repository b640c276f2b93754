"""The taints and labels of a node that follow from what else is known of it."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from fairlead.base.dialect import Dialect
from fairlead.codec.types.times import now
from fairlead.controllers.nodes.lifecycle.conditions import conditions_of
from fairlead.operations.api import Object
from fairlead.resources.core.pods import NO_EXECUTE, NO_SCHEDULE

# The taint that a condition of this type and status gives.
_BY_CONDITION = {
    ("Ready", "False"): "node.@/not-ready",
    ("Ready", "Unknown"): "node.@/unreachable",
    ("MemoryPressure", "True"): "node.@/memory-pressure",
    ("DiskPressure", "True"): "node.@/disk-pressure",
    ("NetworkUnavailable", "True"): "node.@/network-unavailable",
    ("PIDPressure", "True"): "node.@/pid-pressure",
}
_UNSCHEDULABLE = "node.@/unschedulable"
# Labels that older clients read, and those that they follow.
_FOLLOWING = {"beta.@/os": "@/os", "beta.@/arch": "@/arch"}


class NodeMarks:
    """Names them in a dialect. What is given back is the node itself if nothing has to change."""

    def __init__(self, dialect: Dialect) -> None:
        label = dialect.label
        self._by_condition = {said: label(key) for said, key in _BY_CONDITION.items()}
        self._unschedulable = label(_UNSCHEDULABLE)
        self._scheduling = {*self._by_condition.values(), self._unschedulable}
        self._following = {label(old): label(new) for old, new in _FOLLOWING.items()}
        self._evicting = {
            status: self._by_condition["Ready", status] for status in ("False", "Unknown")
        }

    def evicting(self, node: Object) -> str | None:
        """The key of the taint for which pods leave the node, if the node is lost by its taints."""
        return next(
            (
                taint["key"]
                for taint in node["spec"].get("taints") or ()
                if taint["effect"] == NO_EXECUTE and taint["key"] in self._evicting.values()
            ),
            None,
        )

    def keeping_pods_away(self, node: Object) -> Object:
        """With the NoSchedule taints that its conditions give and no other of their kind."""
        spec = node["spec"]
        wanted = [
            self._by_condition[said]
            for condition in conditions_of(node)
            if (said := (condition["type"], condition["status"])) in self._by_condition
        ]
        if spec.get("unschedulable"):
            wanted.append(self._unschedulable)
        return _tainted(node, NO_SCHEDULE, dict.fromkeys(wanted), self._scheduling)

    def sending_pods_away(self, node: Object, ready: str) -> Object:
        """With the NoExecute taint that belongs to the status of its Ready condition; `True` and
        what else is known to need none take it off."""
        wanted = {self._evicting[ready]: None} if ready in self._evicting else {}
        return _tainted(node, NO_EXECUTE, wanted, self._evicting.values())

    def labelled(self, node: Object) -> Object:
        """With the old labels of its system and architecture beside those of today."""
        metadata = node["metadata"]
        labels: dict[str, str] = metadata.get("labels") or {}
        wanted = {old: labels[new] for old, new in self._following.items() if new in labels}
        if all(labels.get(name) == value for name, value in wanted.items()):
            return node
        return {**node, "metadata": {**metadata, "labels": {**labels, **wanted}}}


def _tainted(
    node: Object, effect: str, wanted: Mapping[str, None], ours: Collection[str]
) -> Object:
    """With the wanted taints of an effect, and without the others of these that it has."""
    before: list[Object] = node["spec"].get("taints") or []
    kept = [
        taint
        for taint in before
        if taint["effect"] != effect or taint["key"] not in ours or taint["key"] in wanted
    ]
    there = {taint["key"] for taint in kept if taint["effect"] == effect}
    moment = now()
    added = [
        {"key": key, "effect": effect, "timeAdded": moment} for key in wanted if key not in there
    ]
    if not added and len(kept) == len(before):
        return node
    spec = {**node["spec"], "taints": [*kept, *added]}
    if not spec["taints"]:
        del spec["taints"]
    return {**node, "spec": spec}
