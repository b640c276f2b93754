"""Formatted and quoted text, and the later rules of searches in text."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from fairlead.base.quotes import quote
from fairlead.codec.cel.conversions import CONVERSIONS
from fairlead.codec.cel.costs import PER_CHARACTER, first_tenth
from fairlead.codec.cel.errors import CostExceeded, EvaluationError
from fairlead.codec.cel.library import Library, declared
from fairlead.codec.cel.ranges import MAX_COST, Estimate, Sizes
from fairlead.codec.cel.strings import MAX_RESULT_LENGTH
from fairlead.codec.cel.syntax import Call, ListOf, MapOf, Node
from fairlead.codec.cel.types import (
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    DYN,
    INT,
    NULL,
    STRING,
    TIMESTAMP,
    UINT,
    ListType,
    MapType,
    Type,
    TypeOf,
)
from fairlead.codec.cel.values import Duration, Timestamp, TypeName, UInt, type_name

_MAX_PRECISION = 127
_DEFAULT_PRECISION = 6
_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_NOT_FINITE = ("NaN", "Infinity", "-Infinity")
_TEXTS = (bool, int, UInt, float, str, bytes, Timestamp, Duration, TypeName)
_string = CONVERSIONS["string"]


class FormatProblem(ValueError):
    """A malformed clause, or an argument that does not fit its clause."""


class Clause:
    """A clause such as `%.2f`; `precision` is -1 if it has none."""

    def __init__(self, letter: str, precision: int = -1) -> None:
        self.letter = letter
        self.precision = _DEFAULT_PRECISION if precision < 0 else min(precision, _MAX_PRECISION)


def parts(text: str, count: int) -> list[str | Clause]:
    """The literal parts and the clauses of a format for `count` arguments; raises
    FormatProblem."""
    result: list[str | Clause] = []
    position = index = 0
    while (found := text.find("%", position)) >= 0:
        result.append(text[position:found])
        if text[found + 1 : found + 2] == "%":
            result.append("%")
            position = found + 2
            continue
        if found + 1 == len(text) and index < count:
            raise FormatProblem("unexpected end of string")
        if index >= count:
            raise FormatProblem(f"index {index} out of range")
        clause, position = _clause(text, found + 1)
        result.append(clause)
        index += 1
    result.append(text[position:])
    return result


def _clause(text: str, position: int) -> tuple[Clause, int]:
    precision = -1
    problem = "could not parse formatting clause: "
    if text[position] == ".":
        end = position + 1
        while end < len(text) and text[end] in "0123456789":
            end += 1
        digits = text[position + 1 : end]
        reading = f"{problem}error while parsing precision: "
        if end == len(text):
            raise FormatProblem(f"{reading}could not find end of precision specifier")
        if not digits or len(digits) > 18:
            why = "value out of range" if digits else "invalid syntax"
            how = f"strconv.Atoi: parsing {quote(digits)}: {why}"
            raise FormatProblem(f"{reading}error while converting precision to integer: {how}")
        precision, position = int(digits), end
    letter = text[position]
    if letter not in _CLAUSES:
        first = chr(letter.encode()[0])
        raise FormatProblem(f'{problem}unrecognized formatting clause "{first}"')
    return Clause(letter, precision), position + 1


def _format(text: str, arguments: list[Any]) -> str:
    try:
        pieces = parts(text, len(arguments))
        values = iter(arguments)
        written = [
            piece if isinstance(piece, str) else _CLAUSES[piece.letter][0](next(values), piece)
            for piece in pieces
        ]
    except FormatProblem as problem:
        raise EvaluationError(str(problem)) from None
    if sum(map(len, written)) > MAX_RESULT_LENGTH:
        raise CostExceeded
    return "".join(written)


def _unfit(letter: str, value: Any) -> FormatProblem:
    given = "map" if type(value) is dict else type_name(value)
    return FormatProblem(f"error during formatting: {_CLAUSES[letter][2]}, was given {given}")


def _show(value: Any, _: Clause | None = None) -> str:
    """A value for `%s`."""
    kind = type(value)
    if kind is str:
        return str(value)
    if kind is list:
        return f"[{', '.join(map(_literal, value))}]"
    if kind is dict:
        return f"{{{', '.join(_entries(value))}}}"
    if kind in _TEXTS:
        return str(_string[kind,](value))
    if value is None:
        return "null"
    raise _unfit("s", value)


def _entries(value: dict[Any, Any]) -> list[str]:
    pairs = []
    for key, item in value.items():
        if type(key) not in (str, bool, int, UInt):
            name = type_name(key)
            raise FormatProblem(
                f"error during formatting: no formatting function for map key of type {name}"
            )
        pairs.append((_literal(key), _literal(item)))
    return [f"{key}:{item}" for key, item in sorted(pairs, key=lambda pair: pair[0].encode())]


def _literal(value: Any) -> str:
    """A value within a list or map, in the notation of an expression."""
    kind = type(value)
    if kind is str:
        return quote(value)
    if kind is bytes:
        return f"b{quote(_show(value))}"
    if kind is Timestamp or kind is Duration:
        name = "timestamp" if kind is Timestamp else "duration"
        return f"{name}({quote(_show(value))})"
    if kind is float:
        return f"{value:.{_DEFAULT_PRECISION}f}" if math.isfinite(value) else quote(_show(value))
    if kind not in (list, dict, bool, int, UInt, TypeName) and value is not None:
        name = type_name(value)
        raise FormatProblem(f"error during formatting: no formatting function for {name}")
    return _show(value)


def _decimal(value: Any, _: Clause) -> str:
    if type(value) not in (int, UInt):
        raise _unfit("d", value)
    return str(int(value))


def _number(value: Any, clause: Clause) -> float:
    if type(value) is str and value in _NOT_FINITE:
        return float(value)
    if type(value) is not float:
        raise _unfit(clause.letter, value)
    return value


def _fixed(value: Any, clause: Clause) -> str:
    number = _number(value, clause)
    return f"{number:,.{clause.precision}f}" if math.isfinite(number) else _infinite(number)


def _scientific(value: Any, clause: Clause) -> str:
    """A number in scientific notation. As in the reference, the precision is the minimal width."""
    number = _number(value, clause)
    text = _infinite(number)
    if math.isfinite(number):
        mantissa, _, exponent = f"{number:.{_DEFAULT_PRECISION}e}".partition("e")
        text = f"{mantissa}\xd7{10}{exponent.removeprefix('+').translate(_SUPERSCRIPTS)}"
    return text.rjust(clause.precision)


def _infinite(number: float) -> str:
    if math.isnan(number):
        return "NaN"
    return "∞" if number > 0 else "-∞"


def _digits(code: str) -> Callable[[Any, Clause], str]:
    """Writes an integer in another base; `%b` also takes booleans, `%x` text and bytes."""

    def write(value: Any, clause: Clause) -> str:
        if type(value) in (int, UInt):
            return format(int(value), code)
        if code == "b" and type(value) is bool:
            return "1" if value else "0"
        if code in "xX" and type(value) in (str, bytes):
            digits: str = (value.encode() if type(value) is str else value).hex()
            return digits.upper() if code == "X" else digits
        raise _unfit(code, value)

    return write


_LISTED = (
    "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types,"
    " durations, and timestamps"
)
_HEX = "only integers, byte buffers, and strings can be formatted as hex"
_HEX_TYPES = (INT, UINT, STRING, BYTES)
_STRING_TYPES = (INT, UINT, DOUBLE, BOOL, STRING, TIMESTAMP, BYTES, DURATION, NULL)
# By letter: the function, the types that it takes, and the message for others.
_CLAUSES: dict[str, tuple[Callable[[Any, Clause], str], tuple[Type, ...], str]] = {
    "s": (_show, _STRING_TYPES, _LISTED),
    "d": (_decimal, (INT, UINT), "decimal clause can only be used on integers"),
    "f": (_fixed, (DOUBLE, STRING), "fixed-point clause can only be used on doubles"),
    "e": (_scientific, (DOUBLE, STRING), "scientific clause can only be used on doubles"),
    "b": (_digits("b"), (INT, UINT, BOOL), "only integers and bools can be formatted as binary"),
    "x": (_digits("x"), _HEX_TYPES, _HEX),
    "X": (_digits("X"), _HEX_TYPES, _HEX),
    "o": (_digits("o"), (INT, UINT), "octal clause can only be used on integers"),
}


def format_problems(call: Call, text: str, arguments: Sequence[Node]) -> list[tuple[int, str]]:
    """The errors of a call of `format` with a constant text and a list of arguments, by their
    places."""
    try:
        clauses = [part for part in parts(text, len(arguments)) if isinstance(part, Clause)]
    except FormatProblem as problem:
        return [(call.place, str(problem))]
    for clause, argument in zip(clauses, arguments, strict=False):
        unfit = _unfit_node(argument, clause.letter)
        if unfit is not None:
            given = str(unfit.type).partition("(")[0]
            message = f"error during formatting: {_CLAUSES[clause.letter][2]}, was given {given}"
            return [(unfit.place, message)]
    if len(arguments) > len(clauses):
        counts = f"(expected {len(clauses)}, got {len(arguments)})"
        return [(call.place, f"too many arguments supplied to string.format {counts}")]
    return []


def _unfit_node(node: Node, letter: str) -> Node | None:
    """The node with a type that a clause does not take; None if there is none."""
    if node.type == DYN or node.type in _CLAUSES[letter][1]:
        return None
    if letter != "s" or not isinstance(node.type, ListType | MapType | TypeOf):
        return node
    inner: list[Node] = []
    if isinstance(node, ListOf):
        inner = node.items
    elif isinstance(node, MapOf):
        inner = [part for entry in node.entries for part in entry]
    return next((found for part in inner if (found := _unfit_node(part, letter))), None)


# Searches: a start beyond the end finds nothing.


def _index_of(text: str, part: str, start: int = 0) -> int:
    if not part:
        return start
    if start < 0:
        raise EvaluationError(f"index out of range: {start}")
    return text.find(part, start)


def _last_index_of(text: str, part: str, last: int | None = None) -> int:
    if not part:
        return len(text) if last is None else last
    if last is None:
        return text.rfind(part)
    if last < 0:
        raise EvaluationError(f"index out of range: {last}")
    return text.rfind(part, 0, last + len(part)) if last < len(text) else -1


def _join(items: list[Any], separator: str = "") -> str:
    if any(type(item) is not str for item in items):
        raise TypeError
    if sum(map(len, items)) + len(separator) * len(items) > MAX_RESULT_LENGTH:
        raise CostExceeded
    return separator.join(items)


_ESCAPES = str.maketrans(
    {7: r"\a", 8: r"\b", 12: r"\f", 10: r"\n", 13: r"\r", 9: r"\t", 11: r"\v"}
    | {"\\": r"\\", '"': r"\""}
)


def _quote(text: str) -> str:
    return f'"{text.translate(_ESCAPES)}"'


def _format_estimate(_: Call, sizes: Sizes) -> tuple[Estimate, Estimate | None]:
    return sizes[0].scaled(PER_CHARACTER), None


def _quote_estimate(_: Call, sizes: Sizes) -> tuple[Estimate, Estimate | None]:
    size = sizes[0]
    result = Estimate(size.minimum + 2, min(2 * size.maximum + 2, MAX_COST))
    return size.scaled(PER_CHARACTER), result


LIBRARY = Library(
    declared(
        [("strings.quote", (STRING,), STRING)],
        [("format", (STRING, ListType(DYN)), STRING)],
    ),
    {
        "format": {(str, list): _format},
        "strings.quote": {(str,): _quote},
        "indexOf": {(str, str): _index_of, (str, str, int): _index_of},
        "lastIndexOf": {(str, str): _last_index_of, (str, str, int): _last_index_of},
        "join": {(list,): _join, (list, str): _join},
    },
    {"format": first_tenth, "strings.quote": first_tenth},
    {"format": _format_estimate, "strings.quote": _quote_estimate},
)
