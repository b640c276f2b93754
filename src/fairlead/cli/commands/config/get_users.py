"""`config get-users`: shows the users."""

from __future__ import annotations

from fairlead.base.terminal import printable
from fairlead.cli.arguments import ArgumentReader
from fairlead.cli.commands.config.files import Files
from fairlead.cli.invocation import Invocation


def add_flags(parser: ArgumentReader) -> None:
    pass


async def run(invocation: Invocation) -> int:
    for line in ("NAME", *Files(invocation).names("users")):
        invocation.screen.print(printable(line))
    return 0
