"""NodeMetrics and PodMetrics of simulated nodes, computed for each request."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from time import thread_time

from fairlead.codec.types.times import format_time, now
from fairlead.controllers.simulation.agent.containers import state_of
from fairlead.controllers.simulation.agent.pods import FAMILIES
from fairlead.controllers.simulation.behaviour import pod_behaviour
from fairlead.controllers.simulation.metrics.usage import (
    WINDOW,
    Usage,
    consumed,
    container_usage,
    measured_at,
    node_usage,
)
from fairlead.controllers.simulation.script import NO_SCRIPT, ScriptOf
from fairlead.controllers.simulation.simulated_nodes import PODS, SimulatedNodes
from fairlead.operations.api import Api, Object
from fairlead.resources.core.pods.container_lists import all_containers
from fairlead.storage.reads import in_batches, prepare_index, select
from fairlead.storage.selection import EVERYTHING, Requirement, Selection
from fairlead.storage.version import Version

_FEW_NODES = 20  # whose pods are found by an index
_SCRIPT_SECONDS = 0.02  # of a processor, to look up the scripts of one pod; later ones do not count
_NODE_NAME, _RUNNING = "spec.nodeName", "Running"


class SimulatedMetrics:
    """What simulated nodes and the containers on them use."""

    def __init__(self, api: Api, simulated_nodes: SimulatedNodes, script_of: ScriptOf) -> None:
        self._simulated_nodes = simulated_nodes
        self._script_of = script_of
        # What a container uses that was told how much to use, by the pod and its name.
        self.used_by: Callable[[Object, str], Mapping[str, float] | None] = lambda pod, name: None
        self._pods = api.collection(api.resources.named(PODS))

    def of_pod(self, pod: Version) -> Object | None:
        if not self._is_measured(pod):
            return None
        time = measured_at()
        containers = [
            {"name": name, "usage": _texts(usage)} for name, usage in self._containers(pod, time)
        ]
        if not containers:
            return None
        metadata: Object = {"name": pod.name, "namespace": pod.namespace}
        return {**_head(pod, metadata, time), "containers": containers}

    async def of_nodes(self, nodes: Sequence[Version]) -> list[Object]:
        time = measured_at()
        measured = {
            node.name: (node, node_usage(node.name, time))
            for node in nodes
            if self._is_reached(node.name)
        }
        async for pods in in_batches(await self._pods_on(measured)):
            for pod in pods:
                node = measured.get(pod.fields.get(_NODE_NAME, ""))
                if node is not None and self._is_measured(pod):
                    for _, usage in self._containers(pod, time):
                        _add(node[1], usage)
        return [
            {**_head(node, {"name": name}, time), "usage": _texts(usage)}
            for name, (node, usage) in measured.items()
        ]

    async def _pods_on(self, nodes: Iterable[str]) -> list[Version]:
        """All pods of some nodes, and maybe others."""
        names = frozenset(nodes)
        if len(names) > _FEW_NODES:
            return self._pods.current("")
        selection = Selection((), (Requirement(_NODE_NAME, "in", names),)) if names else EVERYTHING
        await prepare_index(self._pods, "", selection)
        return await select(self._pods, "", selection) if names else []

    def _is_measured(self, pod: Version) -> bool:
        """Whether a pod runs on a simulated node that can be reached."""
        fields = pod.fields
        if fields.get("status.phase") != _RUNNING:
            return False
        return self._is_reached(fields.get(_NODE_NAME, ""))

    def _is_reached(self, node: str) -> bool:
        simulated = self._simulated_nodes
        return node in simulated and simulated.answers(node)

    def _containers(self, version: Version, time: int) -> list[tuple[str, Usage]]:
        """The running containers of a pod and what each uses."""
        pod = version.object()
        uid, behaviour = pod["metadata"]["uid"], pod_behaviour(pod["metadata"].get("annotations"))
        status = pod["status"]
        running = {
            each["name"]
            for _, family in FAMILIES
            for each in status.get(family) or ()
            if "running" in state_of(each)
        }
        usages, began = [], thread_time()
        for container in all_containers(pod["spec"]):
            name = container["name"]
            if name in running:
                has_time = thread_time() - began < _SCRIPT_SECONDS
                script = self._script_of(pod, name) if has_time else NO_SCRIPT
                usage = container_usage(uid, container, script, behaviour.of(name), time)
                if (used := self.used_by(pod, name)) is not None:
                    usage = consumed(used)
                usages.append((name, usage))
        return usages


def _head(version: Version, metadata: Object, time: int) -> Object:
    """The fields that both kinds have."""
    if version.labels:
        metadata["labels"] = dict(version.labels)
    metadata["creationTimestamp"] = now()
    return {"metadata": metadata, "timestamp": _timestamp(time), "window": f"{WINDOW}s"}


def _timestamp(time: int) -> str:
    return format_time(datetime.fromtimestamp(time, UTC))


def _texts(usage: Usage) -> dict[str, str]:
    return {name: str(used) for name, used in usage.items()}


def _add(total: Usage, usage: Usage) -> None:
    for name, used in usage.items():
        total[name] = total[name].plus(used)
