"""The scheduling loop: finds and binds a node for each pending pod."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from time import perf_counter

from fairlead.base import clock
from fairlead.base.errors import StatusError
from fairlead.base.logs import Logger
from fairlead.base.slices import TimeSlices
from fairlead.controllers.devices.claims import CLAIMS as RESOURCE_CLAIMS
from fairlead.controllers.devices.claims import CLASSES as DEVICE_CLASSES
from fairlead.controllers.devices.claims import SLICES as RESOURCE_SLICES
from fairlead.controllers.devices.readiness import READY
from fairlead.controllers.events import NORMAL, WARNING, Recorder
from fairlead.controllers.framework import Keys
from fairlead.controllers.simulation.scheduler import devices
from fairlead.controllers.simulation.scheduler.cluster import Cluster, Event, NodeSummary
from fairlead.controllers.simulation.scheduler.conditions import set_unschedulable
from fairlead.controllers.simulation.scheduler.facts import (
    Labels,
    PendingPod,
    PodSummary,
    labels_of,
    pending_pod,
)
from fairlead.controllers.simulation.scheduler.filters import FilterChain, FilterResult, explained
from fairlead.controllers.simulation.scheduler.preemption import Candidate, choose, ineligible
from fairlead.controllers.simulation.scheduler.queue import PodQueue
from fairlead.controllers.simulation.scheduler.reservations import Reservations
from fairlead.controllers.simulation.scheduler.scoring import best, ranked
from fairlead.controllers.simulation.scheduler.victims import Preemptor
from fairlead.controllers.simulation.scheduler.volumes import CAPACITIES, DRIVERS, VolumeRule
from fairlead.controllers.simulation.simulated_nodes import NODES, PODS, SCHEDULER, SimulatedNodes
from fairlead.controllers.versions import is_going
from fairlead.controllers.volumes.names import CLAIMS, CLASSES, VOLUMES
from fairlead.operations.api import Api, Object
from fairlead.operations.client import Client
from fairlead.resources.core.pods import FINISHED
from fairlead.storage.version import Change, Version

logger = Logger("fairlead.controllers.simulation")

_NAMESPACES = "core/v1/namespaces"
_ROUND, _DEVICE_ROUND = ("round",), ("devices",)
_MAX_CONCURRENT = 64  # concurrent bindings, which share commits
_MAX_NAMESPACES = 10_000
_NONE = "no nodes available to schedule pods"


class Scheduler:
    """Schedules pods of the default scheduler to simulated nodes only. The keys are rounds over all
    pending pods: one for pods that need devices, whose search may take long, one for the others."""

    name = "simulated-scheduler"
    workers = 2

    def __init__(
        self,
        api: Api,
        simulated_nodes: SimulatedNodes,
        client: Client,
        events: Recorder,
        placed: set[str],
    ) -> None:
        """Adds the keys of pods to `placed` before it binds them."""
        self._client = client
        self._events = events
        self._bound_here = placed
        self._pods = api.resources.named(PODS)
        self._namespaces = client.collection(_NAMESPACES)
        self._cluster = Cluster(simulated_nodes.numbers, api.dialect, self._labels_of)
        self._volumes = VolumeRule(client, api.dialect)
        self._reservations = Reservations(client, api.dialect)
        self._devices: devices.DeviceRule | None = None
        if api.gates["DynamicResourceAllocation"] and client.serves(RESOURCE_CLAIMS):
            self._devices = devices.DeviceRule(
                client,
                api.dialect,
                api.resources.release,
                extended=api.gates["DRAExtendedResource"],
            )
        self._judge = FilterChain(self._cluster, self._volumes)
        self._room = Preemptor(api, client, events, self._cluster)
        self._waiting = PodQueue()
        self._spent: dict[str, float] = {}  # seconds that searches took, by namespace
        self._waiting_for_devices = PodQueue(self._rank)
        self._add: Callable[[str], None] = lambda key: None
        self._resizes = api.gates["InPlacePodVerticalScaling"]

    def _labels_of(self, namespace: str) -> Labels:
        version = self._namespaces.get(namespace)
        return labels_of(version) if version is not None else {}

    def add_by(self, add: Callable[[str], None]) -> None:
        self._add = add

    def _rank(self, key: str) -> int:
        """Namespaces whose pods need long searches come last."""
        return int(self._spent.get(key.partition("/")[0], 0.0))

    def _queue_of(self, key: str) -> PodQueue:
        return self._waiting_for_devices if key in self._waiting_for_devices else self._waiting

    def _drop(self, key: str) -> None:
        self._queue_of(key).drop(key)

    def follows(self) -> Mapping[str, Keys]:
        return {
            NODES: self._node,
            PODS: self._pod,
            CLAIMS: self._volume,
            VOLUMES: self._volume,
            CLASSES: self._volume,
            DRIVERS: self._volume,
            CAPACITIES: self._volume,
            **(self._devices_followed() if self._devices is not None else {}),
        }

    def _devices_followed(self) -> Mapping[str, Keys]:
        return {
            RESOURCE_CLAIMS: self._device,
            RESOURCE_SLICES: self._device,
            DEVICE_CLASSES: self._device_class,
        }

    def _node(self, change: Change) -> Iterable[str]:
        if change.name not in self._cluster.summaries:
            return ()
        node = change.after.object() if change.after is not None else None
        changed = self._cluster.put_node(change.name, node)
        return self._wake_pods(Event.NODE) if changed else ()

    def _volume(self, change: Change) -> Iterable[str]:
        return self._wake_pods(Event.VOLUME)

    def _device(self, change: Change) -> Iterable[str]:
        return self._wake_pods(Event.DEVICE)

    def _device_class(self, change: Change) -> Iterable[str]:
        """A class may also serve what pods wait for that do not need devices yet."""
        if self._devices is not None:
            self._devices.forget_classes()
        return self._wake_pods(Event.DEVICE | Event.NODE)

    def _wake_pods(self, event: Event) -> Iterable[str]:
        first = _ROUND if self._waiting.wake(event) else ()
        return (*first, *(_DEVICE_ROUND if self._waiting_for_devices.wake(event) else ()))

    def _pod(self, change: Change) -> Iterable[str]:
        version, key = change.after, change.key
        if change.added or version is None:
            self._cluster.nominated.pop(key, None)
        if version is None:
            self._drop(key)
            gone = self._cluster.remove(key) is not None
            return self._wake_pods(Event.POD_GONE) if gone else ()
        node = version.fields.get("spec.nodeName", "")
        if node:
            self._drop(key)
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
            self._drop(key)
            self._cluster.remove(key)  # if its devices were being prepared
            self._cluster.nominated.pop(key, None)
            return ()
        nominated = fields.get("status.nominatedNodeName", "")
        if nominated in self._cluster.summaries:
            facts = PodSummary(key, version.object(), labels_of(version))
            self._cluster.nominated[key] = nominated, facts
        else:
            self._cluster.nominated.pop(key, None)
        is_known = key in self._waiting or key in self._waiting_for_devices
        if is_known and not _is_other(change):
            return ()
        needs_devices = key in self._waiting_for_devices or version.mentions("resourceClaims")
        queue = self._waiting_for_devices if needs_devices else self._waiting
        queue.add(key, version.object()["spec"].get("priority") or 0)
        return _DEVICE_ROUND if needs_devices else _ROUND

    async def sync(self, key: str) -> float | None:
        needs_devices = key in _DEVICE_ROUND
        queue = self._waiting_for_devices if needs_devices else self._waiting
        slices, bindings = TimeSlices(), []
        while (pod := queue.take()) is not None:
            await slices.pause()
            if (decided := await self._try(pod)) is not None:
                bindings.append(self._bind(pod, decided))
            if len(bindings) == (1 if needs_devices else _MAX_CONCURRENT):
                await asyncio.gather(*bindings)
                bindings = []
        await asyncio.gather(*bindings)
        return queue.pause()

    async def _try(self, key: str) -> tuple[PendingPod, NodeSummary] | None:
        """Schedule one pod. An error causes a later retry and does not block other pods."""
        try:
            return await self._decide(key)
        except Exception as error:
            self._log(key, error)
        self._queue_of(key).fail(key)
        return None

    def _log(self, key: str, error: Exception) -> None:
        expected = isinstance(error, StatusError)
        level = logging.DEBUG if expected else logging.ERROR
        trace = None if expected else error
        logger.log(level, "cannot schedule", trace=trace, scheduler=self.name, key=key, err=error)

    async def _decide(self, key: str) -> tuple[PendingPod, NodeSummary] | None:
        namespace, _, name = key.partition("/")
        pod = self._client.find(PODS, namespace, name)
        if pod is None or pod["spec"].get("nodeName") or pod["metadata"].get("deletionTimestamp"):
            self._drop(key)
            return None
        pending = pending_pod(key, pod)
        if self._devices is not None:
            pending = self._devices.with_delegated(pending)
            if pending.spec.get("resourceClaims") or pending.delegated:
                return await self._decide_with_devices(pending, self._devices)
        result = self._judge.search(pending)
        if not result.nodes:
            await self._give_up(pending, result)
            return None
        node = _nominated(pending, result) or best(pending, result.nodes, self._cluster)
        if await self._has_plan(pending, node):
            return None
        self._cluster.place(pending.facts, node.name)
        return pending, node

    async def _has_plan(self, pending: PendingPod, node: NodeSummary) -> bool:
        """Carry out the plan for the volumes of a pod, if there is one; it is tried again then."""
        plan = self._volumes.plan(pending, node)
        if plan is None:
            return False
        key = pending.facts.key
        self._queue_of(key).wait_for(key, Event.VOLUME)
        await self._volumes.carry_out(plan, node)
        return True

    async def _decide_with_devices(
        self, pending: PendingPod, rule: devices.DeviceRule
    ) -> tuple[PendingPod, NodeSummary] | None:
        key = pending.facts.key
        if key in self._waiting:
            self._waiting.drop(key)
            self._waiting_for_devices.add(key, pending.facts.priority)
            self._add(*_DEVICE_ROUND)
            return None
        chosen = self._cluster.node_of(key)
        if chosen is not None:
            return await self._await_devices(pending, chosen, rule)
        if pending.delegated:
            await self._reservations.remove_stale(pending.pod)
        result = self._judge.judge(pending)
        first = _nominated(pending, result)
        nodes = [*([first] if first else []), *ranked(pending, result.nodes, self._cluster)]
        started = perf_counter()
        found = await rule.find(pending, nodes)
        self._count(key, perf_counter() - started)
        if isinstance(found, devices.NoDevices):
            refused = FilterResult((), {**result.refusals, **found.refusals})
            await self._give_up(pending, refused)
            if found.unavailable:
                await self._reservations.release(pending.pod, found.unavailable)
            return None
        if self._judge.judge(pending, [found.node]).refusals:  # other pods came meanwhile
            self._queue_of(key).fail(key)
            return None
        if await self._has_plan(pending, found.node):
            return None
        self._cluster.place(pending.facts, found.node.name)
        try:
            await self._reservations.reserve(pending.pod, found)
        except Exception:
            self._cluster.remove(key)
            raise
        text = f"waiting for binding conditions for device on node {found.node.name}"
        bound = await self._await_devices(pending, found.node, rule)
        if bound is None:
            self._events.record(self._pods, pending.pod, NORMAL, "BindingConditionsPending", text)
        return bound

    def _count(self, key: str, seconds: float) -> None:
        """Count the time of a search."""
        if len(self._spent) >= _MAX_NAMESPACES:
            self._spent.clear()
        namespace = key.partition("/")[0]
        self._spent[namespace] = self._spent.get(namespace, 0.0) + seconds

    async def _await_devices(
        self, pending: PendingPod, node: NodeSummary, rule: devices.DeviceRule
    ) -> tuple[PendingPod, NodeSummary] | None:
        """Bind the pod when its devices are ready. They are given back if they fail."""
        key = pending.facts.key
        pod = self._client.find(PODS, *key.split("/")) or pending.pod
        state, claims = await rule.state(pod)
        if state == READY:
            return pending, node
        if not state.problem:
            self._queue_of(key).wait_for(key, Event.DEVICE, state.until - clock.time())
            return None
        self._cluster.remove(key)
        self._queue_of(key).fail(key)
        text = f'running PreBind plugin "DynamicResources": {state.problem}'
        self._events.record(self._pods, pod, WARNING, "FailedScheduling", text)
        await self._reservations.release(pod, claims)
        with suppress(StatusError):  # deleted or bound meanwhile
            await set_unschedulable(self._client, pod, text, reason="SchedulerError")
        return None

    async def _bind(self, key: str, decided: tuple[PendingPod, NodeSummary]) -> None:
        pending, node = decided
        metadata = pending.pod["metadata"]
        namespace, name = metadata["namespace"], metadata["name"]
        self._bound_here.add(key)
        try:
            await self._client.bind(namespace, name, metadata["uid"], node.name)
        except Exception as error:
            self._log(key, error)
            self._bound_here.discard(key)
            home = self._cluster.node_of(key)
            if home is not None and home.pods[key] is pending.facts:  # the model is not newer
                self._cluster.remove(key)
            self._queue_of(key).fail(key)
            return
        self._drop(key)
        text = f"Successfully assigned {namespace}/{name} to {node.name}"
        self._events.record(self._pods, pending.pod, NORMAL, "Scheduled", text)

    async def _give_up(self, pending: PendingPod, result: FilterResult) -> None:
        """No node fits: try preemption, and report the reasons."""
        key, total = pending.facts.key, len(self._cluster.nodes)
        self._queue_of(key).put_off(key, result.until)
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


def _nominated(pending: PendingPod, result: FilterResult) -> NodeSummary | None:
    """The node that preemption made room on, if it fits."""
    return next((node for node in result.nodes if node.name == pending.nominated), None)


def _is_gated(version: Version) -> bool:
    """Whether scheduling gates keep a pod from being scheduled."""
    return version.mentions("schedulingGates") and bool(
        version.object()["spec"].get("schedulingGates")
    )


def _is_other(change: Change) -> bool:
    """Whether a pod changed apart from its status, or got the names of its claims."""
    if change.before is None or change.after is None:
        return True
    return _scheduling_fields(change.before.object()) != _scheduling_fields(change.after.object())


def _scheduling_fields(pod: Object) -> list[object]:
    metadata = pod["metadata"]
    claims = (pod.get("status") or {}).get("resourceClaimStatuses")
    return [
        pod["spec"],
        metadata.get("labels"),
        metadata.get("annotations"),
        metadata["uid"],
        claims,
    ]
