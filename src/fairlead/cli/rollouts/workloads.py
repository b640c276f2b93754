"""Flags and object selection of the rollout commands."""

from __future__ import annotations

from collections.abc import AsyncIterator

from fairlead.cli.arguments import ArgumentReader
from fairlead.cli.errors import CommandError
from fairlead.cli.invocation import Invocation
from fairlead.cli.manifests import add_file_flags
from fairlead.cli.resolution import ResolvedObject
from fairlead.cli.selection import chosen_objects
from fairlead.cli.write_options import Failures

MANAGER = "fairlead-rollout"


def add_workload_flags(parser: ArgumentReader, what: str) -> None:
    parser.add_argument("words", metavar="KIND [NAME...] | KIND/NAME...", nargs="*")
    add_file_flags(parser, what)
    parser.add_label_selector()
    parser.set_defaults(all=False, all_namespaces=False, field_selector="")


async def workloads(at: Invocation, failures: Failures) -> AsyncIterator[ResolvedObject]:
    """Yield the named workloads, or all of a kind; raises Mistake. Objects that cannot be read are
    added to `failures`."""
    options = at.options
    if not options.words and not options.filename:
        raise CommandError("required resource not specified")
    if options.words and options.filename:
        raise CommandError("objects are given both by files (-f) and by name: use one of them")
    is_kind_alone = len(options.words) == 1 and "/" not in options.words[0]
    options.all = is_kind_alone and not options.selector
    async for one in chosen_objects(at, options.words, failures):
        yield one
