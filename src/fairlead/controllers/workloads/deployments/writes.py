"""Writes of a Deployment to its ReplicaSets."""

from __future__ import annotations

from fairlead.base.errors import StatusError
from fairlead.controllers.events import NORMAL, Recorder
from fairlead.controllers.workloads.deployments import replica_sets as sets
from fairlead.controllers.workloads.deployments.annotations import Annotations
from fairlead.controllers.workloads.deployments.steps import limits_of
from fairlead.controllers.workloads.replicas import REPLICA_SETS
from fairlead.operations.api import Object
from fairlead.operations.client import Client
from fairlead.operations.options import DeleteOptions
from fairlead.resources.registry import Resource


class ReplicaSetWriter:
    """Creates, resizes, annotates and deletes ReplicaSets, and records events about the
    Deployment."""

    def __init__(
        self,
        objects: Client,
        events: Recorder,
        resource: Resource,
        annotations: Annotations,
        reports_old_size: bool,
    ) -> None:
        self._objects = objects
        self._events = events
        self._resource = resource
        self.annotations = annotations
        self._reports_old_size = reports_old_size

    def record(self, deployment: Object, kind: str, reason: str, text: str) -> None:
        self._events.record(self._resource, deployment, kind, reason, text)

    async def resize(self, deployment: Object, replica_set: Object, size: int) -> Object:
        """Set the size of a ReplicaSet and the annotations with the Deployment's size. Returns the
        new value."""
        limits, before = limits_of(deployment), sets.desired_size(replica_set)
        desired, maximum = limits.replicas, limits.maximum

        def sized(current: Object) -> Object:
            metadata = current["metadata"]
            annotations = self.annotations.sized(metadata.get("annotations"), desired, maximum)
            return {
                **current,
                "metadata": {**metadata, "annotations": annotations},
                "spec": {**current["spec"], "replicas": size},
            }

        if sized(replica_set) == replica_set:
            return replica_set
        changed = await self._change(replica_set, sized)
        if size != before:
            self._record_size(deployment, replica_set, f"to {size} from {before}", before, size)
        return changed

    def record_new(self, deployment: Object, replica_set: Object) -> None:
        """Record the size of a ReplicaSet that was created, unless it is zero."""
        if size := sets.desired_size(replica_set):
            self._record_size(deployment, replica_set, f"to {size}", 0, size)

    def _record_size(
        self, deployment: Object, replica_set: Object, text: str, before: int, size: int
    ) -> None:
        if self._reports_old_size:
            text = f"from {before} to {size}"
        way, name = "up" if size > before else "down", replica_set["metadata"]["name"]
        text = f"Scaled {way} replica set {name} {text}"
        self.record(deployment, NORMAL, "ScalingReplicaSet", text)

    async def describe(self, deployment: Object, replica_set: Object, revision: int) -> Object:
        """Copy annotations and minReadySeconds of the Deployment to the new ReplicaSet."""
        min_ready = deployment["spec"].get("minReadySeconds") or 0

        def described(current: Object) -> Object:
            metadata, spec = current["metadata"], {**current["spec"]}
            annotations = self.annotations.of_new(deployment, metadata.get("annotations"), revision)
            if (spec.pop("minReadySeconds", 0) or 0) != min_ready or min_ready:
                spec["minReadySeconds"] = min_ready
            return {**current, "metadata": {**metadata, "annotations": annotations}, "spec": spec}

        updated = described(replica_set)
        return replica_set if updated == replica_set else await self._change(replica_set, described)

    async def _change(self, replica_set: Object, change: sets.Change) -> Object:
        metadata = replica_set["metadata"]
        return await self._objects.change(
            REPLICA_SETS, metadata["namespace"], metadata["name"], change
        )

    async def create(self, value: Object) -> Object:
        return await self._objects.create(REPLICA_SETS, value)

    def find(self, namespace: str, name: str) -> Object | None:
        return self._objects.find(REPLICA_SETS, namespace, name)

    async def delete(self, replica_set: Object) -> None:
        metadata = replica_set["metadata"]
        options = DeleteOptions(uid=metadata["uid"])
        try:
            await self._objects.delete(
                REPLICA_SETS, metadata["namespace"], metadata["name"], options
            )
        except StatusError as error:
            if error.code != 409:  # the name belongs to another uid now
                raise
