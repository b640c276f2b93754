"""Runs a client command: reads its flags, calls its module, returns the exit code.

Commands are coroutines `run(Invocation)` in modules of `fairlead.cli.commands`, which also define
`add_flags`.
"""

from __future__ import annotations

import asyncio
import gc
import os
import sys
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from importlib import import_module

from fairlead.base.terminal import printable
from fairlead.cli import error_messages, similar_objects, suggestions
from fairlead.cli.arguments import ArgumentReader
from fairlead.cli.catalog import COMMANDS, command_of, module_of
from fairlead.cli.connection_flags import add_connection_flags, subcommand_first
from fairlead.cli.errors import CommandFailed, UsageError
from fairlead.cli.invocation import Invocation
from fairlead.client import AccessError, ApiError, UnknownKind, UnknownResource, Unreachable
from fairlead.client.errors import NotFound
from fairlead.client.resources import InvalidName

_TRACEBACKS = "FAIRLEAD_TRACEBACKS"
EXPECTED = (AccessError, ApiError, InvalidName, Unreachable, UnknownKind, UnknownResource)


def run_command(program: str, words: Sequence[str]) -> int:
    """Run a command and return the exit code. The first word is a command, or a group followed by
    the command."""
    words = subcommand_first(words)
    name = command_of(words)
    module = import_module(module_of(name)) if name in COMMANDS else None
    if not gc.isenabled():  # `main` disabled it for the imports
        gc.freeze()
        gc.enable()
    if module is None:
        return _print_group(program, words[0], words[1] if len(words) > 1 else "")
    listed = COMMANDS[name]
    own = words[len(name.split()) :]
    reader = ArgumentReader(
        words=own,
        prog=f"{program} {name}",
        usage=f"{program} {name} {listed.usage} [FLAGS]",
        description=f"{listed.help[:1].upper()}{listed.help[1:]}.",
    )
    module.add_flags(reader)
    add_connection_flags(reader)
    try:
        options = reader.read(own)
        invocation = Invocation(options)
        invocation.screen.use_colour(options.color)
        return asyncio.run(_run(module.run, invocation))
    except UsageError as error:
        print(f"error: {error}\nSee '{program} {name} --help' for usage.", file=sys.stderr)
        return int(getattr(module, "MISUSED", 1))


def _print_group(program: str, group: str, word: str) -> int:
    """Print the commands of a group; return 1 if `word` is an unknown command, else 0."""
    commands = {name: listed for name, listed in COMMANDS.items() if name.startswith(f"{group} ")}
    wrong = word not in ("", "-h", "--help")
    if wrong:
        print(suggestions.unknown_member(program, group, word), file=sys.stderr)
    for name, listed in commands.items():
        print(f"  {program} {name} {listed.usage}".ljust(60), listed.help)
    return int(wrong)


async def _suggest_kinds(invocation: Invocation, word: str) -> None:
    """Print the kinds that are called like an unknown one, if the server tells them."""
    with suppress(*EXPECTED):
        types = await invocation.client.discovery.all_resources()
        names = {
            name
            for type in types
            for name in (type.name, type.singular, *type.short_names)
            if name and "/" not in type.name
        }
        if close := suggestions.similar(word.lower(), names):
            invocation.screen.warn(close)


async def _run(command: Callable[[Invocation], Awaitable[int]], invocation: Invocation) -> int:
    try:
        await invocation.check_uid()
        code = await command(invocation)
        invocation.screen.flush()
        return code
    except CommandFailed as failure:
        invocation.screen.flush()
        if str(failure):
            invocation.screen.warn(printable(str(failure)))
        await similar_objects.suggest(invocation, failure.missing)
        return failure.code
    except EXPECTED as error:
        invocation.screen.flush()
        invocation.screen.warn(error_messages.error_text(error))
        if isinstance(error, UnknownResource):
            await _suggest_kinds(invocation, error.wanted)
        if isinstance(error, NotFound):
            await similar_objects.suggest(invocation, [error])
        return 1
    except (AttributeError, LookupError, TypeError, ValueError, RecursionError) as error:
        # The server may send responses that do not match the API.
        if os.environ.get(_TRACEBACKS):
            raise
        invocation.screen.flush()
        text = " ".join(f"{type(error).__name__}: {error}".split())
        invocation.screen.warn(
            f"error: the answer of the server was not understood: {printable(text)}"
            f" (set {_TRACEBACKS}=1 to see where)"
        )
        return 1
    finally:
        await invocation.close()
