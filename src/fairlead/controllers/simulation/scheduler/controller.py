"""The scheduling loop: finds and binds a node for each pending pod."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress

from fairlead.base.errors import StatusError
from fairlead.base.slices import TimeSlices
from fairlead.controllers.events import NORMAL, WARNING, Recorder
from fairlead.controllers.framework import Keys
from fairlead.controllers.pod_status import disrupted, write_status
from fairlead.controllers.simulation.scheduler import devices
from fairlead.controllers.simulation.scheduler.cluster import Cluster, Event, NodeSummary
from fairlead.controllers.simulation.scheduler.conditions import clear_nomination, set_unschedulable
from fairlead.controllers.simulation.scheduler.facts import (
    Labels,
    PendingPod,
    PodSummary,
    labels_of,
    pending_pod,
)
from fairlead.controllers.simulation.scheduler.filters import FilterChain, FilterResult, explained
from fairlead.controllers.simulation.scheduler.pod_affinity import preferences
from fairlead.controllers.simulation.scheduler.preemption import Candidate, choose, ineligible
from fairlead.controllers.simulation.scheduler.queue import PodQueue
from fairlead.controllers.simulation.scheduler.selection import has_preferences, preference
from fairlead.controllers.simulation.scheduler.taints import untolerated_count
from fairlead.controllers.simulation.scheduler.topology_spread import spread_counts
from fairlead.controllers.simulation.scheduler.volumes import CAPACITIES, DRIVERS, VolumeRule
from fairlead.controllers.simulation.simulated_nodes import NODES, PODS, SCHEDULER, SimulatedNodes
from fairlead.controllers.versions import is_going
from fairlead.controllers.volumes.names import CLAIMS, CLASSES, VOLUMES
from fairlead.operations.api import Api, Object
from fairlead.operations.client import Client
from fairlead.resources.core.pods import FINISHED
from fairlead.storage.version import Change, Version

logger = logging.getLogger("fairlead.controllers.simulation")

_NAMESPACES = "core/v1/namespaces"
RESOURCE_CLAIMS = "resource/v1/resourceclaims"
_OF_DEVICES = (RESOURCE_CLAIMS, "resource/v1/resourceslices", "resource/v1/deviceclasses")
_ROUND = ("round",)
_MAX_CONCURRENT = 64  # concurrent bindings, which share commits
_NONE = "no nodes available to schedule pods"


class Scheduler:
    """Schedules pods of the default scheduler to simulated nodes only. There is one key, for a
    round over all pending pods."""

    name = "simulated-scheduler"
    workers = 1

    def __init__(
        self, api: Api, simulated_nodes: SimulatedNodes, client: Client, events: Recorder
    ) -> None:
        self._client = client
        self._events = events
        self._pods = api.resources.named(PODS)
        self._namespaces = client.collection(_NAMESPACES)
        self._cluster = Cluster(simulated_nodes.numbers, api.dialect, self._labels_of)
        self._volumes = VolumeRule(client, api.dialect)
        self._devices: devices.DeviceRule | None = None
        if api.gates["DynamicResourceAllocation"] and client.serves(RESOURCE_CLAIMS):
            self._devices = devices.DeviceRule(client, api.dialect, api.resources.release)
        self._judge = FilterChain(self._cluster, self._volumes, self._devices)
        self._room = Preemptor(api, client, events, self._cluster)
        self._waiting = PodQueue()
        self._resizes = api.gates["InPlacePodVerticalScaling"]

    def _labels_of(self, namespace: str) -> Labels:
        version = self._namespaces.get(namespace)
        return labels_of(version) if version is not None else {}

    def follows(self) -> Mapping[str, Keys]:
        return {
            NODES: self._node,
            PODS: self._pod,
            CLAIMS: self._volume,
            VOLUMES: self._volume,
            CLASSES: self._volume,
            DRIVERS: self._volume,
            CAPACITIES: self._volume,
            **(dict.fromkeys(_OF_DEVICES, self._volume) if self._devices is not None else {}),
        }

    def _node(self, change: Change) -> Iterable[str]:
        if change.name not in self._cluster.summaries:
            return ()
        node = change.after.object() if change.after is not None else None
        changed = self._cluster.put_node(change.name, node)
        return self._wake_pods(Event.NODE) if changed else ()

    def _volume(self, change: Change) -> Iterable[str]:
        return self._wake_pods(Event.VOLUME)

    def _wake_pods(self, event: Event) -> Iterable[str]:
        return _ROUND if self._waiting.wake(event) else ()

    def _pod(self, change: Change) -> Iterable[str]:
        version, key = change.after, change.key
        if change.added or version is None:
            self._cluster.nominated.pop(key, None)
        if version is None:
            self._waiting.drop(key)
            gone = self._cluster.remove(key) is not None
            return self._wake_pods(Event.POD_GONE) if gone else ()
        node = version.fields.get("spec.nodeName", "")
        if node:
            self._waiting.drop(key)
            self._cluster.nominated.pop(key, None)
            return self._placed(version, node) if node in self._cluster.summaries else ()
        return self._pending(change, version)

    def _placed(self, version: Version, node: str) -> Iterable[str]:
        """Track a pod on a simulated node; most changes are irrelevant."""
        key = version.key
        home = self._cluster.node_of(key)
        if version.fields.get("status.phase") in FINISHED:
            gone = self._cluster.remove(key) is not None
            return self._wake_pods(Event.POD_GONE) if gone else ()
        going = is_going(version)
        facts = home.pods[key] if home is not None and home.name == node else None
        resized = facts is not None and self._is_resized(version, facts)
        if facts is not None and facts.deleting == going and not resized:
            moved = facts.labels != version.labels
            facts.labels = labels_of(version)
            return self._wake_pods(Event.POD_PLACED) if moved else ()
        self._cluster.place(PodSummary(key, version.object(), labels_of(version)), node)
        return self._wake_pods(Event.POD_PLACED | Event.POD_GONE if resized else Event.POD_PLACED)

    def _is_resized(self, version: Version, facts: PodSummary) -> bool:
        """Whether the spec of a placed pod may have changed: only its resources can."""
        return self._resizes and version.generation() != facts.generation

    def _pending(self, change: Change, version: Version) -> Iterable[str]:
        key, fields = version.key, version.fields
        ours = fields.get("spec.schedulerName") == SCHEDULER
        is_over = is_going(version) or fields.get("status.phase") in FINISHED
        if not ours or is_over or _is_gated(version):
            self._waiting.drop(key)
            self._cluster.nominated.pop(key, None)
            return ()
        nominated = fields.get("status.nominatedNodeName", "")
        if nominated in self._cluster.summaries:
            facts = PodSummary(key, version.object(), labels_of(version))
            self._cluster.nominated[key] = nominated, facts
        else:
            self._cluster.nominated.pop(key, None)
        if key in self._waiting and not _is_other(change):
            return ()
        self._waiting.add(key, version.object()["spec"].get("priority") or 0)
        return _ROUND

    async def sync(self, key: str) -> float | None:
        slices, bindings = TimeSlices(), []
        while (pod := self._waiting.take()) is not None:
            await slices.pause()
            if (decided := await self._try(pod)) is not None:
                bindings.append(self._bind(pod, decided))
            if len(bindings) == _MAX_CONCURRENT:
                await asyncio.gather(*bindings)
                bindings = []
        await asyncio.gather(*bindings)
        return self._waiting.pause()

    async def _try(self, key: str) -> tuple[PendingPod, NodeSummary] | None:
        """Schedule one pod. An error causes a later retry and does not block other pods."""
        try:
            return await self._decide(key)
        except Exception as error:
            self._log(key, error)
        self._waiting.fail(key)
        return None

    def _log(self, key: str, error: Exception) -> None:
        expected = isinstance(error, StatusError)
        level = logging.DEBUG if expected else logging.ERROR
        exc_info = None if expected else error
        logger.log(level, "%s: %s: %s", self.name, key, error, exc_info=exc_info)

    async def _decide(self, key: str) -> tuple[PendingPod, NodeSummary] | None:
        namespace, _, name = key.partition("/")
        pod = self._client.find(PODS, namespace, name)
        if pod is None or pod["spec"].get("nodeName") or pod["metadata"].get("deletionTimestamp"):
            self._waiting.drop(key)
            return None
        pending = pending_pod(key, pod)
        result = self._judge.judge(pending)
        if not result.nodes:
            await self._give_up(pending, result)
            return None
        node = self._best(pending, result)
        plan = self._volumes.plan(pending, node)
        if plan is not None:
            self._waiting.wait_for(key, Event.VOLUME)
            await self._volumes.carry_out(plan, node)
            return None
        if self._devices is not None:
            await self._devices.reserve(pending, node)
        self._cluster.place(pending.facts, node.name)
        return pending, node

    def _best(self, pending: PendingPod, result: FilterResult) -> NodeSummary:
        """The nominated node if possible, else the one with the best score."""
        for node in result.nodes:
            if node.name == pending.nominated:
                return node
        return best(pending, result.nodes, self._cluster)

    async def _bind(self, key: str, decided: tuple[PendingPod, NodeSummary]) -> None:
        pending, node = decided
        metadata = pending.pod["metadata"]
        namespace, name = metadata["namespace"], metadata["name"]
        try:
            await self._client.bind(namespace, name, metadata["uid"], node.name)
        except Exception as error:
            self._log(key, error)
            home = self._cluster.node_of(key)
            if home is not None and home.pods[key] is pending.facts:  # the model is not newer
                self._cluster.remove(key)
            self._waiting.fail(key)
            return
        self._waiting.drop(key)
        text = f"Successfully assigned {namespace}/{name} to {node.name}"
        self._events.record(self._pods, pending.pod, NORMAL, "Scheduled", text)

    async def _give_up(self, pending: PendingPod, result: FilterResult) -> None:
        """No node fits: try preemption, and report the reasons."""
        key, total = pending.facts.key, len(self._cluster.nodes)
        self._waiting.put_off(key, result.until)
        text = _NONE
        candidate: Candidate | None = None
        if total:
            text = explained(total, (refusal.reasons for refusal in result.refusals.values()))
            why = ineligible(pending, self._cluster)
            if not why:
                candidate, why = await choose(
                    pending, result, self._cluster, self._judge, self._room.budgets
                )
            if why:
                text = f"{text} preemption: {why}"
        node = candidate.node.name if candidate is not None else ""
        if candidate is not None:
            self._cluster.nominated[key] = node, pending.facts
            await self._room.make(pending, candidate)
        self._events.record(self._pods, pending.pod, WARNING, "FailedScheduling", text)
        with suppress(StatusError):  # deleted or bound meanwhile
            await set_unschedulable(self._client, pending.pod, text, node)


def _is_gated(version: Version) -> bool:
    """Whether scheduling gates keep a pod from being scheduled."""
    return version.mentions("schedulingGates") and bool(
        version.object()["spec"].get("schedulingGates")
    )


def _is_other(change: Change) -> bool:
    """Whether a pod changed apart from its status."""
    if change.before is None or change.after is None:
        return True
    return _scheduling_fields(change.before.object()) != _scheduling_fields(change.after.object())


def _scheduling_fields(pod: Object) -> list[object]:
    metadata = pod["metadata"]
    return [pod["spec"], metadata.get("labels"), metadata.get("annotations"), metadata["uid"]]


# Preemption: deletes the chosen victims.

_BUDGETS = "policy/v1/poddisruptionbudgets"


class Preemptor:
    def __init__(self, api: Api, client: Client, events: Recorder, cluster: Cluster) -> None:
        self._client = client
        self._events = events
        self._cluster = cluster
        self._pods = api.resources.named(PODS)
        self._conditions = api.gates["PodDisruptionConditions"]
        self._later_wording = api.gates["LaterWording"]

    def budgets(self) -> list[Object]:
        """All PodDisruptionBudgets."""
        return list(self._client.list(_BUDGETS))

    async def make(self, pending: PendingPod, candidate: Candidate) -> None:
        """Delete the victims with their grace period. Raises StatusError."""
        node = candidate.node
        for victim in candidate.victims:
            # Skips victims being deleted, and pods that were replaced by another of the same name.
            if not victim.deleting and node.pods.get(victim.key) is victim:
                await self._remove(victim, pending, node.name)
        await self._take_from_others(pending, node.name)

    async def _remove(self, victim: PodSummary, pending: PendingPod, node: str) -> None:
        namespace, _, name = victim.key.partition("/")
        pod = self._client.find(PODS, namespace, name)
        if pod is None:
            return
        if self._conditions:
            reason, message = "PreemptionByKubeScheduler", "Kube-scheduler: preempting"
            if self._later_wording:
                reason = "PreemptionByScheduler"
                message = f"{SCHEDULER}: preempting to accommodate a higher priority pod"
            await write_status(self._client, disrupted(pod, reason, message), "patch")
        await self._client.delete(PODS, namespace, name)
        text = f"Preempted by {pending.facts.namespace}/{pending.name} on node {node}"
        self._events.record(self._pods, pod, NORMAL, "Preempted", text)

    async def _take_from_others(self, pending: PendingPod, node: str) -> None:
        """Remove nominations of lower priority on this node."""
        for key, (nominated_node, facts) in list(self._cluster.nominated.items()):
            if nominated_node == node and facts.priority < pending.facts.priority:
                del self._cluster.nominated[key]
                with suppress(StatusError):
                    await clear_nomination(self._client, key)


# Scoring of the nodes that fit.

_FULL = 100.0
_TAINTS, _AFFINITY, _SPREAD, _POD_AFFINITY = 3, 2, 2, 2  # weights relative to free capacity

Score = Callable[[NodeSummary], float]


def best(pending: PendingPod, nodes: Sequence[NodeSummary], cluster: Cluster) -> NodeSummary:
    """The node with the highest score; ties go to the fewest pods."""
    if len(nodes) == 1:
        return nodes[0]
    totals = [_room(pending, node) for node in nodes]
    for weight, score in _scores(pending, nodes, cluster):
        for index, points in enumerate(_normal([score(node) for node in nodes])):
            totals[index] += weight * points
    order = range(len(nodes))
    return nodes[min(order, key=lambda index: (-totals[index], len(nodes[index].pods)))]


def _room(pending: PendingPod, node: NodeSummary) -> float:
    """Score for free capacity and balance of CPU and memory with the pod on the node."""
    cpu = _share(node.cpu + pending.facts.cpu, node.allocatable.get("cpu", 0))
    memory = _share(node.memory + pending.facts.memory, node.allocatable.get("memory", 0))
    minimum = (2.0 - cpu - memory) / 2
    balanced = 1.0 - abs(cpu - memory) / 2
    return _FULL * (minimum + balanced)


def _share(used: int, offered: int) -> float:
    return min(used / offered, 1.0) if offered else 1.0


def _scores(
    pending: PendingPod, nodes: Sequence[NodeSummary], cluster: Cluster
) -> list[tuple[int, Score]]:
    """The scores that apply to a pod, with weights."""
    scores: list[tuple[int, Score]] = []
    if any(node.taints for node in nodes):
        tolerations = pending.spec.get("tolerations") or ()
        scores.append((_TAINTS, lambda node: -float(untolerated_count(tolerations, node))))
    if has_preferences(pending.spec):
        scores.append((_AFFINITY, lambda node: float(preference(pending.spec, node))))
    if pending.spec.get("topologySpreadConstraints"):
        counts_by_key = spread_counts(pending, cluster)
        scores.append((_SPREAD, lambda node: -float(_matching_pods(node, counts_by_key))))
    if (pending.spec.get("affinity") or {}).keys() & {"podAffinity", "podAntiAffinity"}:
        preferred = preferences(pending, cluster)
        scores.append((_POD_AFFINITY, lambda node: float(_pod_affinity(node, preferred))))
    return scores


def _matching_pods(node: NodeSummary, counts_by_key: Sequence[tuple[str, dict[str, int]]]) -> int:
    maximum = sum(max(counts.values(), default=0) + 1 for _, counts in counts_by_key)
    if not all(key in node.labels for key, _ in counts_by_key):
        return maximum  # nodes without the label rank last
    return sum(counts.get(node.labels[key], 0) for key, counts in counts_by_key)


def _pod_affinity(node: NodeSummary, preferred: Sequence[tuple[int, str, dict[str, int]]]) -> int:
    return sum(
        weight * counts.get(node.labels.get(topology, ""), 0)
        for weight, topology, counts in preferred
    )


def _normal(values: Sequence[float]) -> list[float]:
    """Values scaled to 0..100; all 0 if equal."""
    low, high = min(values), max(values)
    if low == high:
        return [0.0] * len(values)
    return [_FULL * (value - low) / (high - low) for value in values]
