"""`config set`: sets one value of the configuration."""

from __future__ import annotations

from typing import Any

from fairlead.cli.arguments import ArgumentReader
from fairlead.cli.commands.config.files import Files, add_words, wrong_words
from fairlead.cli.commands.config.properties import Property, property_of, value_of
from fairlead.cli.invocation import Invocation
from fairlead.client.access.editor import change_file


def add_flags(parser: ArgumentReader) -> None:
    add_words(parser, "PROPERTY VALUE")
    parser.add_switch(
        "--set-raw-bytes", help="for a property that ends in -data: VALUE is not base64 yet"
    )


async def run(invocation: Invocation) -> int:
    words = invocation.options.words
    if len(words) != 2:
        raise wrong_words(words, "a property and its value")
    path = property_of(words[0])
    value = value_of(path, words[1], invocation.options.set_raw_bytes)
    put(Files(invocation), path, value)
    invocation.screen.print(f'Property "{words[0]}" set.')
    return 0


def put(files: Files, path: Property, value: Any) -> None:
    """Write the value of a property; None removes it."""
    if path.fields == ("current-context",):
        files.use(value or "")
    elif not path.section:
        change_file(files.default, lambda document: _set(document, path.fields, value))
    else:
        files.set(path.section, path.name, lambda entry: _set(entry, path.fields, value))


def _set(holder: dict[str, Any], fields: tuple[str, ...], value: Any) -> None:
    *way, last = fields
    for field in way:
        below = holder.get(field)
        if not isinstance(below, dict):
            below = holder[field] = {}
        holder = below
    if value is None:
        holder.pop(last, None)
    else:
        holder[last] = value
