"""Indexes and writes the EndpointSlices of one managing controller."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from fairlead.base.dialect import Dialect
from fairlead.operations.api import Object
from fairlead.operations.client import Client
from fairlead.storage.version import Change, Version

SLICES = "discovery/v1/endpointslices"
_MAX_PREFIX_LENGTH = 252  # of a generated name, without the dash


@dataclass(slots=True)
class Plan:
    """Slices to write; new ones have no name yet."""

    create: list[Object] = field(default_factory=list)
    update: list[Object] = field(default_factory=list)
    delete: list[Object] = field(default_factory=list)

    def add(self, other: Plan) -> None:
        self.create += other.create
        self.update += other.update
        self.delete += other.delete

    def reuse(self, owner: str) -> None:
        """Turn deletes of the owner's slices into updates with the content of new ones."""
        for old in list(self.delete):
            if not self.create:
                return
            new = self.create[-1]
            if old["addressType"] == new["addressType"] and is_owned(old, owner):
                self.create.pop()
                self.delete.remove(old)
                self.update.append(put_over(old, new))


def put_over(old: Object, new: Object) -> Object:
    """The new slice with the identity of an old one."""
    return {**new, "metadata": {**old["metadata"], **new["metadata"]}}


def is_owned(value: Object, owner: str) -> bool:
    """Whether the object with this uid is the controller of a slice."""
    owners = value["metadata"].get("ownerReferences") or ()
    return any(reference["uid"] == owner and reference.get("controller") for reference in owners)


def new_metadata(kind: str, owner: Object, labels: Mapping[str, str]) -> Object:
    """Metadata of a slice owned by a Service or Endpoints."""
    metadata = owner["metadata"]
    name = metadata["name"]
    reference = {
        "apiVersion": "v1",
        "kind": kind,
        "name": name,
        "uid": metadata["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }
    return {
        "generateName": f"{name}-" if len(name) <= _MAX_PREFIX_LENGTH else name,
        "namespace": metadata["namespace"],
        "labels": labels,
        "ownerReferences": [reference],
    }


class ServiceSlices:
    """Slices by service. Ignores events of this controller's own writes."""

    def __init__(self, objects: Client, dialect: Dialect, manager: str) -> None:
        self._objects = objects
        self._slices = objects.collection(SLICES)
        self.service_label = dialect.label("@/service-name")
        self.manager_label = dialect.label("endpointslice.@/managed-by")
        self.manager = dialect.group_name(manager)
        self._by_service: dict[str, dict[str, None]] = {}
        self._written: dict[str, int] = {}  # revisions of own writes, by key

    def changed(self, change: Change) -> Iterable[str]:
        """Keys of the services whose slices another client changed."""
        keys = {self._service(version) for version in (change.before, change.after)} - {""}
        if change.after is not None and (service := self._service(change.after)):
            self._by_service.setdefault(service, {})[change.key] = None
        own = self._written.get(change.key)
        if own is not None and change.revision >= own:
            del self._written[change.key]
        return () if own == change.revision else keys

    def _service(self, version: Version | None) -> str:
        """The service of a slice that this controller manages, or empty."""
        if version is None or version.labels.get(self.manager_label) != self.manager:
            return ""
        name = version.labels.get(self.service_label)
        return f"{version.namespace}/{name}" if name else ""

    def of(self, service: str) -> list[Object]:
        """The slices of a service that are not being deleted."""
        keys = self._by_service.get(service, {})
        slices = []
        for key in sorted(keys):
            version = self._slices.get(key)
            if version is None or self._service(version) != service:
                del keys[key]
                continue
            value = version.object()
            if value["metadata"].get("deletionTimestamp") is None:
                slices.append(value)
        if not keys:
            self._by_service.pop(service, None)
        return slices

    async def carry_out(self, plan: Plan) -> None:
        """Execute a plan: creates and updates first, then deletes."""
        for batch in (
            [*map(self._create, plan.create), *map(self._update, plan.update)],
            [*map(self._delete, plan.delete)],
        ):
            results = await asyncio.gather(*batch, return_exceptions=True)
            for result in results:
                if isinstance(result, BaseException):
                    raise result

    async def _create(self, value: Object) -> None:
        self._note(await self._objects.create(SLICES, value))

    async def _update(self, value: Object) -> None:
        self._note(await self._objects.replace(SLICES, value))

    def _note(self, value: Object) -> None:
        metadata = value["metadata"]
        key = f"{metadata['namespace']}/{metadata['name']}"
        service = f"{metadata['namespace']}/{metadata['labels'][self.service_label]}"
        self._by_service.setdefault(service, {})[key] = None
        self._written[key] = int(metadata["resourceVersion"])

    async def _delete(self, value: Object) -> None:
        metadata = value["metadata"]
        await self._objects.delete(SLICES, metadata["namespace"], metadata["name"])
