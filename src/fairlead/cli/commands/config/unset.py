"""`config unset`: removes one value of the configuration."""

from __future__ import annotations

from fairlead.cli.arguments import ArgumentReader
from fairlead.cli.commands.config.files import Files, add_words, one_word
from fairlead.cli.commands.config.properties import property_of
from fairlead.cli.commands.config.set import put
from fairlead.cli.invocation import Invocation


def add_flags(parser: ArgumentReader) -> None:
    add_words(parser, "PROPERTY")


async def run(invocation: Invocation) -> int:
    word = one_word(invocation)
    place, files = property_of(word), Files(invocation)
    if place.section and not place.name:
        files.clear(place.section)
    elif place.section and not place.fields:
        if files.fields(place.section, place.name) is not None:
            files.remove(place.section, place.name)
    elif not place.section or files.fields(place.section, place.name) is not None:
        put(files, place, None)
    invocation.screen.print(f'Property "{word}" unset.')
    return 0
