"""`top pods`: shows what pods and their containers use."""

from __future__ import annotations

from typing import Any

from fairlead.cli.arguments import ArgumentReader
from fairlead.cli.errors import CommandError
from fairlead.cli.invocation import Invocation
from fairlead.cli.output.tables import Columns
from fairlead.cli.usage import Usage, add_usage_flags, measured, one_name, order, total, usage_of

_LINE = "________"
Object = dict[str, Any]


def add_flags(parser: ArgumentReader) -> None:
    parser.add_argument("words", metavar="NAME", nargs="*")
    add_usage_flags(parser)
    parser.add_argument(
        "--field-selector",
        metavar="FIELDS",
        default="",
        help="only pods that match this field selector",
    )
    parser.add_switch("-A", "--all-namespaces", help="pods of all namespaces")
    parser.add_switch("--containers", help="a line for each container")
    parser.add_switch("--sum", help="add a line with the sum")


async def run(invocation: Invocation) -> int:
    options, name = invocation.options, one_name(invocation)
    if name and options.all_namespaces:
        raise CommandError("a name cannot be used with -A: leave out one of them")
    namespace = "" if options.all_namespaces else invocation.namespace
    metrics = await measured(invocation, "pods")
    query = {"labelSelector": options.selector, "fieldSelector": options.field_selector}
    query = {key: text for key, text in query.items() if text}
    if name:
        items = [await metrics.get(name, namespace)]
    else:
        items = (await metrics.list(namespace, **query))["items"]
    if not items:
        await _tell_why(invocation, namespace, query)
        return 0
    heads = _heads(invocation)
    rows = [] if options.no_headers else [heads]
    rows += _rows(invocation, items)
    invocation.screen.out.write(Columns(invocation.screen).text(rows, heads))
    return 0


async def _tell_why(invocation: Invocation, namespace: str, query: dict[str, str]) -> None:
    """Tell that there are no pods; raises CommandError if there are some without metrics."""
    pods = await invocation.client.resource("pods")
    if (await pods.page(namespace, limit=1, **query)).get("items"):
        raise CommandError("there are no metrics of these pods yet")
    where = f" in {namespace} namespace." if namespace else ""
    invocation.screen.warn(f"No resources found{where}")


def _heads(invocation: Invocation) -> list[str]:
    names = ["NAMESPACE"] if invocation.options.all_namespaces else []
    names += ["POD", "NAME"] if invocation.options.containers else ["NAME"]
    return [*names, "CPU(cores)", "MEMORY(bytes)"]


def _rows(invocation: Invocation, items: list[Object]) -> list[list[str]]:
    options = invocation.options
    rows: list[list[str]] = []
    usages = [_usage(item) for item in items]
    for usage, item in sorted(
        zip(usages, items, strict=True),
        key=lambda pair: order(invocation, pair[0], *_named(pair[1])),
    ):
        namespace, name = _named(item)
        before = [namespace] if options.all_namespaces else []
        if options.containers:
            rows += ([*before, name, *cells] for cells in _containers(invocation, item))
        else:
            rows.append([*before, name, *usage.cells()])
    if options.sum:
        empty = [""] * (len(_heads(invocation)) - 2)
        rows += [[*empty, _LINE, _LINE], [*empty, *total(usages).cells()]]
    return rows


def _named(item: Object) -> tuple[str, str]:
    metadata = item["metadata"]
    return str(metadata.get("namespace") or ""), str(metadata["name"])


def _usage(item: Object) -> Usage:
    return total(usage_of(entry.get("usage")) for entry in item.get("containers") or ())


def _containers(invocation: Invocation, item: Object) -> list[list[str]]:
    usages = {
        str(entry["name"]): usage_of(entry.get("usage")) for entry in item.get("containers") or ()
    }
    names = sorted(usages, key=lambda name: order(invocation, usages[name], name))
    return [[name, *usages[name].cells()] for name in names]
