"""`config view`: shows the client configuration."""

from __future__ import annotations

import json

from fairlead.cli.arguments import ArgumentReader
from fairlead.cli.commands.config.files import Files
from fairlead.cli.commands.config.viewing import document, flatten, minify, redact
from fairlead.cli.errors import CommandFailed
from fairlead.cli.invocation import Invocation
from fairlead.cli.output.printers import Choice, printer_for


def add_flags(parser: ArgumentReader) -> None:
    parser.add_argument(
        "-o", "--output", metavar="FORMAT", default="yaml", help="yaml, json, jsonpath=TEMPLATE, …"
    )
    parser.add_switch("--raw", help="include secrets and certificates")
    parser.add_switch("--minify", help="show only the parts that the current context uses")
    parser.add_switch("--flatten", help="include the content of referenced files")
    parser.add_switch("--merge", default=True, help="merge all configuration files")


async def run(at: Invocation) -> int:
    options = at.options
    if not options.merge and not options.kubeconfig:
        raise CommandFailed("error: --merge=false shows one file: name it with --kubeconfig")
    printer = printer_for(Choice(options.output or "yaml"))
    said = Files(at).said
    if options.context:
        said.current_context = options.context
    if options.minify:
        minify(said)
    if options.flatten:
        flatten(said)
    if not options.raw and not options.flatten:
        redact(said)
    shown = document(said)
    if options.output == "json":
        at.screen.print(json.dumps(shown, indent=4, ensure_ascii=False))  # keeps the field order
    else:
        at.screen.out.write(printer(shown))
    return 0
