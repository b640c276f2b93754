"""The command `fairlead`."""

from __future__ import annotations

import argparse
import gc
import logging
import sys
from collections.abc import Sequence

from fairlead import __version__
from fairlead.logs import FORMAT, OneLine


def main(arguments: Sequence[str] | None = None) -> int:
    from fairlead.server.options import add_serve_flags

    parser = argparse.ArgumentParser(
        prog="fairlead", description="A Kubernetes-style cluster API server.", allow_abbrev=False
    )
    parser.add_argument("--version", action="version", version=f"fairlead {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    serve = commands.add_parser("serve", help="run a server", allow_abbrev=False)
    add_serve_flags(serve)
    options = parser.parse_args(arguments)
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(OneLine(FORMAT))
    logging.basicConfig(level=logging.INFO, handlers=[handler])
    return _serve(options)


def _serve(options: argparse.Namespace) -> int:
    gc.disable()  # until the server is ready: nothing of what is imported and loaded goes away

    import uvloop

    from fairlead.server.serving import serve

    return serve(options, uvloop.run)
