"""Delete objects and wait until they are gone."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import NamedTuple

from fairlead.cli.arguments import ArgumentReader
from fairlead.cli.changing import OF_ONE, Failures, add_dry_run_flag, dry_run, note, sourced
from fairlead.cli.deleting.departures import Doomed
from fairlead.cli.deleting.options import add_deletion_flags, deletion_of
from fairlead.cli.deleting.removing import await_departure, remove
from fairlead.cli.errors import CommandFailed, Mistake
from fairlead.cli.invocation import Invocation
from fairlead.cli.located import Places, require_name
from fairlead.cli.manifests import add_file_flags, manifests
from fairlead.cli.output.formats import named, singular
from fairlead.cli.targets import Target, targets_of
from fairlead.client import Resource
from fairlead.client.errors import NotFound

_AT_ONCE_WARNING = (
    "Warning: Immediate deletion does not wait for confirmation that the running resource has been"
    " terminated. The resource may continue to run on the cluster indefinitely."
)


class Chosen(NamedTuple):
    """An object that is to be deleted."""

    resource: Resource
    name: str
    namespace: str
    origin: str = ""


def add_flags(parser: ArgumentReader) -> None:
    parser.add_argument("words", metavar="KIND [NAME...]", nargs="*")
    add_file_flags(parser, "delete")
    parser.add_argument("-l", "--selector", metavar="LABELS", default="", help="with these labels")
    parser.add_argument("--field-selector", metavar="FIELDS", default="", help="with these fields")
    parser.add_switch("--all", help="all objects of the kind")
    parser.add_switch("-A", "--all-namespaces", help="objects of all namespaces")
    parser.add_switch("--ignore-not-found", default=None, help="what is not there is no failure")
    parser.add_switch("--now", help="pods have only a second to end")
    add_deletion_flags(parser, waits=True)
    add_dry_run_flag(parser)
    parser.add_argument("-o", "--output", metavar="FORMAT", default="", help="name, or nothing")
    parser.add_argument("--raw", metavar="PATH", default="", help="send a plain DELETE to a path")


async def run(at: Invocation) -> int:
    options = at.options
    if options.output not in ("", "name"):
        raise Mistake(f"unexpected -o output mode: {options.output}. We only support '-o name'")
    if options.raw:
        return await _delete_raw(at)
    deletion = deletion_of(options, at.screen)
    _check(at)
    if deletion.forced:
        at.screen.warn(_AT_ONCE_WARNING)
    by_rule = bool(options.all or options.selector or options.field_selector)
    ignores = by_rule if options.ignore_not_found is None else options.ignore_not_found
    failures, doomed, found = Failures(), list[Doomed](), 0
    async for one in _chosen(at, failures):
        found += 1
        try:
            if dry_run(options) != "client":
                server = dry_run(options) == "server"
                doomed.append(await remove(one.resource, one.name, one.namespace, deletion, server))
            _tell(at, one, deletion.word)
        except NotFound as error:
            if not ignores:
                failures.add(sourced(error, "deleting", one.origin))
        except OF_ONE as error:
            failures.add(sourced(error, "deleting", one.origin))
    if not found and not failures:
        at.screen.print("No resources found")
    if deletion.waits and dry_run(options) == "none":
        try:
            await await_departure(at, doomed, deletion.timeout)
        except CommandFailed as error:
            failures.add(error)
    return failures.finish()


def _tell(at: Invocation, one: Chosen, word: str) -> None:
    if at.options.output == "name":
        at.screen.print(named(one.resource.type, one.name))
    else:
        at.screen.print(f'{singular(one.resource.type)} "{one.name}" {word}{note(at.options)}')


def _check(at: Invocation) -> None:
    """Raises Mistake for flags that do not go together."""
    options = at.options
    note(options)
    if options.all and (options.selector or options.field_selector):
        raise Mistake("setting 'all' parameter but found a non empty selector. ")
    if options.filename:
        if options.words:
            raise Mistake(
                "when paths, URLs, or stdin is provided as input, you may not specify"
                " resource arguments as well"
            )
        return
    if not options.words:
        raise Mistake("You must provide one or more resources by argument or filename.")


async def _chosen(at: Invocation, failures: Failures) -> AsyncIterator[Chosen]:
    if at.options.filename:
        places = Places(at)
        for one in manifests(at.options.filename, at.options.recursive):
            try:
                found = await places.of(one)
                name = require_name(found)
            except CommandFailed as error:
                failures.add(error)
                continue
            yield Chosen(found.resource, name, found.namespace, one.origin)
        return
    for target in await targets_of(at.client, at.options.words):
        async for chosen in _of_target(at, target):
            yield chosen


async def _of_target(at: Invocation, target: Target) -> AsyncIterator[Chosen]:
    options, resource = at.options, target.resource
    by_rule = options.all or options.selector or options.field_selector
    space = at.namespace if resource.type.namespaced else ""
    if target.names:
        if by_rule:
            raise Mistake("name cannot be provided when a selector is specified")
        if options.all_namespaces and resource.type.namespaced:
            raise Mistake("a resource cannot be retrieved by name across all namespaces")
        for name in target.names:
            if not name:
                raise Mistake("resource name may not be empty")
            yield Chosen(resource, name, space)
        return
    if not by_rule:
        raise Mistake("resource(s) were provided, but no name was specified")
    if options.namespace and not resource.type.namespaced:
        at.screen.warn(
            "Warning: deleting cluster-scoped resources, not scoped to the provided namespace"
        )
    query = {"labelSelector": options.selector, "fieldSelector": options.field_selector}
    listed = await resource.list(
        "" if options.all_namespaces else space, **{key: one for key, one in query.items() if one}
    )
    for item in listed["items"]:
        metadata = item["metadata"]
        yield Chosen(resource, metadata["name"], metadata.get("namespace", ""))


async def _delete_raw(at: Invocation) -> int:
    if at.options.words or at.options.filename:
        raise Mistake("arguments may not be passed when --raw is specified")
    path = at.options.raw if at.options.raw.startswith("/") else f"/{at.options.raw}"
    answer = await at.client.raw("DELETE", path)
    at.screen.print(answer.decode(errors="replace"))
    return 0
