"""`plugin list`: lists the plugins on the PATH, and what keeps one from being run."""

from __future__ import annotations

from fairlead.base.terminal import printable
from fairlead.cli.arguments import ArgumentReader
from fairlead.cli.catalog import COMMANDS, GROUPS, SERVER_SIDE
from fairlead.cli.errors import CommandError
from fairlead.cli.invocation import Invocation
from fairlead.cli.plugins import PREFIXES, Plugin, all_plugins


def add_flags(parser: ArgumentReader) -> None:
    parser.add_switch("--name-only", help="print only the names of the files")


async def run(invocation: Invocation) -> int:
    found = list(all_plugins())
    if not found:
        raise CommandError(f"the PATH has no programs called {' or '.join(PREFIXES)}NAME")
    first: dict[str, Plugin] = {}
    problems = 0
    for plugin in sorted(found, key=lambda plugin: not plugin.path.name.startswith(PREFIXES[0])):
        first.setdefault(plugin.command, plugin)
    for plugin in found:
        shown = plugin.path.name if invocation.options.name_only else str(plugin.path)
        invocation.screen.print(printable(shown))
        invocation.screen.flush()
        problem = _problem(plugin, first[plugin.command])
        if problem:
            problems += 1
            invocation.screen.warn(f"  - warning: {printable(problem)}")
    if problems:
        raise CommandError(f"{problems} of these plugins cannot be run")
    return 0


def _problem(plugin: Plugin, first: Plugin) -> str:
    """Why the plugin is not run; empty if it is."""
    if not plugin.is_executable:
        return "it is not executable"
    words = plugin.command.split(" ")
    if words[0] in {*COMMANDS, *GROUPS, *SERVER_SIDE}:
        return f"{words[0]} is a command of fairlead itself"
    if first.path != plugin.path:
        return f"{first.path} is run instead"
    return ""
