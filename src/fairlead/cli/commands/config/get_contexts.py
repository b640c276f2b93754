"""`config get-contexts`: shows the contexts."""

from __future__ import annotations

from fairlead.base.terminal import printable
from fairlead.cli.arguments import ArgumentReader
from fairlead.cli.commands.config.files import Files, add_words
from fairlead.cli.errors import CommandFailed, UsageError
from fairlead.cli.invocation import Invocation
from fairlead.cli.output import tables

_HEAD = ("CURRENT", "NAME", "CLUSTER", "AUTHINFO", "NAMESPACE")
_FIELDS = ("cluster", "user", "namespace")


def add_flags(parser: ArgumentReader) -> None:
    add_words(parser, "NAME")
    parser.add_argument(
        "-o",
        "--output",
        metavar="FORMAT",
        default="",
        help="output format: name; by default a table",
    )
    parser.add_switch("--no-headers", help="omit the header line")


async def run(invocation: Invocation) -> int:
    if invocation.options.output not in ("", "name"):
        raise UsageError('output must be one of "" or "name"')
    files = Files(invocation)
    contexts = files.configuration.entries["contexts"]
    selected = sorted(set(invocation.options.words)) or files.names("contexts")
    names = [name for name in selected if name in contexts]
    if invocation.options.output == "name":
        lines = [printable(name) for name in names]
    else:
        rows = [_row(files, name) for name in names]
        table = [*(() if invocation.options.no_headers else (_HEAD,)), *rows]
        lines = tables.text(table, invocation.screen, _HEAD).splitlines() if table else []
    for line in lines:
        invocation.screen.print(line)
    missing = [name for name in selected if name not in contexts]
    if missing:
        raise CommandFailed("\n".join(f"error: context {name} not found" for name in missing))
    return 0


def _row(files: Files, name: str) -> list[str]:
    fields = files.fields("contexts", name) or {}
    mark = "*" if name == files.configuration.current_context else ""
    cells = [mark, name, *(str(fields.get(field) or "") for field in _FIELDS)]
    return [printable(cell) for cell in cells]
