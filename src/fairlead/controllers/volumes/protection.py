"""Keeps claims and volumes that are being deleted until they are unused.

The admission plugin StorageObjectInUseProtection adds the finalizers. These controllers add missing
ones and remove them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from fairlead.admission.plugins.persistent_volumes import CLASS_PROTECTION
from fairlead.base.dialect import Dialect
from fairlead.controllers.framework import Keys
from fairlead.controllers.versions import may_be_terminating
from fairlead.controllers.volumes.facts import is_going
from fairlead.controllers.volumes.names import BOUND, CLAIMS, PODS, VOLUMES, phase_of
from fairlead.controllers.volumes.pods import (
    claims_of,
    is_made_for,
    may_use_claims,
    plain_claims_of,
    pods_using,
)
from fairlead.operations.api import Object
from fairlead.operations.client import Client
from fairlead.storage.version import Change

ATTRIBUTES_CLASSES = "storage/v1/volumeattributesclasses"
# The fields in which claims and volumes name VolumeAttributesClasses.
CLASS_FIELDS = (
    "volumeAttributesClassName",
    "currentVolumeAttributesClassName",
    "targetVolumeAttributesClassName",
)


class _Protection:
    """Adds a finalizer where it is missing, and removes it from unused objects that are being
    deleted."""

    def __init__(
        self, client: Client, resource: str, finalizer: str, is_used: Callable[[Object], bool]
    ) -> None:
        self._client = client
        self._resource = resource
        self._finalizer = finalizer
        self._is_used = is_used

    async def reconcile(self, namespace: str, name: str) -> None:
        value = self._client.find(self._resource, namespace, name)
        if value is None:
            return
        finalizers = value["metadata"].get("finalizers") or []
        protected = self._finalizer in finalizers
        if not is_going(value):
            if not protected:
                await self._write(value, [*finalizers, self._finalizer])
        elif protected and not self._is_used(value):
            await self._write(value, [name for name in finalizers if name != self._finalizer])

    async def _write(self, value: Object, finalizers: list[str]) -> None:
        metadata = {**value["metadata"], "finalizers": finalizers}
        await self._client.replace(self._resource, {**value, "metadata": metadata})


class ClaimProtection:
    """Keys are `namespace/name` of claims."""

    workers = 1

    def __init__(self, client: Client, dialect: Dialect) -> None:
        self._client = client
        self._protection = _Protection(client, CLAIMS, dialect.pvc_protection, self._is_used)

    def follows(self) -> Mapping[str, Keys]:
        return {CLAIMS: self._claim, PODS: self._claims_of_pod}

    def _claim(self, change: Change) -> Iterable[str]:
        return () if change.deleted else (change.key,)

    def _claims_of_pod(self, change: Change) -> Iterable[str]:
        """Claims of a pod that is deleted or being deleted: it may have been the last user."""
        version = change.after or change.before
        if version is None or not may_use_claims(version):
            return ()
        if not change.deleted and not may_be_terminating(version):
            return ()
        return [f"{change.namespace}/{name}" for name in claims_of(version.object())]

    async def sync(self, key: str) -> None:
        namespace, _, name = key.partition("/")
        await self._protection.reconcile(namespace, name)

    def _is_used(self, claim: Object) -> bool:
        metadata = claim["metadata"]
        pods = pods_using(self._client, metadata["namespace"], metadata["name"])
        return any(_holds(pod, claim) for pod in pods)


def _holds(pod: Object, claim: Object) -> bool:
    """Whether a pod holds a claim. Unscheduled pods do not. A pod whose grace period has ended no
    longer holds its ephemeral claims. A finished pod still holds the claims it references."""
    if not pod["spec"].get("nodeName"):
        return False
    if claim["metadata"]["name"] in plain_claims_of(pod):
        return True
    is_shut_down = is_going(pod) and pod["metadata"].get("deletionGracePeriodSeconds") == 0
    return not is_shut_down and is_made_for(claim, pod)


class VolumeProtection:
    """Keys are names of volumes. A bound volume is in use."""

    workers = 1

    def __init__(self, client: Client, dialect: Dialect) -> None:
        self._protection = _Protection(
            client, VOLUMES, dialect.pv_protection, lambda volume: phase_of(volume) == BOUND
        )

    def follows(self) -> Mapping[str, Keys]:
        return {VOLUMES: lambda change: () if change.deleted else (change.name,)}

    async def sync(self, key: str) -> None:
        await self._protection.reconcile("", key)


class AttributesClassProtection:
    """Keys are names of VolumeAttributesClasses. A class is in use while a claim or a volume names
    it."""

    workers = 1

    def __init__(self, client: Client, dialect: Dialect) -> None:
        self._client = client
        finalizer = dialect.label(CLASS_PROTECTION)
        self._protection = _Protection(client, ATTRIBUTES_CLASSES, finalizer, self._is_used)

    def follows(self) -> Mapping[str, Keys]:
        return {
            ATTRIBUTES_CLASSES: lambda change: () if change.deleted else (change.name,),
            CLAIMS: self._released,
            VOLUMES: self._released,
        }

    def _released(self, change: Change) -> Iterable[str]:
        """The classes that an object no longer names."""
        if change.before is None or not any(map(change.before.mentions, CLASS_FIELDS)):
            return ()
        before = _classes_of(change.before.object())
        return before - (_classes_of(change.after.object()) if change.after else set())

    async def sync(self, key: str) -> None:
        await self._protection.reconcile("", key)

    def _is_used(self, attributes_class: Object) -> bool:
        name = attributes_class["metadata"]["name"]
        return any(
            name in _classes_of(version.object())
            for resource in (CLAIMS, VOLUMES)
            for version in self._client.collection(resource).newest("")
            if any(version.mentions(field, name) for field in CLASS_FIELDS)
        )


def _classes_of(value: Object) -> set[str]:
    """The VolumeAttributesClasses that a claim or a volume names."""
    status = value.get("status") or {}
    names = (
        value["spec"].get("volumeAttributesClassName"),
        status.get("currentVolumeAttributesClassName"),
        (status.get("modifyVolumeStatus") or {}).get("targetVolumeAttributesClassName"),
    )
    return {name for name in names if name}
