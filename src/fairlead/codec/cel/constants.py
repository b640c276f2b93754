"""Checks of the constants in an expression, after its types: times, patterns, lists and maps of one
type, formats."""

from __future__ import annotations

from collections.abc import Iterator

from fairlead.codec.cel.conversions import CONVERSIONS
from fairlead.codec.cel.errors import EvaluationError, Problem
from fairlead.codec.cel.formatting import format_problems
from fairlead.codec.cel.regexes import PatternError, pattern
from fairlead.codec.cel.syntax import Call, ListOf, Literal, MapOf, Node, parts_of
from fairlead.codec.cel.types import OptionalType, Type

_TIMES = ("duration", "timestamp")


def constant_problems(root: Node) -> list[Problem]:
    """The problems of all constants below a node whose types are known."""
    problems: list[Problem] = []
    left = [(root, False)]
    while left:
        node, is_formatted = left.pop()
        if isinstance(node, Call):
            problems += _call_problems(node)
            is_formatted = is_formatted or node.function == "format"
        if not is_formatted:
            problems += _mixed_types(node)
        left.extend((part, is_formatted) for part in parts_of(node))
    return problems


def _call_problems(call: Call) -> Iterator[Problem]:
    arguments = call.arguments[call.method :]
    first = arguments[0] if arguments else None
    if call.function == "format" and call.method and isinstance(first, ListOf):
        target = call.arguments[0]
        if isinstance(target, Literal) and isinstance(target.value, str):
            found = format_problems(call, target.value, first.items)
            yield from (Problem(place, message) for place, message in found)
    if not isinstance(first, Literal):
        return
    is_wrong = (call.function in _TIMES and not _is_time(call.function, first.value)) or (
        call.function == "matches" and not _is_pattern(first.value)
    )
    if is_wrong:
        yield Problem(first.place, f"invalid {call.function} argument")


def _is_time(function: str, value: object) -> bool:
    convert = CONVERSIONS[function].get((type(value),))
    try:
        return convert is None or convert(value) is not None
    except EvaluationError:
        return False


def _is_pattern(value: object) -> bool:
    try:
        pattern(str(value))
    except PatternError:
        return False
    return True


def _mixed_types(node: Node) -> Iterator[Problem]:
    """Items, keys or values of a list or map whose type differs from that of the first."""
    if isinstance(node, ListOf):
        types = [_present(item, index in node.optional) for index, item in enumerate(node.items)]
        yield from list(_mismatches(node.items, types))[:1]
    elif isinstance(node, MapOf):
        keys, values = [key for key, _ in node.entries], [value for _, value in node.entries]
        types = [_present(value, index in node.optional) for index, value in enumerate(values)]
        yield from _mismatches(keys, [key.type for key in keys])
        yield from _mismatches(values, types)


def _present(node: Node, is_optional: bool) -> Type:
    return node.type.of if is_optional and isinstance(node.type, OptionalType) else node.type


def _mismatches(nodes: list[Node], types: list[Type]) -> Iterator[Problem]:
    for node, type_ in zip(nodes, types, strict=True):
        if type_ != types[0]:
            yield Problem(node.place, f"expected type '{types[0]}' but found '{type_}'")
