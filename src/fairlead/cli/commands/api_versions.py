"""`api-versions`: shows the served versions of all groups."""

from __future__ import annotations

from fairlead.base.terminal import printable
from fairlead.cli.arguments import ArgumentReader
from fairlead.cli.invocation import Invocation


def add_flags(parser: ArgumentReader) -> None:
    """No flags of its own."""


async def run(invocation: Invocation) -> int:
    versions = [
        f"{group.name}/{version}" if group.name else version
        for group in await invocation.client.discovery.groups()
        for version in group.versions
    ]
    for version in sorted(versions):
        invocation.screen.print(printable(version))
    return 0
