"""`config delete-user`: removes a user."""

from __future__ import annotations

from fairlead.cli.arguments import ArgumentReader
from fairlead.cli.commands.config.files import add_words, delete
from fairlead.cli.invocation import Invocation


def add_flags(parser: ArgumentReader) -> None:
    add_words(parser, "NAME")


async def run(invocation: Invocation) -> int:
    return delete(invocation, "users")
