"""`auth whoami`: shows the user that the server authenticates."""

from __future__ import annotations

from fairlead.base.terminal import printable
from fairlead.cli.arguments import ArgumentReader
from fairlead.cli.invocation import Invocation
from fairlead.cli.output import tables
from fairlead.cli.output.formats import add_document_flag, print_document, wants_document
from fairlead.cli.permissions.identity import identity
from fairlead.cli.permissions.table import listed

_HEAD = ("ATTRIBUTE", "VALUE")


def add_flags(parser: ArgumentReader) -> None:
    add_document_flag(parser)


async def run(invocation: Invocation) -> int:
    as_document = wants_document(invocation)
    who = await identity(invocation.client)
    if who.source:
        invocation.screen.warn(
            f"The server has no API for this; the answer comes from {who.source}."
        )
    if as_document:
        group = (await invocation.client.discovery.dialect()).group_name("authentication.@")
        value = {
            "apiVersion": f"{group}/v1",
            "kind": "SelfSubjectReview",
            "metadata": {},
            "status": {"userInfo": who.info},
        }
        print_document(invocation, value)
        return 0
    rows = [_HEAD, ("Username", who.user)]
    rows += [("UID", who.uid)] if who.uid else []
    rows += [("Groups", listed(who.groups))] if who.groups else []
    rows += [(f"Extra: {name}", listed(values)) for name, values in sorted(who.extra.items())]
    invocation.screen.print(printable(tables.text(rows)))
    return 0
