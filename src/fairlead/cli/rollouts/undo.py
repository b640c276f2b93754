"""Returns to an earlier revision."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fairlead.base.dialect import Dialect
from fairlead.cli.errors import CommandError
from fairlead.cli.resolution import ResolvedObject
from fairlead.cli.rollouts.revisions import DEPLOYMENT, Revision, without_hash
from fairlead.client.resources import JSON_PATCH, STRATEGIC_PATCH

Object = dict[str, Any]
# Annotations that a Deployment keeps regardless of the revision.
_KEPT = (
    "kubectl.@/last-applied-configuration",
    "deployment.@/revision",
    "deployment.@/revision-history",
    "deployment.@/desired-replicas",
    "deployment.@/max-replicas",
    "deprecated.deployment.rollback.to",
)


def is_deployment(one: ResolvedObject) -> bool:
    return (one.resource.type.group, one.resource.type.kind) == DEPLOYMENT


def revision_to_go_to(one: ResolvedObject, revisions: Sequence[Revision], wanted: int) -> Revision:
    """The wanted revision; 0 means the previous one. Raises Mistake."""
    if wanted < 0:
        raise _not_found(wanted)
    if is_deployment(one) and one.value["spec"].get("paused"):
        raise CommandError("it is paused: fairlead rollout resume first")
    if wanted == 0:
        if len(revisions) > 1:
            return revisions[-2]
        if is_deployment(one):
            raise CommandError(f'deployment "{one.name}" has only one revision')
        raise CommandError("there is no revision before this one")
    for revision in revisions:
        if revision.number == wanted:
            return revision
    raise _not_found(wanted)


def _not_found(wanted: int) -> CommandError:
    return CommandError(f"there is no revision {wanted}")


def is_there_already(one: ResolvedObject, revision: Revision) -> bool:
    return without_hash(one.value["spec"]["template"]) == without_hash(revision.template)


async def go_back(
    one: ResolvedObject, revision: Revision, dialect: Dialect, **query: str
) -> Object:
    """Restore the template of the revision; return the new workload."""
    if not is_deployment(one):
        return await one.resource.patch(
            one.name, revision.source["data"], one.namespace, type=STRATEGIC_PATCH, **query
        )
    patch = [
        {"op": "replace", "path": "/spec/template", "value": without_hash(revision.template)},
        {"op": "add", "path": "/metadata/annotations", "value": _notes(one, revision, dialect)},
    ]
    return await one.resource.patch(one.name, patch, one.namespace, type=JSON_PATCH, **query)


def _notes(one: ResolvedObject, revision: Revision, dialect: Dialect) -> dict[str, str]:
    """The annotations of the revision, but those in `_KEPT` from the Deployment."""
    kept = {dialect.label(name) for name in _KEPT}
    own = one.value["metadata"].get("annotations") or {}
    old = revision.source["metadata"].get("annotations") or {}
    return {
        **{name: text for name, text in own.items() if name in kept},
        **{name: text for name, text in old.items() if name not in kept},
    }
