"""Values of an object that stages refer to, by jq or CEL."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from fairlead.base.release import Release
from fairlead.codec.cel.compile import compile_expression
from fairlead.codec.cel.environment import environment
from fairlead.codec.cel.errors import CompileError, ConstantProblem, CostExceeded, EvaluationError
from fairlead.codec.cel.types import DYN
from fairlead.codec.types.model import Object
from fairlead.controllers.simulation.stages.jq_functions import Evaluation, JqError, TooManySteps
from fairlead.controllers.simulation.stages.jq_syntax import MAX_LENGTH, JqSyntaxError, compile_jq

_MAX_COST = 200_000

Matches = Callable[[Object], bool]


class StageError(ValueError):
    """A Stage that is invalid, or cannot be evaluated for an object; the text says why."""


class Query:
    """A compiled expression."""

    def __init__(self, text: str, results: Callable[[Object], list[Any]]) -> None:
        self._text = text
        self._results = results

    def results(self, value: Object) -> list[Any]:
        """What the expression finds, without nulls; raises StageError."""
        try:
            found = self._results(value)
        except (EvaluationError, CostExceeded, TooManySteps) as error:
            raise StageError(f"{self._text}: {error}") from None
        return [result for result in found if result is not None]


def jq_query(text: Any) -> Query:
    """Compile a jq expression; raises StageError. One that fails on an object finds nothing."""
    if not isinstance(text, str) or not text.strip():
        raise StageError("the expression is missing")
    try:
        compiled = compile_jq(text)
    except JqSyntaxError as error:
        raise StageError(f"{text[:100]}: {error}") from None

    def results(value: Object) -> list[Any]:
        try:
            return list(compiled(value, Evaluation()))
        except (JqError, RecursionError):
            return []

    return Query(text, results)


def cel_query(text: Any, release: Release) -> Query:
    """Compile a CEL expression, in which `self` is the object; raises StageError."""
    if not isinstance(text, str) or not text.strip():
        raise StageError("the expression is missing")
    if len(text) > MAX_LENGTH:
        raise StageError(f"the expression is longer than {MAX_LENGTH} characters")
    try:
        program = compile_expression(text, {"self": DYN}, None, environment(release))
    except (CompileError, ConstantProblem) as error:
        raise StageError(f"{text.strip()[:100]}: {error}") from None
    return Query(text.strip(), lambda value: [program.evaluate({"self": value}, _MAX_COST)[0]])


def query_from(source: Mapping[str, Any], release: Release) -> Query:
    """Compile `expressionFrom`, `jq` or `cel` of a field such as `durationFrom`."""
    if source.get("cel"):
        return cel_query(source["cel"].get("expression"), release)
    jq = (source.get("jq") or {}).get("expression")
    return jq_query(jq or source.get("expressionFrom"))


# Requirements of `matchExpressions`.


def requirement(expression: Mapping[str, Any], release: Release) -> Matches:
    """Compile an entry of `matchExpressions`; raises StageError."""
    if expression.get("cel"):
        query = cel_query(expression["cel"].get("expression"), release)
        return lambda value: _boolean(query.results(value))
    parts = expression.get("jq") or expression
    query = jq_query(parts.get("key"))
    operator, wanted = parts.get("operator"), frozenset(parts.get("values") or ())
    if operator in ("In", "NotIn"):
        if not wanted:
            raise StageError(f"{operator} needs values")
        is_in = operator == "In"
        return lambda value: any(text in wanted for text in _texts(query, value)) == is_in
    if operator in ("Exists", "DoesNotExist"):
        if wanted:
            raise StageError(f"{operator} has no values")
        exists = operator == "Exists"
        return lambda value: bool(query.results(value)) == exists
    allowed = "In, NotIn, Exists, DoesNotExist"
    raise StageError(f'the operator "{operator or ""}" is not supported; known are {allowed}')


def _texts(query: Query, value: Object) -> list[str]:
    """The results that can be compared with the values of a requirement."""
    return [
        str(result).lower() if isinstance(result, bool) else str(result)
        for result in query.results(value)
        if isinstance(result, str | bool | int | float)
    ]


def _boolean(results: list[Any]) -> bool:
    if results not in ([True], [False]):
        raise StageError("the expression does not evaluate to a boolean")
    return bool(results[0])
