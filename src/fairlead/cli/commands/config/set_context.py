"""`config set-context`: creates or changes a context."""

from __future__ import annotations

from typing import Any

from fairlead.cli.arguments import ArgumentReader
from fairlead.cli.commands.config.files import Files, add_words, wrong_words
from fairlead.cli.errors import CommandFailed
from fairlead.cli.invocation import Invocation

_FIELDS = ("cluster", "user", "namespace")


def add_flags(parser: ArgumentReader) -> None:
    add_words(parser, "NAME")
    parser.add_switch("--current", help="change the current context")
    for field in _FIELDS:
        parser.add_argument(f"--{field}", metavar="NAME", help=f"{field} of the context")


async def run(invocation: Invocation) -> int:
    files = Files(invocation)
    name = _name(invocation, files)
    values = {field: getattr(invocation.options, field) for field in _FIELDS}

    def change(fields: dict[str, Any]) -> None:
        fields.setdefault("cluster", "")
        fields.setdefault("user", "")
        fields.update({field: value for field, value in values.items() if value is not None})

    was_there = files.set("contexts", name, change)
    invocation.screen.print(f'Context "{name}" {"modified" if was_there else "created"}.')
    return 0


def _name(invocation: Invocation, files: Files) -> str:
    words: list[str] = invocation.options.words
    if len(words) > 1:
        raise wrong_words(words, "one name")
    if invocation.options.current:
        if words:
            raise CommandFailed("error: --current names the context already: leave out the name")
        if not files.configuration.current_context:
            raise CommandFailed("error: no current context is set")
        return files.configuration.current_context
    if not words or not words[0]:
        raise CommandFailed("error: name a context, or give --current")
    return words[0]
