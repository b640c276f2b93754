"""Regular expressions in linear time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import re2  # type: ignore[import-untyped]

from fairlead.cel.arithmetic import Implementations
from fairlead.cel.errors import EvaluationError

_OPTIONS = re2.Options()
_OPTIONS.log_errors = False


class PatternError(EvaluationError):
    """Text that is not a regular expression."""


def pattern(text: str) -> Any:
    """The compiled expression, which the library keeps for the next time; raises PatternError."""
    try:
        return re2.compile(text, _OPTIONS)
    except (re2.error, UnicodeError) as error:
        said = error.args[0] if error.args else ""
        said = said.decode(errors="replace") if isinstance(said, bytes) else str(said)
        what, colon, where = said.partition(": ")
        shown = f"{what}: `{where}`" if colon else what
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
    search = _SEARCHES[function]
    return lambda text, expression, *rest: search(compiled, text, *rest)


REGEXES: Implementations = {
    "matches": {(str, str): lambda text, expression: _matches(pattern(expression), text)},
    "find": {(str, str): lambda text, expression: _find(_legal(expression), text)},
    "findAll": dict.fromkeys(
        ((str, str), (str, str, int)),
        lambda text, expression, count=-1: _find_all(_legal(expression), text, count),
    ),
}
