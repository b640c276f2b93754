"""Registers APIServices for the group versions that this server serves."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping

from fairlead.base.dialect import Dialect
from fairlead.base.errors import StatusError
from fairlead.controllers.aggregation.local import LocalVersions
from fairlead.controllers.aggregation.registry import API_SERVICES, Registration
from fairlead.controllers.framework import Keys
from fairlead.operations.api import Object
from fairlead.operations.client import Client
from fairlead.operations.options import DeleteOptions
from fairlead.resources.custom.definition import DEFINITIONS
from fairlead.storage.version import Change, Version

# Values of the label on our own APIServices: managed at start only, or always.
_AT_START, _ALWAYS = "onstart", "true"
_ATTEMPTS = 3


class LocalServices:
    """Keys are names of APIServices. While they have the label, changes are reverted. A deleted one
    is created again: immediately for a definition, at the next start for a built-in group."""

    name = "autoregister"
    workers = 5

    def __init__(self, client: Client, dialect: Dialect, local: LocalVersions) -> None:
        self._client = client
        self._local = local
        self._label = dialect.label("kube-aggregator.@/automanaged")
        self._existing_at_start: frozenset[str] = frozenset()
        self._synced: set[str] = set()  # synced since the start

    async def register(self) -> None:
        """Sync the APIServices of built-in groups at start, concurrently to share commits. The
        others follow later."""
        if not self._client.serves(API_SERVICES):
            return
        existing = self._client.collection(API_SERVICES).current("")
        self._existing_at_start = frozenset(version.key for version in existing)
        await asyncio.gather(*map(self._sync_with_retries, self._local.builtin()))

    async def _sync_with_retries(self, name: str) -> None:
        """Sync with retries after conflicts: another server may do the same."""
        for _ in range(_ATTEMPTS - 1):
            try:
                await self.sync(name)
                return
            except StatusError as error:
                if error.code != 409:
                    raise
        await self.sync(name)

    def follows(self) -> Mapping[str, Keys]:
        return {API_SERVICES: lambda change: (change.key,), DEFINITIONS: self._versions}

    def _versions(self, change: Change) -> Iterable[str]:
        """Names of the APIServices of a definition's versions before and after a change. A replayed
        definition is not decoded: the names come from its group."""
        group = change.name.partition(".")[2]
        names = self._local.of_group(group)
        if change.before is not None:
            names += [f"{version}.{group}" for version in _version_names(change.before)]
        return names

    async def sync(self, key: str) -> float | None:
        # Yield to the event loop: there may be thousands, and most need no work.
        await asyncio.sleep(0)
        registered = self._local.registered(key)
        service = self._client.find(API_SERVICES, "", key)
        registration, always = registered or (None, False)
        label = (service["metadata"].get("labels") or {}).get(self._label, "") if service else ""
        if service is None:
            if registration is not None and (always or key not in self._synced):
                await self._create(registration, _ALWAYS if always else _AT_START)
        elif registration is not None:
            if label in (_ALWAYS, _AT_START):
                if "service" in service["spec"] and self._local.is_replaceable(key):
                    await self._release(service)
                else:
                    await self._correct(service, registration)
        elif label == _ALWAYS or (label == _AT_START and self._existed_at_start(key)):
            options = DeleteOptions(uid=service["metadata"]["uid"])
            await self._client.delete(API_SERVICES, "", key, options)
        self._synced.add(key)
        return None

    def _existed_at_start(self, key: str) -> bool:
        """Whether an APIService existed before this start and has not been synced since."""
        return key in self._existing_at_start and key not in self._synced

    async def _create(self, registration: Registration, label: str) -> None:
        metadata = {"name": registration.name, "labels": {self._label: label}}
        await self._client.create(API_SERVICES, {"metadata": metadata, "spec": _spec(registration)})

    async def _release(self, service: Object) -> None:
        """Leave an APIService to the user who registered another server with it."""
        metadata = service["metadata"]
        labels = {name: text for name, text in metadata["labels"].items() if name != self._label}
        await self._client.replace(
            API_SERVICES, {**service, "metadata": {**metadata, "labels": labels}}
        )

    async def _correct(self, service: Object, registration: Registration) -> None:
        if service.get("spec") != _spec(registration):
            await self._client.replace(API_SERVICES, {**service, "spec": _spec(registration)})


def _spec(registration: Registration) -> Object:
    spec: Object = {
        "version": registration.version,
        "groupPriorityMinimum": registration.group_priority,
        "versionPriority": registration.version_priority,
    }
    return {"group": registration.group, **spec} if registration.group else spec


def _version_names(definition: Version) -> list[str]:
    return [version["name"] for version in definition.object()["spec"]["versions"]]
