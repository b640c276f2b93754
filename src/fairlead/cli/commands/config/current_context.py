"""`config current-context`: shows the current context."""

from __future__ import annotations

from fairlead.base.terminal import printable
from fairlead.cli.arguments import ArgumentReader
from fairlead.cli.commands.config.files import Files
from fairlead.cli.errors import CommandFailed
from fairlead.cli.invocation import Invocation


def add_flags(parser: ArgumentReader) -> None:
    pass


async def run(invocation: Invocation) -> int:
    name = Files(invocation).configuration.current_context
    if not name:
        raise CommandFailed("error: current-context is not set")
    invocation.screen.print(printable(name))
    return 0
