"""Parses the condition of `wait --for`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from fairlead.cli.errors import CommandError
from fairlead.client.conditions import Holds, exists, has_condition, is_gone, is_other_than
from fairlead.client.resources import Object

_FORMAT = (
    "--for=jsonpath takes a path and a value that it should have, as in"
    " --for=jsonpath='{.status.phase}'=Running"
)


class Wanted(NamedTuple):
    """The condition to wait for. `holds` takes the object found at the start, or None, and returns
    the predicate."""

    holds: Callable[[Object | None], Holds]
    is_absence: bool = False
    is_presence: bool = False


def wanted_by(text: str) -> Wanted:
    """Raises Mistake."""
    word = text.lower()
    if word == "delete":
        return Wanted(_gone, is_absence=True)
    if word == "create":
        return Wanted(lambda value: exists, is_presence=True)
    kind, _, rest = text.partition("=")
    if kind == "condition" and rest:
        name, sign, status = rest.partition("=")
        holds = has_condition(name, status if sign else "True")
        return Wanted(lambda value: holds)
    if kind == "jsonpath":
        found = _at_path(rest)
        return Wanted(lambda value: found)
    raise CommandError(f'unrecognized condition: "{text}"')


def _gone(value: Object | None) -> Holds:
    uid = (value or {}).get("metadata", {}).get("uid")
    return is_other_than(uid) if uid else is_gone


def _at_path(text: str) -> Holds:
    from fairlead.cli.output.jsonpath import JsonPathError, parse, relaxed

    path, sign, wanted = _divided(text)
    if not path or (sign and not wanted):
        raise CommandError(_FORMAT)
    try:
        expression = parse(relaxed(path))
    except JsonPathError as error:
        raise CommandError(str(error)) from None

    def holds(value: Object | None) -> bool:
        if value is None:
            return False
        try:
            found = expression.find(value)
        except JsonPathError as error:
            raise CommandError(str(error)) from None
        return bool(found) and (not sign or _is(found, wanted))

    return holds


def _divided(text: str) -> tuple[str, str, str]:
    """Split at the `=` after the closing brace: the expression may contain others."""
    end = text.rfind("}") + 1
    before, sign, wanted = text[end:].partition("=")
    return f"{text[:end]}{before}", sign, wanted.strip("'\"") if end else wanted


def _is(found: list[Any], wanted: str) -> bool:
    from fairlead.cli.output.values import plain

    if len(found) > 1:
        raise CommandError("the path of --for finds several values")
    if isinstance(found[0], dict | list):
        raise CommandError("the path of --for leads to a map or a list: name a value in it")
    return plain(found[0]).strip() == wanted.strip()
