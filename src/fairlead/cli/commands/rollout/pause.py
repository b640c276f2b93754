"""`rollout pause`: pauses a rollout until it is resumed."""

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
    add_workload_flags(parser, "pause")
    add_output_flag(parser)
    add_manager_flag(parser, MANAGER)


async def run(invocation: Invocation) -> int:
    return await patch_all(invocation, _patch, "paused")


def _patch(resolved: ResolvedObject, dialect: Dialect) -> dict[str, Any]:
    if (resolved.resource.type.group, resolved.resource.type.kind) != DEPLOYMENT:
        raise CommandFailed("pausing is not supported")
    if resolved.value["spec"].get("paused"):
        raise CommandFailed("is already paused")
    return {"spec": {"paused": True}}
