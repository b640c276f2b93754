"""`proxy`: serves the API on a local port, with the credentials of the user."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

from fairlead.base.terminal import printable
from fairlead.cli.arguments import ArgumentReader
from fairlead.cli.errors import CommandError
from fairlead.cli.invocation import Invocation
from fairlead.cli.proxy.filters import add_filter_flags, filter_of
from fairlead.cli.proxy.relay import MAX_HEAD, Places, Relay, server_path

_MAX_PORT = 65535


def add_flags(parser: ArgumentReader) -> None:
    parser.add_argument(
        "-p", "--port", metavar="PORT", type=int, default=8001, help="local port; 0 for a free one"
    )
    parser.add_argument(
        "--address", metavar="ADDRESS", default="127.0.0.1", help="local address to listen on"
    )
    parser.add_argument(
        "-u", "--unix-socket", metavar="FILE", default="", help="listen on this socket instead"
    )
    parser.add_argument(
        "-w", "--www", metavar="DIRECTORY", default="", help="also serve the files of a directory"
    )
    parser.add_argument(
        "-P", "--www-prefix", metavar="PREFIX", default="/static/", help="path of these files"
    )
    parser.add_argument("--api-prefix", metavar="PREFIX", default="/", help="path of the API")
    parser.add_switch(
        "--append-server-path", help="put the path of the server's URL in front of paths"
    )
    add_filter_flags(parser)
    parser.add_without_effect("--keepalive", value="DURATION")
    parser.add_switch("--disable-filter", help="pass on every request, from anywhere: dangerous")


async def run(invocation: Invocation) -> int:
    options = invocation.options
    if options.unix_socket and options.port != 8001:
        raise CommandError("--unix-socket and --port contradict each other: give one of them")
    filter = None
    if options.disable_filter:
        where = f" on {options.address}" if not options.unix_socket else ""
        invocation.screen.warn(f"Who reaches this proxy{where} can do whatever you can do.")
    else:
        filter = filter_of(options)
    relay = Relay(invocation.client.session, _places(invocation), filter)
    server = await _listening(invocation, relay)
    try:
        await server.serve_forever()
    finally:
        server.close()
    return 0


def _places(invocation: Invocation) -> Places:
    options = invocation.options
    directory = Path(options.www) if options.www else None
    if directory is not None and not directory.is_dir():
        raise CommandError(f"--www: {directory} is not a directory")
    path = server_path(invocation.client.access.place.server)
    return Places(
        _prefix(options.api_prefix),
        directory,
        _prefix(options.www_prefix),
        path if options.append_server_path else "",
    )


def _prefix(text: str) -> str:
    """The prefix with slashes around it."""
    return f"/{text.strip('/')}/" if text.strip("/") else "/"


async def _listening(invocation: Invocation, relay: Relay) -> asyncio.Server:
    """Raises CommandError if the port or socket cannot be used."""
    options = invocation.options
    if not 0 <= options.port <= _MAX_PORT:
        raise CommandError(f"--port takes a number up to {_MAX_PORT}")
    try:
        if options.unix_socket:
            server = await _on_socket(options.unix_socket, relay)
            where = options.unix_socket
        else:
            server = await asyncio.start_server(
                relay.serve, options.address, options.port, limit=MAX_HEAD
            )
            host, port = server.sockets[0].getsockname()[:2]
            where = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    except OSError as error:
        number = error.errno or 0
        why = os.strerror(number) if number > 0 else str(error)
        place = options.unix_socket or f"{options.address}:{options.port}"
        raise CommandError(f"{place}: {why}") from None
    invocation.screen.print(f"Starting to serve on {printable(where)}")
    invocation.screen.flush()
    return server


async def _on_socket(path: str, relay: Relay) -> asyncio.Server:
    """Listen on a socket that only the user can use."""
    mask = os.umask(0o177)
    try:
        return await asyncio.start_unix_server(relay.serve, path, limit=MAX_HEAD)
    finally:
        os.umask(mask)
