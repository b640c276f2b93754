"""`options`: lists the flags of every command."""

from __future__ import annotations

from fairlead.cli.arguments import ArgumentReader
from fairlead.cli.connection_flags import add_connection_flags
from fairlead.cli.invocation import Invocation


def add_flags(parser: ArgumentReader) -> None:
    pass


async def run(invocation: Invocation) -> int:
    reader = ArgumentReader(description="Every command takes these flags.", add_help=False)
    add_connection_flags(reader)
    invocation.screen.print(reader.format_help().strip())
    return 0
