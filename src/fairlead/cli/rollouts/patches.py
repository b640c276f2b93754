"""Sends one merge patch to each of several workloads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fairlead.base.dialect import Dialect
from fairlead.cli.errors import CommandError, CommandFailed
from fairlead.cli.invocation import Invocation
from fairlead.cli.output.formats import check_output, show_result
from fairlead.cli.resolution import ResolvedObject
from fairlead.cli.rollouts.workloads import MANAGER, workloads
from fairlead.cli.write_options import EXPECTED, Failures
from fairlead.client import ApiError

Object = dict[str, Any]
Patch = Callable[[ResolvedObject, Dialect], Object]


async def patch_all(at: Invocation, patch: Patch, done: str) -> int:
    """Compute and send a patch for each selected workload; return the exit code. `patch` raises
    CommandFailed with a text that follows the name of a workload that cannot be changed."""
    check_output(at)
    dialect = await at.client.discovery.dialect()
    failures = Failures()
    async for one in workloads(at, failures):
        try:
            value = await _changed(one, patch, dialect)
        except (CommandFailed, *EXPECTED) as error:
            failures.add(error)
        else:
            show_result(at, one.resource.type, value, done)
    return failures.finish()


async def _changed(one: ResolvedObject, patch: Patch, dialect: Dialect) -> Object:
    try:
        content = patch(one, dialect)
    except CommandFailed as error:
        raise CommandError(f'{one.resource.type.qualified} "{one.name}" {error}') from None
    try:
        return await one.resource.patch(one.name, content, one.namespace, fieldManager=MANAGER)
    except ApiError as error:
        raise CommandError(f"failed to patch: {error}") from None
