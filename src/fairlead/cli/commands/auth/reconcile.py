"""`auth reconcile`: adds missing permissions and subjects to roles and bindings."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from fairlead.auth.authorization.coverage import TooManyRules
from fairlead.base.terminal import printable
from fairlead.cli.arguments import ArgumentReader
from fairlead.cli.errors import CommandError, CommandFailed
from fairlead.cli.file_flags import add_file_flags
from fairlead.cli.invocation import Invocation
from fairlead.cli.output.formats import add_output_flag, check_output, show_result
from fairlead.cli.permissions.reconciliation import MERGES, Merge, merged_role
from fairlead.cli.resolution import ResolvedObject, Resolver, files_of, require_name
from fairlead.cli.write_options import (
    EXPECTED,
    Failures,
    add_dry_run_flag,
    dry_run,
    note,
    write_query,
)
from fairlead.client.errors import AlreadyExists, NotFound
from fairlead.client.resources import Object

_GROUP = "rbac.authorization.@"


def add_flags(parser: ArgumentReader) -> None:
    add_file_flags(parser, "reconcile")
    add_output_flag(parser)
    add_dry_run_flag(parser)
    parser.add_switch("--remove-extra-permissions", help="remove rules that the files do not have")
    parser.add_switch("--remove-extra-subjects", help="remove subjects that the files do not have")


async def run(invocation: Invocation) -> int:
    check_output(invocation)
    query = write_query(invocation.options)
    dialect = await invocation.client.discovery.dialect()
    resolver, failures = Resolver(invocation), Failures()
    for manifest in files_of(invocation, "reconcile"):
        try:
            resolved = await resolver.of(manifest)
            type = resolved.resource.type
            if type.group != dialect.group_name(_GROUP) or type.kind not in MERGES:
                invocation.screen.warn(
                    printable(f"Warning: {type.kind} {resolved.name} is no role or binding")
                )
                continue
            await _reconcile(invocation, resolved, query)
        except (CommandFailed, *EXPECTED) as error:
            failures.add(error)
    return failures.finish()


async def _reconcile(
    invocation: Invocation, resolved: ResolvedObject, query: dict[str, Any]
) -> None:
    options, resource = invocation.options, resolved.resource
    name = require_name(resolved)
    try:
        live = await resource.get(name, resolved.namespace)
    except NotFound:
        live = None
    merge = _merged(invocation, resolved, live)
    value = merge.value
    if merge.action and dry_run(options) != "client":
        if live is None and not query.get("dryRun"):
            await _ensure_namespace(invocation, resolved.namespace)
        if merge.action == "update":
            value = await resource.replace(value, resolved.namespace, **query)
        else:
            if merge.action == "recreate" and not query.get("dryRun"):
                await resource.delete(name, resolved.namespace)
            if merge.action == "create" or not query.get("dryRun"):
                value = await resource.create(value, resolved.namespace, **query)
    show_result(invocation, resource.type, value, "reconciled", note(options))
    if not options.output:
        _explain(invocation, merge)


def _merged(invocation: Invocation, resolved: ResolvedObject, live: Object | None) -> Merge:
    options = invocation.options
    merge = MERGES[resolved.resource.type.kind]
    is_role = merge is merged_role
    removes = options.remove_extra_permissions if is_role else options.remove_extra_subjects
    try:
        return merge(live, resolved.value, removes_extra=removes)
    except TooManyRules:
        raise CommandError(f"the rules of {resolved.name} are too many to compare") from None


async def _ensure_namespace(invocation: Invocation, name: str) -> None:
    if not name:
        return
    namespaces = await invocation.client.resource("namespaces")
    try:
        await namespaces.get(name)
    except NotFound:
        value = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
        with suppress(AlreadyExists):
            await namespaces.create(value)


def _explain(invocation: Invocation, merge: Merge) -> None:
    if merge.action:
        invocation.screen.print(f"\treconciliation required {merge.action}")
    for heading, texts in merge.notes.items():
        invocation.screen.print(f"\t{heading}:")
        for text in texts:
            invocation.screen.print(f"\t\t{printable(text)}")
