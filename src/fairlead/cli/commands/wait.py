"""`wait`: waits until objects meet a condition."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence

from fairlead.cli.arguments import ArgumentReader
from fairlead.cli.durations import seconds
from fairlead.cli.errors import CommandError, CommandFailed
from fairlead.cli.invocation import Invocation
from fairlead.cli.output.formats import add_output_flag, show_result
from fairlead.cli.selection import Chosen, add_choosing_flags, check_choice, chosen, uses_selector
from fairlead.cli.wait_conditions import Wanted, wanted_by
from fairlead.cli.write_options import EXPECTED, Failures
from fairlead.client.conditions import settled
from fairlead.client.errors import NotFound
from fairlead.client.resources import Resource
from fairlead.client.watch import Key

_A_WEEK = 7 * 24 * 3600.0


def add_flags(parser: ArgumentReader) -> None:
    parser.add_argument("words", metavar="KIND [NAME...] | KIND/NAME...", nargs="*")
    parser.add_argument(
        "--for",
        dest="wanted",
        metavar="CONDITION",
        default="",
        help="delete, create, condition=NAME[=VALUE] or jsonpath=EXPRESSION[=VALUE]",
    )
    parser.add_argument(
        "--timeout",
        metavar="DURATION",
        type=seconds,
        default=30.0,
        help="how long to wait; 0 checks once, a negative value waits a week",
    )
    add_choosing_flags(parser, "wait for")
    add_output_flag(parser)


async def run(at: Invocation) -> int:
    wanted = wanted_by(at.options.wanted)
    check_choice(at, at.options.words)
    failures = Failures()
    found = await _found(at, wanted, failures)
    if not found and not failures and not wanted.is_absence:
        raise CommandError("no matching resources found")
    groups: dict[tuple[str, str, str], list[Chosen]] = {}
    for one in found:
        type = one.resource.type
        groups.setdefault((type.group, type.name, one.namespace), []).append(one)
    waits = [_wait(at, group, wanted, failures) for group in groups.values()]
    late = [one for group in await asyncio.gather(*waits) for one in group]
    before = "error: " if len(late) == 1 and not failures else ""
    why = "not met in time on" if at.options.timeout else "condition not met for"
    for one in late:
        failures.add(CommandFailed(f"{before}{why} {one.resource.type.name}/{one.name}"))
    return failures.finish()


async def _found(at: Invocation, wanted: Wanted, failures: Failures) -> list[Chosen]:
    """The selected objects with their current values. With --for=create a missing object is
    included; with --for=delete it is skipped."""
    found: list[Chosen] = []
    async for one in chosen(at, at.options.words, failures):
        try:
            value = one.value or await one.resource.get(one.name, one.namespace)
            found.append(one._replace(value=value))
        except NotFound as error:
            if wanted.is_presence and not uses_selector(at):
                found.append(one)
            elif not wanted.is_absence:
                failures.add(error)
        except EXPECTED as error:
            failures.add(error)
    return found


async def _wait(
    at: Invocation, group: Sequence[Chosen], wanted: Wanted, failures: Failures
) -> Collection[Chosen]:
    """Wait for objects of one resource and namespace; return the objects that do not meet the
    condition in time."""
    resource, space = group[0].resource, group[0].namespace
    open = {(space, one.name): one for one in group}
    holds = {key: wanted.holds(one.value) for key, one in open.items()}
    timeout = at.options.timeout if at.options.timeout >= 0 else _A_WEEK
    try:
        async for key, value in settled(resource, holds, space, timeout):
            _tell(at, resource, open.pop(key), key, value)
    except EXPECTED as error:
        failures.add(error)
        return ()
    return open.values()


def _tell(at: Invocation, resource: Resource, one: Chosen, key: Key, value: object) -> None:
    shown = value if isinstance(value, dict) else one.value or {"metadata": {"name": key[1]}}
    show_result(at, resource.type, shown, "condition met")
    at.screen.flush()
