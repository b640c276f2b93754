"""`cordon`: keeps new pods away from nodes."""

from __future__ import annotations

from fairlead.cli.arguments import ArgumentReader
from fairlead.cli.invocation import Invocation
from fairlead.cli.nodes.selection import add_node_flags, mark_all
from fairlead.cli.write_options import add_dry_run_flag


def add_flags(parser: ArgumentReader) -> None:
    add_node_flags(parser)
    add_dry_run_flag(parser)


async def run(invocation: Invocation) -> int:
    return await mark_all(invocation, cordons=True)
