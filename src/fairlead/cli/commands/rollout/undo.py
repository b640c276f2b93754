"""`rollout undo`: returns to an earlier revision."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fairlead.base.dialect import Dialect
from fairlead.cli.arguments import ArgumentReader
from fairlead.cli.errors import CommandError, CommandFailed
from fairlead.cli.invocation import Invocation
from fairlead.cli.output.formats import add_output_flag, check_output, show_result
from fairlead.cli.resolution import ResolvedObject
from fairlead.cli.rollouts.revisions import (
    DEPLOYMENT,
    Revision,
    revisions_of,
    template_text,
    without_hash,
)
from fairlead.cli.rollouts.workloads import MANAGER, add_workload_flags, workloads
from fairlead.cli.write_options import (
    EXPECTED,
    Failures,
    add_dry_run_flag,
    add_manager_flag,
    dry_run,
    note,
    write_query,
)
from fairlead.client.resources import JSON_PATCH, STRATEGIC_PATCH

Object = dict[str, Any]
# Annotations that a Deployment keeps regardless of the revision.
_PRESERVED = (
    "kubectl.@/last-applied-configuration",
    "deployment.@/revision",
    "deployment.@/revision-history",
    "deployment.@/desired-replicas",
    "deployment.@/max-replicas",
    "deprecated.deployment.rollback.to",
)


def add_flags(parser: ArgumentReader) -> None:
    add_workload_flags(parser, "change")
    parser.add_argument(
        "--to-revision",
        type=int,
        default=0,
        metavar="N",
        help="revision to roll back to; 0 is the previous one",
    )
    add_dry_run_flag(parser)
    add_manager_flag(parser, MANAGER)
    add_output_flag(parser)


async def run(invocation: Invocation) -> int:
    check_output(invocation)
    query = write_query(invocation.options)
    failures = Failures()
    async for resolved in workloads(invocation, failures):
        try:
            await _undo(invocation, resolved, query)
        except (CommandFailed, *EXPECTED) as error:
            failures.add(error)
    return failures.finish()


async def _undo(invocation: Invocation, resolved: ResolvedObject, query: Mapping[str, str]) -> None:
    number = invocation.options.to_revision
    revisions = await revisions_of(invocation.client, resolved, "rollbacker")
    revision = target_revision(resolved, revisions, number)
    value = resolved.value
    dialect = await invocation.client.discovery.dialect()
    if dry_run(invocation.options) == "client":
        text = f"{template_text(revision.template, dialect)}\n"
        if not is_deployment(resolved):
            text = f"will roll back to {text}"
    elif is_current(resolved, revision):
        text = f"not changed (revision {number} is what runs now)"
    else:
        value = await go_back(resolved, revision, dialect, **query)
        text = "rolled back"
    show_result(invocation, resolved.resource.type, value, text, note(invocation.options))


def is_deployment(resolved: ResolvedObject) -> bool:
    return (resolved.resource.type.group, resolved.resource.type.kind) == DEPLOYMENT


def target_revision(
    resolved: ResolvedObject, revisions: Sequence[Revision], number: int
) -> Revision:
    """The wanted revision; 0 means the previous one. Raises CommandError."""
    if number < 0:
        raise _not_found(number)
    if is_deployment(resolved) and resolved.value["spec"].get("paused"):
        raise CommandError("it is paused: fairlead rollout resume first")
    if number == 0:
        if len(revisions) > 1:
            return revisions[-2]
        if is_deployment(resolved):
            raise CommandError(f'deployment "{resolved.name}" has only one revision')
        raise CommandError("there is no revision before this one")
    for revision in revisions:
        if revision.number == number:
            return revision
    raise _not_found(number)


def _not_found(number: int) -> CommandError:
    return CommandError(f"there is no revision {number}")


def is_current(resolved: ResolvedObject, revision: Revision) -> bool:
    return without_hash(resolved.value["spec"]["template"]) == without_hash(revision.template)


async def go_back(
    resolved: ResolvedObject, revision: Revision, dialect: Dialect, **query: str
) -> Object:
    """Restore the template of the revision; return the new workload."""
    if not is_deployment(resolved):
        return await resolved.resource.patch(
            resolved.name,
            revision.source["data"],
            resolved.namespace,
            type=STRATEGIC_PATCH,
            **query,
        )
    patch = [
        {"op": "replace", "path": "/spec/template", "value": without_hash(revision.template)},
        {
            "op": "add",
            "path": "/metadata/annotations",
            "value": _notes(resolved, revision, dialect),
        },
    ]
    return await resolved.resource.patch(
        resolved.name, patch, resolved.namespace, type=JSON_PATCH, **query
    )


def _notes(resolved: ResolvedObject, revision: Revision, dialect: Dialect) -> dict[str, str]:
    """The annotations of the revision, but those in `_PRESERVED` from the Deployment."""
    preserved = {dialect.label(name) for name in _PRESERVED}
    own = resolved.value["metadata"].get("annotations") or {}
    old = revision.source["metadata"].get("annotations") or {}
    return {
        **{name: text for name, text in own.items() if name in preserved},
        **{name: text for name, text in old.items() if name not in preserved},
    }
