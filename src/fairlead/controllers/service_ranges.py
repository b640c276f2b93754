"""The ranges and addresses of services as objects: ServiceCIDR and IPAddress.

`ServiceRanges` keeps finalizers and conditions of ServiceCIDRs. `DefaultServiceRange` keeps the
ServiceCIDR of the configured range. `AddressRepair` makes IPAddress objects agree with services: a
server writes both in one commit, but it deletes them in two, and services of earlier releases have
no IPAddress.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from fairlead.base import clock
from fairlead.base.dialect import Dialect
from fairlead.base.errors import StatusError
from fairlead.codec.types.times import now, parse_time
from fairlead.controllers.framework import Keys
from fairlead.controllers.workloads.statuses import without_condition
from fairlead.operations.api import Object
from fairlead.operations.client import Client
from fairlead.operations.options import DeleteOptions
from fairlead.resources.core.addresses import Network, parse_address, parse_network
from fairlead.resources.core.services.allocation import ServiceAllocators, cluster_addresses
from fairlead.resources.core.services.claims import (
    IP_ADDRESSES,
    SERVICE_RANGES,
    manager_label,
    parent_reference,
)
from fairlead.storage.version import Change

SERVICES = "core/v1/services"
# Other servers may allocate from a range until they see that it is being deleted.
_DELETION_DELAY = 10.0
_READY = "Kubernetes Service CIDR is ready"
_DEFAULT_READY = "Kubernetes default Service CIDR is ready"
_STILL_USED = (
    "There are still IPAddresses referencing the ServiceCIDR, please remove them or create a new"
    " ServiceCIDR"
)


def _networks(service_range: Object) -> list[Network]:
    parsed = map(parse_network, service_range["spec"].get("cidrs") or ())
    return [network for network in parsed if network is not None]


def _condition(status: str, reason: str, message: str) -> Object:
    return {
        "type": "Ready",
        "status": status,
        "lastTransitionTime": now(),
        "reason": reason,
        "message": message,
    }


def _ready_condition(service_range: Object) -> Object | None:
    conditions = (service_range.get("status") or {}).get("conditions") or ()
    return next((condition for condition in conditions if condition["type"] == "Ready"), None)


async def _set_condition(client: Client, service_range: Object, new: Object) -> None:
    old = _ready_condition(service_range)
    names = ("status", "reason", "message")
    if old is not None and all(old.get(name, "") == new[name] for name in names):
        return

    def changed(current: Object) -> Object:
        status = current.get("status") or {}
        conditions = [*without_condition(status.get("conditions") or [], "Ready"), new]
        return {**current, "status": {**status, "conditions": conditions}}

    name = service_range["metadata"]["name"]
    await client.change(SERVICE_RANGES, "", name, changed, "status", "patch")


async def _create(client: Client, resource: str, value: Object) -> None:
    """Create an object; succeeds if another server has created it."""
    try:
        await client.create(resource, value)
    except StatusError as error:
        if error.code != 409:
            raise


class ServiceRanges:
    """Keys are names of ServiceCIDRs."""

    name = "service-cidr-controller"
    workers = 1

    def __init__(self, client: Client, dialect: Dialect) -> None:
        self._client = client
        self._manager = manager_label(dialect)
        self._finalizer = dialect.group_name("networking.@/service-cidr-finalizer")

    def follows(self) -> Mapping[str, Keys]:
        return {SERVICE_RANGES: self._range, IP_ADDRESSES: self._address}

    def _range(self, change: Change) -> Iterable[str]:
        """The range and those that overlap with it, whose deletion it may allow."""
        version = change.after or change.before
        if version is None:
            return ()
        mine = _networks(version.object())
        others = (
            service_range["metadata"]["name"]
            for service_range in self._client.list(SERVICE_RANGES)
            if any(
                a.version == b.version and a.overlaps(b)
                for a in mine
                for b in _networks(service_range)
            )
        )
        return {change.key, *others}

    def _address(self, change: Change) -> Iterable[str]:
        """The ranges in deletion that an address holds up."""
        address = parse_address(change.key)
        if address is None or (change.after is not None and change.before is not None):
            return ()
        return [
            service_range["metadata"]["name"]
            for service_range in self._client.list(SERVICE_RANGES)
            if service_range["metadata"].get("deletionTimestamp")
            and any(address in network for network in _networks(service_range))
        ]

    async def sync(self, key: str) -> float | None:
        value = self._client.find(SERVICE_RANGES, "", key)
        if value is None:
            return None
        deleted = value["metadata"].get("deletionTimestamp")
        if deleted:
            return await self._finish(value, deleted)
        await self._set_finalizer(value, wanted=True)
        await _set_condition(self._client, value, _condition("True", "", _READY))
        return None

    async def _finish(self, value: Object, deleted: str) -> float | None:
        if self._is_needed(value):
            new = _condition("False", "Terminating", _STILL_USED)
            await _set_condition(self._client, value, new)
            return None
        passed = (clock.now() - parse_time(deleted)).total_seconds()
        if passed < _DELETION_DELAY:
            return _DELETION_DELAY - passed
        await self._set_finalizer(value, wanted=False)
        return None

    def _is_needed(self, value: Object) -> bool:
        """Whether addresses of the range are in no other range."""
        name = value["metadata"]["name"]
        others = [
            network
            for service_range in self._client.list(SERVICE_RANGES)
            if service_range["metadata"]["name"] != name
            for network in _networks(service_range)
        ]
        alone = [network for network in _networks(value) if not _is_within(network, others)]
        if not alone:
            return False
        label, allocator = self._manager
        for version in self._client.collection(IP_ADDRESSES).current(""):
            address = parse_address(version.name)
            if (
                address is not None
                and any(address in network for network in alone)
                and not any(address in network for network in others)
                and version.labels.get(label) == allocator
            ):
                return True
        return False

    async def _set_finalizer(self, value: Object, *, wanted: bool) -> None:
        finalizers = value["metadata"].get("finalizers") or []
        if (self._finalizer in finalizers) is wanted:
            return

        def changed(current: Object) -> Object:
            rest = [
                finalizer
                for finalizer in current["metadata"].get("finalizers") or ()
                if finalizer != self._finalizer
            ]
            new = [*rest, self._finalizer] if wanted else rest
            return {**current, "metadata": {**current["metadata"], "finalizers": new}}

        name = value["metadata"]["name"]
        await self._client.change(SERVICE_RANGES, "", name, changed, verb="patch")


def _is_within(network: Network, others: Sequence[Network]) -> bool:
    return any(
        network.version == other.version
        and network.network_address in other
        and other.prefixlen <= network.prefixlen
        for other in others
    )


class DefaultServiceRange:
    """There is one key, the name of the ServiceCIDR of the configured ranges."""

    name = "default-service-cidr"
    workers = 1

    def __init__(self, client: Client, name: str, cidrs: list[str]) -> None:
        self._client = client
        self._name = name
        self._cidrs = cidrs

    def add_by(self, add: Callable[[str], None]) -> None:
        """Queue the key at start: a new server has no ServiceCIDR."""
        add(self._name)

    def follows(self) -> Mapping[str, Keys]:
        return {SERVICE_RANGES: lambda change: (change.key,) if change.key == self._name else ()}

    async def sync(self, key: str) -> float | None:
        value = self._client.find(SERVICE_RANGES, "", key)
        if value is None:
            value = {"metadata": {"name": key}, "spec": {"cidrs": list(self._cidrs)}}
            await _create(self._client, SERVICE_RANGES, value)
        elif value["metadata"].get("deletionTimestamp"):
            pass
        elif len(self._cidrs) == 2 and value["spec"].get("cidrs") == self._cidrs[:1]:
            await self._client.replace(
                SERVICE_RANGES, {**value, "spec": {"cidrs": list(self._cidrs)}}
            )
        elif value["spec"].get("cidrs") == self._cidrs and _ready_condition(value) is None:
            new = _condition("True", "", _DEFAULT_READY)
            await _set_condition(self._client, value, new)
        return None


class AddressRepair:
    """Keys are addresses."""

    name = "service-ip-repair"
    workers = 1

    def __init__(self, client: Client, allocators: ServiceAllocators) -> None:
        assert allocators.objects is not None
        self._client = client
        self._allocators = allocators
        self._objects = allocators.objects

    def follows(self) -> Mapping[str, Keys]:
        return {SERVICES: self._addresses, IP_ADDRESSES: lambda change: (change.key,)}

    def _addresses(self, change: Change) -> Iterable[str]:
        keys: set[str] = set()
        for version in (change.before, change.after):
            if version is not None:
                keys.update(cluster_addresses(version.object()["spec"]))
        return keys

    async def sync(self, key: str) -> float | None:
        value = self._client.find(IP_ADDRESSES, "", key)
        if value is not None:
            await self._check(key, value)
            return None
        for service in self._allocators.services_of(key)[:1]:
            address = {
                "metadata": {"name": key, "labels": self._objects.labels(key)},
                "spec": {"parentRef": parent_reference(*service.split("/"))},
            }
            await _create(self._client, IP_ADDRESSES, address)
        return None

    async def _check(self, key: str, value: Object) -> None:
        """Delete the IPAddress of a service that no longer has the address."""
        reference = value["spec"].get("parentRef") or {}
        if reference.get("resource") != "services" or not self._objects.is_managed(value):
            return
        namespace, name = reference.get("namespace", ""), reference.get("name", "")
        service = self._client.find(SERVICES, namespace, name)
        if service is None or key not in cluster_addresses(service["spec"]):
            options = DeleteOptions(uid=value["metadata"]["uid"])
            await self._client.delete(IP_ADDRESSES, "", key, options)
