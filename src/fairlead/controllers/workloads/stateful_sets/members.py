"""Creates, repairs and deletes the pods of StatefulSets and records an event for each."""

from __future__ import annotations

from fairlead.base.errors import StatusError
from fairlead.controllers.events import NORMAL, WARNING, Recorder
from fairlead.controllers.workloads.pod_control import is_namespace_terminating
from fairlead.controllers.workloads.pods import PODS, Pod
from fairlead.controllers.workloads.stateful_sets.identity import (
    Identities,
    Retention,
    claim_names,
    claims,
    has_claims,
    keeps_when_scaled,
    pod_name,
)
from fairlead.operations.api import Object
from fairlead.operations.client import Client
from fairlead.operations.options import DeleteOptions
from fairlead.resources.registry import Resource

CLAIMS = "core/v1/persistentvolumeclaims"


class Members:
    """The pods and claims of StatefulSets. Without `retention`, claims get no owner references."""

    def __init__(
        self,
        objects: Client,
        events: Recorder,
        resource: Resource,
        identities: Identities,
        retention: Retention | None,
    ) -> None:
        self._objects = objects
        self._events = events
        self._resource = resource
        self._identities = identities
        self._retention = retention

    async def create(self, owner: Object, ordinal: int, revision: str) -> None:
        """Create the pod and missing claims; does nothing while claims of the previous pod are
        still to be deleted."""
        name = pod_name(owner, ordinal)
        if self._is_waiting(owner, ordinal):
            return
        try:
            await self._have_claims(owner, ordinal)
            await self._own_claims(owner, ordinal, "")
            await self._objects.create(PODS, self._identities.pod(owner, ordinal, revision))
        except StatusError as error:
            if error.reason != "AlreadyExists" and not is_namespace_terminating(error):
                self._record(owner, "create", name, error)
            raise
        self._record(owner, "create", name)

    async def correct(self, owner: Object, ordinal: int, pod: Pod) -> None:
        """Restore the name label, claims and claim owners of a pod."""
        labelled, claimed = self._identities.is_labelled(pod), has_claims(owner, ordinal, pod)
        if labelled and claimed and self.owns_claims(owner, ordinal, pod):
            return

        def corrected(current: Object) -> Object:
            value = self._identities.with_name_label(current)
            return self._identities.with_claims(owner, ordinal, value)

        try:
            if not claimed:
                await self._have_claims(owner, ordinal)
            await self._own_claims(owner, ordinal, pod.uid)
            await self._objects.change(PODS, pod.namespace, pod.name, corrected)
        except StatusError as error:
            self._record(owner, "update", pod.name, error)
            raise
        self._record(owner, "update", pod.name)

    async def remove(self, owner: Object, pod: Pod) -> None:
        try:
            options = DeleteOptions(uid=pod.uid)
            await self._objects.delete(PODS, pod.namespace, pod.name, options)
        except StatusError as error:
            self._record(owner, "delete", pod.name, error)
            raise
        self._record(owner, "delete", pod.name)

    async def replace_failed(self, owner: Object, pod: Pod) -> bool:
        """Delete a failed pod; returns whether it is gone."""
        if not pod.deleting:
            metadata = owner["metadata"]
            text = f"StatefulSet {metadata['namespace']}/{metadata['name']} is recreating failed"
            text += f" Pod {pod.name}"
            self._events.record(self._resource, owner, WARNING, "RecreatingFailedPod", text)
            await self.remove(owner, pod)
        return self._objects.find(PODS, pod.namespace, pod.name) is None

    async def own_claims(self, owner: Object, ordinal: int, pod: Pod) -> None:
        """Set the owners of a surplus pod's claims according to the retention policy."""
        await self._own_claims(owner, ordinal, pod.uid)

    def owns_claims(self, owner: Object, ordinal: int, pod: Pod) -> bool:
        """Whether the claims of a pod have the owners that the retention policy requires."""
        if self._retention is None:
            return True
        return all(
            (claim["metadata"].get("ownerReferences") or [])
            == self._retention.references(owner, ordinal, pod.uid, claim)
            for claim in self._claims(owner, ordinal)
        )

    def _claims(self, owner: Object, ordinal: int) -> list[Object]:
        """The existing claims of a pod."""
        namespace = owner["metadata"]["namespace"]
        templates = (
            self._objects.find(CLAIMS, namespace, name)
            for name in claim_names(owner, ordinal).values()
        )
        return [claim for claim in templates if claim is not None]

    def _is_waiting(self, owner: Object, ordinal: int) -> bool:
        retention = self._retention
        if retention is None or keeps_when_scaled(owner):
            return False
        return any(
            retention.is_deleted_with_other(owner, ordinal, claim)
            for claim in self._claims(owner, ordinal)
        )

    async def _have_claims(self, owner: Object, ordinal: int) -> None:
        wrong = []
        for claim in claims(owner, ordinal):
            metadata = claim["metadata"]
            existing = self._objects.find(CLAIMS, metadata["namespace"], metadata["name"])
            if existing is None:
                wrong.append(await self._make_claim(owner, ordinal, claim))
            elif existing["metadata"].get("deletionTimestamp") is not None:
                wrong.append(f"pvc {metadata['name']} is being deleted")
        problems = [text for text in wrong if text]
        if problems:
            text = problems[0] if len(problems) == 1 else f"[{', '.join(problems)}]"
            raise StatusError(409, "Conflict", text)

    async def _make_claim(self, owner: Object, ordinal: int, claim: Object) -> str:
        """Create a claim; returns an error text or ""."""
        name, pod = claim["metadata"]["name"], pod_name(owner, ordinal)
        within = f"Pod {pod} in StatefulSet {owner['metadata']['name']}"
        try:
            await self._objects.create(CLAIMS, claim)
        except StatusError as error:
            if is_namespace_terminating(error):
                raise
            if error.reason != "AlreadyExists":
                text = f"create Claim {name} for {within} failed error: {error}"
                self._events.record(self._resource, owner, WARNING, "FailedCreate", text)
            return f"failed to create PVC {name}: {error}"
        text = f"create Claim {name} {within} success"
        self._events.record(self._resource, owner, NORMAL, "SuccessfulCreate", text)
        return ""

    async def _own_claims(self, owner: Object, ordinal: int, pod_uid: str) -> None:
        """Set the owner references of a pod's claims according to the policy."""
        retention = self._retention
        if retention is None:
            return

        def owned(claim: Object) -> Object:
            metadata = {**claim["metadata"]}
            metadata["ownerReferences"] = retention.references(owner, ordinal, pod_uid, claim)
            return {**claim, "metadata": metadata}

        for claim in self._claims(owner, ordinal):
            references = owned(claim)["metadata"]["ownerReferences"]
            if references == (claim["metadata"].get("ownerReferences") or []):
                continue
            metadata = claim["metadata"]
            await self._objects.change(CLAIMS, metadata["namespace"], metadata["name"], owned)

    def _record(self, owner: Object, verb: str, pod: str, error: StatusError | None = None) -> None:
        text = f"{verb} Pod {pod} in StatefulSet {owner['metadata']['name']}"
        if error is None:
            kind, reason, text = NORMAL, f"Successful{verb.title()}", f"{text} successful"
        else:
            kind, reason, text = WARNING, f"Failed{verb.title()}", f"{text} failed error: {error}"
        self._events.record(self._resource, owner, kind, reason, text)
