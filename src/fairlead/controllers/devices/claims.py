"""The controller of ResourceClaims: creates the claims of pods from templates, reserves claims for
pods that another scheduler has placed, and releases them when their pods have finished."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from fairlead.base.dialect import Dialect
from fairlead.base.errors import StatusError
from fairlead.base.slices import TimeSlices
from fairlead.controllers.events import WARNING, Recorder
from fairlead.controllers.framework import Keys, with_fewer
from fairlead.operations.api import Api, Object
from fairlead.operations.client import Client
from fairlead.resources.core.pods import FINISHED
from fairlead.storage.version import Change

PODS = "core/v1/pods"
CLAIMS = "resource/v1/resourceclaims"
TEMPLATES = "resource/v1/resourceclaimtemplates"
CLASSES = "resource/v1/deviceclasses"
SLICES = "resource/v1/resourceslices"
FINALIZER = "resource.@/delete-protection"
_CLAIM_OF_POD = "resource.@/pod-claim-name"
_POD, _CLAIM = "pod:", "claim:"
_FIELDS = ("resourceClaims", "extendedResourceClaimStatus")  # of pods with claims


def claim_names(pod: Object) -> list[str]:
    """The names of the claims of a pod, each once; empty for those that are not created yet."""
    statuses = (pod.get("status") or {}).get("resourceClaimStatuses") or ()
    created = {status["name"]: status.get("resourceClaimName") or "" for status in statuses}
    entries = pod["spec"].get("resourceClaims") or ()
    return list(
        dict.fromkeys(
            entry.get("resourceClaimName") or created.get(entry["name"], "") for entry in entries
        )
    )


def extended_claim_name(pod: Object) -> str:
    """The name of the claim that serves extended resources of a pod; empty if there is none."""
    status = (pod.get("status") or {}).get("extendedResourceClaimStatus") or {}
    return status.get("resourceClaimName") or ""


def consumer_of(pod: Object) -> Object:
    metadata = pod["metadata"]
    return {"resource": "pods", "name": metadata["name"], "uid": metadata["uid"]}


def is_reserved_for(claim: Object, pod: Object) -> bool:
    reserved = (claim.get("status") or {}).get("reservedFor") or ()
    return any(consumer["uid"] == pod["metadata"]["uid"] for consumer in reserved)


def is_owned_by(claim: Object, pod: Object) -> bool:
    """Whether a claim was created for this pod."""
    owners = claim["metadata"].get("ownerReferences") or ()
    return any(
        owner.get("controller") and owner["uid"] == pod["metadata"]["uid"] for owner in owners
    )


def without_finalizer(claim: Object, finalizer: str) -> Object:
    metadata = with_fewer(claim["metadata"], "finalizers", lambda each: each != finalizer)
    return {**claim, "metadata": metadata}


def _is_done(pod: Object) -> bool:
    return (pod.get("status") or {}).get("phase") in FINISHED


class ResourceClaims:
    """Keys are `pod:namespace/name` and `claim:namespace/name`."""

    workers = 1

    def __init__(self, api: Api, client: Client, recorder: Recorder, dialect: Dialect) -> None:
        self._client = client
        self._recorder = recorder
        self._pods = api.resources.named(PODS)
        self._finalizer = dialect.label(FINALIZER)
        self._claim_of_pod = dialect.label(_CLAIM_OF_POD)

    def follows(self) -> Mapping[str, Keys]:
        return {PODS: self._pod, CLAIMS: self._claim, TEMPLATES: self._template}

    def _pod(self, change: Change) -> Iterable[str]:
        """The key of a pod with claims; also those of its claims if the pod is gone or has
        finished."""
        version = change.after or change.before
        if version is None or not any(map(version.mentions, _FIELDS)):
            return ()
        pod = version.object()
        if change.after is None or _is_done(pod):
            names = (*claim_names(pod), extended_claim_name(pod))
            return [f"{_CLAIM}{change.namespace}/{name}" for name in names if name]
        return (f"{_POD}{change.key}",) if pod["spec"].get("resourceClaims") else ()

    def _claim(self, change: Change) -> Iterable[str]:
        if change.after is not None:
            return (f"{_CLAIM}{change.key}",)
        owners = change.before.object()["metadata"].get("ownerReferences") if change.before else ()
        return [
            f"{_POD}{change.namespace}/{owner['name']}"
            for owner in owners or ()
            if owner.get("controller") and owner["kind"] == "Pod"
        ]

    def _template(self, change: Change) -> Iterable[str]:
        """Pods that wait for a template."""
        if not change.added:
            return ()
        return [
            f"{_POD}{version.key}"
            for version in self._client.collection(PODS).newest(change.namespace)
            if version.mentions("resourceClaimTemplateName", change.name)
        ]

    async def sync(self, key: str) -> float | None:
        kind, _, rest = key.partition(":")
        namespace, _, name = rest.partition("/")
        if f"{kind}:" == _POD:
            await self._sync_pod(namespace, name)
        else:
            await self._sync_claim(namespace, name)
        return None

    async def _sync_pod(self, namespace: str, name: str) -> None:
        pod = self._client.find(PODS, namespace, name)
        if pod is None or pod["metadata"].get("deletionTimestamp") or _is_done(pod):
            return
        created: dict[str, str] = {}
        wanted = [
            entry
            for entry in pod["spec"].get("resourceClaims") or ()
            if entry.get("resourceClaimTemplateName")
        ]
        if wanted:
            owned = await self._owned(pod)
            for entry in wanted:
                created[entry["name"]] = owned.get(entry["name"]) or await self._create(pod, entry)
        await self._record_names(pod, created)
        if pod["spec"].get("nodeName"):
            await self._reserve_all(pod)

    async def _owned(self, pod: Object) -> dict[str, str]:
        """The names of the claims that were created for a pod, by the names of the pod's entries.
        Of several claims for an entry, the one in the pod's status counts."""
        statuses = (pod.get("status") or {}).get("resourceClaimStatuses") or ()
        recorded = {status.get("resourceClaimName") for status in statuses}
        owned: dict[str, str] = {}
        slices = TimeSlices()
        for version in self._client.collection(CLAIMS).newest(pod["metadata"]["namespace"]):
            await slices.pause()
            if not version.mentions("uid", pod["metadata"]["uid"]):
                continue
            claim = version.object()
            entry = (claim["metadata"].get("annotations") or {}).get(self._claim_of_pod)
            if (
                entry
                and is_owned_by(claim, pod)
                and (entry not in owned or version.name in recorded)
            ):
                owned[entry] = version.name
        return owned

    async def _create(self, pod: Object, entry: Object) -> str:
        namespace = pod["metadata"]["namespace"]
        template = self._client.find(TEMPLATES, namespace, entry["resourceClaimTemplateName"])
        try:
            if template is None:
                missing = f'resourceclaimtemplate "{entry["resourceClaimTemplateName"]}" not found'
                raise StatusError(404, "NotFound", missing)
            claim = await self._client.create(CLAIMS, self._new_claim(pod, entry, template))
        except StatusError as error:
            text = f"PodResourceClaim {entry['name']}: {error}"
            self._recorder.record(self._pods, pod, WARNING, "FailedResourceClaimCreation", text)
            raise
        return str(claim["metadata"]["name"])

    def _new_claim(self, pod: Object, entry: Object, template: Object) -> Object:
        metadata, of_template = pod["metadata"], template["spec"].get("metadata") or {}
        owner = {
            "apiVersion": "v1",
            "kind": "Pod",
            "name": metadata["name"],
            "uid": metadata["uid"],
            "controller": True,
            "blockOwnerDeletion": True,
        }
        annotations = {**(of_template.get("annotations") or {}), self._claim_of_pod: entry["name"]}
        claim: Object = {
            "generateName": f"{metadata['name']}-{entry['name']}-",
            "namespace": metadata["namespace"],
            "annotations": annotations,
            "ownerReferences": [owner],
        }
        if of_template.get("labels"):
            claim["labels"] = of_template["labels"]
        return {"metadata": claim, "spec": template["spec"]["spec"], "status": {}}

    async def _record_names(self, pod: Object, created: Mapping[str, str]) -> None:
        statuses = (pod.get("status") or {}).get("resourceClaimStatuses") or ()
        recorded = {status["name"]: status.get("resourceClaimName") for status in statuses}
        if created.items() <= recorded.items():
            return
        statuses = [
            {"name": name, "resourceClaimName": claim_name} for name, claim_name in created.items()
        ]

        def changed(current: Object) -> Object:
            if current["metadata"]["uid"] != pod["metadata"]["uid"]:
                return current
            status = {**(current.get("status") or {}), "resourceClaimStatuses": statuses}
            return {**current, "status": status}

        metadata = pod["metadata"]
        await self._client.change(
            PODS, metadata["namespace"], metadata["name"], changed, "status", "patch"
        )

    async def _reserve_all(self, pod: Object) -> None:
        """Reserve allocated claims for a pod that was placed without the scheduler."""
        for name in claim_names(pod):
            claim = self._client.find(CLAIMS, pod["metadata"]["namespace"], name) if name else None
            is_allocated = claim is not None and (claim.get("status") or {}).get("allocation")
            if claim is None or not is_allocated or is_reserved_for(claim, pod):
                continue
            status = claim["status"]
            reserved = [*(status.get("reservedFor") or ()), consumer_of(pod)]
            await self._write_status(claim, {**status, "reservedFor": reserved})

    async def _sync_claim(self, namespace: str, name: str) -> None:
        claim = self._client.find(CLAIMS, namespace, name)
        if claim is None:
            return
        status = claim.get("status") or {}
        reserved = status.get("reservedFor") or []
        valid = [consumer for consumer in reserved if self._is_valid(namespace, consumer)]
        is_going = bool(claim["metadata"].get("deletionTimestamp"))
        is_ours = self._finalizer in (claim["metadata"].get("finalizers") or ())
        is_unused = is_ours and not valid and (len(valid) < len(reserved) or is_going)
        if len(valid) < len(reserved) or (is_unused and status.get("allocation") is not None):
            rest = {key: value for key, value in status.items() if key != "reservedFor"}
            if valid:
                rest["reservedFor"] = valid
            elif is_unused:
                rest.pop("allocation", None)
                rest.pop("devices", None)
            claim = await self._write_status(claim, rest)
        if is_unused:
            await self._remove_finalizer(claim)
        if not valid and not is_going:
            await self._delete_if_done(claim)

    def _is_valid(self, namespace: str, consumer: Object) -> bool:
        """Whether a consumer still needs the claim; only pods can be checked."""
        if consumer.get("apiGroup") or consumer["resource"] != "pods":
            return True
        pod = self._client.find(PODS, namespace, consumer["name"])
        if pod is None or pod["metadata"]["uid"] != consumer["uid"]:
            return False
        is_unscheduled = not pod["spec"].get("nodeName")
        return not _is_done(pod) and not (
            is_unscheduled and bool(pod["metadata"].get("deletionTimestamp"))
        )

    async def _write_status(self, claim: Object, status: Object) -> Object:
        metadata = claim["metadata"]

        def changed(current: Object) -> Object:
            is_same = current["metadata"]["resourceVersion"] == metadata["resourceVersion"]
            return {**current, "status": status} if is_same else current

        return await self._client.change(
            CLAIMS, metadata["namespace"], metadata["name"], changed, "status"
        )

    async def _remove_finalizer(self, claim: Object) -> None:
        metadata = claim["metadata"]

        def changed(current: Object) -> Object:
            if (current.get("status") or {}).get("allocation") is not None:
                return current  # allocated again meanwhile
            return without_finalizer(current, self._finalizer)

        await self._client.change(CLAIMS, metadata["namespace"], metadata["name"], changed)

    async def _delete_if_done(self, claim: Object) -> None:
        """Delete a claim that was created for a pod that has finished."""
        metadata = claim["metadata"]
        for owner in metadata.get("ownerReferences") or ():
            if not owner.get("controller") or owner["kind"] != "Pod":
                continue
            pod = self._client.find(PODS, metadata["namespace"], owner["name"])
            if pod is not None and pod["metadata"]["uid"] == owner["uid"] and _is_done(pod):
                await self._client.delete(CLAIMS, metadata["namespace"], metadata["name"])
