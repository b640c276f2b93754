"""Claims and volumes that are being deleted stay until nothing uses them.

StorageObjectInUseProtection puts the finalizers on; these controllers take them off.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from fairlead.controllers.framework import Keys
from fairlead.dialect import Dialect
from fairlead.operations.api import Object
from fairlead.operations.client import Client
from fairlead.storage.change import Change

CLAIMS, VOLUMES, PODS = (
    "core/v1/persistentvolumeclaims",
    "core/v1/persistentvolumes",
    "core/v1/pods",
)
_FINISHED = ("Succeeded", "Failed")


def _without(finalizer: str, value: Object) -> Object:
    left = [name for name in value["metadata"].get("finalizers") or () if name != finalizer]
    return {**value, "metadata": {**value["metadata"], "finalizers": left}}


def _waits_for(finalizer: str, value: Object | None) -> bool:
    """Whether an object is being deleted and this finalizer still holds it."""
    if value is None or value["metadata"].get("deletionTimestamp") is None:
        return False
    return finalizer in (value["metadata"].get("finalizers") or ())


def claims_of(pod: Object) -> Iterable[str]:
    """The names of the claims that a pod uses, those made for it included."""
    for volume in pod["spec"].get("volumes") or ():
        if volume.get("persistentVolumeClaim"):
            yield volume["persistentVolumeClaim"]["claimName"]
        elif volume.get("ephemeral"):
            yield f"{pod['metadata']['name']}-{volume['name']}"


def _is_using(pod: Object) -> bool:
    """Pods that no node has taken up, or that are through, hold nothing."""
    if not pod["spec"].get("nodeName"):
        return False
    return (pod.get("status") or {}).get("phase") not in _FINISHED


class ClaimProtection:
    """Keys are `namespace/name` of claims."""

    name = "pvc-protection-controller"
    workers = 1

    def __init__(self, objects: Client, dialect: Dialect) -> None:
        self._objects = objects
        self._finalizer = dialect.pvc_protection

    def follows(self) -> Mapping[str, Keys]:
        return {CLAIMS: self._claim, PODS: self._claims_of_pod}

    def _claim(self, change: Change) -> Iterable[str]:
        return () if change.deleted else (change.key,)

    def _claims_of_pod(self, change: Change) -> Iterable[str]:
        """A pod that ends or goes may have been the last user of its claims."""
        content = change.after or change.before
        if content is None or content.body is None:
            return ()
        if b'"claimName"' not in content.body and b'"ephemeral"' not in content.body:
            return ()
        if not change.deleted and content.fields["status.phase"] not in _FINISHED:
            return ()
        return [f"{change.namespace}/{name}" for name in claims_of(content.object())]

    async def sync(self, key: str) -> float | None:
        namespace, _, name = key.partition("/")
        claim = self._objects.find(CLAIMS, namespace, name)
        if not _waits_for(self._finalizer, claim) or self._is_used(namespace, name):
            return None
        await self._objects.change(
            CLAIMS, namespace, name, lambda old: _without(self._finalizer, old)
        )
        return None

    def _is_used(self, namespace: str, name: str) -> bool:
        return any(
            _is_using(pod) and name in claims_of(pod) for pod in self._objects.list(PODS, namespace)
        )


class VolumeProtection:
    """Keys are names of volumes. A volume that is bound to a claim is in use."""

    name = "pv-protection-controller"
    workers = 1

    def __init__(self, objects: Client, dialect: Dialect) -> None:
        self._objects = objects
        self._finalizer = dialect.pv_protection

    def follows(self) -> Mapping[str, Keys]:
        return {VOLUMES: lambda change: () if change.deleted else (change.name,)}

    async def sync(self, key: str) -> float | None:
        volume = self._objects.find(VOLUMES, "", key)
        if volume is None or not _waits_for(self._finalizer, volume):
            return None
        if (volume.get("status") or {}).get("phase") == "Bound":
            return None
        await self._objects.change(VOLUMES, "", key, lambda old: _without(self._finalizer, old))
        return None
