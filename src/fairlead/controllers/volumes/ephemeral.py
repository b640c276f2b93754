"""Creates claims for the ephemeral volumes of pods; the pod owns them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from fairlead.base.errors import StatusError
from fairlead.controllers.events import WARNING, Recorder
from fairlead.controllers.framework import Keys
from fairlead.controllers.volumes.facts import is_going
from fairlead.controllers.volumes.index import Links
from fairlead.controllers.volumes.names import CLAIMS, PODS
from fairlead.controllers.volumes.pods import (
    ephemeral_claim_name,
    ephemeral_claims_of,
    is_made_for,
    may_have_ephemeral,
)
from fairlead.operations.api import Api, Object
from fairlead.operations.client import Client
from fairlead.storage.version import Change


class EphemeralClaims:
    """Keys are `namespace/name` of pods."""

    workers = 1

    def __init__(self, api: Api, client: Client, recorder: Recorder) -> None:
        self._client = client
        self._recorder = recorder
        self._pods = api.resources.named(PODS)
        self._needed = Links()  # claims to `pod/claim` of the pods that need them

    def follows(self) -> Mapping[str, Keys]:
        return {PODS: self._new_pod, CLAIMS: self._pods_of_lost_claim}

    def _new_pod(self, change: Change) -> Iterable[str]:
        """Index the claims of a pod; returns new pods only. Volumes of a pod are immutable, and a
        deleted claim causes its own event."""
        version = change.after or change.before
        if version is None or not may_have_ephemeral(version):
            return ()
        for name in ephemeral_claims_of(version.object()):
            claim = f"{change.namespace}/{name}"
            self._needed.set(f"{change.key}/{name}", None if change.deleted else claim)
        return (change.key,) if change.added else ()

    def _pods_of_lost_claim(self, change: Change) -> Iterable[str]:
        """Pods whose claim was deleted: it is created again, or a foreign claim no longer blocks
        the name."""
        if not change.deleted:
            return ()
        return [entry.rpartition("/")[0] for entry in self._needed.keys_of(change.key)]

    async def sync(self, key: str) -> None:
        namespace, _, name = key.partition("/")
        pod = self._client.find(PODS, namespace, name)
        if pod is None or is_going(pod):
            return
        for volume in pod["spec"].get("volumes") or ():
            if volume.get("ephemeral"):
                await self._ensure(pod, volume)

    async def _ensure(self, pod: Object, volume: Object) -> None:
        """Create the claim of a volume if missing. A foreign claim of that name is left alone."""
        metadata, name = pod["metadata"], ephemeral_claim_name(pod, volume)
        namespace = metadata["namespace"]
        claim = self._client.find(CLAIMS, namespace, name)
        if claim is None:
            try:
                await self._client.create(CLAIMS, _claim_for(pod, volume))
            except StatusError as error:
                self._record(pod, volume, f"create PVC {name}: {error}")
                raise
        elif not is_made_for(claim, pod):
            message = (
                f"PVC {namespace}/{name} was not created for pod {namespace}/{metadata['name']}"
            )
            self._record(pod, volume, f"{message} (pod is not owner)")

    def _record(self, pod: Object, volume: Object, text: str) -> None:
        text = f"ephemeral volume {volume['name']}: {text}"
        self._recorder.record(self._pods, pod, WARNING, "FailedBinding", text)


def _claim_for(pod: Object, volume: Object) -> Object:
    template = volume["ephemeral"]["volumeClaimTemplate"]
    template_metadata = template.get("metadata") or {}
    owner = {
        "apiVersion": "v1",
        "kind": "Pod",
        "name": pod["metadata"]["name"],
        "uid": pod["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }
    metadata = {
        "name": ephemeral_claim_name(pod, volume),
        "namespace": pod["metadata"]["namespace"],
        **{
            name: template_metadata[name]
            for name in ("annotations", "labels")
            if template_metadata.get(name)
        },
        "ownerReferences": [owner],
    }
    return {"metadata": metadata, "spec": template["spec"], "status": {}}
