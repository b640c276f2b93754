"""Finds or creates the ReplicaSet of a Deployment's current template."""

from __future__ import annotations

from collections.abc import Sequence

from fairlead.base.errors import StatusError
from fairlead.controllers.events import WARNING
from fairlead.controllers.workloads.deployments import progress
from fairlead.controllers.workloads.deployments.replica_sets import (
    same_template,
    selector_with_hash,
    with_hash,
)
from fairlead.controllers.workloads.deployments.steps import limits_of, new_size
from fairlead.controllers.workloads.deployments.writes import ReplicaSetWriter
from fairlead.controllers.workloads.history import short_hash
from fairlead.controllers.workloads.owners import controller_among, controller_reference
from fairlead.controllers.workloads.pod_control import is_namespace_terminating
from fairlead.operations.api import Object
from fairlead.resources.registry import Resource


class Revisions:
    """Creates and numbers ReplicaSets. Changes the status and annotations of the Deployment passed
    in; the caller writes them."""

    def __init__(self, writer: ReplicaSetWriter, resource: Resource) -> None:
        self._writer = writer
        self._resource = resource
        self._annotations = writer.annotations

    async def adopt_current(
        self, deployment: Object, current: Object, old: Sequence[Object]
    ) -> Object:
        """Give the ReplicaSet that has the template the latest revision number."""
        revision = self._annotations.latest_revision(old) + 1
        described = await self._writer.describe(deployment, current, revision)
        self._set_revision(deployment, self._annotations.revision_of(described))
        if progress.condition_of(deployment["status"], progress.PROGRESSING) is None:
            text = f'Found new replica set "{current["metadata"]["name"]}"'
            _report_progress(deployment, "True", "FoundNewReplicaSet", text)
        return described

    def _set_revision(self, deployment: Object, revision: int) -> None:
        metadata = deployment["metadata"]
        texts = metadata.get("annotations") or {}
        metadata["annotations"] = {**texts, self._annotations.revision: str(revision)}

    async def make(self, deployment: Object, old: Sequence[Object]) -> Object:
        """Create the ReplicaSet of the template."""
        revision = self._annotations.latest_revision(old) + 1
        new = self._new(deployment, old, revision)
        name = new["metadata"]["name"]
        try:
            created = await self._writer.create(new)
        except StatusError as error:
            if error.reason == "AlreadyExists":
                return self._existing(deployment, name, revision, error)
            if not is_namespace_terminating(error):
                text = f'Failed to create new replica set "{name}": {error}'
                _report_progress(deployment, "False", "ReplicaSetCreateError", text)
                self._writer.record(deployment, WARNING, "ReplicaSetCreateError", text)
            raise
        self._writer.record_new(deployment, created)
        self._set_revision(deployment, revision)
        _report_progress(
            deployment, "True", "NewReplicaSetCreated", f'Created new replica set "{name}"'
        )
        return created

    def _existing(self, deployment: Object, name: str, revision: int, error: StatusError) -> Object:
        """The name is taken: return the ReplicaSet if it is the wanted one, else increment
        collisionCount, which changes the name for the retry, and raise."""
        existing = self._writer.find(deployment["metadata"]["namespace"], name)
        if existing is not None and _is_wanted(existing, deployment):
            self._set_revision(deployment, revision)
            return existing
        status = deployment["status"]
        status["collisionCount"] = (status.get("collisionCount") or 0) + 1
        raise error

    def _new(self, deployment: Object, old: Sequence[Object], revision: int) -> Object:
        metadata, spec = deployment["metadata"], deployment["spec"]
        template, limits = spec["template"], limits_of(deployment)
        text = short_hash(template, deployment["status"].get("collisionCount"))
        labels = with_hash((template.get("metadata") or {}).get("labels"), text)
        annotations = self._annotations.of_new(deployment, None, revision)
        replica_set = {
            "metadata": {
                "name": f"{metadata['name']}-{text}",
                "namespace": metadata["namespace"],
                "labels": labels,
                "annotations": self._annotations.sized(
                    annotations, limits.replicas, limits.maximum
                ),
                "ownerReferences": [controller_reference(self._resource, deployment)],
            },
            "spec": {
                "replicas": new_size(limits, old, 0),
                "selector": selector_with_hash(spec["selector"], text),
                "template": {**template, "metadata": {**template["metadata"], "labels": labels}},
            },
            "status": {},
        }
        if min_ready := spec.get("minReadySeconds"):
            replica_set["spec"]["minReadySeconds"] = min_ready
        return replica_set


def _is_wanted(replica_set: Object, deployment: Object) -> bool:
    controller = controller_among(replica_set["metadata"].get("ownerReferences"))
    if controller is None or controller["uid"] != deployment["metadata"]["uid"]:
        return False
    return same_template(replica_set["spec"]["template"], deployment["spec"]["template"])


def _report_progress(deployment: Object, status: str, reason: str, text: str) -> None:
    """Set the condition Progressing if there is a progress deadline."""
    if progress.deadline_of(deployment) is not None:
        new = progress.condition(progress.PROGRESSING, status, reason, text)
        progress.set_condition(deployment["status"], new)
