"""Advances the pods of simulated nodes through their phases."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping

from fairlead.base import clock
from fairlead.base.caches import BoundedCache
from fairlead.base.dialect import Dialect
from fairlead.base.errors import StatusError, not_found
from fairlead.codec.types.times import now
from fairlead.controllers.events import NORMAL, WARNING, EventWriter, Recorder
from fairlead.controllers.framework import Keys
from fairlead.controllers.simulation.addresses import AddressPool, node_address, pod_network
from fairlead.controllers.simulation.agent.commands import CommandBehaviour
from fairlead.controllers.simulation.agent.containers import Moment, PodEvent, state_of
from fairlead.controllers.simulation.agent.pods import (
    HostNetwork,
    PodProgress,
    advance_pod,
    reject_for_ports,
    status_at_end,
)
from fairlead.controllers.simulation.behaviour import (
    NODE_STATE,
    NOT_READY,
    READY,
    PodBehaviour,
    pod_behaviour,
)
from fairlead.controllers.simulation.scheduler.facts import host_ports
from fairlead.controllers.simulation.simulated_nodes import NODES, PODS, SimulatedNodes
from fairlead.operations.api import Api, Object
from fairlead.operations.options import DeleteOptions
from fairlead.resources.core.pods import FINISHED
from fairlead.resources.metadata import MAX_GRACE, deletion_end
from fairlead.storage.version import Change, Version

_MAX_CACHED = 4_096
_STOPPING = "stopping"
_NEXT_ATTEMPT = 10.0  # seconds until a retry for a pod that got no address
_NO_ADDRESS = PodEvent(
    WARNING,
    "FailedCreatePodSandBox",
    "Failed to create pod sandbox: the node has no address left for another pod",
)


class PodAgents:
    """Keys are `namespace/name` of pods. Acts for all simulated nodes, as the user of each node, on
    pods bound to them. Many workers, so that writes share commits."""

    name = "simulated-node-agents"
    workers = 32

    def __init__(self, api: Api, simulated_nodes: SimulatedNodes, events: EventWriter) -> None:
        self._simulated_nodes = simulated_nodes
        self._ends_in_final_phase = api.gates["DeletedPodsReachFinalPhase"]
        self._reports_network = api.gates["PodReadyToStartContainersCondition"]
        self._pods = api.resources.named(PODS)
        self._collection = api.collection(self._pods)
        self._on: dict[str, set[str]] = defaultdict(set)
        self._node_of: dict[str, str] = {}
        self._pools = {
            name: AddressPool(pod_network(number))
            for name, number in simulated_nodes.numbers.items()
        }
        self._commands = CommandBehaviour(api)
        agent = api.dialect.node_agent
        self._recorders = {
            name: Recorder(events, simulated_nodes.client(name), agent, name)
            for name in simulated_nodes.numbers
        }
        # Deduplicates events by uid; losing an entry only repeats an event.
        self._recorded: BoundedCache[str, object] = BoundedCache(_MAX_CACHED)

    def follows(self) -> Mapping[str, Keys]:
        return {PODS: self._pod, NODES: self._node}

    def _pod(self, change: Change) -> Iterable[str]:
        key, version = change.key, change.after
        node = version.fields.get("spec.nodeName", "") if version is not None else ""
        bound_node = self._node_of.get(key)
        if bound_node is not None and (bound_node != node or change.added):
            del self._node_of[key]
            self._on[bound_node].discard(key)
            self._pools[bound_node].give_back(key)
        if version is None or node not in self._simulated_nodes:
            return ()
        self._node_of[key] = node
        self._on[node].add(key)
        self._account(version, node)
        return (key,)

    def _account(self, version: Version, node: str) -> None:
        """A pod holds its address until it has finished."""
        fields = version.fields
        if fields.get("status.phase") in FINISHED:
            self._pools[node].give_back(version.key)
        elif address := fields.get("status.podIP"):
            self._pools[node].hold(version.key, address)

    def _node(self, change: Change) -> Iterable[str]:
        """All pods of a node whose simulated state may have changed."""
        if change.name not in self._simulated_nodes:
            return ()
        versions = (change.before, change.after)
        has_state = any(
            version is not None and version.mentions(NODE_STATE) for version in versions
        )
        if change.added or change.deleted or has_state:
            return tuple(self._on[change.name])
        return ()

    async def sync(self, key: str) -> float | None:
        version = self._collection.get(key)
        node = self._node_of.get(key)
        if version is None or node is None:
            return None
        state = self._simulated_nodes.state(node)
        if state not in (READY, NOT_READY):
            return None
        pod = version.object()
        behaviour = self._behaviour(pod, node)
        if pod["metadata"].get("deletionTimestamp"):
            return await self._stop(pod, behaviour, node)
        if pod["status"].get("phase") in FINISHED or state == NOT_READY:
            return None
        return await self._advance(pod, behaviour, node)

    def _behaviour(self, pod: Object, node: str) -> PodBehaviour:
        behaviour = pod_behaviour(pod["metadata"].get("annotations"))
        uid = pod["metadata"]["uid"]
        behaviour = self._commands.complete(pod, behaviour)
        if behaviour.problems and self._recorded.get(uid) != behaviour.problems:
            self._recorded.keep(uid, behaviour.problems, len(uid))
            for problem in behaviour.problems:
                self._record_events(node, pod, [PodEvent(WARNING, "InvalidSimulation", problem)])
        return behaviour

    async def _advance(self, pod: Object, behaviour: PodBehaviour, node: str) -> float | None:
        metadata = pod["metadata"]
        key, pool = f"{metadata['namespace']}/{metadata['name']}", self._pools[node]
        host = HostNetwork(
            node_address(self._simulated_nodes.numbers[node]),
            lambda: pool.take(key),
            self._reports_network,
        )

        def step(current: Object) -> PodProgress:
            if _is_ending(current):
                return PodProgress(current["status"])
            if lacks_ports:
                return reject_for_ports(current, _moment())
            return advance_pod(current, behaviour, host, _moment())

        lacks_ports = "startTime" not in pod["status"] and self._are_ports_taken(key, pod, node)
        shared = pod["spec"].get("hostNetwork") or pod["status"].get("podIP")
        if not shared and not pool.has_room_for(key):
            self._record_events(node, pod, [_NO_ADDRESS])
            return _NEXT_ATTEMPT
        progress = step(pod)
        if progress.status != pod["status"]:
            progress = await self._write(pod, progress, step)
        self._record_events(node, pod, progress.events)
        return None if progress.due is None else max(0.0, progress.due - clock.time())

    def _are_ports_taken(self, key: str, pod: Object, node: str) -> bool:
        """Whether a pod that has started on the node has a host port that this one wants."""
        wanted = tuple(host_ports(pod["spec"]))
        if not wanted:
            return False
        for other in self._on[node]:
            version = self._collection.get(other) if other != key else None
            if version is None or not version.mentions("hostPort"):
                continue
            value = version.object()
            status = value["status"]
            if "startTime" not in status or status.get("phase") in FINISHED:
                continue
            if any(
                port.clashes_with(held) for port in wanted for held in host_ports(value["spec"])
            ):
                return True
        return False

    async def _write(
        self, pod: Object, progress: PodProgress, step: Callable[[Object], PodProgress]
    ) -> PodProgress:
        """Write the status of a pod; recomputes it if the pod changed meanwhile. Returns the step
        that was written."""
        metadata = pod["metadata"]

        def change(current: Object) -> Object:
            nonlocal progress
            if current["metadata"]["uid"] != metadata["uid"]:
                raise not_found(self._pods.ref(metadata["name"]))
            if current["metadata"]["resourceVersion"] != metadata["resourceVersion"]:
                progress = step(current)
            return {**current, "status": progress.status}

        client = self._simulated_nodes.client(pod["spec"]["nodeName"])
        try:
            await client.change(
                PODS, metadata["namespace"], metadata["name"], change, "status", "patch"
            )
        except StatusError as error:
            if error.code != 404:
                raise
            return PodProgress(pod["status"])
        return progress

    async def _stop(self, pod: Object, behaviour: PodBehaviour, node: str) -> float | None:
        """Stop a pod that is being deleted, when its containers have stopped or the grace period
        ends."""
        metadata = pod["metadata"]
        if self._recorded.get(metadata["uid"]) != _STOPPING:
            self._recorded.keep(metadata["uid"], _STOPPING, len(metadata["uid"]))
            self._record_events(node, pod, _stop_events(pod))
        stopped, killed = stop_moments(pod, behaviour, self._pods.dialect)
        left = min(stopped, killed) - clock.time()
        if left > 0:
            return left
        await self._write_end(pod, is_killed=killed < stopped)
        if metadata.get("finalizers") and not metadata.get("deletionGracePeriodSeconds"):
            return None
        options = DeleteOptions(grace_period=0, uid=metadata["uid"])
        client = self._simulated_nodes.client(node)
        try:
            await client.delete(PODS, metadata["namespace"], metadata["name"], options)
        except StatusError as error:
            if error.code != 409:  # the name belongs to another pod
                raise
        return None

    async def _write_end(self, pod: Object, *, is_killed: bool) -> None:
        def step(current: Object) -> PodProgress:
            status = status_at_end(
                current,
                _moment(),
                is_killed=is_killed,
                is_final=self._ends_in_final_phase,
                reports_network=self._reports_network,
            )
            return PodProgress(status)

        progress = step(pod)
        if progress.status != pod["status"]:
            await self._write(pod, progress, step)

    def _record_events(self, node: str, pod: Object, messages: Iterable[PodEvent]) -> None:
        for message in messages:
            self._recorders[node].record(
                self._pods, pod, message.kind, message.reason, message.text, message.path
            )


def _moment() -> Moment:
    return Moment(clock.time(), now())


def _is_ending(pod: Object) -> bool:
    return bool(pod["metadata"].get("deletionTimestamp") or pod["status"].get("phase") in FINISHED)


def _stop_events(pod: Object) -> list[PodEvent]:
    return [
        PodEvent(
            NORMAL,
            "Killing",
            f"Stopping container {container['name']}",
            f"spec.containers{{{container['name']}}}",
        )
        for container in running(pod)
    ]


# How long a pod takes to stop when it is deleted.

_SLEEP = re.compile(r"(?:\A|[\s;&/])sleep\s+(\d{1,7}(?:\.\d{1,3})?)([smh]?)(?=\Z|[\s;&])")
_UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0}


def hook_time(container: Object) -> float:
    """The duration of a preStop hook: the seconds that it sleeps, or the sum of its `sleep`
    commands; other commands take no time."""
    hook = (container.get("lifecycle") or {}).get("preStop") or {}
    if hook.get("sleep") is not None:
        return float(hook["sleep"]["seconds"])
    hook = hook.get("exec") or {}
    command = " ".join(hook.get("command") or ())
    return sum(float(number) * _UNITS[unit] for number, unit in _SLEEP.findall(command))


def running(pod: Object) -> Iterable[Object]:
    """The running regular containers of a pod."""
    statuses = pod["status"].get("containerStatuses") or ()
    names = {
        container_status["name"]
        for container_status in statuses
        if "running" in state_of(container_status)
    }
    return [container for container in pod["spec"]["containers"] if container["name"] in names]


def stop_moments(pod: Object, behaviour: PodBehaviour, dialect: Dialect) -> tuple[float, float]:
    """When a pod that is being deleted stops by itself, and when it is killed."""
    metadata = pod["metadata"]
    killed = deletion_end(metadata, dialect)
    grace = min(metadata.get("deletionGracePeriodSeconds") or 0, MAX_GRACE)
    times = (
        hook_time(container) + behaviour.of(container["name"]).stop_after
        for container in running(pod)
    )
    return killed - grace + max(times, default=0.0), killed
