"""The hidden command `__complete`: prints candidates for the last word of a command line."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import NamedTuple

from fairlead.cli.arguments import ArgumentReader, Flag, Options
from fairlead.cli.catalog import COMMANDS, GROUPS, SERVER_SIDE, command_of, module_of
from fairlead.cli.completion.offers import CandidateSource, offers_for, value_offers
from fairlead.cli.connection_flags import (
    add_connection_flags,
    move_flags_to_end,
    subcommand_first,
)
from fairlead.cli.errors import UsageError

_TIMEOUT = 3.0  # seconds to wait for the server


class CommandLine(NamedTuple):
    """The parsed command line before the word to complete."""

    command: str
    reader: ArgumentReader
    before: Sequence[str]  # words and flags after the command
    current: str


def complete(words: Sequence[str]) -> int:
    """Print the candidates for the last word, each followed by a tab and its description. Ignores
    all errors: they would disturb the shell while the user types."""
    try:
        for word, description in _offered(list(words) or [""]):
            print(f"{word}\t{description}" if description else word)
    except (Exception, SystemExit):
        pass
    return 0


def _offered(words: list[str]) -> Iterator[tuple[str, str]]:
    *before, current = words
    if before and before[0].startswith("-"):
        before = move_flags_to_end(before)
    if before and before[0].startswith("-"):
        reader = ArgumentReader()
        add_connection_flags(reader)
        if _wants_value(reader, before[-1]):
            return _words(CommandLine("", reader, before, current))
    if not before or before[0].startswith("-"):
        return _matching(_commands(), current)
    if before[0] in GROUPS and len(before) == 1:
        return _matching(_members(before[0]), current)
    before = subcommand_first(before)
    name = command_of(before)
    if name not in COMMANDS:
        return iter(())
    reader = _reader(name)
    return _words(CommandLine(name, reader, before[len(name.split()) :], current))


def _commands() -> dict[str, str]:
    client = {name: listed.help for name, listed in COMMANDS.items() if " " not in name}
    groups = {group: f"{group} commands" for group in sorted(GROUPS)}
    own = {name: listed.help for name, listed in SERVER_SIDE.items()}
    return client | groups | own | {"help": "show the commands"}


def _members(group: str) -> dict[str, str]:
    return {
        name.partition(" ")[2]: listed.help
        for name, listed in COMMANDS.items()
        if name.startswith(f"{group} ")
    }


def _reader(name: str) -> ArgumentReader:
    reader = ArgumentReader(prog=name, add_help=True)
    import_module(module_of(name)).add_flags(reader)
    add_connection_flags(reader)
    return reader


def _words(line: CommandLine) -> Iterator[tuple[str, str]]:
    current = line.current
    flags = line.reader.flags
    name, sign, begun = current.partition("=")
    if sign and _wants_value(line.reader, name):
        for word, description in _matching(
            _ask(line, value_offers(line.command, flags[name])), begun
        ):
            yield f"{name}={word}", description
        return
    last = line.before[-1] if line.before else ""
    if _wants_value(line.reader, last):
        yield from _matching(_ask(line, value_offers(line.command, flags[last])), current)
    elif current.startswith("-"):
        yield from _matching(_flags(flags), current)
    else:
        positionals = _positionals(line.reader, line.before)
        yield from _matching(_ask(line, offers_for(line.command, positionals, current)), current)


def _wants_value(reader: ArgumentReader, word: str) -> bool:
    """Whether the word is a flag that needs a value."""
    flag = reader.flags.get(word)
    return flag is not None and flag.nargs != 0


def _flags(flags: dict[str, Flag]) -> dict[str, str]:
    return {name: flag.help for name, flag in flags.items()}


def _positionals(reader: ArgumentReader, words: Sequence[str]) -> list[str]:
    """The words that are neither flags nor values of flags."""
    positionals = []
    skip = False
    for word in words:
        if skip:
            skip = False
        elif word.startswith("-") and word != "-":
            skip = _wants_value(reader, word)
        else:
            positionals.append(word)
    return positionals


def _ask(line: CommandLine, offers: CandidateSource | None) -> dict[str, str]:
    """Candidates from the server or configuration. The shell inserts them verbatim, so names that
    need quoting or look like a flag are left out."""
    if offers is None:
        return {}
    candidates = asyncio.run(asyncio.wait_for(offers(_options(line)), _TIMEOUT))
    return {
        word: description
        for word, description in candidates.items()
        if shlex.quote(word) == word and not word.startswith("-")
    }


def _options(line: CommandLine) -> Options:
    """The parsed flags; the defaults if they cannot be parsed."""
    try:
        return line.reader.read(line.before)
    except UsageError:
        return line.reader.read([])


def _matching(offered: dict[str, str], begun: str) -> Iterator[tuple[str, str]]:
    for word, description in offered.items():
        if word.startswith(begun):
            yield word, " ".join(description.split())
