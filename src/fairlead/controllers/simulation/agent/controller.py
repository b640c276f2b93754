"""Advances the pods of simulated nodes through their phases."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import NamedTuple

from fairlead.base import clock
from fairlead.base.caches import BoundedCache
from fairlead.base.errors import StatusError, not_found
from fairlead.codec.types.times import now
from fairlead.controllers.events import WARNING, EventWriter, Recorder
from fairlead.controllers.framework import Follow, Keys, Unfollow
from fairlead.controllers.simulation.addresses import AddressPool, node_address, pod_network
from fairlead.controllers.simulation.agent.commands import CommandBehaviour, LiveContainers
from fairlead.controllers.simulation.agent.containers import Moment, PodEvent
from fairlead.controllers.simulation.agent.endings import finished_at, status_at_end, with_ended
from fairlead.controllers.simulation.agent.handlers import Handlers
from fairlead.controllers.simulation.agent.lifecycle import Lifecycle, grace_of
from fairlead.controllers.simulation.agent.node_admission import (
    NodeAdmission,
    Rejection,
    refused_setting,
    rejected,
)
from fairlead.controllers.simulation.agent.pods import (
    Host,
    PodProgress,
    advance_pod,
)
from fairlead.controllers.simulation.agent.pressure import refusal_under_pressure
from fairlead.controllers.simulation.agent.probes import Probes
from fairlead.controllers.simulation.agent.reboots import advance_after_boot
from fairlead.controllers.simulation.agent.resizes import RESIZED, is_deferred
from fairlead.controllers.simulation.agent.runtime_classes import RuntimeClasses
from fairlead.controllers.simulation.agent.termination import Terminations
from fairlead.controllers.simulation.behaviour import PLAIN, PodBehaviour, pod_behaviour
from fairlead.controllers.simulation.behaviours import BEHAVIOURS, Behaviours, concerned_pods
from fairlead.controllers.simulation.definitions import BEHAVIOURS as DEFINITION
from fairlead.controllers.simulation.definitions import is_installed
from fairlead.controllers.simulation.node_behaviour import (
    HEALTHY,
    NOT_READY,
    READY,
    NodeBehaviour,
    node_behaviour,
)
from fairlead.controllers.simulation.simulated_nodes import (
    NODES,
    PODS,
    SimulatedNodes,
    has_behaviour,
)
from fairlead.operations.api import Api, Object
from fairlead.operations.options import DeleteOptions
from fairlead.resources.core.pods import FINISHED
from fairlead.resources.custom.definition import DEFINITIONS
from fairlead.resources.metadata import MAX_GRACE, deletion_end
from fairlead.storage.version import Change, Version

_MAX_CACHED = 4_096
_NEXT_ATTEMPT = 10.0  # seconds until a retry for a pod that got no address
_NO_ADDRESS = PodEvent(
    WARNING,
    "FailedCreatePodSandBox",
    "Failed to create pod sandbox: the node has no address left for another pod",
)


class _Sight(NamedTuple):
    """What decides how a pod goes on: its revision, and how often what applies to it from outside
    has changed."""

    revision: str
    changes: int


class PodAgents:
    """Keys are `namespace/name` of pods. Acts for all simulated nodes, as the user of each node, on
    pods bound to them. Many workers, so that writes share commits."""

    name = "simulated-node-agents"
    workers = 32

    def __init__(
        self,
        api: Api,
        simulated_nodes: SimulatedNodes,
        events: EventWriter,
        behaviours: Behaviours,
        placed: set[str],
        handlers: Handlers,
        live: LiveContainers,
    ) -> None:
        """`placed` are the keys of pods that the simulated scheduler binds."""
        self._simulated_nodes = simulated_nodes
        self._live = live
        self._behaviours = behaviours
        self._follow: Follow
        self._add: Callable[[str], None]
        self._unfollow: Unfollow = lambda: None
        self._ends_in_final_phase = api.gates["DeletedPodsReachFinalPhase"]
        self._reports_network = api.gates["PodReadyToStartContainersCondition"]
        self._reports_totals = api.gates["InPlacePodLevelResourcesVerticalScaling"]
        self._pods = api.resources.named(PODS)
        self._collection = api.collection(self._pods)
        self._on: dict[str, set[str]] = defaultdict(set)
        # By node, the pods whose resize waits for room.
        self._deferred: dict[str, set[str]] = defaultdict(set)
        self._node_of: dict[str, str] = {}
        self._pools = {
            name: AddressPool(pod_network(number))
            for name, number in simulated_nodes.numbers.items()
        }
        self._addresses = {
            name: node_address(number) for name, number in simulated_nodes.numbers.items()
        }
        nodes = api.collection(api.resources.named(NODES))
        self._admission = NodeAdmission(
            nodes, self._collection, lambda node: self._on[node], placed, api.dialect
        )
        self._runtime_classes = RuntimeClasses(api)
        self._commands = CommandBehaviour(behaviours.script_of, live)
        self.probes = Probes(handlers, self._record)
        self._terminations = Terminations(handlers, live.main_process, self._record)
        self._lifecycle = Lifecycle(handlers, self.probes, self._terminations)
        agent = api.dialect.node_agent
        self._recorders = {
            name: Recorder(events, simulated_nodes.client(name), agent, name)
            for name in simulated_nodes.numbers
        }
        # Pods that only run, as they were written last: these need no second look.
        self._settled: dict[str, _Sight] = {}
        self._changes = 0  # of nodes and Behaviours
        # Deduplicates events by uid; losing an entry only repeats an event.
        self._recorded: BoundedCache[str, object] = BoundedCache(_MAX_CACHED)

    def grow_by(self, follow: Follow) -> None:
        self._follow = follow

    def add_by(self, add: Callable[[str], None]) -> None:
        self._add = add
        self.probes.changed = add
        self._live.tell_by(add)

    def keys_on(self, node: str) -> Iterable[str]:
        """The pods of a node."""
        return self._on.get(node, ())

    def follows(self) -> Mapping[str, Keys]:
        return {PODS: self._pod, NODES: self._node, DEFINITIONS: self._definition}

    def _definition(self, change: Change) -> Iterable[str]:
        """Follow the Behaviours while they are served."""
        if change.name == DEFINITION:
            self._changes += 1
            self._unfollow()
            self._unfollow = lambda: None
            if is_installed(change.after):
                self._unfollow = self._follow(BEHAVIOURS, self._behaviour_changed, replay=False)
        return ()

    def _behaviour_changed(self, change: Change) -> Iterable[str | None]:
        self._changes += 1
        namespace = change.key.partition("/")[0]
        pods = self._collection.current(namespace)
        return concerned_pods(change, (pod for pod in pods if pod.key in self._node_of))

    def _pod(self, change: Change) -> Iterable[str]:
        key, version = change.key, change.after
        node = version.fields.get("spec.nodeName", "") if version is not None else ""
        bound_node = self._node_of.get(key)
        if bound_node is not None and (bound_node != node or change.added):
            del self._node_of[key]
            self._on[bound_node].discard(key)
            self._pools[bound_node].give_back(key)
            self._admission.gone(key, bound_node)
            self._settled.pop(key, None)
            self.probes.forget(key)
            self._deferred[bound_node].discard(key)
        if version is None or node not in self._simulated_nodes:
            return () if bound_node is None else tuple(self._deferred[bound_node])
        self._node_of[key] = node
        self._on[node].add(key)
        self._account(version, node)
        self._admission.changed(version, node)
        if version.fields.get("status.phase") in FINISHED:
            return (key, *self._deferred[node])
        return (key,)

    def _account(self, version: Version, node: str) -> None:
        """A pod holds its address until it has finished."""
        fields = version.fields
        if fields.get("status.phase") in FINISHED:
            self._pools[node].give_back(version.key)
        elif address := fields.get("status.podIP"):
            self._pools[node].hold(version.key, address)

    def _node(self, change: Change) -> Iterable[str]:
        """All pods of a node whose simulated behaviour changed."""
        if change.name not in self._simulated_nodes:
            return ()
        before, after = change.before, change.after
        if before is not None and after is not None and not change.added and not change.deleted:
            if not has_behaviour(before) and not has_behaviour(after):
                return ()
            old, new = (each.object()["metadata"].get("annotations") for each in (before, after))
            if node_behaviour(old) == node_behaviour(new):
                return ()
        self._changes += 1
        return tuple(self._on[change.name])

    async def sync(self, key: str) -> float | None:
        version = self._collection.get(key)
        node = self._node_of.get(key)
        if version is None or node is None:
            return None
        settled = self._settled.pop(key, None)
        if settled == _Sight(str(version.revision), self._changes):
            return None
        on_node = self._simulated_nodes.behaviour(node)
        if on_node is None or on_node.state not in (READY, NOT_READY):
            self.probes.forget(key)
            return None
        if (wait := self._live.computing.pause(key.partition("/")[0])) > 0:
            return wait
        pod = version.object()
        behaviour = await self._behaviour(pod, node)
        if pod["metadata"].get("deletionTimestamp"):
            self.probes.forget(key)
            return await self._stop(pod, behaviour, node)
        if pod["status"].get("phase") in FINISHED or on_node.state == NOT_READY:
            self.probes.forget(key)
            return None
        behaviour = self._lifecycle.complete(key, pod, behaviour)
        if pod["spec"].get("runtimeClassName"):
            behaviour = self._runtime_classes.complete(pod, behaviour, on_node.handlers)
        return await self._advance(pod, behaviour, node, on_node)

    async def _behaviour(self, pod: Object, node: str) -> PodBehaviour:
        behaviour = pod_behaviour(pod["metadata"].get("annotations"))
        uid = pod["metadata"]["uid"]
        behaviour = await self._commands.complete(pod, behaviour)
        problems = (*behaviour.problems, *self._behaviours.problems(pod))
        if problems and self._recorded.get(uid) != problems:
            self._recorded.keep(uid, problems, len(uid))
            for problem in problems:
                self._record_events(node, pod, [PodEvent(WARNING, "InvalidSimulation", problem)])
        return behaviour

    async def _advance(
        self, pod: Object, behaviour: PodBehaviour, node: str, on_node: NodeBehaviour
    ) -> float | None:
        metadata = pod["metadata"]
        key, pool = f"{metadata['namespace']}/{metadata['name']}", self._pools[node]
        host = Host(
            self._addresses[node],
            lambda: pool.take(key),
            self._reports_network,
            self._reports_totals,
            lambda current: self._admission.defers(key, current, node),
        )

        def step(current: Object) -> PodProgress:
            if _is_ending(current):
                return PodProgress(current["status"])
            if rejection is not None:
                return rejected(current, rejection, _moment())
            if on_node.booted is None:
                return advance_pod(current, behaviour, host, _moment())
            return advance_after_boot(current, behaviour, host, on_node.booted, _moment())

        arrives = "startTime" not in pod["status"]
        rejection = self._rejection(key, pod, node, on_node) if arrives else None
        shared = pod["spec"].get("hostNetwork") or pod["status"].get("podIP")
        if rejection is None and not shared and not pool.has_room_for(key):
            self._record_events(node, pod, [_NO_ADDRESS])
            return _NEXT_ATTEMPT
        progress, changes = step(pod), self._changes
        if progress.outlived:
            behaviour = await self._with_ends(pod, behaviour, progress)
            progress = step(pod)
        if progress.status != pod["status"]:
            progress = await self._write(pod, progress, step)
            is_plain = behaviour is PLAIN and on_node is HEALTHY and key in self._node_of
            if is_plain and progress.only_runs and progress.revision:
                self._settled[key] = _Sight(progress.revision, changes)
        self._follow_resize(key, node, progress)
        self._record_events(node, pod, progress.events)
        return None if progress.due is None else max(0.0, progress.due - clock.time())

    async def _with_ends(
        self, pod: Object, behaviour: PodBehaviour, progress: PodProgress
    ) -> PodBehaviour:
        """The behaviour of a pod that has finished while containers of it run on."""
        stopping = {**pod, "status": progress.status}
        begin = finished_at(stopping, clock.time())
        kills = await self._terminations.of_pod(stopping, behaviour, begin, begin + grace_of(pod))
        return replace(behaviour, ends=kills)

    def _follow_resize(self, key: str, node: str, progress: PodProgress) -> None:
        """Remember a pod whose resize waits. A resize that was carried out may have made room."""
        waiting = self._deferred[node]
        if is_deferred(progress.status):
            waiting.add(key)
            return
        waiting.discard(key)
        if any(event.reason == RESIZED for event in progress.events):
            for each in waiting:
                self._add(each)

    def _rejection(
        self, key: str, pod: Object, node: str, on_node: NodeBehaviour
    ) -> Rejection | None:
        """Why a node does not take a pod that arrives."""
        pressed = refusal_under_pressure(pod, on_node, self._pods.dialect)
        judged = pressed or self._admission.judge(key, pod, node)
        return judged or refused_setting(pod)

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
        planned = progress
        try:
            written = await client.change(
                PODS, metadata["namespace"], metadata["name"], change, "status", "patch"
            )
        except StatusError as error:
            if error.code != 404:
                raise
            return PodProgress(pod["status"])
        if progress is planned:
            progress.revision = written["metadata"]["resourceVersion"]
        return progress

    async def _stop(self, pod: Object, behaviour: PodBehaviour, node: str) -> float | None:
        """Stop a pod that is being deleted. It goes when its containers have ended, at the latest
        when its grace period does."""
        metadata = pod["metadata"]
        killed = deletion_end(metadata, self._pods.dialect)
        begin = killed - min(metadata.get("deletionGracePeriodSeconds") or 0, MAX_GRACE)
        kills = await self._terminations.of_pod(pod, behaviour, begin, killed)
        moment = clock.time()
        left = [kill.end - moment for kill in kills.values() if kill.end > moment]
        codes = {name: kill.code for name, kill in kills.items() if kill.end <= moment}
        await self._write_end(pod, codes, is_last=not left)
        if left:
            return min(left)
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

    async def _write_end(self, pod: Object, codes: Mapping[str, int], *, is_last: bool) -> None:
        """Write how containers have ended."""
        if not codes and not is_last:
            return

        def step(current: Object) -> PodProgress:
            if not is_last:
                return PodProgress(with_ended(current, codes, self._reports_network, _moment()))
            status = status_at_end(
                current,
                _moment(),
                codes,
                is_final=self._ends_in_final_phase,
                reports_network=self._reports_network,
            )
            return PodProgress(status)

        progress = step(pod)
        if progress.status != pod["status"]:
            await self._write(pod, progress, step)

    def _record(self, pod: Object, event: PodEvent) -> None:
        self._record_events(pod["spec"]["nodeName"], pod, [event])

    def _record_events(self, node: str, pod: Object, messages: Iterable[PodEvent]) -> None:
        for message in messages:
            self._recorders[node].record(
                self._pods, pod, message.kind, message.reason, message.text, message.path
            )


def _moment() -> Moment:
    return Moment(clock.time(), now())


def _is_ending(pod: Object) -> bool:
    return bool(pod["metadata"].get("deletionTimestamp") or pod["status"].get("phase") in FINISHED)
