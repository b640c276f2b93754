"""`config unset`: removes one value of the configuration."""

from __future__ import annotations

from fairlead.cli.arguments import ArgumentReader
from fairlead.cli.commands.config.files import Files, add_words, only_word
from fairlead.cli.commands.config.properties import property_of
from fairlead.cli.commands.config.set import put
from fairlead.cli.invocation import Invocation


def add_flags(parser: ArgumentReader) -> None:
    add_words(parser, "PROPERTY")


async def run(invocation: Invocation) -> int:
    word = only_word(invocation)
    path, files = property_of(word), Files(invocation)
    if path.section and not path.name:
        files.clear(path.section)
    elif path.section and not path.fields:
        if files.fields(path.section, path.name) is not None:
            files.remove(path.section, path.name)
    elif not path.section or files.fields(path.section, path.name) is not None:
        put(files, path, None)
    invocation.screen.print(f'Property "{word}" unset.')
    return 0
