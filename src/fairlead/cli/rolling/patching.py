"""Changing several workloads by one small patch each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fairlead.cli.chosen import Choice, Chosen, chosen
from fairlead.cli.errors import CommandFailed
from fairlead.cli.invocation import Invocation
from fairlead.cli.output.formats import show_result
from fairlead.cli.rolling.workloads import MANAGER, check_named
from fairlead.client import ApiError, Unreachable
from fairlead.dialect import Dialect

Object = dict[str, Any]
Patch = Callable[[Chosen, Dialect], Object]


async def patch_all(at: Invocation, patch: Patch, done: str) -> int:
    """Make a merge patch for each workload that is named, and send it; gives the exit code.
    `patch` raises CommandFailed with what is said behind the name of one that cannot be changed."""
    check_named(at)
    choice = await chosen(at, all_unless_named=True)
    dialect = await at.client.discovery.dialect()
    for one in choice.found:
        await _change(at, choice, one, patch, dialect, done)
    return choice.end(at)


async def _change(
    at: Invocation, choice: Choice, one: Chosen, patch: Patch, dialect: Dialect, done: str
) -> None:
    try:
        content = patch(one, dialect)
    except CommandFailed as error:
        choice.errors.append(f'error: {one.resource.type.qualified} "{one.name}" {error}')
        return
    try:
        value = await one.resource.patch(one.name, content, one.namespace, fieldManager=MANAGER)
    except ApiError as error:
        choice.errors.append(f"error: failed to patch: {error}")
    except Unreachable as error:
        choice.failed(error)
    else:
        show_result(at, one.resource.type, value, done)
