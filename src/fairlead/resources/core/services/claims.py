"""Claims of addresses and ports that are stored in the commit of a service, so that two servers of
a store do not allocate the same value.

A reservation exists in the memory of one server; another server may choose the same value before it
sees the service. So a key for the value (`Claims`), or the IPAddress object of an address
(`AddressObjects`), is written in the same commit: of two servers that want a value, one finds it
changed. Keys are never deleted. A key alone does not mean that a value is in use: a server that
finds the value free among the services may write its key again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from fairlead.base.dialect import Dialect
from fairlead.codec.types.model import Object
from fairlead.codec.types.times import new_uid, now
from fairlead.resources.core.addresses import family_of
from fairlead.storage.backend import ConditionFailed
from fairlead.storage.collection import Collection
from fairlead.storage.store import Store
from fairlead.storage.writes import Companion

CLAIMS = "fairlead/serviceclaims"
IP_ADDRESSES = "networking/v1/ipaddresses"
SERVICE_RANGES = "networking/v1/servicecidrs"


class Claims:
    def __init__(self, store: Store) -> None:
        self._store = store
        self._collection = store.collection(CLAIMS)

    def of(self, names: Iterable[str]) -> list[Companion]:
        """The companions to write with a service that takes these values."""
        return [
            Companion(
                self._collection,
                {"metadata": {"name": name}},
                self._collection.latest(name),
                name,
            )
            for name in names
        ]


class AddressObjects:
    """Builds the IPAddress object of an allocated address. A second object with its name cannot be
    created, so of two servers that choose the same address one has to choose again."""

    def __init__(self, collection: Collection, dialect: Dialect) -> None:
        self.collection = collection
        self._api_version = f"{dialect.group_name('networking.@')}/v1"
        self.default_range = dialect.own_service  # the ServiceCIDR of the configured ranges
        self._family_label = dialect.label("ipaddress.@/ip-family")
        self._manager_label, self._allocator = manager_label(dialect)
        self._field_manager = f"{dialect.system_prefix}-apiserver"

    def labels(self, address: str) -> dict[str, str]:
        return {self._family_label: family_of(address), self._manager_label: self._allocator}

    def is_managed(self, value: Object) -> bool:
        """Whether an IPAddress belongs to the allocator, not to another controller."""
        labels = value["metadata"].get("labels") or {}
        return bool(labels.get(self._manager_label) == self._allocator)

    def companion(self, address: str, service: Mapping[str, str]) -> Companion:
        return Companion(self.collection, self._object(address, service), None, address)

    def _object(self, address: str, service: Mapping[str, str]) -> Object:
        created = now()
        reference = parent_reference(service["namespace"], service.get("name", ""))
        entry = {
            "manager": self._field_manager,
            "operation": "Update",
            "apiVersion": self._api_version,
            "time": created,
            "fieldsType": "FieldsV1",
            "fieldsV1": {
                "f:metadata": {"f:labels": {".": {}, **self._owned_labels(address)}},
                "f:spec": {
                    "f:parentRef": {".": {}, **{f"f:{name}": {} for name in sorted(reference)}}
                },
            },
        }
        return {
            "metadata": {
                "name": address,
                "uid": new_uid(),
                "creationTimestamp": created,
                "labels": self.labels(address),
                "managedFields": [entry],
            },
            "spec": {"parentRef": reference},
        }

    def _owned_labels(self, address: str) -> dict[str, Object]:
        return {f"f:{name}": {} for name in sorted(self.labels(address))}


def manager_label(dialect: Dialect) -> tuple[str, str]:
    """The label of the IPAddress objects that belong to the allocator, and its value."""
    return dialect.label("ipaddress.@/managed-by"), dialect.group_name("ipallocator.@")


def parent_reference(namespace: str, name: str) -> dict[str, str]:
    """The reference of an IPAddress to its service."""
    return {"resource": "services", "namespace": namespace, "name": name}


def is_claimed(error: ConditionFailed) -> bool:
    """Whether a write failed because another server allocated one of its values."""
    group, _, name = error.condition.resource.partition("/")
    is_address = name == "ipaddresses" and group.startswith("networking.")
    return is_address or error.condition.resource == CLAIMS
