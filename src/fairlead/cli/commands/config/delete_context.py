"""`config delete-context`: removes a context."""

from __future__ import annotations

from fairlead.cli.arguments import ArgumentReader
from fairlead.cli.commands.config.files import Files, add_words, delete, only_word
from fairlead.cli.invocation import Invocation


def add_flags(parser: ArgumentReader) -> None:
    add_words(parser, "NAME")


async def run(invocation: Invocation) -> int:
    was_current = Files(invocation).configuration.current_context == only_word(invocation)
    code = delete(invocation, "contexts")
    if was_current:
        invocation.screen.flush()
        invocation.screen.warn(
            "warning: that was the current context; choose another one with"
            " fairlead config use-context NAME"
        )
    return code
