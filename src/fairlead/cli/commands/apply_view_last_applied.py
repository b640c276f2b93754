"""`apply view-last-applied`: shows the record of client-side apply."""

from __future__ import annotations

from fairlead.cli.apply.last_applied import annotation_of, last_applied, not_recorded
from fairlead.cli.arguments import ArgumentReader
from fairlead.cli.errors import CommandError
from fairlead.cli.invocation import Invocation
from fairlead.cli.output.documents import as_json, as_yaml
from fairlead.cli.selection import add_selection_flags, check_choice, select_objects
from fairlead.cli.write_options import Failures

_FORMATS = {"yaml": as_yaml, "json": as_json}


def add_flags(parser: ArgumentReader) -> None:
    parser.add_argument("words", metavar="KIND NAME...", nargs="*")
    add_selection_flags(parser, "show")
    parser.add_argument("-o", "--output", metavar="FORMAT", default="yaml", help="yaml or json")


async def run(invocation: Invocation) -> int:
    options = invocation.options
    written = _FORMATS.get(options.output)
    if written is None:
        raise CommandError(f"-o takes {' or '.join(_FORMATS)}")
    check_choice(invocation, options.words)
    annotation = annotation_of(await invocation.client.discovery.dialect())
    failures = Failures()
    is_first = True
    async for resolved in select_objects(invocation, options.words, failures):
        configuration = last_applied(resolved.value, annotation)
        if configuration is None:
            failures.add(not_recorded(resolved))
            continue
        if not is_first and written is as_yaml:
            invocation.screen.print("---")
        invocation.screen.print(written(configuration))
        is_first = False
    return failures.finish()
