"""`replace`: replaces objects with the objects of files."""

from __future__ import annotations

from fairlead.cli.apply.last_applied import annotation_of, annotations_of, recorded
from fairlead.cli.arguments import ArgumentReader
from fairlead.cli.delete.options import Deletion, add_deletion_flags, deletion_of
from fairlead.cli.delete.removal import remove, wait_until_gone
from fairlead.cli.errors import CommandError, CommandFailed
from fairlead.cli.invocation import Invocation
from fairlead.cli.manifests import add_file_flags
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
    add_deletion_flags(parser, waits=True)


async def run(at: Invocation) -> int:
    check_output(at)
    check_subresource(at.options)
    deletion = _deletion(at)
    query = write_query(at.options)
    failures, places = Failures(), Resolver(at)
    for one in files_of(at, "replace"):
        try:
            found = await places.of(one)
            require_name(found)
            made = await _replaced(at, found, deletion, query)
            places.made(one.value)
        except CommandFailed as error:
            failures.add(error)
        except EXPECTED as error:
            failures.add(sourced(error, "replacing", one.origin))
        else:
            show_result(at, found.resource.type, made, "replaced", note(at.options))
    return failures.finish()


def _deletion(at: Invocation) -> Deletion | None:
    """The deletion options of --force; None to update objects in place. Raises Mistake."""
    options = at.options
    if not options.force:
        for flag, usual in (("grace_period", "-1"), ("timeout", "0s")):
            if getattr(options, flag) != usual:
                raise CommandError(f"--{flag.replace('_', '-')} must have --force specified")
        return None
    if options.subresource:
        raise CommandError("--force replaces whole objects, not a --subresource")
    if dry_run(options) != "none":
        raise CommandError("--force deletes objects: it cannot be tried with --dry-run")
    return deletion_of(options, at.screen)


async def _replaced(
    at: Invocation, one: ResolvedObject, deletion: Deletion | None, query: dict[str, str]
) -> Object:
    value = await _prepared(at, one.value)
    if dry_run(at.options) == "client":
        return value
    if deletion is not None:
        await _remove(at, one, deletion)
        return await one.resource.create(value, one.namespace, **query)
    metadata = value["metadata"]
    if not metadata.get("resourceVersion"):
        live = await one.resource.get(one.name, one.namespace)
        version = live["metadata"]["resourceVersion"]
        value = {**value, "metadata": {**metadata, "resourceVersion": version}}
    return await one.resource.replace(
        value, one.namespace, subresource=at.options.subresource, **query
    )


async def _prepared(at: Invocation, value: Object) -> Object:
    """The object with an updated last-applied annotation, if it has one or --save-config is
    given."""
    if not at.options.save_config and not annotations_of(value):
        return value
    annotation = annotation_of(await at.client.discovery.dialect())
    if at.options.save_config or annotation in annotations_of(value):
        return recorded(value, annotation)
    return value


async def _remove(at: Invocation, one: ResolvedObject, deletion: Deletion) -> None:
    try:
        doomed = await remove(one.resource, one.name, one.namespace, deletion)
    except NotFound:
        return
    if not at.options.output:
        at.screen.print(f'{singular(one.resource.type)} "{one.name}" deleted')
    await wait_until_gone(at, [doomed], deletion.timeout)
