"""Deletes the pods that preemption has chosen as victims."""

from __future__ import annotations

from contextlib import suppress

from fairlead.base.errors import StatusError
from fairlead.controllers.events import NORMAL, Recorder
from fairlead.controllers.pod_status import disrupted, write_status
from fairlead.controllers.simulation.scheduler.cluster import Cluster
from fairlead.controllers.simulation.scheduler.conditions import clear_nomination
from fairlead.controllers.simulation.scheduler.facts import PendingPod, PodSummary
from fairlead.controllers.simulation.scheduler.preemption import Candidate
from fairlead.controllers.simulation.simulated_nodes import PODS, SCHEDULER
from fairlead.operations.api import Api, Object
from fairlead.operations.client import Client

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
