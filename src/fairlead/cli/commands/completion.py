"""`completion`: prints the completion script of a shell."""

from __future__ import annotations

from fairlead.cli.arguments import ArgumentReader
from fairlead.cli.completion.scripts import SCRIPTS
from fairlead.cli.errors import UsageError
from fairlead.cli.invocation import Invocation


def add_flags(parser: ArgumentReader) -> None:
    parser.add_argument("words", nargs="*", metavar="bash | zsh | fish")


async def run(at: Invocation) -> int:
    words = at.options.words
    if not words:
        raise UsageError("Shell not specified.")
    if len(words) > 1:
        raise UsageError("name one shell and nothing else")
    script = SCRIPTS.get(words[0])
    if script is None:
        raise UsageError(f'Unsupported shell type "{words[0]}".')
    at.screen.out.write(script)
    return 0
