"""The command `fairlead`."""

from __future__ import annotations

import argparse
import gc
import logging
import sys
from collections.abc import Sequence

from fairlead import __version__
from fairlead.logs import FORMAT, OneLine

PROGRAM = "fairlead"
_OWN_FLAGS = ("-h", "--help", "--version")
_COPYING = {
    "backup": ("FILE", "copy all objects of a server or a storage into a file"),
    "restore": ("FILE", "fill a data directory or etcd from such a file"),
    "migrate": ("--from STORAGE --to STORAGE", "copy one storage into another"),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; gives the exit code: 1 if it failed, 2 if it was not understood, 130 if it
    was interrupted before it had begun."""
    try:
        return _run(list(sys.argv[1:] if arguments is None else arguments))
    except KeyboardInterrupt:
        return 130


def _run(words: list[str]) -> int:
    from fairlead.cli.catalog import COMMANDS, GROUPS

    if words and words[0] == "__complete":
        from fairlead.cli.completion.answering import complete

        return complete(words[1:])
    if words and words[0].startswith("-") and words[0] not in _OWN_FLAGS:
        from fairlead.cli.connecting import behind_command

        words = behind_command(words)
    if words and (words[0] in COMMANDS or words[0] in GROUPS):
        gc.disable()  # until the command runs: nothing of what is imported goes away
        from fairlead.cli.running import run_command

        return run_command(PROGRAM, words)
    return _run_server_side(words)


def _run_server_side(words: list[str]) -> int:
    from fairlead.cli.parsing import Parser

    parser = Parser(prog=PROGRAM, description="A Kubernetes-style cluster API server.")
    parser.add_argument("--version", action="version", version=_version(), help="what version does")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", title="Commands")
    serve = commands.add_parser(
        "serve",
        help="run a server",
        usage=f"{PROGRAM} serve [FLAGS]",
        description="Run a server until SIGTERM or Ctrl-C.",
    )
    copying = {
        name: commands.add_parser(
            name,
            help=text,
            usage=f"{PROGRAM} {name} {what} [FLAGS]",
            description=f"{text.capitalize()}.",
        )
        for name, (what, text) in _COPYING.items()
    }
    test_env = commands.add_parser(
        "test-env",
        help="write programs that stand in for those of envtest",
        usage=f"{PROGRAM} test-env [DIRECTORY]",
        description="Write programs that start Fairlead in the place of those that envtest of"
        " controller-runtime starts, and print where they are:\n\n"
        "  export KUBEBUILDER_ASSETS=$(fairlead test-env)",
    )
    test_env.add_argument(
        "directory", nargs="?", metavar="DIRECTORY", help="by default one in the user's cache"
    )
    commands.add_parser("version", help="tell the version and end")
    commands.add_parser("help", help="show this and end")
    if words[:1] == ["serve"]:
        gc.disable()  # until the server is ready: nothing of what is imported and loaded goes away
        from fairlead.server.options import add_serve_flags

        add_serve_flags(serve)
    elif words and words[0] in copying:
        from fairlead.cli.copying_flags import add_flags

        add_flags(words[0], copying[words[0]])
    options = parser.parse_args(words)
    if options.command in copying:
        from fairlead.cli.copying import run

        return run(options.command, copying[options.command], options)
    if options.command == "serve":
        return _serve(serve, options)
    if options.command == "test-env":
        from fairlead.cli.test_env import run_test_env

        return run_test_env(options.directory)
    if options.command == "version":
        print(_version())
    else:
        parser.print_help()
    return 0


def _version() -> str:
    return f"{PROGRAM} {__version__}"


def _serve(parser: argparse.ArgumentParser, options: argparse.Namespace) -> int:
    from fairlead.server.options import FlagError, check_flags

    try:
        check_flags(options)
    except FlagError as error:
        parser.error(str(error))
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(OneLine(FORMAT))
    logging.basicConfig(level=logging.INFO, handlers=[handler])

    import uvloop

    from fairlead.server.serving import serve

    try:
        return serve(options, uvloop.run)
    except Exception as error:
        from fairlead.cli.failures import explain
        from fairlead.cli.parsing import complain

        if options.verbosity:
            logging.getLogger(PROGRAM).exception("the server ended")
        complain(PROGRAM, explain(error))
        return 1
