"""`top nodes`: shows what nodes use."""

from __future__ import annotations

from typing import Any

from fairlead.cli.arguments import ArgumentReader
from fairlead.cli.errors import CommandError
from fairlead.cli.invocation import Invocation
from fairlead.cli.output.tables import Columns
from fairlead.cli.usage import UNKNOWN, add_usage_flags, measured, one_name, order, usage_of

_HEAD = ("NAME", "CPU(cores)", "CPU(%)", "MEMORY(bytes)", "MEMORY(%)")
Object = dict[str, Any]


def add_flags(parser: ArgumentReader) -> None:
    parser.add_argument("words", metavar="NAME", nargs="*")
    add_usage_flags(parser)
    parser.add_switch("--show-capacity", help="percentages of the capacity, not of the allocatable")


async def run(invocation: Invocation) -> int:
    options, name = invocation.options, one_name(invocation)
    metrics = await measured(invocation, "nodes")
    nodes = await invocation.client.resource("nodes")
    if name:
        items, listed = [await metrics.get(name)], [await nodes.get(name)]
    else:
        query = {"labelSelector": options.selector} if options.selector else {}
        items = (await metrics.list(**query))["items"]
        listed = (await nodes.list(**query))["items"]
    if not items:
        raise CommandError("there are no metrics of these nodes yet")
    part = "capacity" if options.show_capacity else "allocatable"
    available = {
        node["metadata"]["name"]: usage_of((node.get("status") or {}).get(part)) for node in listed
    }
    usages = {str(item["metadata"]["name"]): usage_of(item.get("usage")) for item in items}
    rows = [list(_HEAD)] if not options.no_headers else []
    for found in sorted(usages, key=lambda name: order(invocation, usages[name], name)):
        usage = usages[found]
        whole = available.pop(found, None)
        if whole is None:
            cpu, memory = usage.cells()
            rows.append([found, cpu, UNKNOWN, memory, UNKNOWN])
        else:
            rows.append([found, *usage.cells_with_shares(whole)])
    rows += ([missing, *(UNKNOWN,) * (len(_HEAD) - 1)] for missing in sorted(available))
    invocation.screen.out.write(Columns(invocation.screen).text(rows, _HEAD))
    return 0
