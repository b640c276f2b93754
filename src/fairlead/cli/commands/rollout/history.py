"""`rollout history`: shows the revisions of a workload."""

from __future__ import annotations

from fairlead.base.terminal import printable
from fairlead.cli.arguments import ArgumentReader
from fairlead.cli.errors import CommandError, CommandFailed
from fairlead.cli.invocation import Invocation
from fairlead.cli.output.formats import add_output_flag, check_output, named, show_result
from fairlead.cli.resolution import ResolvedObject
from fairlead.cli.rollouts.revisions import Revision, revisions_of, template_text, with_cause
from fairlead.cli.rollouts.workloads import add_workload_flags, workloads
from fairlead.cli.write_options import EXPECTED, Failures

_HEAD = "REVISION  "


def add_flags(parser: ArgumentReader) -> None:
    add_workload_flags(parser, "look at")
    parser.add_argument(
        "--revision",
        type=int,
        default=0,
        metavar="N",
        help="show the pod template of this revision",
    )
    add_output_flag(parser)


async def run(invocation: Invocation) -> int:
    check_output(invocation)
    if invocation.options.revision < 0:
        raise CommandError(
            f"--revision takes a number from 1 on, not {invocation.options.revision}"
        )
    failures = Failures()
    async for resolved in workloads(invocation, failures):
        try:
            await _show(invocation, resolved)
        except (CommandFailed, *EXPECTED) as error:
            failures.add(error)
    return failures.finish()


async def _show(invocation: Invocation, resolved: ResolvedObject) -> None:
    revisions = await revisions_of(invocation.client, resolved, "history viewer")
    number = invocation.options.revision
    if number:
        revisions = [revision for revision in revisions if revision.number == number]
        if not revisions:
            raise CommandError("there is no such revision")
    if invocation.options.output:
        for revision in revisions:
            source = revision.source
            show_result(invocation, (await invocation.client.resource_of(source)).type, source, "")
        return
    title = named(resolved.resource.type, resolved.name)
    if number:
        dialect = await invocation.client.discovery.dialect()
        text = template_text(with_cause(revisions[0], dialect), dialect)
        invocation.screen.print(f"{title} with revision #{number}\n{text}\n")
    else:
        invocation.screen.print(f"{title} \n{_table(revisions)}\n")


def _table(revisions: list[Revision]) -> str:
    if not revisions:
        return "No rollout history found."
    rows = [
        (str(revision.number), " ".join(printable(revision.cause).split()))
        for revision in revisions
    ]
    lines = [f"{number:<{len(_HEAD)}}{cause or '<none>'}" for number, cause in rows]
    return "\n".join((f"{_HEAD}CHANGE-CAUSE", *lines))
