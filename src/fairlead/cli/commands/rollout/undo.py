"""Go back to an earlier revision."""

from __future__ import annotations

from fairlead.cli.arguments import ArgumentReader
from fairlead.cli.chosen import Chosen, add_choosing_flags, chosen
from fairlead.cli.dry_runs import DryRun, add_dry_run_flag
from fairlead.cli.errors import CommandFailed
from fairlead.cli.invocation import Invocation
from fairlead.cli.output.formats import add_output_flag, show_result
from fairlead.cli.rolling.revisions import revisions_of
from fairlead.cli.rolling.templates import template_text
from fairlead.cli.rolling.undoing import (
    go_back,
    is_deployment,
    is_there_already,
    revision_to_go_to,
)
from fairlead.cli.rolling.workloads import MANAGER, check_named
from fairlead.client import ApiError, Unreachable


def add_flags(parser: ArgumentReader) -> None:
    add_choosing_flags(parser, "change")
    parser.add_argument(
        "--to-revision", type=int, default=0, metavar="N", help="0 is the one before the last"
    )
    add_dry_run_flag(parser)
    add_output_flag(parser)


async def run(at: Invocation) -> int:
    check_named(at)
    dry_run = DryRun(at.options)
    choice = await chosen(at, all_unless_named=True)
    for one in choice.found:
        try:
            await _undo(at, one, dry_run)
        except (ApiError, Unreachable) as error:
            choice.failed(error)
        except CommandFailed as error:
            choice.errors.append(str(error))
    return choice.end(at)


async def _undo(at: Invocation, one: Chosen, dry_run: DryRun) -> None:
    wanted = at.options.to_revision
    revisions = await revisions_of(at.client, one, "rollbacker")
    revision = revision_to_go_to(one, revisions, wanted)
    value = one.value
    dialect = await at.client.discovery.dialect()
    if dry_run.on_client:
        done = f"{template_text(revision.template, dialect)}\n"
        if not is_deployment(one):
            done = f"will roll back to {done}"
    elif is_there_already(one, revision):
        done = f"skipped rollback (current template already matches revision {wanted})"
    else:
        query = {"fieldManager": MANAGER, **dry_run.query}
        value = await go_back(one, revision, dialect, **query)
        done = "rolled back"
    show_result(at, one.resource.type, value, done, dry_run.note)
