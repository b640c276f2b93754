"""The command line of `fairlead`. May use everything but `testing`.

- `main` in this module: where to enter; picks the command by its first word and imports only its
  modules
- `runner`: runs a client command, from its flags to the exit code
- `catalog`: the commands by name, and the overview of them
- `commands/`: one module per client command, with `add_flags` and `run`
- `arguments`, `connection_flags`, `help_pages`: flags of client commands; `parser`: of the others
- `invocation`: the options, client and output of a running command
- `targets`, `selection`, `file_flags`, `manifests`, `resolution`: from words to objects
- `write_options`, `error_messages`, `errors`: options of writes, and error messages
- `output/`: tables, JSON, YAML, JSONPath
- `get/`, `describe/`, `explain/`, `feed/`, `relations/`, `ownership/`, `versions/`:
  commands that read
- `apply/`, `create/`, `delete/`, `rollouts/`: commands that write
- `pods/`, `debugging/`, `proxy/`: containers and their terminals, files and logs; local servers
- `local_console/`: the console for the servers of several contexts
- `permissions/`, `bootstrap_tokens/`: permissions and bootstrap tokens
- `kustomize/`: kustomizations (`-k`)
- `templates/`, `nodes/`: commands that change pod templates and nodes
- `completion/`: shell completion
- `plugins`, `suggestions`, `similar_objects`: programs of the PATH as commands; mistyped words
- `serve`, `install_service` with `service_units`, `store_copy`, `check` with `checks/`,
  `envtest_programs`: serve; a service of systemd; backup, restore, migrate; what is wrong with a
  store or a server; programs for envtest
"""

from __future__ import annotations

import atexit
import gc
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module

from fairlead import __version__
from fairlead.base import lazy
from fairlead.base.terminal import guard_terminals
from fairlead.cli import connection_flags, parser, plugins, runner, suggestions
from fairlead.cli.catalog import COMMANDS, GROUPS, SERVER_SIDE, overview
from fairlead.cli.completion import candidates
from fairlead.cli.interrupts import restore_sigint

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
            is_process = arguments is None
            return _run(list(sys.argv[1:] if arguments is None else arguments), is_process)
        finally:
            sys.stdout.flush()
    except KeyboardInterrupt:
        return 130
    except OSError as error:
        return cannot_write(error)


def _save_time() -> None:
    """Prepare a process that runs nothing but this command: imported objects never become garbage,
    and much of the standard library is not needed."""
    gc.disable()  # the runner enables it when the modules of the command are loaded
    atexit.register(gc.freeze)  # the process ends without searching for garbage
    lazy.install(lazy.STANDARD)


def _run(words: list[str], is_process: bool) -> int:
    if words[:1] == ["help"]:
        words = [*words[1:], "--help"]
    if not words or words[0] in _HELP:
        print(overview(PROGRAM))
        return 0
    if words[0] == "--version":
        print(f"{PROGRAM} {__version__}")
        return 0
    if words[0] == "__complete":
        return candidates.complete(words[1:])
    if words[0].startswith("-"):
        words = connection_flags.move_flags_to_end(words)
    if words[0] in COMMANDS or words[0] in GROUPS:
        if is_process:
            _save_time()
        return runner.run_command(PROGRAM, words)
    if words[0] in SERVER_SIDE:
        return _run_server_side(words[0], words[1:])
    plugins.run(words)
    word = words[0][:_MAX_WORD_LENGTH]
    if word.startswith("-"):
        parser.complain(PROGRAM, f"a command is needed before {word} (see --help)")
    else:
        print(suggestions.unknown_command(PROGRAM, word), file=sys.stderr)
    return 2


def _run_server_side(command: str, words: list[str]) -> int:
    if command == "serve":
        gc.disable()  # re-enabled when the server is ready: nothing loaded until then is garbage
    listed = SERVER_SIDE[command]
    module = import_module(f"fairlead.cli.{listed.module}")
    name = f"{PROGRAM} {command}"
    flags = parser.Parser(
        prog=name,
        usage=" ".join(filter(None, (name, listed.usage, "[FLAGS]"))),
        description=f"{listed.help[:1].upper()}{listed.help[1:]}.",
    )
    module.add_flags(command, flags)
    code: int = module.run(command, flags, flags.parse_args(words))
    return code


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
