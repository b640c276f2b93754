"""`rollout restart`: replaces all pods of a workload."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from fairlead.base.dialect import Dialect
from fairlead.cli.arguments import ArgumentReader
from fairlead.cli.errors import CommandFailed
from fairlead.cli.invocation import Invocation
from fairlead.cli.output.formats import add_output_flag
from fairlead.cli.resolution import ResolvedObject
from fairlead.cli.rollouts.revisions import DEPLOYMENT, SETS
from fairlead.cli.rollouts.workloads import MANAGER, add_workload_flags, patch_all
from fairlead.cli.write_options import add_manager_flag

_RESTARTED = "{}.@/restartedAt"


def add_flags(parser: ArgumentReader) -> None:
    add_workload_flags(parser, "restart")
    add_output_flag(parser)
    add_manager_flag(parser, MANAGER)


async def run(invocation: Invocation) -> int:
    return await patch_all(invocation, _patch, "restarted")


def _patch(resolved: ResolvedObject, dialect: Dialect) -> dict[str, Any]:
    type = resolved.resource.type
    if (type.group, type.kind) not in (DEPLOYMENT, *SETS):
        raise CommandFailed("restarting is not supported")
    if resolved.value["spec"].get("paused"):
        raise CommandFailed("is paused: fairlead rollout resume first")
    name = dialect.label(_RESTARTED.format(dialect.client_manager))
    now = datetime.now().astimezone().isoformat(timespec="seconds").replace("+00:00", "Z")
    metadata = resolved.value["spec"]["template"].get("metadata") or {}
    if (metadata.get("annotations") or {}).get(name) == now:
        raise CommandFailed(
            "was restarted within the past second, please wait before restarting it again"
        )
    return {"spec": {"template": {"metadata": {"annotations": {name: now}}}}}
