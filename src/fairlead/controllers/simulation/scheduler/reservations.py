"""Writes allocations of devices into claims, and reserves claims for pods."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from fairlead.base.dialect import Dialect
from fairlead.base.errors import StatusError
from fairlead.codec.types.times import now
from fairlead.controllers.devices.claims import (
    CLAIMS,
    FINALIZER,
    PODS,
    consumer_of,
    is_owned_by,
    is_reserved_for,
    without_finalizer,
)
from fairlead.controllers.simulation.scheduler.cluster import NodeSummary
from fairlead.operations.api import Object
from fairlead.operations.client import Client
from fairlead.resources.resource.extended_names import EXTENDED_CLAIM


class Devices(NamedTuple):
    """The devices of a pod on a node. `allocated` are the claims that have theirs already,
    `allocations` the others with what they get. `mappings` say which containers use the claim for
    extended resources, which is the last one then."""

    node: NodeSummary
    allocated: Sequence[Object]
    allocations: Sequence[tuple[Object, Object]]
    mappings: Sequence[Object]


class Reservations:
    def __init__(self, client: Client, dialect: Dialect) -> None:
        self._client = client
        self._extended_claim = dialect.label(EXTENDED_CLAIM)
        self._finalizer = dialect.label(FINALIZER)

    async def reserve(self, pod: Object, devices: Devices) -> None:
        """Write the allocations, and reserve all claims for the pod. Raises StatusError."""
        for claim in devices.allocated:
            await self._write(claim, None, pod)
        for claim, allocation in devices.allocations:
            if claim["metadata"].get("uid"):
                await self._write(claim, allocation, pod)
            else:
                await self._create(claim, allocation, pod, devices.mappings)

    async def _create(
        self, claim: Object, allocation: Object, pod: Object, mappings: Sequence[Object]
    ) -> None:
        """Create the claim for extended resources, and tell the pod its name."""
        claim = await self._client.create(CLAIMS, claim)
        try:
            claim = await self._write(claim, allocation, pod)
            told = {"resourceClaimName": claim["metadata"]["name"], "requestMappings": mappings}

            def telling(current: Object) -> Object:
                if current["metadata"]["uid"] != pod["metadata"]["uid"]:
                    raise _conflict("the pod was replaced meanwhile")
                status = {**current["status"], "extendedResourceClaimStatus": told}
                return {**current, "status": status}

            place = pod["metadata"]["namespace"], pod["metadata"]["name"]
            await self._client.change(PODS, *place, telling, "status", "patch")
        except StatusError:
            await self._delete(claim)
            raise

    async def _delete(self, claim: Object) -> None:
        metadata = claim["metadata"]
        place = metadata["namespace"], metadata["name"]

        def unprotected(current: Object) -> Object:
            return without_finalizer(current, self._finalizer)

        try:
            await self._client.change(CLAIMS, *place, unprotected)
        except StatusError as error:
            if error.code != 404:
                raise
        await self._client.delete(CLAIMS, *place)

    async def remove_stale(self, pod: Object) -> None:
        """Delete the claims for extended resources of earlier attempts. Raises StatusError."""
        for version in self._client.collection(CLAIMS).newest(pod["metadata"]["namespace"]):
            if version.mentions(self._extended_claim, "true") and is_owned_by(
                version.object(), pod
            ):
                await self._delete(version.object())

    async def release(self, pod: Object, claims: Sequence[Object]) -> None:
        """Give back the devices of claims that no other pod uses, so that others can be tried.
        Raises StatusError."""

        def released(current: Object) -> Object:
            status = current.get("status") or {}
            uid = pod["metadata"]["uid"]
            others = [each for each in status.get("reservedFor") or () if each["uid"] != uid]
            return current if others else {**current, "status": {}}

        for claim in claims:
            metadata = claim["metadata"]
            place = metadata["namespace"], metadata["name"]
            await self._client.change(CLAIMS, *place, released, "status")
        await self.remove_stale(pod)

    async def _write(self, claim: Object, allocation: Object | None, pod: Object) -> Object:
        metadata = claim["metadata"]
        place = metadata["namespace"], metadata["name"]
        if allocation is not None and self._finalizer not in (metadata.get("finalizers") or ()):

            def protected(current: Object) -> Object:
                finalizers = [*(current["metadata"].get("finalizers") or ()), self._finalizer]
                return {**current, "metadata": {**current["metadata"], "finalizers": finalizers}}

            claim = await self._client.change(CLAIMS, *place, protected)
        if allocation is None and is_reserved_for(claim, pod):
            return claim

        def reserved(current: Object) -> Object:
            status = dict(current.get("status") or {})
            if allocation is not None:
                if status.get("allocation") is not None:
                    raise _conflict("the claim was allocated meanwhile")
                status["allocation"] = {**allocation, "allocationTimestamp": now()}
            status["reservedFor"] = [*(status.get("reservedFor") or ()), consumer_of(pod)]
            return {**current, "status": status}

        return await self._client.change(CLAIMS, *place, reserved, "status")


def _conflict(text: str) -> StatusError:
    return StatusError(409, "Conflict", text)
