"""Show who the server takes you for."""

from __future__ import annotations

from fairlead.cli.access_rules.identity import identity
from fairlead.cli.access_rules.listing import listed
from fairlead.cli.arguments import ArgumentReader
from fairlead.cli.errors import UsageError
from fairlead.cli.invocation import Invocation
from fairlead.cli.output import documents, tables
from fairlead.cli.screen import printable

_HEAD = ("ATTRIBUTE", "VALUE")


def add_flags(parser: ArgumentReader) -> None:
    parser.add_argument("-o", "--output", metavar="FORMAT", default="", help="json or yaml")


async def run(at: Invocation) -> int:
    if at.options.output not in ("", "json", "yaml"):
        raise UsageError(
            f'unable to match a printer suitable for the output format "{at.options.output}",'
            " allowed formats are: json,yaml"
        )
    who = await identity(at.client)
    if who.source:
        at.screen.warn(f"The server does not say who you are; this is told from {who.source}.")
    if at.options.output:
        group = (await at.client.discovery.dialect()).group_name("authentication.@")
        value = {
            "apiVersion": f"{group}/v1",
            "kind": "SelfSubjectReview",
            "metadata": {},
            "status": {"userInfo": who.info},
        }
        shape = documents.as_json if at.options.output == "json" else documents.as_yaml
        at.screen.print(shape(value))
        return 0
    rows = [_HEAD, ("Username", who.user)]
    rows += [("UID", who.uid)] if who.uid else []
    rows += [("Groups", listed(who.groups))] if who.groups else []
    rows += [(f"Extra: {name}", listed(values)) for name, values in sorted(who.extra.items())]
    at.screen.print(printable(tables.text(rows)))
    return 0
