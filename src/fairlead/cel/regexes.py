"""Regular expressions in linear time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import re2  # type: ignore[import-untyped]

from fairlead.cel.arithmetic import Implementations
from fairlead.cel.errors import EvaluationError

_OPTIONS = re2.Options()
_OPTIONS.log_errors = False
_LONGEST_SHOWN = 1000
# The library's words where the reference has others.
_WORDING = {
    "bad repetition operator": "invalid nested repetition operator",
    "invalid named capture group": "invalid named capture",
    "invalid perl operator": "invalid or unsupported Perl syntax",
    "invalid repetition size": "invalid repeat count",
    "missing )": "missing closing )",
    "missing ]": "missing closing ]",
    "no argument for repetition operator": "missing argument to repetition operator",
    "pattern too large - compile failed": "expression too large",
    "trailing \\": "trailing backslash at end of expression",
}


class PatternError(EvaluationError):
    """Text that is not a regular expression."""


def pattern(text: str) -> Any:
    """The compiled expression, which the library keeps for the next time; raises PatternError."""
    try:
        return re2.compile(text, _OPTIONS)
    except (re2.error, UnicodeError) as error:
        said = error.args[0]
        said = said.decode(errors="replace") if isinstance(said, bytes) else str(said)
        what, _, where = said.partition(": ")
        shown = f"{_WORDING.get(what, what)}: `{where[:_LONGEST_SHOWN]}`"
        raise PatternError(f"error parsing regexp: {shown}") from None


def _legal(expression: str) -> Any:
    try:
        return pattern(expression)
    except PatternError as error:
        raise EvaluationError(f"Illegal regex: {error}") from None


def _matches(compiled: Any, text: str) -> bool:
    return compiled.search(text) is not None


def _find(compiled: Any, text: str) -> str:
    found = compiled.search(text)
    return found.group() if found else ""


def _find_all(compiled: Any, text: str, count: int = -1) -> list[str]:
    """All matches; an empty one right behind another does not count."""
    found: list[str] = []
    end = -1
    if count == 0:
        return found
    for match in compiled.finditer(text):
        if match.end() > match.start() or match.start() != end:
            found.append(match.group())
            if len(found) == count:
                break
        end = match.end()
    return found


_SEARCHES: dict[str, Callable[..., Any]] = {
    "matches": _matches,
    "find": _find,
    "findAll": _find_all,
}


def with_pattern(function: str, compiled: Any) -> Callable[..., Any]:
    """The function with an expression that never changes, and was compiled beforehand."""
    if function == "matches":
        return _matcher(compiled)
    search = _SEARCHES[function]
    return lambda text, expression, *rest: search(compiled, text, *rest)


def _matcher(compiled: Any) -> Callable[[str, str], bool]:
    """A set of one expression answers sooner, as it does not say where; short of memory it finds
    nothing, and then the expression itself is asked."""
    quick = re2.Set.SearchSet(_OPTIONS)
    try:
        quick.Add(compiled.pattern)
        quick.Compile()
    except re2.error:
        return lambda text, expression: _matches(compiled, text)
    among = quick.Match
    return lambda text, expression: among(text) is not None or _matches(compiled, text)


REGEXES: Implementations = {
    "matches": {(str, str): lambda text, expression: _matches(pattern(expression), text)},
    "find": {(str, str): lambda text, expression: _find(_legal(expression), text)},
    "findAll": dict.fromkeys(
        ((str, str), (str, str, int)),
        lambda text, expression, count=-1: _find_all(_legal(expression), text, count),
    ),
}
