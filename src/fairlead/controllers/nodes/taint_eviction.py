"""Evicts pods from nodes with NoExecute taints that they do not tolerate, or whose toleration
expired."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import inf
from typing import NamedTuple

from fairlead.base import clock
from fairlead.codec.types.times import parse_time
from fairlead.controllers.events import NORMAL, Recorder
from fairlead.controllers.framework import Keys
from fairlead.controllers.nodes.pods_by_node import NODES, PODS, PodsByNode, node_of
from fairlead.controllers.pod_status import disrupted, write_status
from fairlead.operations.api import Object
from fairlead.operations.client import Client
from fairlead.operations.options import DeleteOptions
from fairlead.resources.core.pods import NO_EXECUTE
from fairlead.storage.version import Change, Version


class Taint(NamedTuple):
    key: str
    value: str
    since: float


class Tolerations:
    """The NoExecute tolerations of a pod, as a hash map: lists from a hostile client may be long,
    so comparing every taint with every toleration would be quadratic."""

    def __init__(self, tolerations: Iterable[Object]) -> None:
        self._first: dict[tuple[str, str | None], tuple[int, float]] = {}
        for index, toleration in enumerate(tolerations):
            if toleration.get("effect", "") in ("", NO_EXECUTE):
                operator = toleration.get("operator") or "Equal"
                value = toleration.get("value", "") if operator == "Equal" else None
                seconds = toleration.get("tolerationSeconds")
                entry = index, inf if seconds is None else seconds
                self._first.setdefault((toleration.get("key", ""), value), entry)

    def seconds(self, taint: Taint) -> float | None:
        """Seconds for which a taint is tolerated, by the first toleration that matches; None if
        none does."""
        first, key, value = self._first, taint.key, taint.value
        keys = ((key, value), (key, None), ("", value), ("", None))
        matching = [first[item] for item in keys if item in first]
        return min(matching)[1] if matching else None


def leaves_at(pod: Object, taints: Iterable[Taint]) -> float:
    """When a pod must leave: -inf if a taint is not tolerated, inf if all are tolerated for ever.
    The time counts from when both the taint and the pod were on the node."""
    tolerations = Tolerations(pod["spec"].get("tolerations") or ())
    arrived, moment = _arrival(pod), inf
    for taint in taints:
        seconds = tolerations.seconds(taint)
        if seconds is None or seconds <= 0:
            return -inf
        moment = min(moment, max(taint.since, arrived) + seconds)
    return moment


def _arrival(pod: Object) -> float:
    for condition in (pod.get("status") or {}).get("conditions") or ():
        if condition["type"] == "PodScheduled" and condition["status"] == "True":
            moment = condition.get("lastTransitionTime")
            if moment:
                return parse_time(moment).timestamp()
    return parse_time(pod["metadata"]["creationTimestamp"]).timestamp()


class TaintEviction:
    """Keys are `namespace/name` of pods. `conditions` enables the DisruptionTarget condition."""

    workers = 8

    def __init__(
        self, objects: Client, recorder: Recorder, pods: PodsByNode, *, conditions: bool
    ) -> None:
        self._objects = objects
        self._recorder = recorder
        self._pods = pods
        self._conditions = conditions
        self._taints: dict[str, list[Taint]] = {}
        self._due: dict[str, float] = {}  # eviction time by pod

    def follows(self) -> Mapping[str, Keys]:
        return {NODES: self._node, PODS: self._pod}

    def _node(self, change: Change) -> Iterable[str]:
        before = self._taints.get(change.name, [])
        after = self._read(change.after, before)
        if after == before:
            return ()
        if after:
            self._taints[change.name] = after
        else:
            del self._taints[change.name]
        return list(self._pods.of(change.name))

    def _read(self, node: Version | None, before: list[Taint]) -> list[Taint]:
        """The NoExecute taints of a node. A taint without timeAdded counts from the time when this
        controller first saw it."""
        if node is None or not node.mentions("effect", NO_EXECUTE):
            return []
        times = {(taint.key, taint.value): taint.since for taint in before}
        taints = []
        for taint in node.object()["spec"].get("taints") or ():
            if taint["effect"] == NO_EXECUTE:
                key, value, now = taint["key"], taint.get("value", ""), clock.time()
                added = taint.get("timeAdded")
                if added:
                    since = min(parse_time(added).timestamp(), now)
                else:
                    since = times.get((key, value), now)
                taints.append(Taint(key, value, since))
        return taints

    def _pod(self, change: Change) -> Iterable[str]:
        if change.key in self._due or node_of(change.after) in self._taints:
            return (change.key,)
        return ()

    async def sync(self, key: str) -> float | None:
        namespace, _, name = key.partition("/")
        pod = self._objects.find(PODS, namespace, name)
        if pod is None or pod["metadata"].get("deletionTimestamp") is not None:
            self._due.pop(key, None)
            return None
        taints = self._taints.get(pod["spec"].get("nodeName", ""))
        moment = leaves_at(pod, taints) if taints else inf
        before = self._due.pop(key, None)
        if moment == inf:
            if before is not None:
                self._record(pod, f"Cancelling deletion of Pod {key}")
            return None
        if before is not None:
            moment = min(moment, before)  # a replaced taint does not extend the time
        left = moment - clock.time()
        if left > 0:
            self._due[key] = moment
            return left
        self._record(pod, f"Marking for deletion Pod {key}")
        await self._evict(pod)
        return None

    async def _evict(self, pod: Object) -> None:
        metadata = pod["metadata"]
        if self._conditions:
            reason = "DeletionByTaintManager"
            updated = disrupted(pod, reason, "Taint manager: deleting due to NoExecute taint")
            if not await write_status(self._objects, updated, "patch"):
                return
        options = DeleteOptions(uid=metadata["uid"])
        await self._objects.delete(PODS, metadata["namespace"], metadata["name"], options)

    def _record(self, pod: Object, text: str) -> None:
        resource = self._objects.resource(PODS)
        self._recorder.record(resource, pod, NORMAL, "TaintManagerEviction", text)
