"""The nodes of a command, and the mark that keeps new pods away from them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fairlead.cli.arguments import ArgumentReader
from fairlead.cli.errors import CommandError
from fairlead.cli.invocation import Invocation
from fairlead.cli.output.formats import named
from fairlead.cli.targets import checked_name
from fairlead.cli.write_options import EXPECTED, Failures, dry_run, note, write_query
from fairlead.client import Resource
from fairlead.client.resources import MERGE_PATCH

Object = dict[str, Any]
_WORDS = ("node", "nodes", "no")


def add_node_flags(parser: ArgumentReader, words: str = "NODE...") -> None:
    parser.add_argument("words", metavar=words, nargs="*")
    parser.add_label_selector()


async def nodes_of(
    invocation: Invocation, words: Sequence[str], failures: Failures, takes_all: bool = False
) -> tuple[Resource, list[Object]]:
    """The resource of nodes, and the nodes that are named, selected or, with `takes_all`, all of
    them; raises CommandError. Those that cannot be read are added to `failures`."""
    selector = invocation.options.selector
    if bool(words) + bool(selector) + takes_all != 1:
        raise CommandError("name the nodes, or select them with -l")
    resource = await invocation.client.resource("nodes")
    if not words:
        listed = await resource.list(**({"labelSelector": selector} if selector else {}))
        if not listed["items"]:
            invocation.screen.warn("No resources found")
        return resource, listed["items"]
    found = []
    for name in dict.fromkeys(words):
        try:
            found.append(await resource.get(checked_name(_bare(name), "node")))
        except EXPECTED as error:
            failures.add(error)
    return resource, found


def _bare(word: str) -> str:
    """The name of `node/NAME`."""
    kind, slash, name = word.partition("/")
    return name if slash and kind in _WORDS else word


async def mark(invocation: Invocation, resource: Resource, node: Object, cordons: bool) -> None:
    """Cordon or uncordon a node, and print it; raises ApiError."""
    name = node["metadata"]["name"]
    word = "cordoned" if cordons else "uncordoned"
    if bool((node.get("spec") or {}).get("unschedulable")) == cordons:
        invocation.screen.print(f"{named(resource.type, name)} already {word}")
        return
    if dry_run(invocation.options) != "client":
        await resource.patch(
            name,
            {"spec": {"unschedulable": True if cordons else None}},
            type=MERGE_PATCH,
            **write_query(invocation.options),
        )
    invocation.screen.print(f"{named(resource.type, name)} {word}{note(invocation.options)}")


async def mark_all(invocation: Invocation, cordons: bool) -> int:
    """Cordon or uncordon the nodes of the command; return the exit code."""
    failures = Failures()
    resource, nodes = await nodes_of(invocation, invocation.options.words, failures)
    for node in nodes:
        try:
            await mark(invocation, resource, node, cordons)
        except EXPECTED as error:
            failures.add(error)
    return failures.finish()
