"""`get`: shows objects."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from fairlead.cli.arguments import ArgumentReader
from fairlead.cli.commands import raw
from fairlead.cli.errors import CommandFailed
from fairlead.cli.file_flags import add_file_flags
from fairlead.cli.get import follow
from fairlead.cli.get.output import show_documents, show_tables
from fairlead.cli.get.requests import ObjectQueries, parse_queries
from fairlead.cli.invocation import Invocation
from fairlead.cli.output import printers, sort
from fairlead.cli.output.flags import FORMATS, add_template_flags, choice_of, is_table
from fairlead.client.resources import PAGE
from fairlead.client.session import Request

if TYPE_CHECKING:
    from fairlead.cli.output.printers import Printer

_SUBRESOURCES = ("status", "scale")
_SWITCHES = {
    ("-A", "--all-namespaces"): "objects of all namespaces",
    ("--ignore-not-found",): "ignore objects that do not exist",
    ("--no-headers",): "omit the header line",
    ("--output-watch-events",): "with -w, show the type of each event",
    ("--show-kind",): "show the kind in front of the names",
    ("--show-labels",): "show labels in the last column",
    ("--show-managed-fields",): "include managedFields in json and yaml",
    ("-w", "--watch"): "show the objects, then their changes",
    ("--watch-only",): "show changes only",
}
_VALUES = {
    ("--field-selector",): ("FIELDS", "only objects that match this field selector"),
    ("-l", "--selector"): ("LABELS", "only objects that match this label selector"),
    ("-o", "--output"): ("FORMAT", f"one of {', '.join(FORMATS)}"),
    ("--raw",): ("PATH", "send a GET request to this path and print the answer"),
    ("--sort-by",): ("FIELD", "sort by the value of this JSONPath expression"),
    ("--subresource",): ("NAME", f"show a subresource: {' or '.join(_SUBRESOURCES)}"),
}


def add_flags(parser: ArgumentReader) -> None:
    parser.add_argument("words", metavar="KIND [NAME...]", nargs="*")
    for names, text in _SWITCHES.items():
        parser.add_switch(*names, help=text)
    parser.add_switch("--server-print", default=True, help="use the columns of the server's tables")
    for names, (value, text) in _VALUES.items():
        parser.add_argument(*names, metavar=value, default="", help=text)
    parser.add_argument(
        "-L",
        "--label-columns",
        metavar="LABELS",
        action="append",
        default=[],
        help="show these labels as columns",
    )
    parser.add_argument(
        "--chunk-size",
        metavar="NUMBER",
        type=int,
        default=PAGE,
        help="number of objects per list request; 0 for all at once",
    )
    add_template_flags(parser)
    add_file_flags(parser, "show")


async def run(invocation: Invocation) -> int:
    options = invocation.options
    _check(invocation)
    if options.raw:
        return await _raw(invocation)
    if not options.words and not options.filename:
        raise CommandFailed(
            "error: name the kind to get, such as pods or deployment/web. fairlead api-resources"
            " lists all kinds, fairlead explain KIND describes one, fairlead get --help the flags"
        )
    in_table = is_table(options.output) and not options.template
    printer = None if in_table else printers.printer_for(choice_of(options))
    order = sort.Order(options.sort_by) if options.sort_by else None
    queries = await parse_queries(invocation)
    if options.watch or options.watch_only:
        return await _watch(invocation, queries, printer)
    if printer is None:
        return await show_tables(invocation, queries, order)
    return await show_documents(invocation, queries, printer, order)


async def _watch(invocation: Invocation, queries: ObjectQueries, printer: Printer | None) -> int:
    """Show changes until --request-timeout, if there is one."""
    try:
        async with asyncio.timeout(invocation.client.access.timeout):
            if printer is None:
                return await follow.follow_tables(invocation, queries)
            return await follow.follow_documents(invocation, queries, printer)
    except TimeoutError:
        return 0


def _check(invocation: Invocation) -> None:
    """Raises CommandFailed for flags that contradict each other."""
    options = invocation.options
    wrong = ""
    if options.raw and (options.watch or options.watch_only or options.selector):
        wrong = "--raw prints what the server answers at a path: no flag changes that"
    elif options.raw and options.output:
        wrong = "--raw has a format of its own: leave out -o"
    elif options.raw and options.words:
        wrong = "--raw takes a path and no other words"
    elif options.raw and not options.raw.startswith("/"):
        wrong = f"--raw takes a path that begins with /, not {options.raw}"
    elif options.show_labels and not is_table(options.output):
        wrong = f"--show-labels is for tables, not for -o {options.output}"
    elif options.output_watch_events and not (options.watch or options.watch_only):
        wrong = "--output-watch-events needs --watch or --watch-only"
    elif options.subresource and options.subresource not in _SUBRESOURCES:
        wrong = (
            f"--subresource={options.subresource} is not possible here, only"
            f" {', '.join(_SUBRESOURCES)}"
        )
    elif options.chunk_size < 0:
        wrong = f"--chunk-size: {options.chunk_size} is less than nothing"
    if wrong:
        raise CommandFailed(f"error: {wrong}")


async def _raw(invocation: Invocation) -> int:
    await raw.stream_response(
        invocation, Request("GET", raw.escaped_path(invocation.options.raw), accept="*/*")
    )
    return 0
