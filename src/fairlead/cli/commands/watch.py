"""`watch`: shows changes as they happen."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing, asynccontextmanager
from typing import Any

from fairlead.base.terminal import printable
from fairlead.cli.arguments import ArgumentReader
from fairlead.cli.error_messages import error_text
from fairlead.cli.errors import CommandError, CommandFailed
from fairlead.cli.feed.changes import Change, Feed, follow_new_kinds
from fairlead.cli.feed.lines import Lines, document, managers_behind
from fairlead.cli.invocation import Invocation
from fairlead.cli.targets import targets_of
from fairlead.client import ApiError, Resource

_NOISE = ("leases", "events")  # left out unless named
_VALUES = {
    ("-l", "--selector"): ("LABELS", "only objects that match this label selector"),
    ("--field-selector",): ("FIELDS", "only objects that match this field selector"),
    ("--manager",): ("NAME", "only changes by this field manager"),
    ("-o", "--output"): ("FORMAT", "json prints one object per line"),
}


def add_flags(parser: ArgumentReader) -> None:
    parser.add_argument("words", metavar="KIND", nargs="*")
    parser.add_switch("-A", "--all-namespaces", help="all namespaces, and cluster-scoped objects")
    for names, (value, text) in _VALUES.items():
        parser.add_argument(*names, metavar=value, default="", help=text)
    parser.add_switch("--diff", help="print each change as a diff")
    parser.add_argument(
        "--limit", metavar="NUMBER", type=int, default=0, help="end after N changes"
    )


async def run(invocation: Invocation) -> int:
    if invocation.options.output not in ("", "json"):
        raise CommandError(f'the only output format is json, not "{invocation.options.output}"')
    resources = await _resources(invocation)
    if not resources:
        raise CommandError("the server has no resources that can be watched")
    feed = Feed(resources, _query(invocation), _refused(invocation), _ready(invocation))
    left = invocation.options.limit
    lines = Lines(invocation.screen, invocation.options.diff)
    async with aclosing(feed.changes()) as changes, _new_kinds(invocation, feed, resources):
        async for change in changes:
            if _print_change(invocation, change, lines):
                left -= 1
                if left == 0:
                    return 0
    raise CommandFailed


@asynccontextmanager
async def _new_kinds(
    invocation: Invocation, feed: Feed, resources: Sequence[tuple[Resource, str]]
) -> AsyncIterator[None]:
    """Also watch kinds that are defined later, unless the command names kinds."""
    if invocation.options.words:
        yield
        return
    types = await invocation.client.discovery.all_resources()
    task = asyncio.create_task(follow_new_kinds(invocation.client, feed, types, resources[0][1]))
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def _query(invocation: Invocation) -> dict[str, Any]:
    parameters = {
        "labelSelector": invocation.options.selector,
        "fieldSelector": invocation.options.field_selector,
    }
    return {name: text for name, text in parameters.items() if text}


async def _resources(invocation: Invocation) -> list[tuple[Resource, str]]:
    """The resources to watch, each with a namespace. Without -A, cluster-scoped resources are
    included only if named."""
    options = invocation.options
    namespace = "" if options.all_namespaces else invocation.namespace
    if options.words:
        words = ",".join(word for word in options.words if word)
        if "/" in words:
            raise CommandError(
                "give kinds, not objects; select an object with --field-selector metadata.name=NAME"
            )
        return [
            (target.resource, namespace) for target in await targets_of(invocation.client, [words])
        ]
    return [
        (invocation.client.of(type), namespace)
        for type in await invocation.client.discovery.all_resources()
        if {"list", "watch"} <= set(type.verbs)
        and type.name not in _NOISE
        and (type.namespaced or options.all_namespaces)
    ]


def _refused(invocation: Invocation) -> Any:
    """The error callback: skip a resource that cannot be watched with a warning, but raise if the
    command names kinds."""

    def report(resource: Resource, error: ApiError) -> None:
        if invocation.options.words or error.code in (400, 401):
            raise error
        invocation.screen.warn(
            printable(f"{resource.type.qualified} is left out: {error_text(error)}")
        )

    return report


def _ready(invocation: Invocation) -> Any:
    def report(count: int) -> None:
        where = (
            "all namespaces"
            if invocation.options.all_namespaces
            else f"namespace {invocation.namespace}"
        )
        kinds = "1 kind" if count == 1 else f"{count} kinds"
        invocation.screen.warn(f"Watching {kinds} in {where}; Ctrl-C ends it.")

    return report


def _print_change(invocation: Invocation, change: Change, lines: Lines) -> bool:
    managers = managers_behind(change)
    manager_name = invocation.options.manager
    if manager_name and manager_name not in (manager.name for manager in managers):
        return False
    if invocation.options.output:
        invocation.screen.print(document(change, managers))
    else:
        for line in lines.of(change, managers):
            invocation.screen.print(line)
    invocation.screen.flush()
    return True
