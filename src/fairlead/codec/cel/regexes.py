"""Regular expressions in linear time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fairlead.base import meter, patterns
from fairlead.base.patterns import compiled, searcher
from fairlead.codec.cel.arithmetic import Implementations
from fairlead.codec.cel.errors import EvaluationError

_STEPS_PER_MATCH = 10  # of `findAll`


class PatternError(EvaluationError):
    """Text that is not a regular expression."""


def pattern(text: str) -> Any:
    """Compile an expression; raises PatternError."""
    try:
        return compiled(text)
    except patterns.PatternError as error:
        raise PatternError(str(error)) from None


def _legal(expression: str) -> Any:
    try:
        return pattern(expression)
    except PatternError as error:
        raise EvaluationError(f"Illegal regex: {error}") from None


def _matches(expression: Any, text: str) -> bool:
    return expression.search(text) is not None


def _find(expression: Any, text: str) -> str:
    match = expression.search(text)
    return match.group() if match else ""


def _find_all(expression: Any, text: str, count: int = -1) -> list[str]:
    """All matches, except empty ones directly after another match."""
    matches: list[str] = []
    end = -1
    if count == 0:
        return matches
    for match in expression.finditer(text):
        meter.spend(_STEPS_PER_MATCH)
        if match.end() > match.start() or match.start() != end:
            matches.append(match.group())
            if len(matches) == count:
                break
        end = match.end()
    return matches


_SEARCHES: dict[str, Callable[..., Any]] = {
    "matches": _matches,
    "find": _find,
    "findAll": _find_all,
}


def with_pattern(function: str, expression: Any) -> Callable[..., Any]:
    """The function for a constant expression, which is compiled in advance."""
    if function == "matches":
        found_in = searcher(expression.pattern)
        return lambda text, _: found_in(text)
    search = _SEARCHES[function]
    return lambda text, _, *rest: search(expression, text, *rest)


REGEXES: Implementations = {
    "matches": {(str, str): lambda text, expression: _matches(pattern(expression), text)},
    "find": {(str, str): lambda text, expression: _find(_legal(expression), text)},
    "findAll": dict.fromkeys(
        ((str, str), (str, str, int)),
        lambda text, expression, count=-1: _find_all(_legal(expression), text, count),
    ),
}
