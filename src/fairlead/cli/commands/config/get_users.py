"""`config get-users`: shows the users."""

from __future__ import annotations

from fairlead.base.terminal import printable
from fairlead.cli.arguments import ArgumentReader
from fairlead.cli.commands.config.files import Files
from fairlead.cli.invocation import Invocation


def add_flags(parser: ArgumentReader) -> None:
    pass


async def run(at: Invocation) -> int:
    for line in ("NAME", *Files(at).names("users")):
        at.screen.print(printable(line))
    return 0
