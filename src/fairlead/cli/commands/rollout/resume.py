"""`rollout resume`: resumes a paused rollout."""

from __future__ import annotations

from typing import Any

from fairlead.base.dialect import Dialect
from fairlead.cli.arguments import ArgumentReader
from fairlead.cli.errors import CommandFailed
from fairlead.cli.invocation import Invocation
from fairlead.cli.output.formats import add_output_flag
from fairlead.cli.resolution import ResolvedObject
from fairlead.cli.rollouts.revisions import DEPLOYMENT
from fairlead.cli.rollouts.workloads import MANAGER, add_workload_flags, patch_all
from fairlead.cli.write_options import add_manager_flag


def add_flags(parser: ArgumentReader) -> None:
    add_workload_flags(parser, "resume")
    add_output_flag(parser)
    add_manager_flag(parser, MANAGER)


async def run(invocation: Invocation) -> int:
    return await patch_all(invocation, _patch, "resumed")


def _patch(resolved: ResolvedObject, dialect: Dialect) -> dict[str, Any]:
    if (resolved.resource.type.group, resolved.resource.type.kind) != DEPLOYMENT:
        raise CommandFailed("resuming is not supported")
    if not resolved.value["spec"].get("paused"):
        raise CommandFailed("is not paused")
    return {"spec": {"paused": False}}
