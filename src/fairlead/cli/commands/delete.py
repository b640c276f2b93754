"""`delete`: deletes objects and waits until they are gone."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Sequence

from fairlead.base.terminal import printable
from fairlead.cli.arguments import ArgumentReader
from fairlead.cli.commands.raw import escaped_path, stream_response
from fairlead.cli.delete.options import Deletion, add_deletion_flags, deletion_of
from fairlead.cli.delete.removal import DeletedObject, remove, wait_until_gone
from fairlead.cli.errors import CommandError, CommandFailed
from fairlead.cli.interrupts import interruptible
from fairlead.cli.invocation import Invocation
from fairlead.cli.output.formats import named, singular
from fairlead.cli.selection import (
    SelectedObject,
    add_selection_flags,
    check_choice,
    select,
    uses_selector,
)
from fairlead.cli.write_options import EXPECTED, Failures, add_dry_run_flag, dry_run, note, sourced
from fairlead.client.errors import NotFound
from fairlead.client.session import Request

_SCOPE_WARNING = "Warning: these objects are cluster-scoped: -n has no effect"
_FORCE_WARNING = (
    "Warning: --force deletes the object at once, without waiting for its containers to end: they"
    " may keep running."
)


def add_flags(parser: ArgumentReader) -> None:
    parser.add_argument("words", metavar="KIND [NAME...]", nargs="*")
    add_selection_flags(parser, "delete")
    parser.add_switch("--ignore-not-found", default=None, help="ignore objects that do not exist")
    parser.add_switch("--now", help="give pods one second to end")
    parser.add_switch("-i", "--interactive", help="ask before the objects are deleted")
    add_deletion_flags(parser, waits=True)
    add_dry_run_flag(parser)
    parser.add_argument("-o", "--output", metavar="FORMAT", default="", help="output format: name")
    parser.add_argument(
        "--raw", metavar="PATH", default="", help="send a DELETE request to this path"
    )


async def run(invocation: Invocation) -> int:
    options = invocation.options
    if options.output not in ("", "name"):
        raise CommandError(f"-o {options.output} is not possible here, only -o name")
    if options.raw:
        return await _delete_raw(invocation)
    deletion = deletion_of(options, invocation.screen, options.force)
    check_choice(invocation, options.words)
    dry_run(options)  # raises CommandError for an invalid value
    if deletion.forced:
        invocation.screen.warn(_FORCE_WARNING)
    failures = Failures()
    deleted_objects = await _delete(invocation, deletion, failures)
    if deletion.waits and dry_run(options) == "none":
        try:
            await wait_until_gone(invocation, deleted_objects, deletion.timeout)
        except (CommandFailed, *EXPECTED) as error:
            failures.add(error)
    return failures.finish()


async def _delete(
    invocation: Invocation, deletion: Deletion, failures: Failures
) -> list[DeletedObject]:
    """Delete all selected objects one by one; return the deleted objects to wait for."""
    options, by_rule = invocation.options, uses_selector(invocation)
    ignores = by_rule if options.ignore_not_found is None else options.ignore_not_found
    deleted_objects: list[DeletedObject] = []
    count = 0
    selected = select(invocation, options.words, failures)
    if options.interactive:
        selected = _confirmed(invocation, [one async for one in selected])
    async for resolved in selected:
        count += 1
        if count == 1 and by_rule and options.namespace and not resolved.namespace:
            invocation.screen.warn(_SCOPE_WARNING)
        try:
            if dry_run(options) != "client":
                server = dry_run(options) == "server"
                deleted_objects.append(
                    await remove(
                        resolved.resource, resolved.name, resolved.namespace, deletion, server
                    )
                )
            _report(invocation, resolved, deletion.word)
        except EXPECTED as error:
            if not (ignores and isinstance(error, NotFound)):
                failures.add(sourced(error, "deleting", resolved.origin))
    if not count and not failures:
        invocation.screen.print("No resources found")
    return deleted_objects


async def _confirmed(
    invocation: Invocation, objects: Sequence[SelectedObject]
) -> AsyncIterator[SelectedObject]:
    """The objects if the user agrees; raises CommandFailed with exit code 0 otherwise."""
    if objects:
        invocation.screen.warn("These objects will be deleted:")
    for selected in objects:
        where = f" (namespace {selected.namespace})" if selected.namespace else ""
        title = named(selected.resource.type, selected.name)
        invocation.screen.warn(printable(f"  {title}{where}"))
    if objects:
        invocation.screen.errors.write("Delete them? (y/n): ")
        invocation.screen.errors.flush()
        with interruptible():
            answer = sys.stdin.readline() if sys.stdin is not None else ""
        if answer.strip().lower() not in ("y", "yes"):
            raise CommandFailed("Nothing was deleted.", code=0)
    for selected in objects:
        yield selected


def _report(invocation: Invocation, selected: SelectedObject, word: str) -> None:
    if invocation.options.output == "name":
        invocation.screen.print(named(selected.resource.type, selected.name))
    else:
        name = printable(selected.name)
        invocation.screen.print(
            f'{singular(selected.resource.type)} "{name}" {word}{note(invocation.options)}'
        )


async def _delete_raw(invocation: Invocation) -> int:
    if invocation.options.words or invocation.options.filename:
        raise CommandError("--raw takes a path and no other words")
    await stream_response(invocation, Request("DELETE", escaped_path(invocation.options.raw)))
    return 0
