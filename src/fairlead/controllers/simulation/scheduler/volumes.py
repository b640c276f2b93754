"""Filters nodes by the volumes of a pod, and prepares delayed binding."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import ROUND_CEILING, Decimal
from typing import NamedTuple

from fairlead.base.dialect import Dialect
from fairlead.codec.types.quantity import quantity
from fairlead.controllers.simulation.scheduler.cluster import (
    Cluster,
    Event,
    Filter,
    NodeSummary,
    Refusal,
)
from fairlead.controllers.simulation.scheduler.facts import PendingPod
from fairlead.controllers.simulation.scheduler.selection import terms_match
from fairlead.controllers.volumes.facts import (
    class_of,
    could_hold,
    is_bound_to,
    is_going,
    is_selected,
    is_within,
    reserved,
    size_of,
    size_wanted,
)
from fairlead.controllers.volumes.names import (
    AVAILABLE,
    CLAIMS,
    CLASSES,
    VOLUMES,
    Annotations,
    annotations_of,
    phase_of,
    with_annotations,
)
from fairlead.controllers.volumes.pods import ephemeral_claims_of, is_made_for, plain_claims_of
from fairlead.operations.api import Object
from fairlead.operations.client import Client
from fairlead.resources.rules import selector_matches

DRIVERS, CAPACITIES = "storage/v1/csidrivers", "storage/v1/csistoragecapacities"

_UNTIL = Event.NODE | Event.VOLUME
_DELAYED = "WaitForFirstConsumer"
_UNBOUND = "pod has unbound immediate PersistentVolumeClaims"
_CONFLICT = Refusal(("node(s) had volume node affinity conflict",), True, _UNTIL)
_NONE_FREE = Refusal(("node(s) didn't find available persistent volumes to bind",), True, _UNTIL)
_NO_SPACE = Refusal(("node(s) did not have enough free storage",), True, _UNTIL)
_LOST = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"


class _Claims(NamedTuple):
    """The claims of a pod: volumes of bound ones, claims with delayed binding, and a problem that
    excludes all nodes."""

    bound: Sequence[Object]
    delayed: Sequence[Object]
    problem: str


class _Sources(NamedTuple):
    """Volumes for a claim: free ones, and capacities of its driver. None: the driver publishes no
    capacities and is assumed to have enough."""

    claim: Object
    volumes: Sequence[Object]
    capacities: Sequence[Object] | None


class Plan(NamedTuple):
    """Preparations for a pod on a node: volumes to reserve for claims, and claims to provision."""

    bindings: Sequence[tuple[Object, Object]]
    provisioned: Sequence[Object]


class VolumeRule:
    def __init__(self, client: Client, dialect: Dialect) -> None:
        self._client = client
        self._names = Annotations.of(dialect)
        self._no_provisioner = dialect.label("@/no-provisioner")
        self._wants_capacity = dialect.volume_capacity_required

    def reachable(self, pending: PendingPod, cluster: Cluster) -> Filter | None:
        if not pending.spec.get("volumes"):
            return None
        claims = self._claims(pending.pod)
        if claims.problem:
            refusal = Refusal((claims.problem,), True, _UNTIL)
            return lambda node: refusal
        if not claims.bound and not claims.delayed:
            return None
        sources = [self._sources(claim) for claim in claims.delayed]

        def judge(node: NodeSummary) -> Refusal | None:
            if not all(_is_reachable(volume, node) for volume in claims.bound):
                return _CONFLICT
            plan = self._planned(sources, node)
            return plan if isinstance(plan, Refusal) else None

        return judge

    def plan(self, pending: PendingPod, node: NodeSummary) -> Plan | None:
        """The preparations before binding a pod to a node; None if there are none."""
        delayed = self._claims(pending.pod).delayed if pending.spec.get("volumes") else ()
        if not delayed:
            return None
        plan = self._planned([self._sources(claim) for claim in delayed], node)
        return None if isinstance(plan, Refusal) else plan

    async def carry_out(self, plan: Plan, node: NodeSummary) -> None:
        """Reserve volumes and set the selected node; the binder and provisioners do the rest."""
        names = self._names
        for volume, claim in plan.bindings:
            if is_bound_to(volume, claim):
                continue
            updated_volume = reserved(volume, claim)
            await self._client.replace(
                VOLUMES, with_annotations(updated_volume, {names.bound_by_controller: "yes"})
            )
        for claim in plan.provisioned:
            if annotations_of(claim).get(names.selected_node) != node.name:
                updated_claim = with_annotations(claim, {names.selected_node: node.name})
                await self._client.replace(CLAIMS, updated_claim)

    def _claims(self, pod: Object) -> _Claims:
        bound, delayed = [], []
        immediate = False
        for claim, problem in self._claims_found(pod):
            if claim is None:
                return _Claims((), (), problem)
            if self._is_bound(claim):
                volume = self._client.find(VOLUMES, "", claim["spec"]["volumeName"])
                if volume is None:
                    return _Claims((), (), _LOST)
                bound.append(volume)
            elif self._is_delayed(claim) and not claim["spec"].get("volumeName"):
                delayed.append(claim)
            else:
                immediate = True
        return _Claims(bound, delayed, _UNBOUND if immediate else "")

    def _claims_found(self, pod: Object) -> Iterator[tuple[Object | None, str]]:
        """Each claim of a pod, or None and what is wrong."""
        metadata = pod["metadata"]
        namespace = metadata["namespace"]
        own = set(ephemeral_claims_of(pod))
        for name in (*plain_claims_of(pod), *own):
            claim = self._client.find(CLAIMS, namespace, name)
            if claim is None:
                what = f'persistentvolumeclaim "{name}"'
                if name in own:
                    yield None, f"waiting for ephemeral volume controller to create the {what}"
                else:
                    yield None, f"{what} not found"
            elif is_going(claim):
                yield None, f'persistentvolumeclaim "{name}" is being deleted'
            elif name in own and not is_made_for(claim, pod):
                pod_key = f"{namespace}/{metadata['name']}"
                text = f'PVC "{namespace}/{name}" was not created for pod "{pod_key}"'
                yield None, f"{text} (pod is not owner)"
            else:
                yield claim, ""

    def _is_bound(self, claim: Object) -> bool:
        marked = self._names.bind_completed in annotations_of(claim)
        return marked and bool(claim["spec"].get("volumeName"))

    def _class(self, claim: Object) -> Object | None:
        name = class_of(claim, self._names)
        return self._client.find(CLASSES, "", name) if name else None

    def _is_delayed(self, claim: Object) -> bool:
        storage_class = self._class(claim)
        return storage_class is not None and storage_class.get("volumeBindingMode") == _DELAYED

    def _sources(self, claim: Object) -> _Sources:
        return _Sources(claim, self._candidates(claim), self._capacities(claim))

    def _candidates(self, claim: Object) -> list[Object]:
        """The volume reserved for a claim, else all free ones that match, smallest first."""
        free = []
        for version in self._client.collection(VOLUMES).newest(""):
            volume = version.object()
            if is_bound_to(volume, claim):
                return [volume]
            if self._is_free(volume, claim):
                free.append(volume)
        return sorted(free, key=lambda volume: (size_of(volume), volume["metadata"]["name"]))

    def _is_free(self, volume: Object, claim: Object) -> bool:
        return (
            volume["spec"].get("claimRef") is None
            and phase_of(volume) == AVAILABLE
            and class_of(volume, self._names) == class_of(claim, self._names)
            and could_hold(volume, claim)
            and is_selected(volume, claim)
        )

    def _planned(self, sources: Sequence[_Sources], node: NodeSummary) -> Plan | Refusal:
        """Choose an existing or provisionable volume on the node for each claim."""
        assigned: list[tuple[Object, Object]] = []
        provisioned, used = [], set()
        for claim, volumes, capacities in sources:
            chosen = annotations_of(claim).get(self._names.selected_node)
            if chosen not in (None, node.name):
                return _NONE_FREE
            for volume in volumes:
                name = volume["metadata"]["name"]
                if name not in used and _is_reachable(volume, node):
                    used.add(name)
                    assigned.append((volume, claim))
                    break
            else:
                if not self._can_be_made(claim, node):
                    return _NONE_FREE
                if chosen is None and not _has_room(capacities, node):
                    return _NO_SPACE
                provisioned.append(claim)
        return Plan(assigned, provisioned)

    def _can_be_made(self, claim: Object, node: NodeSummary) -> bool:
        storage_class = self._class(claim)
        if storage_class is None or storage_class["provisioner"] == self._no_provisioner:
            return False
        allowed = storage_class.get("allowedTopologies") or ()
        return not allowed or any(is_within(term, node.labels) for term in allowed)

    def _capacities(self, claim: Object) -> list[Object] | None:
        """The published capacities that are large enough for a claim; None if its driver publishes
        none."""
        storage_class = self._class(claim)
        driver = storage_class and self._client.find(DRIVERS, "", storage_class["provisioner"])
        if not storage_class or not driver or not driver["spec"].get("storageCapacity"):
            return None
        name = storage_class["metadata"]["name"]
        size = size_wanted(claim).to_integral_value(ROUND_CEILING)
        return [
            capacity
            for capacity in self._client.list(CAPACITIES)
            if capacity["storageClassName"] == name and self._largest_volume(capacity) >= size
        ]

    def _largest_volume(self, capacity: Object) -> Decimal:
        """The largest volume that a published capacity allows."""
        total, largest = capacity.get("capacity"), capacity.get("maximumVolumeSize")
        if self._wants_capacity and not quantity(total or "0"):
            return Decimal(0)
        limit = quantity(largest if largest is not None else total or "0")
        return limit.to_integral_value(ROUND_CEILING)


def _has_room(capacities: Sequence[Object] | None, node: NodeSummary) -> bool:
    """Whether a node can reach one of the capacities. Without nodeTopology none can, with an empty
    one all can."""
    return capacities is None or any(
        selector_matches(capacity.get("nodeTopology"), node.labels) for capacity in capacities
    )


def _is_reachable(volume: Object, node: NodeSummary) -> bool:
    required = (volume["spec"].get("nodeAffinity") or {}).get("required")
    return required is None or terms_match(
        required.get("nodeSelectorTerms") or (), node.labels, node.name
    )
