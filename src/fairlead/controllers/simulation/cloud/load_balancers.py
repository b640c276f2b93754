"""Gives addresses to Services of type LoadBalancer, as the service controller of a cloud
provider does."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from fairlead.controllers.events import NORMAL, WARNING, Recorder
from fairlead.controllers.framework import Keys, with_fewer
from fairlead.controllers.simulation.behaviour import BehaviourError
from fairlead.controllers.simulation.cloud.addresses import CloudAddresses, NoAddress
from fairlead.controllers.simulation.cloud.settings import (
    BalancerSettings,
    balancer_settings,
    delay_left,
    is_delayed,
    with_delay,
    without_delay,
)
from fairlead.controllers.volumes.facts import key_of
from fairlead.controllers.workloads.statuses import write_status
from fairlead.operations.api import Api, Object
from fairlead.operations.client import Client
from fairlead.resources.core.addresses import V4, family_of
from fairlead.resources.core.services.fields import is_load_balancer
from fairlead.storage.version import HAS_FINALIZERS, Change, Version

SERVICES = "core/v1/services"
LOAD_BALANCER_CLASS = "simulation.fairlead.dev/load-balancer"


class LoadBalancers:
    """Keys are `namespace/name` of Services; the holder of an address is the uid. The status has
    the address, so it stays the same over restarts."""

    name = "simulated-load-balancers"
    workers = 4

    def __init__(
        self, api: Api, client: Client, recorder: Recorder, addresses: CloudAddresses
    ) -> None:
        self._client = client
        self._recorder = recorder
        self._addresses = addresses
        self._services = api.resources.named(SERVICES)
        self._finalizer = api.dialect.label("service.@/load-balancer-cleanup")
        self._add: Callable[[str], None] = lambda key: None

    def add_by(self, add: Callable[[str], None]) -> None:
        self._add = add

    def follows(self) -> Mapping[str, Keys]:
        return {SERVICES: self._service}

    def _service(self, change: Change) -> Iterable[str]:
        before, after = change.before, change.after
        if before is not None and (after is None or after.uid != before.uid):
            self._addresses.keep_only(before.uid)
        if after is not None and _may_concern(after):
            self._addresses.observe(after.uid, self._own_addresses(after.object()))
            return (change.key,)
        return (change.key,) if before is not None and _may_concern(before) else ()

    def _own_addresses(self, service: Object) -> list[str]:
        if not _wants_balancer(service):
            return []
        points = service["status"]["loadBalancer"].get("ingress") or ()
        return [point["ip"] for point in points if point.get("ip")]

    async def sync(self, key: str) -> float | None:
        slot = self._addresses.stop_waiting(key)
        try:
            namespace, _, name = key.partition("/")
            service = self._client.find(SERVICES, namespace, name)
            if service is None:
                return None
            if _wants_balancer(service) and not service["metadata"].get("deletionTimestamp"):
                return await self._ensure(service)
            await self._clean_up(service)
            return None
        finally:
            self._addresses.offer(slot)

    async def _ensure(self, service: Object) -> float | None:
        settings = self._settings(service)
        delay = 0.0 if _points(service) else delay_left(service["status"], settings.delay)
        if not await self._begin(service, delays=delay > 0):
            return None
        if delay > 0:
            return delay
        try:
            points = self._points_for(service, settings)
        except NoAddress as error:
            text = f"Error syncing load balancer: failed to ensure load balancer: {error}"
            self._record(service, WARNING, "SyncLoadBalancerFailed", text)
            if error.slot:
                self._addresses.wait(key_of(service), error.slot, self._add)
            return None
        if [_place(point) for point in _points(service)] != [_place(point) for point in points]:
            await self._show(service, points)
        return None

    async def _begin(self, service: Object, *, delays: bool) -> bool:
        """Write the finalizer, and when a delay began; False if the Service is gone."""
        has_finalizer = self._finalizer in (service["metadata"].get("finalizers") or ())
        if has_finalizer and (not delays or is_delayed(service["status"])):
            return True
        if not has_finalizer:
            self._record(service, NORMAL, "EnsuringLoadBalancer", "Ensuring load balancer")
        return await self._write(service, lambda current: self._begun(current, delays=delays))

    async def _show(self, service: Object, points: list[Object]) -> None:
        if await self._write(service, lambda current: _with_points(current, points)):
            self._record(service, NORMAL, "EnsuredLoadBalancer", "Ensured load balancer")
        else:
            self._addresses.keep_only(service["metadata"]["uid"])

    def _settings(self, service: Object) -> BalancerSettings:
        try:
            return balancer_settings(service["metadata"].get("annotations"))
        except BehaviourError as error:
            self._record(service, WARNING, "InvalidSimulation", str(error))
            return BalancerSettings()

    def _points_for(self, service: Object, settings: BalancerSettings) -> list[Object]:
        """What the status is to show: a host, or an address for each family that has a range."""
        uid, spec = service["metadata"]["uid"], service["spec"]
        if settings.hostname:
            self._addresses.keep_only(uid)
            return [{"hostname": settings.hostname}]
        wanted = spec.get("loadBalancerIP") or ""
        of_service = spec.get("ipFamilies") or [V4]
        families = [family for family in of_service if family in self._addresses.families]
        if not families:
            raise NoAddress(f"there is no range of {of_service[0]} addresses", "")
        if wanted and family_of(wanted) not in families:
            raise NoAddress(f"address {wanted} is in none of the ranges", "")
        taken = [
            self._addresses.take(uid, family, wanted if family_of(wanted) == family else "")
            for family in families
        ]
        self._addresses.keep_only(uid, families)
        return [{"ip": address} for address in taken]

    async def _clean_up(self, service: Object) -> None:
        """Give back the address of a Service that is deleted or has another type."""
        uid = service["metadata"]["uid"]
        if self._finalizer in (service["metadata"].get("finalizers") or ()):
            self._record(service, NORMAL, "DeletingLoadBalancer", "Deleting load balancer")
            await self._write(service, self._cleaned)
            self._record(service, NORMAL, "DeletedLoadBalancer", "Deleted load balancer")
        self._addresses.keep_only(uid)

    def _begun(self, service: Object, *, delays: bool) -> Object:
        metadata = service["metadata"]
        finalizers = metadata.get("finalizers") or []
        if self._finalizer not in finalizers:
            finalizers = [*finalizers, self._finalizer]
        status = with_delay(service["status"]) if delays else service["status"]
        return {**service, "metadata": {**metadata, "finalizers": finalizers}, "status": status}

    def _cleaned(self, service: Object) -> Object:
        metadata = with_fewer(
            service["metadata"], "finalizers", lambda name: name != self._finalizer
        )
        return {**_with_points(service, []), "metadata": metadata}

    async def _write(self, service: Object, change: Callable[[Object], Object]) -> bool:
        """Change the status and finalizers; False if the Service is gone."""
        return await write_status(self._client, self._services, service, change) is not None

    def _record(self, service: Object, kind: str, reason: str, text: str) -> None:
        self._recorder.record(self._services, service, kind, reason, text)


def _may_concern(version: Version) -> bool:
    """False only for Services without a load balancer; does not decode them."""
    return bool(version.hints & HAS_FINALIZERS) or version.mentions("type", "LoadBalancer")


def _wants_balancer(service: Object) -> bool:
    spec = service["spec"]
    return is_load_balancer(spec) and spec.get("loadBalancerClass") in (None, LOAD_BALANCER_CLASS)


def _points(service: Object) -> list[Object]:
    points: list[Object] = service["status"]["loadBalancer"].get("ingress") or []
    return points


def _place(point: Object) -> str:
    return point.get("ip") or point.get("hostname") or ""


def _with_points(service: Object, points: list[Object]) -> Object:
    status = without_delay(service["status"])
    balancer = {"ingress": points} if points else {}
    return {**service, "status": {**status, "loadBalancer": balancer}}
