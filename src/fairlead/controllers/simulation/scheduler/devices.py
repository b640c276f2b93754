"""Filters nodes by the devices that a pod claims, and allocates them on the chosen node."""

from __future__ import annotations

from fairlead.base.dialect import Dialect
from fairlead.base.errors import StatusError
from fairlead.base.release import Release
from fairlead.controllers.devices.allocation import AllocationError, Allocator, Matcher
from fairlead.controllers.devices.claims import (
    CLAIMS,
    CLASSES,
    FINALIZER,
    SLICES,
    claim_name_of,
    consumer_of,
    is_owned_by,
    is_reserved_for,
)
from fairlead.controllers.devices.pools import Pools, Used, used_devices
from fairlead.controllers.simulation.scheduler.cluster import (
    Cluster,
    Event,
    Filter,
    NodeSummary,
    Refusal,
)
from fairlead.controllers.simulation.scheduler.facts import PendingPod
from fairlead.controllers.simulation.scheduler.selection import terms_match
from fairlead.operations.api import Object
from fairlead.operations.client import Client

_UNTIL = Event.NODE | Event.POD_GONE | Event.VOLUME
_MAX_CONSUMERS = 256


def _conflict(text: str) -> StatusError:
    return StatusError(409, "Conflict", text)


class DeviceRule:
    def __init__(self, client: Client, dialect: Dialect, release: Release) -> None:
        self._client = client
        self._finalizer = dialect.label(FINALIZER)
        self._release = release

    def reachable(self, pending: PendingPod, cluster: Cluster) -> Filter | None:
        if not pending.spec.get("resourceClaims"):
            return None
        claims = self._claims(pending.pod)
        if isinstance(claims, str):
            refusal = Refusal((claims,), True, _UNTIL)
            return lambda node: refusal
        pools, used = self._inventory()
        matcher = Matcher(self._release)

        def judge(node: NodeSummary) -> Refusal | None:
            for claim in claims:
                allocation = (claim.get("status") or {}).get("allocation")
                if allocation is not None and not _is_on(allocation, node):
                    return Refusal(("node(s) had a resourceclaim on other nodes",), True, _UNTIL)
            try:
                self._allocated(claims, node, pools, used, matcher)
            except AllocationError as error:
                return Refusal((str(error),), True, _UNTIL)
            return None

        return judge

    async def reserve(self, pending: PendingPod, node: NodeSummary) -> None:
        """Allocate the claims of a pod on a node and reserve them for it. Raises StatusError."""
        if not pending.spec.get("resourceClaims"):
            return
        claims = self._claims(pending.pod)
        if isinstance(claims, str):
            raise _conflict(claims)
        pools, used = self._inventory()
        try:
            allocations = self._allocated(claims, node, pools, used, Matcher(self._release))
        except AllocationError as error:
            raise _conflict(str(error)) from None
        for claim, allocation in zip(claims, allocations, strict=True):
            await self._write(claim, allocation, pending.pod)

    def _claims(self, pod: Object) -> list[Object] | str:
        """The claims of a pod, or why it cannot be scheduled."""
        claims = []
        for entry in pod["spec"].get("resourceClaims") or ():
            name = claim_name_of(pod, entry)
            if not name:
                return "waiting for the resource claim controller to create the claims of the pod"
            claim = self._client.find(CLAIMS, pod["metadata"]["namespace"], name)
            if claim is None:
                return f'resourceclaim "{name}" not found'
            if claim["metadata"].get("deletionTimestamp"):
                return f'resourceclaim "{name}" is being deleted'
            if entry.get("resourceClaimTemplateName") and not is_owned_by(claim, pod):
                return f'resourceclaim "{name}" was not created for the pod (pod is not owner)'
            reserved = (claim.get("status") or {}).get("reservedFor") or ()
            if len(reserved) >= _MAX_CONSUMERS and not is_reserved_for(claim, pod):
                return f'resourceclaim "{name}" is in use by too many pods'
            claims.append(claim)
        return claims

    def _inventory(self) -> tuple[Pools, Used]:
        slices = self._client.collection(SLICES).newest("")
        claims = self._client.collection(CLAIMS).newest("")
        in_use = (each.object() for each in claims if each.mentions("allocation"))
        return Pools(each.object() for each in slices), used_devices(in_use)

    def _allocated(
        self,
        claims: list[Object],
        node: NodeSummary,
        pools: Pools,
        used: Used,
        matcher: Matcher,
    ) -> list[Object | None]:
        """The allocations of the claims; None for those that are allocated already."""

        def find_class(name: str) -> Object | None:
            return self._client.find(CLASSES, "", name)

        allocator = Allocator(pools, used, find_class, node.name, node.labels, matcher)
        return [
            None
            if (claim.get("status") or {}).get("allocation") is not None
            else allocator.allocate(claim)
            for claim in claims
        ]

    async def _write(self, claim: Object, allocation: Object | None, pod: Object) -> None:
        metadata = claim["metadata"]
        place = metadata["namespace"], metadata["name"]
        if allocation is not None and self._finalizer not in (metadata.get("finalizers") or ()):

            def protected(current: Object) -> Object:
                finalizers = [*(current["metadata"].get("finalizers") or ()), self._finalizer]
                return {**current, "metadata": {**current["metadata"], "finalizers": finalizers}}

            claim = await self._client.change(CLAIMS, *place, protected)
        if allocation is None and is_reserved_for(claim, pod):
            return

        def reserved(current: Object) -> Object:
            status = dict(current.get("status") or {})
            if allocation is not None:
                if status.get("allocation") is not None:
                    raise _conflict("the claim was allocated meanwhile")
                status["allocation"] = allocation
            status["reservedFor"] = [*(status.get("reservedFor") or ()), consumer_of(pod)]
            return {**current, "status": status}

        await self._client.change(CLAIMS, *place, reserved, "status")


def _is_on(allocation: Object, node: NodeSummary) -> bool:
    selector = allocation.get("nodeSelector")
    return selector is None or terms_match(
        selector["nodeSelectorTerms"] or (), node.labels, node.name
    )
