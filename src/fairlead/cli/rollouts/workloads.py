"""Flags and object selection of the rollout commands, and patches of the selected workloads."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any

from fairlead.base.dialect import Dialect
from fairlead.cli.arguments import ArgumentReader
from fairlead.cli.errors import CommandError, CommandFailed
from fairlead.cli.file_flags import add_file_flags
from fairlead.cli.invocation import Invocation
from fairlead.cli.output.formats import check_output, show_result
from fairlead.cli.resolution import ResolvedObject
from fairlead.cli.selection import select_objects
from fairlead.cli.write_options import EXPECTED, Failures
from fairlead.client import ApiError

MANAGER = "fairlead-rollout"
Object = dict[str, Any]
Patch = Callable[[ResolvedObject, Dialect], Object]


def add_workload_flags(parser: ArgumentReader, what: str) -> None:
    parser.add_argument("words", metavar="KIND [NAME...] | KIND/NAME...", nargs="*")
    add_file_flags(parser, what)
    parser.add_label_selector()
    parser.set_defaults(all=False, all_namespaces=False, field_selector="")


async def workloads(invocation: Invocation, failures: Failures) -> AsyncIterator[ResolvedObject]:
    """Yield the named workloads, or all of a kind; raises CommandError. Objects that cannot be read
    are added to `failures`."""
    options = invocation.options
    if not options.words and not options.filename:
        raise CommandError("required resource not specified")
    if options.words and options.filename:
        raise CommandError("objects are given both by files (-f) and by name: use one of them")
    is_kind_alone = len(options.words) == 1 and "/" not in options.words[0]
    options.all = is_kind_alone and not options.selector
    async for resolved in select_objects(invocation, options.words, failures):
        yield resolved


async def patch_all(invocation: Invocation, patch: Patch, action: str) -> int:
    """Compute and send a patch for each selected workload; return the exit code. `patch` raises
    CommandFailed with a text that follows the name of a workload that cannot be changed."""
    check_output(invocation)
    dialect = await invocation.client.discovery.dialect()
    failures = Failures()
    async for resolved in workloads(invocation, failures):
        try:
            manager = invocation.options.field_manager
            value = await _changed(resolved, patch, dialect, manager)
        except (CommandFailed, *EXPECTED) as error:
            failures.add(error)
        else:
            show_result(invocation, resolved.resource.type, value, action)
    return failures.finish()


async def _changed(
    resolved: ResolvedObject, patch: Patch, dialect: Dialect, manager: str
) -> Object:
    try:
        content = patch(resolved, dialect)
    except CommandFailed as error:
        raise CommandError(
            f'{resolved.resource.type.qualified} "{resolved.name}" {error}'
        ) from None
    try:
        return await resolved.resource.patch(
            resolved.name, content, resolved.namespace, fieldManager=manager
        )
    except ApiError as error:
        raise CommandError(f"failed to patch: {error}") from None
