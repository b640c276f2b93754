"""`wait`: waits until objects meet a condition."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Sequence
from typing import Any, NamedTuple

from fairlead.cli.arguments import ArgumentReader, seconds
from fairlead.cli.errors import CommandError, CommandFailed
from fairlead.cli.invocation import Invocation
from fairlead.cli.output import jsonpath
from fairlead.cli.output.formats import add_output_flag, show_result
from fairlead.cli.output.values import plain
from fairlead.cli.selection import (
    SelectedObject,
    add_selection_flags,
    check_choice,
    select,
    uses_selector,
)
from fairlead.cli.write_options import EXPECTED, Failures
from fairlead.client.conditions import Holds, exists, has_condition, is_gone, is_other_than, settled
from fairlead.client.errors import NotFound
from fairlead.client.resources import Object, Resource
from fairlead.client.watch import Key

_A_WEEK = 7 * 24 * 3600.0
_FORMAT = (
    "--for=jsonpath takes a path and a value that it should have, as in"
    " --for=jsonpath='{.status.phase}'=Running"
)


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
    add_selection_flags(parser, "wait for")
    add_output_flag(parser)


async def run(invocation: Invocation) -> int:
    condition = parse_condition(invocation.options.wanted)
    check_choice(invocation, invocation.options.words)
    failures = Failures()
    objects = await _selected_objects(invocation, condition, failures)
    if not objects and not failures and not condition.is_absence:
        raise CommandError("no matching resources found")
    groups: dict[tuple[str, str, str], list[SelectedObject]] = {}
    for selected in objects:
        type = selected.resource.type
        groups.setdefault((type.group, type.name, selected.namespace), []).append(selected)
    waits = [_wait(invocation, group, condition, failures) for group in groups.values()]
    late = [selected for group in await asyncio.gather(*waits) for selected in group]
    before = "error: " if len(late) == 1 and not failures else ""
    why = "not met in time on" if invocation.options.timeout else "condition not met for"
    for selected in late:
        failures.add(CommandFailed(f"{before}{why} {selected.resource.type.name}/{selected.name}"))
    return failures.finish()


async def _selected_objects(
    invocation: Invocation, condition: WaitCondition, failures: Failures
) -> list[SelectedObject]:
    """The selected objects with their current values. With --for=create a missing object is
    included; with --for=delete it is skipped."""
    objects: list[SelectedObject] = []
    async for resolved in select(invocation, invocation.options.words, failures):
        try:
            value = resolved.value or await resolved.resource.get(resolved.name, resolved.namespace)
            objects.append(resolved._replace(value=value))
        except NotFound as error:
            if condition.is_presence and not uses_selector(invocation):
                objects.append(resolved)
            elif not condition.is_absence:
                failures.add(error)
        except EXPECTED as error:
            failures.add(error)
    return objects


async def _wait(
    invocation: Invocation,
    group: Sequence[SelectedObject],
    condition: WaitCondition,
    failures: Failures,
) -> Collection[SelectedObject]:
    """Wait for objects of one resource and namespace; return the objects that do not meet the
    condition in time."""
    resource, namespace = group[0].resource, group[0].namespace
    open = {(namespace, selected.name): selected for selected in group}
    holds = {key: condition.holds(selected.value) for key, selected in open.items()}
    timeout = invocation.options.timeout if invocation.options.timeout >= 0 else _A_WEEK
    try:
        async for key, value in settled(resource, holds, namespace, timeout):
            _report(invocation, resource, open.pop(key), key, value)
    except EXPECTED as error:
        failures.add(error)
        return ()
    return open.values()


def _report(
    invocation: Invocation, resource: Resource, selected: SelectedObject, key: Key, value: object
) -> None:
    last_value = (
        value if isinstance(value, dict) else selected.value or {"metadata": {"name": key[1]}}
    )
    show_result(invocation, resource.type, last_value, "condition met")
    invocation.screen.flush()


class WaitCondition(NamedTuple):
    """The condition to wait for. `holds` takes the object found at the start, or None, and returns
    the predicate."""

    holds: Callable[[Object | None], Holds]
    is_absence: bool = False
    is_presence: bool = False


def parse_condition(text: str) -> WaitCondition:
    """Raises CommandError."""
    word = text.lower()
    if word == "delete":
        return WaitCondition(_gone, is_absence=True)
    if word == "create":
        return WaitCondition(lambda value: exists, is_presence=True)
    kind, _, rest = text.partition("=")
    if kind == "condition" and rest:
        name, sign, status = rest.partition("=")
        holds = has_condition(name, status if sign else "True")
        return WaitCondition(lambda value: holds)
    if kind == "jsonpath":
        condition = _value_condition(rest)
        return WaitCondition(lambda value: condition)
    known = "delete, create, condition=NAME or jsonpath=PATH=VALUE"
    if not text:
        raise CommandError(f"say what to wait for: --for {known}")
    raise CommandError(f"--for {text} is unknown: it takes {known}")


def _gone(value: Object | None) -> Holds:
    uid = (value or {}).get("metadata", {}).get("uid")
    return is_other_than(uid) if uid else is_gone


def _value_condition(text: str) -> Holds:
    path, sign, expected = _divided(text)
    if not path or (sign and not expected):
        raise CommandError(_FORMAT)
    try:
        expression = jsonpath.parse(jsonpath.relaxed(path))
    except jsonpath.JsonPathError as error:
        raise CommandError(str(error)) from None

    def holds(value: Object | None) -> bool:
        if value is None:
            return False
        try:
            values = expression.find(value)
        except jsonpath.JsonPathError as error:
            raise CommandError(str(error)) from None
        return bool(values) and (not sign or _is(values, expected))

    return holds


def _divided(text: str) -> tuple[str, str, str]:
    """Split at the `=` after the closing brace: the expression may contain others."""
    end = text.rfind("}") + 1
    before, sign, expected = text[end:].partition("=")
    return f"{text[:end]}{before}", sign, expected.strip("'\"") if end else expected


def _is(values: list[Any], expected: str) -> bool:
    if len(values) > 1:
        raise CommandError("the path of --for finds several values")
    if isinstance(values[0], dict | list):
        raise CommandError("the path of --for leads to a map or a list: name a value in it")
    return plain(values[0]).strip() == expected.strip()
