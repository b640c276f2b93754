"""`console`: opens the web console in a browser, signed in by a one-time link."""

from __future__ import annotations

import asyncio
import os
import sys
import webbrowser
from urllib.parse import quote, urlsplit

from cryptography import x509
from cryptography.hazmat.primitives.hashes import SHA256

from fairlead.base.terminal import printable
from fairlead.cli.arguments import ArgumentReader
from fairlead.cli.errors import CommandError, CommandFailed
from fairlead.cli.invocation import Invocation
from fairlead.cli.local_console import contexts as local_contexts
from fairlead.cli.local_console import server as local_server
from fairlead.cli.proxy import relay
from fairlead.client import ApiError
from fairlead.client.session import Request
from fairlead.console import files as console_files

_OFF = (
    "error: the server has no console; it may have been started with --console=false."
    " With --all-contexts, the console is served from here"
)
_SCREENS = ("BROWSER", "DISPLAY", "WAYLAND_DISPLAY")


def add_flags(parser: ArgumentReader) -> None:
    parser.add_switch("--print", help="print the link instead of opening it; it can be used once")
    parser.add_switch(
        "--all-contexts",
        help="serve a console for all contexts from here, also for servers that have none",
    )
    parser.add_argument(
        "--port", metavar="PORT", type=int, default=0, help="local port of that console"
    )


async def run(invocation: Invocation) -> int:
    if invocation.options.all_contexts:
        return await _serve(invocation)
    if invocation.options.port:
        raise CommandError("--port is that of the console of --all-contexts: give both")
    config = invocation.client.session.access.place
    if urlsplit(config.server).scheme != "https":
        raise CommandFailed(f"error: the console needs https, and the server is {config.server}")
    link = f"{config.server.rstrip('/')}/console/#code={await _code(invocation)}"
    if invocation.options.print:
        invocation.screen.print(link)
        return 0
    if _open(link):
        invocation.screen.print(
            f"Opened {printable(config.server.rstrip('/'))}/console/ in a browser."
        )
    else:
        invocation.screen.print("There is no browser here. This link works once, within a minute:")
        invocation.screen.print(link)
    if config.ca and not config.insecure:
        invocation.screen.flush()
        invocation.screen.warn(_about_trust(config.ca))
    return 0


async def _serve(invocation: Invocation) -> int:
    """Serve the console for all contexts until interrupted."""
    screen, port = invocation.screen, invocation.options.port
    contexts = local_contexts.Contexts(invocation.options)
    files = await asyncio.to_thread(console_files.served_from, console_files.own_directory())
    links: list[str] = []

    def linked(link: str) -> None:
        links.append(link)
        if len(links) > 1:
            screen.print(f"The link was used. For another tab: {link}")
            screen.flush()

    console = local_server.LocalConsole(contexts, files, linked)
    try:
        server = await asyncio.start_server(
            console.serve, local_server.HOST, port, limit=relay.MAX_HEAD
        )
    except (OSError, OverflowError) as error:
        raise CommandError(f"{local_server.HOST}:{port}: {error}") from None
    try:
        console.begin(server.sockets[0].getsockname()[1])
        names = ", ".join(map(printable, contexts.names))
        screen.print(f"Serving a console for {names} until interrupted.")
        if invocation.options.print or not _open(links[0]):
            screen.print(f"This link works once: {links[0]}")
        screen.flush()
        await server.serve_forever()
    finally:
        server.close()
        await contexts.close()
    return 0


async def _code(invocation: Invocation) -> str:
    """Request a one-time code; raises ApiError and CommandFailed."""
    try:
        answer = await invocation.client.session.json(Request("POST", "/console/link", body=b"{}"))
    except ApiError as error:
        if error.code in (404, 405):
            raise CommandFailed(_OFF) from None
        raise
    code = answer.get("code") if isinstance(answer, dict) else None
    if not isinstance(code, str):
        raise CommandFailed("error: the server returned no sign-in code")
    return quote(code, safe="")


def _open(link: str) -> bool:
    """Open the link; return whether a browser was found. On Linux without a display there are only
    text browsers, which run no scripts."""
    if sys.platform == "linux" and not any(map(os.environ.get, _SCREENS)):
        return False
    try:
        return webbrowser.open(link)
    except (webbrowser.Error, OSError):
        return False


def _about_trust(ca: bytes) -> str:
    try:
        certificate = x509.load_pem_x509_certificate(ca)
    except ValueError:
        return "The browser has to trust the certificate authority of your client configuration."
    name = printable(certificate.subject.rfc4514_string())
    return (
        f"The browser has to trust the certificate authority {name}, or asks whether to continue.\n"
        f"Its SHA-256 fingerprint is {certificate.fingerprint(SHA256()).hex(':').upper()}\n"
        "To have it trusted, import it under the browser's authorities; this writes it to a file:\n"
        "  fairlead config view --raw --minify -o"
        " 'jsonpath={.clusters[0].cluster.certificate-authority-data}' | base64 -d > ca.crt"
    )
