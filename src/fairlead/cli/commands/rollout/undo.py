"""`rollout undo`: returns to an earlier revision."""

from __future__ import annotations

from collections.abc import Mapping

from fairlead.cli.arguments import ArgumentReader
from fairlead.cli.errors import CommandFailed
from fairlead.cli.invocation import Invocation
from fairlead.cli.output.formats import add_output_flag, check_output, show_result
from fairlead.cli.resolution import ResolvedObject
from fairlead.cli.rollouts.revisions import revisions_of
from fairlead.cli.rollouts.templates import template_text
from fairlead.cli.rollouts.undo import go_back, is_deployment, is_there_already, revision_to_go_to
from fairlead.cli.rollouts.workloads import MANAGER, add_workload_flags, workloads
from fairlead.cli.write_options import (
    EXPECTED,
    Failures,
    add_dry_run_flag,
    add_manager_flag,
    dry_run,
    note,
    write_query,
)


def add_flags(parser: ArgumentReader) -> None:
    add_workload_flags(parser, "change")
    parser.add_argument(
        "--to-revision",
        type=int,
        default=0,
        metavar="N",
        help="revision to roll back to; 0 is the previous one",
    )
    add_dry_run_flag(parser)
    add_manager_flag(parser, MANAGER)
    add_output_flag(parser)


async def run(at: Invocation) -> int:
    check_output(at)
    query = write_query(at.options)
    failures = Failures()
    async for one in workloads(at, failures):
        try:
            await _undo(at, one, query)
        except (CommandFailed, *EXPECTED) as error:
            failures.add(error)
    return failures.finish()


async def _undo(at: Invocation, one: ResolvedObject, query: Mapping[str, str]) -> None:
    wanted = at.options.to_revision
    revisions = await revisions_of(at.client, one, "rollbacker")
    revision = revision_to_go_to(one, revisions, wanted)
    value = one.value
    dialect = await at.client.discovery.dialect()
    if dry_run(at.options) == "client":
        done = f"{template_text(revision.template, dialect)}\n"
        if not is_deployment(one):
            done = f"will roll back to {done}"
    elif is_there_already(one, revision):
        done = f"not changed (revision {wanted} is what runs now)"
    else:
        value = await go_back(one, revision, dialect, **query)
        done = "rolled back"
    show_result(at, one.resource.type, value, done, note(at.options))
