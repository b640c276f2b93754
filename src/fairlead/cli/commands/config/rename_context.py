"""`config rename-context`: renames a context."""

from __future__ import annotations

from fairlead.cli.arguments import ArgumentReader
from fairlead.cli.commands.config.files import Files, add_words, wrong_words
from fairlead.cli.errors import CommandFailed
from fairlead.cli.invocation import Invocation


def add_flags(parser: ArgumentReader) -> None:
    add_words(parser, "NAME")


async def run(invocation: Invocation) -> int:
    if len(invocation.options.words) != 2:
        raise wrong_words(invocation.options.words, "the old and the new name")
    old, new = invocation.options.words
    files = Files(invocation)
    context = files.fields("contexts", old)
    if context is None:
        raise CommandFailed(f'error: there is no context "{old}" in {files.default}')
    if not new:
        raise CommandFailed("error: the new name is empty")
    if files.fields("contexts", new) is not None:
        raise CommandFailed(f'error: there is a context "{new}" already in {files.default}')
    files.set("contexts", new, lambda fields: fields.update(context), old)
    if files.configuration.current_context == old:
        files.use(new)
    files.remove("contexts", old)
    invocation.screen.print(f'Context "{old}" renamed to "{new}".')
    return 0
