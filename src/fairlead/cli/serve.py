"""The command serve, which runs a server until it is told to stop."""

from __future__ import annotations

import argparse

import uvloop

from fairlead.base.logs import Logger, log_exit_reason, set_up_logs
from fairlead.cli.failures import explain
from fairlead.process import lifecycle
from fairlead.process.flags.checks import FlagError, check_flags
from fairlead.process.flags.serve import add_serve_flags
from fairlead.process.verbosity import VerbosityError, choose_verbosity


def add_flags(command: str, parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Run a server until SIGTERM or Ctrl-C. SIGHUP reads files again: certificates, client CAs,"
        " tokens, the audit policy, the verbosity."
    )
    add_serve_flags(parser)


def run(command: str, parser: argparse.ArgumentParser, options: argparse.Namespace) -> int:
    """Return the exit code: 1 if the server fails. Exits with code 2 if flags are wrong."""
    try:
        check_flags(options)
        choose_verbosity(options)
    except (FlagError, VerbosityError) as error:
        parser.error(str(error))
    set_up_logs(options.log_format, options.verbosity)
    try:
        return lifecycle.serve(options, uvloop.run)
    except Exception as error:
        if options.verbosity:
            Logger("fairlead").exception("the server ended")
        log_exit_reason(explain(error))
        return 1
