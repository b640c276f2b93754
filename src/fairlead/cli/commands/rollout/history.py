"""Show the revisions of a workload."""

from __future__ import annotations

from fairlead.cli.arguments import ArgumentReader
from fairlead.cli.chosen import Chosen, add_choosing_flags, chosen
from fairlead.cli.errors import CommandFailed
from fairlead.cli.invocation import Invocation
from fairlead.cli.output.formats import add_output_flag, show_result
from fairlead.cli.rolling.revisions import Revision, revisions_of, with_cause
from fairlead.cli.rolling.templates import template_text
from fairlead.cli.rolling.workloads import check_named
from fairlead.cli.screen import printable

_HEAD = "REVISION  "


def add_flags(parser: ArgumentReader) -> None:
    add_choosing_flags(parser, "look at")
    parser.add_argument(
        "--revision", type=int, default=0, metavar="N", help="show the pods of this revision"
    )
    add_output_flag(parser)


async def run(at: Invocation) -> int:
    check_named(at)
    if at.options.revision < 0:
        raise CommandFailed(f"error: revision must be a positive integer: {at.options.revision}")
    choice = await chosen(at, all_unless_named=True)
    for one in choice.found:
        try:
            await _show(at, one)
        except CommandFailed as error:
            choice.errors.append(str(error))
    return choice.end(at)


async def _show(at: Invocation, one: Chosen) -> None:
    revisions = await revisions_of(at.client, one, "history viewer")
    wanted = at.options.revision
    if wanted:
        revisions = [revision for revision in revisions if revision.number == wanted]
        if not revisions:
            raise CommandFailed("error: unable to find the specified revision")
    if at.options.output:
        for revision in revisions:
            source = revision.source
            show_result(at, (await at.client.resource_of(source)).type, source, "")
        return
    if wanted:
        dialect = await at.client.discovery.dialect()
        text = template_text(with_cause(revisions[0], dialect), dialect)
        at.screen.print(f"{one.shown} with revision #{wanted}\n{text}\n")
    else:
        at.screen.print(f"{one.shown} \n{_table(revisions)}\n")


def _table(revisions: list[Revision]) -> str:
    if not revisions:
        return "No rollout history found."
    rows = [(str(one.number), " ".join(printable(one.cause).split())) for one in revisions]
    lines = [f"{number:<{len(_HEAD)}}{cause or '<none>'}" for number, cause in rows]
    return "\n".join((f"{_HEAD}CHANGE-CAUSE", *lines))
