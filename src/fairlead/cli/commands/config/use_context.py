"""`config use-context`: makes a context the current one."""

from __future__ import annotations

from fairlead.cli.arguments import ArgumentReader
from fairlead.cli.commands.config.files import Files, add_words, only_word
from fairlead.cli.errors import CommandFailed
from fairlead.cli.invocation import Invocation


def add_flags(parser: ArgumentReader) -> None:
    add_words(parser, "NAME")


async def run(invocation: Invocation) -> int:
    name, files = only_word(invocation), Files(invocation)
    if not name:
        raise CommandFailed("error: you must specify a current-context")
    if files.fields("contexts", name) is None:
        raise CommandFailed(f'error: there is no context "{name}"')
    files.use(name)
    invocation.screen.print(f'Switched to context "{name}".')
    return 0
