"""The controller of Deployments."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from fairlead.controllers.events import NORMAL, WARNING, Recorder
from fairlead.controllers.framework import Keys
from fairlead.controllers.workloads.adoption import Claims
from fairlead.controllers.workloads.deployments import progress
from fairlead.controllers.workloads.deployments.annotations import Annotations
from fairlead.controllers.workloads.deployments.replica_sets import same_template, without_hash
from fairlead.controllers.workloads.deployments.revisions import Revisions
from fairlead.controllers.workloads.deployments.rollout import Rollout
from fairlead.controllers.workloads.deployments.writes import ReplicaSetWriter
from fairlead.controllers.workloads.index import Owned, Selectors, owners_concerned, read_full
from fairlead.controllers.workloads.owners import controller_of
from fairlead.controllers.workloads.pods import PODS, Pod
from fairlead.controllers.workloads.replicas import REPLICA_SETS, TERMINATING_GATE, selector_of
from fairlead.controllers.workloads.statuses import write_status
from fairlead.fields.values import copied
from fairlead.operations.api import Api, Object
from fairlead.operations.client import Client
from fairlead.resources.registry import Resource
from fairlead.storage.version import Change

DEPLOYMENTS = "apps/v1/deployments"
_RECREATE = "Recreate"
_MARGIN = 1.0  # seconds; timestamps have whole seconds


class Deployments:
    """Keys are `namespace/name` of Deployments."""

    workers = 5

    def __init__(self, api: Api, objects: Client, events: Recorder, pods: Owned[Pod]) -> None:
        self._resource = api.resources.named(DEPLOYMENTS)
        self._replica_set_kind = api.resources.named(REPLICA_SETS).kind
        self._objects = objects
        self._pods = pods
        self._deployments = objects.collection(DEPLOYMENTS)
        self._replica_sets = objects.collection(REPLICA_SETS)
        self._owned = Owned(self._replica_sets, read_full)
        self._selectors = Selectors(self._deployments, selector_of)
        self._claims = Claims(objects, self._resource, REPLICA_SETS)
        self._writer = ReplicaSetWriter(
            objects,
            events,
            self._resource,
            Annotations(api.dialect),
            api.gates["ReplicaSetEventsWithOldSize"],
        )
        self._revisions = Revisions(self._writer, self._resource)
        self._with_terminating = api.gates[TERMINATING_GATE]
        self._rollback = Rollback(objects, self._writer, self._resource)

    def follows(self) -> Mapping[str, Keys]:
        return {
            DEPLOYMENTS: lambda change: () if change.deleted else (change.key,),
            REPLICA_SETS: self._owners_of_replica_set,
            PODS: self._recreated,
        }

    def _owners_of_replica_set(self, change: Change) -> Iterable[str]:
        return owners_concerned(change, self._resource.kind, self._selectors)

    def _recreated(self, change: Change) -> Iterable[str]:
        """The Deployment with strategy Recreate that may wait for this deleted pod."""
        if change.after is not None or change.before is None:
            return ()
        controller = controller_of(change.before)
        if controller is None or controller["kind"] != self._replica_set_kind:
            return ()
        replica_set = self._replica_sets.get(f"{change.namespace}/{controller['name']}")
        owner = controller_of(replica_set) if replica_set is not None else None
        if owner is None:
            return ()
        key = f"{change.namespace}/{owner['name']}"
        deployment = self._deployments.get(key)
        if deployment is None or not deployment.mentions("type", _RECREATE):
            return ()
        return (key,)

    async def sync(self, key: str) -> float | None:
        namespace, _, name = key.partition("/")
        stored = self._objects.find(DEPLOYMENTS, namespace, name)
        if stored is None:
            return None
        deployment = copied(stored)
        deployment.setdefault("status", {})
        claimed = await self._claims.claim(deployment, selector_of(deployment), self._owned)
        replica_sets = [dependent.value for dependent in claimed]
        rollout = Rollout(
            deployment,
            replica_sets,
            self._writer,
            self._revisions,
            with_terminating=self._with_terminating,
        )
        try:
            await self._roll_out(rollout)
        finally:
            await self._write_status(stored, deployment)
        left = progress.time_left(deployment, deployment["status"])
        if left is None or deployment["spec"].get("paused"):
            return None
        return max(0.0, left) + _MARGIN

    async def _roll_out(self, rollout: Rollout) -> None:
        deployment = rollout.deployment
        if deployment["metadata"].get("deletionTimestamp") is not None:
            rollout.report_counts()
            return
        progress.note_pause(deployment)
        await rollout.number()
        revision = self._writer.annotations.rollback_of(deployment)
        if deployment["spec"].get("paused"):
            await rollout.resize()
        elif revision is not None:
            await self._rollback.perform(deployment, rollout.everything, revision)
        elif rollout.is_resized:
            await rollout.resize()
        elif deployment["spec"]["strategy"].get("type") == _RECREATE:
            await rollout.recreate(
                pod for replica_set in rollout.old for pod in self._pods.of(replica_set)
            )
        else:
            await rollout.roll()

    async def _write_status(self, stored: Object, deployment: Object) -> None:
        """Write the status and the revision annotation if they changed."""
        status, metadata = deployment["status"], deployment["metadata"]
        name = self._writer.annotations.revision
        revision = (metadata.get("annotations") or {}).get(name)
        recorded = (stored["metadata"].get("annotations") or {}).get(name)
        if status == stored.get("status") and revision == recorded:
            return

        def set_condition(current: Object) -> Object:
            updated = {**current, "status": status}
            if revision is not None:
                texts = {**(current["metadata"].get("annotations") or {}), name: revision}
                updated["metadata"] = {**current["metadata"], "annotations": texts}
            return updated

        await write_status(self._objects, self._resource, deployment, set_condition)


# Rollback by annotation.
#
# The annotation replaces the rollback field of the first API versions. Today's clients set the
# template themselves.


class Rollback:
    """Rolls Deployments back."""

    def __init__(self, objects: Client, writer: ReplicaSetWriter, resource: Resource) -> None:
        self._objects = objects
        self._writer = writer
        self._resource = resource
        self._annotations = writer.annotations

    async def perform(self, deployment: Object, sets: Sequence[Object], revision: int) -> None:
        """Roll back to a revision (0: the previous one), and remove the annotation even if that is
        not possible."""
        number = revision or self._last_but_one(sets)
        numbered = (
            replica_set
            for replica_set in sets
            if self._annotations.revision_of(replica_set) == number
        )
        earlier = next(numbered, None) if number else None
        name, kind = deployment["metadata"]["name"], WARNING
        if earlier is None:
            which = "the revision to rollback to" if revision else "last revision"
            reason, text = "RollbackRevisionNotFound", f"Unable to find {which}."
        elif same_template(earlier["spec"]["template"], deployment["spec"]["template"]):
            reason = "RollbackTemplateUnchanged"
            text = "The rollback revision contains the same template as current deployment"
            text += f' "{name}"'
            earlier = None
        else:
            kind, reason = NORMAL, "RollbackDone"
            text = f'Rolled back deployment "{name}" to revision {number}'
        await self._write(deployment, earlier)
        self._writer.record(deployment, kind, reason, text)

    def _last_but_one(self, sets: Sequence[Object]) -> int:
        revisions = sorted({self._annotations.revision_of(replica_set) for replica_set in sets})
        return revisions[-2] if len(revisions) > 1 else 0

    async def _write(self, deployment: Object, to: Object | None) -> None:
        def rolled_back(current: Object) -> Object:
            metadata, spec = {**current["metadata"]}, current["spec"]
            texts = {**(metadata.pop("annotations", None) or {})}
            if to is not None:
                texts = self._annotations.restored(current, to)
                spec = {**spec, "template": without_hash(to["spec"]["template"])}
            texts.pop(self._annotations.rollback, None)
            return {**current, "metadata": {**metadata, "annotations": texts}, "spec": spec}

        metadata = deployment["metadata"]
        key = self._resource.key
        await self._objects.change(key, metadata["namespace"], metadata["name"], rolled_back)
