"""What a node that runs short of something does with pods: it takes no more of them, and evicts one
after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from typing import NamedTuple

from fairlead.base import clock
from fairlead.base.dialect import Dialect
from fairlead.base.errors import StatusError
from fairlead.codec.types.quantity import Amount, amount, format_quantity
from fairlead.codec.types.times import now
from fairlead.controllers.events import WARNING, EventWriter, Recorder
from fairlead.controllers.framework import Keys
from fairlead.controllers.pod_status import disrupted
from fairlead.controllers.simulation.agent.containers import FAMILIES, Moment, state_of
from fairlead.controllers.simulation.agent.endings import cut_off
from fairlead.controllers.simulation.agent.node_admission import Rejection
from fairlead.controllers.simulation.behaviour import pod_behaviour
from fairlead.controllers.simulation.metrics.usage import container_usage, measured_at
from fairlead.controllers.simulation.node_behaviour import PRESSURE, PRESSURES, NodeBehaviour
from fairlead.controllers.simulation.script import ScriptOf
from fairlead.controllers.simulation.simulated_nodes import NODES, PODS, SimulatedNodes
from fairlead.controllers.tolerations import tolerates
from fairlead.operations.api import Api, Object
from fairlead.resources.core.pods import FINISHED, NO_SCHEDULE
from fairlead.resources.core.pods.container_lists import all_containers
from fairlead.resources.core.pods.resources import BEST_EFFORT
from fairlead.resources.core.pods.totals import pod_totals
from fairlead.storage.version import Change

EVICTED = "Evicted"
_INTERVAL = 10.0  # seconds between two evictions
_CRITICAL = 2_000_000_000  # pods of this priority stay
_ZERO = Amount(Decimal(0))

# What a container of a pod uses, by resource.
UsageOf = Callable[[Object, Object], Mapping[str, Amount]]


def simulated_usage(scripts: ScriptOf) -> UsageOf:
    """What the metrics of containers say."""

    def usage(pod: Object, container: Object) -> Mapping[str, Amount]:
        metadata, name = pod["metadata"], container["name"]
        own = pod_behaviour(metadata.get("annotations")).of(name)
        script = scripts(pod, name)
        return container_usage(metadata["uid"], container, script, own, measured_at())

    return usage


class _Shortage(NamedTuple):
    """The resource that is short, and the quantities that evictions tell."""

    resource: str
    threshold: str
    available: str


_SHORTAGES = {
    PRESSURES["memory"]: _Shortage("memory", "100Mi", "64Mi"),
    PRESSURES["disk"]: _Shortage("ephemeral-storage", "10Gi", "1Gi"),
    PRESSURES["pid"]: _Shortage("pids", "1k", "100"),
}


def is_critical(pod: Object, dialect: Dialect) -> bool:
    """Whether a node keeps a pod and takes it whatever it is short of."""
    annotations = pod["metadata"].get("annotations") or {}
    if dialect.label("@/config.mirror") in annotations:
        return True
    return bool((pod["spec"].get("priority") or 0) >= _CRITICAL)


def refusal_under_pressure(
    pod: Object, on_node: NodeBehaviour, dialect: Dialect
) -> Rejection | None:
    """Why a node that is short of something does not take a pod; None if it does."""
    if not on_node.pressures or is_critical(pod, dialect):
        return None
    if on_node.pressures == (PRESSURES["memory"],):
        taint = {"key": dialect.label("node.@/memory-pressure"), "effect": NO_SCHEDULE}
        tolerations = pod["spec"].get("tolerations") or ()
        if pod["status"].get("qosClass") != BEST_EFFORT or any(
            tolerates(toleration, taint) for toleration in tolerations
        ):
            return None
    return Rejection(EVICTED, f"The node had condition: [{' '.join(on_node.pressures)}]. ")


class Evictions:
    """Keys are names of nodes. Evicts the pods of nodes under pressure, one at a time as long as it
    lasts. `keys_on` names the pods of a node."""

    name = "simulated-evictions"
    workers = 2

    def __init__(
        self,
        api: Api,
        simulated_nodes: SimulatedNodes,
        keys_on: Callable[[str], Iterable[str]],
        usage: UsageOf,
        events: EventWriter,
    ) -> None:
        self._simulated_nodes = simulated_nodes
        self._keys_on = keys_on
        self._usage = usage
        self._events = events
        self._pods = api.resources.named(PODS)
        self._collection = api.collection(self._pods)
        self._reports_network = api.gates["PodReadyToStartContainersCondition"]
        self._has_disruptions = api.gates["PodDisruptionConditions"]
        self._next: dict[str, float] = {}  # when a node may evict again

    def follows(self) -> Mapping[str, Keys]:
        return {NODES: self._node}

    def _node(self, change: Change) -> Iterable[str]:
        is_concerned = change.name in self._simulated_nodes and any(
            version is not None and version.mentions(PRESSURE)
            for version in (change.before, change.after)
        )
        return (change.name,) if is_concerned else ()

    async def sync(self, key: str) -> float | None:
        on_node = self._simulated_nodes.behaviour(key)
        if on_node is None or not on_node.pressures or not self._simulated_nodes.answers(key):
            self._next.pop(key, None)
            return None
        left = self._next.get(key, 0.0) - clock.time()
        if 0 < left <= _INTERVAL:
            return left
        shortage = _SHORTAGES[on_node.pressures[0]]
        pod = min(self._candidates(key), key=lambda pod: self._rank(pod, shortage), default=None)
        if pod is not None:
            await self._evict(pod, shortage)
        self._next[key] = clock.time() + _INTERVAL
        return _INTERVAL

    def _candidates(self, node: str) -> Iterable[Object]:
        for key in tuple(self._keys_on(node)):
            version = self._collection.get(key)
            if version is None or version.fields.get("status.phase") in FINISHED:
                continue
            pod = version.object()
            has_started = "startTime" in pod["status"]
            is_ending = pod["metadata"].get("deletionTimestamp")
            if has_started and not is_ending and not is_critical(pod, self._pods.dialect):
                yield pod

    def _rank(self, pod: Object, shortage: _Shortage) -> tuple[bool, int, Decimal]:
        """The order of eviction: pods that use more than they request first, then those of a low
        priority, then those that exceed their requests most."""
        requested = pod_totals(pod["spec"])[0].get(shortage.resource, _ZERO).value
        used = sum((used.value for _, used in self._used(pod, shortage)), Decimal(0))
        return used <= requested, pod["spec"].get("priority") or 0, requested - used

    def _used(self, pod: Object, shortage: _Shortage) -> Iterable[tuple[Object, Amount]]:
        """The running containers and what they use of the resource."""
        running = {
            status["name"]
            for _, list_name in FAMILIES[:2]
            for status in pod["status"].get(list_name) or ()
            if "running" in state_of(status)
        }
        for container in all_containers(pod["spec"]):
            if container["name"] in running:
                used = self._usage(pod, container).get(shortage.resource)
                if used is not None:
                    yield container, used

    def _message(self, pod: Object, shortage: _Shortage) -> str:
        resource, threshold, available = shortage
        text = f"The node was low on resource: {resource}. "
        text += f"Threshold quantity: {threshold}, available: {available}. "
        for container, used in self._used(pod, shortage):
            requests = (container.get("resources") or {}).get("requests") or {}
            requested = requests.get(resource, "0")
            if used.value > amount(requested).value:
                text += (
                    f"Container {container['name']} was using {format_quantity(*used)},"
                    f" request is {requested}, has larger consumption of {resource}. "
                )
        return text

    async def _evict(self, pod: Object, shortage: _Shortage) -> None:
        metadata, node = pod["metadata"], pod["spec"]["nodeName"]
        message = self._message(pod, shortage)

        def evicted(current: Object) -> Object:
            if (
                current["metadata"]["uid"] != metadata["uid"]
                or current["status"].get("phase") in FINISHED
            ):
                return current
            status = dict(current["status"])
            moment = Moment(clock.time(), now())
            cut_off(current, status, EVICTED, message, self._reports_network, moment)
            changed = {**current, "status": status}
            if not self._has_disruptions:
                return changed
            return disrupted(changed, "TerminationByKubelet", message)

        client = self._simulated_nodes.client(node)
        recorder = Recorder(self._events, client, self._pods.dialect.node_agent, node)
        recorder.record(self._pods, pod, WARNING, EVICTED, message)
        try:
            await client.change(
                PODS, metadata["namespace"], metadata["name"], evicted, "status", "patch"
            )
        except StatusError as error:
            if error.code != 404:
                raise
