"""Removing the pods that were chosen to make room for another."""

from __future__ import annotations

from contextlib import suppress

from fairlead.base.errors import StatusError
from fairlead.controllers.events import NORMAL, Recorder
from fairlead.controllers.pod_status import disrupted, write_status
from fairlead.controllers.simulation.names import PODS
from fairlead.controllers.simulation.scheduler.cluster import Cluster
from fairlead.controllers.simulation.scheduler.conditions import clear_nomination
from fairlead.controllers.simulation.scheduler.facts import Placed, Wish
from fairlead.controllers.simulation.scheduler.preemption import Candidate
from fairlead.operations.api import Api, Object
from fairlead.operations.client import Client

_BUDGETS = "policy/v1/poddisruptionbudgets"
_REASON, _MESSAGE = "PreemptionByKubeScheduler", "Kube-scheduler: preempting"


class RoomMaker:
    def __init__(self, api: Api, client: Client, events: Recorder, cluster: Cluster) -> None:
        self._client = client
        self._events = events
        self._cluster = cluster
        self._pods = api.resources.named(PODS)
        self._conditions = api.gates["PodDisruptionConditions"]

    def budgets(self) -> list[Object]:
        """The budgets of disruption that there are."""
        return list(self._client.list(_BUDGETS))

    async def make(self, wish: Wish, candidate: Candidate) -> None:
        """Delete the pods that have to go, with the time that they have to stop. Raises
        StatusError."""
        node = candidate.node
        for victim in candidate.victims:
            # One that goes already needs nothing, nor does another pod that has its name by now.
            if not victim.deleting and node.pods.get(victim.key) is victim:
                await self._remove(victim, wish, node.name)
        await self._take_from_others(wish, node.name)

    async def _remove(self, victim: Placed, wish: Wish, node: str) -> None:
        namespace, _, name = victim.key.partition("/")
        pod = self._client.find(PODS, namespace, name)
        if pod is None:
            return
        if self._conditions:
            await write_status(self._client, disrupted(pod, _REASON, _MESSAGE), "patch")
        await self._client.delete(PODS, namespace, name)
        text = f"Preempted by {wish.facts.namespace}/{wish.name} on node {node}"
        self._events.record(self._pods, pod, NORMAL, "Preempted", text)

    async def _take_from_others(self, wish: Wish, node: str) -> None:
        """Pods that count less have lost the room that was made for them."""
        for key, (place, facts) in list(self._cluster.nominated.items()):
            if place == node and facts.priority < wish.facts.priority:
                del self._cluster.nominated[key]
                with suppress(StatusError):
                    await clear_nomination(self._client, key)
