"""Binds claims and volumes, and reclaims volumes when their claim is deleted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from fairlead.controllers.events import Recorder
from fairlead.controllers.framework import Keys
from fairlead.controllers.volumes.claim_reconciler import BinderParts, ClaimRules
from fairlead.controllers.volumes.facts import claim_key_of
from fairlead.controllers.volumes.names import CLAIMS, CLASSES, PODS, VOLUMES
from fairlead.controllers.volumes.pods import claims_of, may_use_claims
from fairlead.controllers.volumes.recycler import RECYCLER_NAMESPACE, RECYCLER_PREFIX
from fairlead.controllers.volumes.volume_reconciler import VolumeRules
from fairlead.operations.api import Api, Object
from fairlead.operations.client import Client
from fairlead.storage.version import Change, Version


class VolumeBinder:
    """Keys are `namespace/name` of claims and names of volumes. One worker, so a claim never gets
    two volumes; writes by others cause a conflict and a retry."""

    workers = 1

    def __init__(self, api: Api, client: Client, recorder: Recorder) -> None:
        parts = BinderParts.of(api, client, recorder)
        self._client = client
        self._index = parts.index
        self._claims = ClaimRules(parts)
        self._volumes = VolumeRules(parts, self._claims)

    def follows(self) -> Mapping[str, Keys]:
        return {
            CLAIMS: self._claim,
            VOLUMES: self._volume,
            CLASSES: self._claims_of_class,
            PODS: self._touched_by_pod,
        }

    def _claim(self, change: Change) -> Iterable[str]:
        before, after = _objects(change)
        self._index.update_claim(change.key, after)
        named = [claim["spec"].get("volumeName") for claim in (before, after) if claim]
        volumes = {*named, *self._index.reserved.keys_of(change.key)}
        return change.key, *(name for name in volumes if name)

    def _volume(self, change: Change) -> Iterable[str]:
        before, after = _objects(change)
        self._index.update_volume(change.key, after)
        claim_keys = [claim_key_of(volume) for volume in (before, after) if volume]
        claims = {*claim_keys, *self._index.named.keys_of(change.key)}
        return change.key, *(key for key in claims if key)

    def _claims_of_class(self, change: Change) -> Iterable[str]:
        return self._index.waiting.of_class(change.key)

    def _touched_by_pod(self, change: Change) -> Iterable[str]:
        """Keys that wait for pods: claims that wait for their first consumer, volumes in use, and
        volumes being recycled."""
        version = change.after or change.before
        if version is None:
            return ()
        if change.namespace == RECYCLER_NAMESPACE and change.name.startswith(RECYCLER_PREFIX):
            return (change.name.removeprefix(RECYCLER_PREFIX),)
        if not may_use_claims(version):
            return ()
        return self._waiting_for(version)

    def _waiting_for(self, version: Version) -> Iterable[str]:
        for name in claims_of(version.object()):
            key = f"{version.namespace}/{name}"
            if key in self._index.waiting:
                yield key
            elif self._client.collection(CLAIMS).get(key) is None:
                yield from self._index.reserved.keys_of(key)

    async def sync(self, key: str) -> None:
        namespace, slash, name = key.partition("/")
        if slash:
            claim = self._client.find(CLAIMS, namespace, name)
            if claim is not None:
                await self._claims.reconcile(claim)
        else:
            volume = self._client.find(VOLUMES, "", key)
            if volume is not None:
                await self._volumes.reconcile(volume)


def _objects(change: Change) -> tuple[Object | None, Object | None]:
    before, after = change.before, change.after
    return before.object() if before else None, after.object() if after else None
