"""Deletes pods that no agent handles: pods on deleted nodes, unscheduled pods that are being
deleted, and the oldest finished pods beyond a limit."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping

from sortedcontainers import SortedList

from fairlead.base import clock
from fairlead.base.dialect import Dialect
from fairlead.controllers.framework import Keys
from fairlead.controllers.nodes.lifecycle.conditions import ready_condition
from fairlead.controllers.nodes.pods_by_node import NODES, PODS, PodsByNode, node_of
from fairlead.controllers.pod_status import disrupted, failed, write_status
from fairlead.controllers.versions import may_be_terminating
from fairlead.operations.api import Object
from fairlead.operations.client import Client
from fairlead.operations.options import DeleteOptions
from fairlead.resources.gates import Gates
from fairlead.storage.version import Change, Version

QUARANTINE = 40.0  # seconds that a node must have been gone
_UNFINISHED_PHASES = ("Pending", "Running", "Unknown")
_FINISHED_PODS = ""  # key for the set of finished pods
_BATCH_SIZE = 100
Judge = Callable[[Object], bool]
_FinishedPod = tuple[str, str, str]  # creation time, name and key, sorted by age


def _age(pod: Version) -> _FinishedPod:
    created = pod.object()["metadata"].get("creationTimestamp") or ""
    return created, pod.name, pod.key


class PodCollection:
    """Keys are names of nodes, `namespace/name` of pods, and one key for finished pods. `maximum`
    finished pods may stay; 0 is no limit."""

    workers = 2

    def __init__(
        self, objects: Client, dialect: Dialect, gates: Gates, pods: PodsByNode, maximum: int
    ) -> None:
        self._objects = objects
        self._pods = pods
        self._maximum = maximum
        self._conditions = gates["PodDisruptionConditions"]
        out_of_service = gates["NodeOutOfServiceVolumeDetach"]
        self._out_of_service = dialect.label("node.@/out-of-service") if out_of_service else None
        self._missing: dict[str, float] = {}  # missing nodes, and since when
        self._through: dict[str, _FinishedPod] = {}
        self._by_age: SortedList[_FinishedPod] = SortedList()

    def follows(self) -> Mapping[str, Keys]:
        return {NODES: self._node, PODS: self._pod}

    def _node(self, change: Change) -> Iterable[str]:
        if change.name in self._missing or (change.deleted and self._pods.of(change.name)):
            return (change.name,)
        after, taint = change.after, self._out_of_service
        if taint and after is not None and after.mentions("key", taint):
            return (change.name,)
        return ()

    def _pod(self, change: Change) -> Iterable[str]:
        self._count(change.key, change.after)
        keys = []
        if self._maximum and len(self._through) > self._maximum:
            keys.append(_FINISHED_PODS)
        pod = change.after
        if pod is None:
            return keys
        node, terminating = node_of(pod), may_be_terminating(pod)
        if not node and terminating:
            keys.append(change.key)
        is_gone = bool(node) and self._objects.collection(NODES).get(node) is None
        if is_gone or (node and terminating and self._out_of_service):
            keys.append(node)
        return keys

    def _count(self, key: str, pod: Version | None) -> None:
        """Update the set of finished pods."""
        through = pod is not None and pod.fields.get("status.phase") not in _UNFINISHED_PHASES
        before = self._through.get(key)
        if pod is not None and through and before is None:
            self._through[key] = age = _age(pod)
            self._by_age.add(age)
        elif not through and before is not None:
            del self._through[key]
            self._by_age.remove(before)

    async def sync(self, key: str) -> float | None:
        if key == _FINISHED_PODS:
            oldest = [age[2] for age in self._by_age[: max(0, len(self._through) - self._maximum)]]
            await self._delete_all(oldest, _is_through)
        elif "/" in key:
            await self._delete(
                key, lambda pod: _is_deleted(pod) and not pod["spec"].get("nodeName")
            )
        else:
            return await self._look_for_node(key)
        return None

    async def _look_for_node(self, name: str) -> float | None:
        keys = list(self._pods.of(name))
        node = self._objects.find(NODES, "", name)
        if node is not None or not keys:
            self._missing.pop(name, None)
            if node is not None and self._is_out_of_service(node):
                await self._delete_all(keys, _is_deleted)
            return None
        left = self._missing.setdefault(name, clock.steady()) + QUARANTINE - clock.steady()
        if left > 0:
            return left
        await self._delete_all(keys, lambda _: True, "PodGC: node no longer exists")
        del self._missing[name]
        return None

    def _is_out_of_service(self, node: Object) -> bool:
        ready = ready_condition(node)
        if ready is not None and ready["status"] == "True":
            return False
        taints = node["spec"].get("taints") or ()
        return any(taint["key"] == self._out_of_service for taint in taints)

    async def _delete_all(self, keys: list[str], still: Judge, why: str = "") -> None:
        for start in range(0, len(keys), _BATCH_SIZE):
            batch = keys[start : start + _BATCH_SIZE]
            await asyncio.gather(*(self._delete(key, still, why) for key in batch))

    async def _delete(self, key: str, still: Judge, why: str = "") -> None:
        """Delete a pod immediately if `still` holds; `why` is written to its DisruptionTarget
        condition."""
        namespace, _, name = key.partition("/")
        pod = self._objects.find(PODS, namespace, name)
        if pod is None or not still(pod):
            self._count(key, self._objects.collection(PODS).get(key))
            return
        if self._conditions:
            ended = failed(pod)
            if why and ended is not pod:
                ended = disrupted(ended, "DeletionByPodGC", why)
            if ended is not pod and not await write_status(self._objects, ended, "patch"):
                return
        metadata = pod["metadata"]
        if _is_deleted(pod) and metadata.get("deletionGracePeriodSeconds") == 0:
            return  # only finalizers hold it
        options = DeleteOptions(grace_period=0, uid=metadata["uid"])
        await self._objects.delete(PODS, namespace, name, options)


def _is_through(pod: Object) -> bool:
    return pod["status"].get("phase") not in _UNFINISHED_PHASES


def _is_deleted(pod: Object) -> bool:
    return pod["metadata"].get("deletionTimestamp") is not None
