"""`replace`: replaces objects with the objects of files."""

from __future__ import annotations

from fairlead.cli.apply.last_applied import annotation_of, annotations_of, recorded
from fairlead.cli.arguments import ArgumentReader
from fairlead.cli.commands.raw import send_file
from fairlead.cli.delete.options import Deletion, add_deletion_flags, deletion_of
from fairlead.cli.delete.removal import remove, wait_until_gone
from fairlead.cli.errors import CommandError, CommandFailed
from fairlead.cli.file_flags import add_file_flags
from fairlead.cli.invocation import Invocation
from fairlead.cli.output.formats import add_output_flag, check_output, show_result, singular
from fairlead.cli.resolution import ResolvedObject, Resolver, files_of, require_name
from fairlead.cli.write_options import (
    EXPECTED,
    Failures,
    add_dry_run_flag,
    add_manager_flag,
    add_validation_flag,
    check_subresource,
    dry_run,
    note,
    sourced,
    write_query,
)
from fairlead.client.errors import NotFound
from fairlead.client.resources import Object


def add_flags(parser: ArgumentReader) -> None:
    add_file_flags(parser, "replace")
    add_output_flag(parser)
    add_dry_run_flag(parser)
    add_validation_flag(parser)
    add_manager_flag(parser, "fairlead-replace")
    parser.add_switch(
        "--save-config", help="save the configuration in an annotation, for apply --client-side"
    )
    parser.add_argument("--subresource", metavar="NAME", default="", help="status or scale")
    parser.add_argument(
        "--raw", metavar="PATH", default="", help="send the file as it is with PUT to this path"
    )
    add_deletion_flags(parser, waits=True)


async def run(invocation: Invocation) -> int:
    check_output(invocation)
    if invocation.options.raw:
        return await send_file(invocation, "PUT")
    check_subresource(invocation.options)
    deletion = _deletion(invocation)
    query = write_query(invocation.options)
    failures, resolver = Failures(), Resolver(invocation)
    for manifest in files_of(invocation, "replace"):
        try:
            resolved = await resolver.of(manifest)
            require_name(resolved)
            replaced = await _replaced(invocation, resolved, deletion, query)
            resolver.remember(manifest.value)
        except CommandFailed as error:
            failures.add(error)
        except EXPECTED as error:
            failures.add(sourced(error, "replacing", manifest.origin))
        else:
            show_result(
                invocation, resolved.resource.type, replaced, "replaced", note(invocation.options)
            )
    return failures.finish()


def _deletion(invocation: Invocation) -> Deletion | None:
    """The deletion options of --force; None to update objects in place. Raises CommandError."""
    options = invocation.options
    if not options.force:
        for flag, default in (("grace_period", "-1"), ("timeout", "0s")):
            if getattr(options, flag) != default:
                raise CommandError(f"--{flag.replace('_', '-')} must have --force specified")
        return None
    if options.subresource:
        raise CommandError("--force replaces whole objects, not a --subresource")
    if dry_run(options) != "none":
        raise CommandError("--force deletes objects: it cannot be tried with --dry-run")
    return deletion_of(options, invocation.screen)


async def _replaced(
    invocation: Invocation,
    resolved: ResolvedObject,
    deletion: Deletion | None,
    query: dict[str, str],
) -> Object:
    value = await _prepared(invocation, resolved.value)
    if dry_run(invocation.options) == "client":
        return value
    if deletion is not None:
        await _remove(invocation, resolved, deletion)
        return await resolved.resource.create(value, resolved.namespace, **query)
    metadata = value["metadata"]
    if not metadata.get("resourceVersion"):
        live = await resolved.resource.get(resolved.name, resolved.namespace)
        version = live["metadata"]["resourceVersion"]
        value = {**value, "metadata": {**metadata, "resourceVersion": version}}
    return await resolved.resource.replace(
        value, resolved.namespace, subresource=invocation.options.subresource, **query
    )


async def _prepared(invocation: Invocation, value: Object) -> Object:
    """The object with an updated last-applied annotation, if it has one or --save-config is
    given."""
    if not invocation.options.save_config and not annotations_of(value):
        return value
    annotation = annotation_of(await invocation.client.discovery.dialect())
    if invocation.options.save_config or annotation in annotations_of(value):
        return recorded(value, annotation)
    return value


async def _remove(invocation: Invocation, resolved: ResolvedObject, deletion: Deletion) -> None:
    try:
        deleted = await remove(resolved.resource, resolved.name, resolved.namespace, deletion)
    except NotFound:
        return
    if not invocation.options.output:
        invocation.screen.print(f'{singular(resolved.resource.type)} "{resolved.name}" deleted')
    await wait_until_gone(invocation, [deleted], deletion.timeout)
