"""Flags and object selection of the rollout commands, and patches of the selected workloads."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any

from fairlead.base.dialect import Dialect
from fairlead.cli.arguments import ArgumentReader
from fairlead.cli.errors import CommandError, CommandFailed
from fairlead.cli.invocation import Invocation
from fairlead.cli.manifests import add_file_flags
from fairlead.cli.output.formats import check_output, show_result
from fairlead.cli.resolution import ResolvedObject
from fairlead.cli.selection import chosen_objects
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


async def workloads(at: Invocation, failures: Failures) -> AsyncIterator[ResolvedObject]:
    """Yield the named workloads, or all of a kind; raises Mistake. Objects that cannot be read are
    added to `failures`."""
    options = at.options
    if not options.words and not options.filename:
        raise CommandError("required resource not specified")
    if options.words and options.filename:
        raise CommandError("objects are given both by files (-f) and by name: use one of them")
    is_kind_alone = len(options.words) == 1 and "/" not in options.words[0]
    options.all = is_kind_alone and not options.selector
    async for one in chosen_objects(at, options.words, failures):
        yield one


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
