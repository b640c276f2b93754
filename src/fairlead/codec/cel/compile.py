"""Compiles expressions to programs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from fairlead.codec.cel.builder import Builder
from fairlead.codec.cel.checker import check
from fairlead.codec.cel.code import MAX_WORK, failure
from fairlead.codec.cel.data import reader
from fairlead.codec.cel.environment import Environment
from fairlead.codec.cel.environment import environment as default_environment
from fairlead.codec.cel.errors import (
    CostExceeded,
    EvaluationError,
    Problem,
    ResultProblem,
    SyntaxProblem,
)
from fairlead.codec.cel.estimate import Estimate, estimate
from fairlead.codec.cel.parser import TOO_DEEP, parse
from fairlead.codec.cel.sized_estimate import estimate_sized
from fairlead.codec.cel.syntax import Node
from fairlead.codec.cel.types import OptionalType, Type
from fairlead.codec.cel.values import BUDGET, FIRST_SLOT, READ


def compile_expression(
    text: str,
    variables: Mapping[str, Type],
    result: Type | None = None,
    environment: Environment | None = None,
    adapt: Callable[[Node], None] | None = None,
) -> Program:
    """Compile an expression; raises SyntaxProblem, TypeProblem or ConstantProblem, or ResultProblem
    if its type is not `result`. The environment is that of the oldest release by default. `adapt`
    may change the checked tree."""
    environment = environment or default_environment()
    try:
        root = parse(text, environment.rules)
        check(text, root, variables, environment)
        if result is not None and root.type != result:
            raise ResultProblem(f"cel expression must evaluate to a {result}")
        if adapt is not None:
            adapt(root)
        return Program(root, variables, environment)
    except RecursionError:  # within the depth limit, but the stack was deep already
        raise SyntaxProblem(text, [Problem(-1, TOO_DEEP)]) from None


class Program:
    """A compiled expression, which can be evaluated any number of times."""

    def __init__(self, root: Node, variables: Mapping[str, Type], environment: Environment) -> None:
        builder = Builder(list(variables), environment)
        code = builder.build(root)
        rule = estimate_sized if environment.is_revised else estimate
        self._estimate = rule(root, variables, environment)
        self._used = frozenset(builder.used)
        self._missing = "no such attribute(s)" if environment.is_revised else "no such attribute"
        self._run, self._cost = code.run, code.cost
        self._inputs = [
            (FIRST_SLOT + index, name, *reader(type_), isinstance(type_, OptionalType))
            for index, (name, type_) in enumerate(variables.items())
            if name in self._used
        ]
        self._blank: list[Any] = [0, MAX_WORK, None] + [None] * builder.slots
        self.result_type = root.type

    def uses(self, name: str) -> bool:
        """Whether the expression refers to this variable."""
        return name in self._used

    def estimate(self) -> Estimate:
        """The minimum and maximum cost of an evaluation, from the sizes of the types."""
        return self._estimate

    def evaluate(self, values: Mapping[str, Any], budget: int) -> tuple[Any, int]:
        """The result and its cost; raises EvaluationError, or CostExceeded over the budget."""
        frame = self._blank.copy()
        frame[BUDGET] = budget - self._cost
        if frame[BUDGET] < 0:
            raise CostExceeded
        frame[READ] = {}
        for slot, name, kind, read, is_optional in self._inputs:
            if name not in values:
                raise EvaluationError(f"{self._missing}: {name}")
            value = values[name]
            if type(value) is not kind and kind is not None and (value is not None or is_optional):
                value = read(value)
            frame[slot] = value
        try:
            result = self._run(frame)
        except RecursionError:
            raise CostExceeded from None
        except (EvaluationError, TypeError, UnicodeError) as error:
            failed = failure(error)
            failed.cost = budget - frame[BUDGET]
            raise failed from None
        return result, budget - frame[BUDGET]
