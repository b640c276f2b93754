"""ReplicaSet and ReplicationController: keep a number of identical pods.

The two differ only in name and in the format of their selector.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial

from fairlead.base.errors import StatusError
from fairlead.controllers.events import Recorder
from fairlead.controllers.framework import Keys
from fairlead.controllers.workloads import statuses
from fairlead.controllers.workloads.adoption import Claims
from fairlead.controllers.workloads.batches import run_all, run_growing
from fairlead.controllers.workloads.index import Owned, Selectors, owners_concerned, read_full
from fairlead.controllers.workloads.owners import controller_among
from fairlead.controllers.workloads.pod_control import (
    PodControl,
    is_namespace_terminating,
    pod_from,
)
from fairlead.controllers.workloads.pods import PODS, Pod, next_available, to_remove
from fairlead.controllers.workloads.statuses import write_status
from fairlead.operations.api import Api, Object
from fairlead.operations.client import Client
from fairlead.resources.apps.shared import int_or_percent
from fairlead.storage.version import Change

REPLICA_SETS, REPLICATION_CONTROLLERS = "apps/v1/replicasets", "core/v1/replicationcontrollers"
TERMINATING_GATE = "DeploymentReplicaSetTerminatingReplicas"
REPLICA_FAILURE = "ReplicaFailure"
_BURST = 500  # pods created or deleted per sync


def selector_of(owner: Object) -> Object | None:
    """The label selector of a ReplicaSet."""
    selector: Object | None = owner["spec"].get("selector")
    return selector


def selected_labels(owner: Object) -> Object | None:
    """The selector of a ReplicationController, which is a plain map of labels."""
    labels = owner["spec"].get("selector")
    return {"matchLabels": labels} if labels else None


class Replicas:
    """Keys are `namespace/name` of ReplicaSets, or of ReplicationControllers."""

    workers = 5

    def __init__(
        self, resource: str, api: Api, objects: Client, events: Recorder, pods: Owned[Pod]
    ) -> None:
        self._resource = api.resources.named(resource)
        self._objects = objects
        self._pods = pods
        self._control = PodControl(objects, events, self._resource)
        self._claims = Claims(objects, self._resource, PODS)
        plain = resource == REPLICATION_CONTROLLERS
        self._selector_of: Callable[[Object], Object | None]
        self._selector_of = selected_labels if plain else selector_of
        collection = objects.collection(resource)
        self._selectors = Selectors(collection, self._selector_of)
        self._siblings = Owned(collection, read_full)
        self._counts_terminating = not plain and api.gates[TERMINATING_GATE]
        costs = api.gates["PodDeletionCost"]
        self._cost = api.dialect.label("controller.@/pod-deletion-cost") if costs else ""

    def follows(self) -> Mapping[str, Keys]:
        return {self._resource.key: self._owner, PODS: self._owners_of_pod}

    def _owner(self, change: Change) -> Iterable[str]:
        return () if change.deleted else (change.key,)

    def _owners_of_pod(self, change: Change) -> Iterable[str]:
        return owners_concerned(change, self._resource.kind, self._selectors)

    async def sync(self, key: str) -> float | None:
        namespace, _, name = key.partition("/")
        owner = self._objects.find(self._resource.key, namespace, name)
        if owner is None:
            return None
        selector = self._selector_of(owner)
        pods = await self._claims.claim(owner, selector, self._pods, lambda pod: pod.active)
        failure: StatusError | None = None
        if owner["metadata"].get("deletionTimestamp") is None:
            failure = await self._keep_number(owner, pods)
        await self._write_status(owner, pods, failure)
        if failure is not None:
            raise failure
        return next_available(pods, owner["spec"].get("minReadySeconds") or 0)

    async def _keep_number(self, owner: Object, pods: Sequence[Pod]) -> StatusError | None:
        """Create or delete pods; returns the first error."""
        surplus = len(pods) - (owner["spec"].get("replicas") or 0)
        if surplus < 0:
            return await self._make(owner, min(-surplus, _BURST))
        if surplus > 0:
            return await self._remove(owner, pods, min(surplus, _BURST))
        return None

    async def _make(self, owner: Object, count: int) -> StatusError | None:
        pod = pod_from(owner["spec"]["template"], self._resource, owner)
        try:
            await run_growing([partial(self._control.create, owner, pod)] * count)
        except StatusError as error:
            return None if is_namespace_terminating(error) else error
        return None

    async def _remove(self, owner: Object, pods: Sequence[Pod], count: int) -> StatusError | None:
        chosen = to_remove(pods, self._related(owner), count, self._cost)
        failures = await run_all([partial(self._control.delete, owner, pod) for pod in chosen])
        for failure in failures:
            if not isinstance(failure, StatusError):
                raise failure
            return failure
        return None

    def _related(self, owner: Object) -> Iterable[Pod]:
        """The pods of all sets with the same controller as this owner; its own pods if it has
        none."""
        controller = controller_among(owner["metadata"].get("ownerReferences"))
        if controller is None:
            return self._pods.of(owner)
        namespace = owner["metadata"]["namespace"]
        parent = {"metadata": {"namespace": namespace, "uid": controller["uid"]}}
        siblings = self._siblings.of(parent)
        return [pod for sibling in siblings for pod in self._pods.of(sibling.value)]

    async def _write_status(
        self, owner: Object, pods: Sequence[Pod], failure: StatusError | None
    ) -> None:
        """Write the status if it changed."""
        status = _status(owner, pods, failure)
        if self._counts_terminating:
            status["terminatingReplicas"] = sum(pod.terminating for pod in self._pods.of(owner))
        if status == owner.get("status"):
            return
        await write_status(
            self._objects, self._resource, owner, lambda current: {**current, "status": status}
        )


def _status(owner: Object, pods: Sequence[Pod], failure: StatusError | None) -> Object:
    spec, old = owner["spec"], owner.get("status") or {}
    min_ready = spec.get("minReadySeconds") or 0
    labels = (spec["template"].get("metadata") or {}).get("labels") or {}
    counts = {
        "fullyLabeledReplicas": sum(labels.items() <= pod.labels.items() for pod in pods),
        "readyReplicas": sum(pod.ready for pod in pods),
        "availableReplicas": sum(pod.available(min_ready) for pod in pods),
        "observedGeneration": owner["metadata"].get("generation", 0),
    }
    status = {"replicas": len(pods), **{name: count for name, count in counts.items() if count}}
    conditions = old.get("conditions") or []
    if failure is None:
        conditions = statuses.without_condition(conditions, REPLICA_FAILURE)
    elif statuses.find_condition(conditions, REPLICA_FAILURE) is None:
        too_few = len(pods) < (spec.get("replicas") or 0)
        reason = "FailedCreate" if too_few else "FailedDelete"
        new = statuses.condition(REPLICA_FAILURE, "True", reason, str(failure))
        conditions = statuses.with_condition(conditions, new)
    return {**status, "conditions": conditions} if conditions else status


def resolved(value: int | str, total: int, *, up: bool) -> int:
    """The absolute number for an integer or a percentage of `total`; `up` rounds up."""
    if isinstance(value, int):
        return value
    hundredths = int_or_percent(value) * total
    return -(-hundredths // 100) if up else hundredths // 100
