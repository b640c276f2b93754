"""The command line of `fairlead`. May use everything but `testing`.

- `main` in this module: where to enter; picks the command by its first word and imports only its
  modules
- `runner`: runs a client command, from its flags to the exit code
- `catalog`: the commands by name, and the overview of them
- `commands/`: one module per client command, with `add_flags` and `run`
- `arguments`, `connection_flags`, `parser`: flags
- `invocation`: the options, client and output of a running command
- `targets`, `selection`, `manifests`, `resolution`: from words to objects
- `write_options`, `error_messages`, `errors`: options of writes, and error messages
- `output/`: tables, JSON, YAML, JSONPath
- `get/`, `describe/`, `explain/`, `feed/`, `relations/`, `ownership/`, `versions/`:
  commands that read
- `apply/`, `create/`, `delete/`, `rollouts/`: commands that write
- `permissions/`, `bootstrap_tokens/`: permissions and bootstrap tokens
- `completion/`: shell completion
- `store_copy`, `envtest_programs`: backup, restore, migrate; programs for envtest
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from fairlead import __version__
from fairlead.base.terminal import guard_terminals
from fairlead.cli.interrupts import restore_sigint

if TYPE_CHECKING:
    import argparse

PROGRAM = "fairlead"
_HELP = ("-h", "--help")
_MAX_WORD_LENGTH = 300


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return the exit code: 1 if it fails, 2 for a usage error, 130 if Ctrl-C
    interrupts it before it starts."""
    restore_sigint()
    open_closed_streams()
    guard_terminals()
    try:
        try:
            return _run(list(sys.argv[1:] if arguments is None else arguments))
        finally:
            sys.stdout.flush()
    except KeyboardInterrupt:
        return 130
    except OSError as error:
        return cannot_write(error)


def _run(words: list[str]) -> int:
    if words[:1] == ["help"]:
        words = [*words[1:], "--help"]
    if not words or words[0] in _HELP:
        from fairlead.cli.catalog import overview

        print(overview(PROGRAM))
        return 0
    if words[0] == "--version":
        print(_version())
        return 0
    from fairlead.cli.catalog import COMMANDS, GROUPS

    if words[0] == "__complete":
        from fairlead.cli.completion.candidates import complete

        return complete(words[1:])
    if words[0].startswith("-"):
        from fairlead.cli.connection_flags import move_flags_to_end

        words = move_flags_to_end(words)
    if words[0] in COMMANDS or words[0] in GROUPS:
        gc.disable()  # re-enabled before the command runs: imported objects never become garbage
        from fairlead.cli.runner import run_command

        return run_command(PROGRAM, words)
    from fairlead.cli.catalog import SERVER_SIDE, unknown_command

    if words[0] in SERVER_SIDE:
        return _run_server_side(words[0], words[1:], *SERVER_SIDE[words[0]])
    if words[0].startswith("-"):
        from fairlead.cli.parser import complain

        complain(PROGRAM, f"a command is needed before {words[0][:_MAX_WORD_LENGTH]} (see --help)")
    else:
        print(unknown_command(PROGRAM, words[0][:_MAX_WORD_LENGTH]), file=sys.stderr)
    return 2


def _run_server_side(command: str, words: list[str], what: str, text: str) -> int:
    from fairlead.cli.parser import Parser

    if command == "serve":
        what, text = "", "run a server until SIGTERM, SIGHUP or Ctrl-C"
    name = f"{PROGRAM} {command}"
    usage = " ".join(filter(None, (name, what, "[FLAGS]")))
    parser = Parser(prog=name, usage=usage, description=f"{text[:1].upper()}{text[1:]}.")
    if command == "serve":
        gc.disable()  # re-enabled when the server is ready: nothing loaded until then is garbage
        from fairlead.process.flags.serve import add_serve_flags

        add_serve_flags(parser)
        return _serve(parser, parser.parse_args(words))
    if command == "test-env":
        from fairlead.cli.envtest_programs import add_arguments, run_test_env

        add_arguments(parser)
        return run_test_env(parser.parse_args(words).directory)
    from fairlead.cli.store_copy import run
    from fairlead.cli.store_copy_flags import add_flags

    add_flags(command, parser)
    return run(command, parser, parser.parse_args(words))


def _version() -> str:
    return f"{PROGRAM} {__version__}"


def _serve(parser: argparse.ArgumentParser, options: argparse.Namespace) -> int:
    from fairlead.base.logs import log_exit_reason, set_up_logs
    from fairlead.process.flags.checks import FlagError, check_flags

    try:
        check_flags(options)
    except FlagError as error:
        parser.error(str(error))
    set_up_logs(options.log_format, options.verbosity)

    import uvloop

    from fairlead.process.lifecycle import serve

    try:
        return serve(options, uvloop.run)
    except Exception as error:
        import logging

        from fairlead.cli.failures import explain

        if options.verbosity:
            logging.getLogger(PROGRAM).exception("the server ended")
        log_exit_reason(explain(error))
        return 1


# Handles standard streams that are closed, on a full disk, or whose reader is gone.


def open_closed_streams() -> None:
    """Replace standard streams that the shell closed (`>&-`) by /dev/null. Otherwise the next
    opened file or socket would get their descriptor, and output would go there."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115


def cannot_write(error: OSError) -> int:
    """The exit code for output that cannot be written. A closed pipe, such as to `head`, is no
    error and prints no message."""
    with suppress(OSError, ValueError):  # the interpreter must not flush stdout again at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if isinstance(error, BrokenPipeError):
        return 0
    with suppress(OSError):
        print(f"error: {error.filename or 'write'}: {error.strerror or error}", file=sys.stderr)
    return 1
