"""`drain`: removes the pods of nodes, to which no new ones come."""

from __future__ import annotations

from fairlead.cli.arguments import ArgumentReader
from fairlead.cli.errors import CommandError, CommandFailed
from fairlead.cli.invocation import Invocation
from fairlead.cli.nodes.eviction import Evictions
from fairlead.cli.nodes.pods import pods_to_drain
from fairlead.cli.nodes.selection import Object, add_node_flags, mark, nodes_of
from fairlead.cli.output.formats import named
from fairlead.cli.write_options import EXPECTED, Failures, add_dry_run_flag, note
from fairlead.client import Resource

_SWITCHES = {
    "--ignore-daemonsets": "leave pods of DaemonSets, which would come back at once",
    "--delete-emptydir-data": "also remove pods whose data is on the node (emptyDir)",
    "--force": "also delete pods without a controller, which do not come back",
    "--disable-eviction": "delete pods instead of evicting them: budgets do not count",
}


def add_flags(parser: ArgumentReader) -> None:
    add_node_flags(parser)
    for name, text in _SWITCHES.items():
        parser.add_switch(name, help=text)
    parser.add_argument(
        "--pod-selector", metavar="LABELS", default="", help="only pods with these labels"
    )
    parser.add_argument(
        "--grace-period",
        metavar="SECONDS",
        type=int,
        default=-1,
        help="seconds for pods to end; negative uses each pod's own",
    )
    parser.add_argument(
        "--timeout", metavar="DURATION", default="0s", help="how long to try; 0s tries for ever"
    )
    parser.add_argument(
        "--skip-wait-for-delete-timeout",
        metavar="SECONDS",
        type=int,
        default=0,
        help="do not wait for pods that are being deleted for longer than this; 0 waits for all",
    )
    parser.add_without_effect("--chunk-size", value="NUMBER")
    add_dry_run_flag(parser)


async def run(invocation: Invocation) -> int:
    failures = Failures()
    nodes, found = await nodes_of(invocation, invocation.options.words, failures)
    cordoned = []
    for node in found:
        try:
            await mark(invocation, nodes, node, cordons=True)
            cordoned.append(node)
        except EXPECTED as error:
            failures.add(error)
    for node in cordoned:
        try:
            await _drain(invocation, nodes, node)
        except (CommandFailed, *EXPECTED) as error:
            failures.add(error)
    return failures.finish()


async def _drain(invocation: Invocation, nodes: Resource, node: Object) -> None:
    """Raises CommandFailed if pods keep the node from being drained, of which none is removed."""
    name = node["metadata"]["name"]
    pods = await invocation.client.resource("pods")
    found = await pods_to_drain(invocation, pods, name)
    if found.problems:
        listed = "\n".join(
            f"  pods {problem}: {', '.join(titles)}" for problem, titles in found.problems.items()
        )
        raise CommandError(f"node {name} is cordoned, and not drained:\n{listed}")
    for warning, titles in found.warnings.items():
        invocation.screen.warn(f"Warning: {warning}: {', '.join(titles)}")
    await Evictions(invocation, pods).remove(found.removed)
    shown = named(nodes.type, name)
    invocation.screen.print(f"{shown} drained{note(invocation.options)}")
