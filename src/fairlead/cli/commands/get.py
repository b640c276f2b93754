"""Show objects."""

from __future__ import annotations

from fairlead.cli.arguments import ArgumentReader
from fairlead.cli.errors import UsageError
from fairlead.cli.invocation import Invocation
from fairlead.cli.output import tables
from fairlead.client.resources import TABLE


def add_flags(parser: ArgumentReader) -> None:
    parser.add_argument("words", metavar="KIND [NAME...]", nargs="*")
    parser.add_switch("-A", "--all-namespaces", help="objects of all namespaces")
    parser.add_argument("-l", "--selector", metavar="LABELS", help="only objects with these labels")


async def run(at: Invocation) -> int:
    if not at.options.words:
        raise UsageError("you must specify the type of resource to get")
    resource = await at.client.resource(at.options.words[0])
    namespace = "" if at.options.all_namespaces else at.namespace
    query = {"labelSelector": at.options.selector} if at.options.selector else {}
    table = await resource.page(namespace, accept=TABLE, **query)
    columns = [at for at, column in enumerate(table["columnDefinitions"]) if not column["priority"]]
    head = [table["columnDefinitions"][column]["name"].upper() for column in columns]
    rows = [[str(row["cells"][column]) for column in columns] for row in table["rows"]]
    at.screen.print(tables.text([head, *rows]))
    return 0
