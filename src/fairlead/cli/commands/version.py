"""`version`: shows the versions of the client and of the server, and whether the client is
compiled."""

from __future__ import annotations

from typing import Any

from fairlead import __version__
from fairlead.base.compiled import compiler, is_compiled
from fairlead.base.terminal import printable
from fairlead.cli import runner
from fairlead.cli.arguments import ArgumentReader
from fairlead.cli.errors import CommandFailed
from fairlead.cli.invocation import Invocation
from fairlead.cli.output import documents
from fairlead.client.access.files import pod_environment, sources_of
from fairlead.client.session import Request

_TIMEOUT = 10.0


def add_flags(parser: ArgumentReader) -> None:
    parser.add_switch("--client", help="print only the version of this command")
    parser.add_argument("-o", "--output", metavar="FORMAT", default="", help="one of json, yaml")


async def run(invocation: Invocation) -> int:
    options = invocation.options
    if options.output not in ("", "json", "yaml"):
        raise CommandFailed("error: -o takes json or yaml")
    wants_server = not options.client and _has_configuration(invocation)
    if not options.output:
        kind = "compiled" if is_compiled() else "plain"
        invocation.screen.print(f"fairlead {__version__} ({kind})")
        invocation.screen.flush()
        if wants_server:
            server = await _server(invocation)
            version = printable(str(server["serverVersion"].get("gitVersion")))
            invocation.screen.print(f"Server Version: {version} (dialect {server['dialect']})")
        return 0
    document: dict[str, Any] = {
        "clientVersion": {"gitVersion": f"v{__version__}", "compiler": compiler()}
    }
    failure: Exception | None = None
    if wants_server:
        try:
            document |= await _server(invocation)
        except runner.EXPECTED as error:
            failure = error
    show = documents.as_json if options.output == "json" else documents.as_yaml
    invocation.screen.print(show(document))
    if failure is not None:
        raise failure
    return 0


async def _server(invocation: Invocation) -> dict[str, Any]:
    version = await invocation.client.session.json(Request("GET", "/version", timeout=_TIMEOUT))
    dialect = await invocation.client.discovery.dialect()
    return {"serverVersion": version, "dialect": dialect.name}


def _has_configuration(invocation: Invocation) -> bool:
    """Whether there is any client configuration, from flags, files or inside a cluster."""
    sources = sources_of(invocation.options.kubeconfig)
    return (
        sources.explicit
        or bool(invocation.options.context)
        or any(file.exists() for file in sources.files)
        or pod_environment() is not None
    )
