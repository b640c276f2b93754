"""`apply set-last-applied`: records files as what client-side apply applied last."""

from __future__ import annotations

from fairlead.cli.apply.last_applied import annotation_of, annotations_of, not_recorded, record
from fairlead.cli.arguments import ArgumentReader
from fairlead.cli.file_flags import add_file_flags
from fairlead.cli.invocation import Invocation
from fairlead.cli.output.formats import add_output_flag, check_output, show_result
from fairlead.cli.resolution import Resolver, files_of, require_name
from fairlead.cli.write_options import add_dry_run_flag, dry_run, note, write_query


def add_flags(parser: ArgumentReader) -> None:
    add_file_flags(parser, "record")
    add_output_flag(parser)
    add_dry_run_flag(parser)
    parser.add_switch("--create-annotation", help="also for objects that have no record yet")


async def run(invocation: Invocation) -> int:
    options = invocation.options
    check_output(invocation)
    query = write_query(options)
    annotation = annotation_of(await invocation.client.discovery.dialect())
    resolver = Resolver(invocation)
    found = []
    for manifest in files_of(invocation, "record"):
        resolved = await resolver.of(manifest)
        live = await resolved.resource.get(require_name(resolved), resolved.namespace)
        if annotation not in annotations_of(live) and not options.create_annotation:
            raise not_recorded(resolved, "; --create-annotation adds one")
        found.append((resolved, live))
    for resolved, value in found:
        if dry_run(options) != "client":
            value = await record(resolved, resolved.value, annotation, query)
        show_result(invocation, resolved.resource.type, value, "configured", note(options))
    return 0
