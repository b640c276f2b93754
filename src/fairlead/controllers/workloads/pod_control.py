"""Creates and deletes the pods of an owner and records an event for each."""

from __future__ import annotations

from fairlead.base.errors import StatusError
from fairlead.controllers.events import NORMAL, WARNING, Recorder
from fairlead.controllers.workloads.owners import controller_reference
from fairlead.controllers.workloads.pods import PODS, Pod
from fairlead.operations.api import Object
from fairlead.operations.client import Client
from fairlead.resources.registry import Resource

_MAX_PREFIX_LENGTH = 253


def is_namespace_terminating(error: StatusError) -> bool:
    """Whether a create failed because the namespace is being deleted."""
    causes = (error.details or {}).get("causes") or ()
    return any(cause.get("reason") == "NamespaceTerminating" for cause in causes)


def pod_from(template: Object, resource: Resource, owner: Object) -> Object:
    """A pod of an owner with a generated name. Shares its parts with the template: do not modify
    them."""
    metadata, template_metadata = owner["metadata"], template.get("metadata") or {}
    prefix = f"{metadata['name']}-"
    copied = {
        name: template_metadata[name]
        for name in ("labels", "annotations", "finalizers")
        if template_metadata.get(name)
    }
    return {
        "metadata": {
            "generateName": prefix if len(prefix) <= _MAX_PREFIX_LENGTH else metadata["name"],
            "namespace": metadata["namespace"],
            **copied,
            "ownerReferences": [controller_reference(resource, owner)],
        },
        "spec": template["spec"],
        "status": {},
    }


class PodControl:
    """Creates and deletes pods for the owners of one kind."""

    def __init__(self, objects: Client, events: Recorder, resource: Resource) -> None:
        self._objects = objects
        self._events = events
        self._resource = resource

    async def create(self, owner: Object, pod: Object) -> Object:
        try:
            created = await self._objects.create(PODS, pod)
        except StatusError as error:
            if not is_namespace_terminating(error):
                self._record(owner, WARNING, "FailedCreate", f"Error creating: {error}")
            raise
        text = f"Created pod: {created['metadata']['name']}"
        self._record(owner, NORMAL, "SuccessfulCreate", text)
        return created

    async def delete(self, owner: Object, pod: Pod) -> None:
        """Delete a pod; a missing pod is ignored."""
        try:
            await self._objects.delete(PODS, pod.namespace, pod.name)
        except StatusError as error:
            self._record(owner, WARNING, "FailedDelete", f"Error deleting: {error}")
            raise
        self._record(owner, NORMAL, "SuccessfulDelete", f"Deleted pod: {pod.name}")

    def _record(self, owner: Object, kind: str, reason: str, text: str) -> None:
        self._events.record(self._resource, owner, kind, reason, text)
