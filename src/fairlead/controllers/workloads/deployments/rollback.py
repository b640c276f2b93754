"""Going back to an earlier revision because an annotation of the Deployment asks for it.

Clients have long done that by themselves: they set the template. The annotation is what became of
the field of the first versions of the API.
"""

from __future__ import annotations

from collections.abc import Sequence

from fairlead.controllers.events import NORMAL, WARNING
from fairlead.controllers.workloads.deployments.templates import same_template, without_hash
from fairlead.controllers.workloads.deployments.writes import ReplicaSetWriter
from fairlead.operations.api import Object
from fairlead.operations.client import Client
from fairlead.resources.registry import Resource


class Rollback:
    """Rolls Deployments back."""

    def __init__(self, objects: Client, writer: ReplicaSetWriter, resource: Resource) -> None:
        self._objects = objects
        self._writer = writer
        self._resource = resource
        self._annotations = writer.annotations

    async def perform(self, deployment: Object, sets: Sequence[Object], revision: int) -> None:
        """Go back to a revision, to the one before the latest if it is 0, and take the annotation
        off, whatever comes of it."""
        wanted = revision or self._last_but_one(sets)
        numbered = (one for one in sets if self._annotations.revision_of(one) == wanted)
        found = next(numbered, None) if wanted else None
        name, kind = deployment["metadata"]["name"], WARNING
        if found is None:
            which = "the revision to rollback to" if revision else "last revision"
            reason, text = "RollbackRevisionNotFound", f"Unable to find {which}."
        elif same_template(found["spec"]["template"], deployment["spec"]["template"]):
            reason = "RollbackTemplateUnchanged"
            text = "The rollback revision contains the same template as current deployment"
            text += f' "{name}"'
            found = None
        else:
            kind, reason = NORMAL, "RollbackDone"
            text = f'Rolled back deployment "{name}" to revision {wanted}'
        await self._write(deployment, found)
        self._writer.record(deployment, kind, reason, text)

    def _last_but_one(self, sets: Sequence[Object]) -> int:
        revisions = sorted({self._annotations.revision_of(one) for one in sets})
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
