"""Evaluates the expressions of policies and match conditions within their cost limits.

Expressions are evaluated synchronously, in a thread if they take long. A check of the `authorizer`
variable whose decision is not known yet stops the evaluation; it starts again when the authorizer
has decided (`Decisions`).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from time import perf_counter
from typing import Any, NamedTuple, ParamSpec, TypeVar

from fairlead.admission.policies.compilation import Expression
from fairlead.auth.authentication.user import (
    User,
    account_groups,
    account_user_name,
    with_authenticated_group,
)
from fairlead.auth.authorization import attributes as access
from fairlead.auth.authorization.requests import with_requirements
from fairlead.base import budget, meter
from fairlead.codec.cel.authorizer import Authorizer, Decision, Question, ResourceCheck
from fairlead.codec.cel.errors import CostExceeded, EvaluationError
from fairlead.codec.types.model import Object

P = ParamSpec("P")
T = TypeVar("T")

MAX_COST = 1_000_000  # of one evaluation of an expression
MAX_BINDING_COST = 10_000_000  # of all expressions of a policy for one binding and parameter
MAX_CONDITIONS_COST = 2_500_000  # of all match conditions
_MAX_ON_LOOP = 10_000  # cost of one evaluation on the event loop
_OUT_OF_BUDGET = (
    "validation failed due to running out of cost budget, no further validation rules will be run"
)

# Returns the authorizer's decision.
Decide = Callable[[access.Attributes], Awaitable[access.Decision]]


class OutOfBudget(Exception):
    """The expressions of a policy cost too much together."""

    def __init__(self) -> None:
        super().__init__(_OUT_OF_BUDGET)


class Undecided(Exception):
    """An expression needs a decision of the authorizer."""

    def __init__(self, question: Question) -> None:
        super().__init__(question)
        self.question = question


class Decisions:
    """The decisions of the authorizer about one write. Each question is asked once."""

    def __init__(self, user: User, decide: Decide) -> None:
        self._user = user
        self._decide = decide
        self._known: dict[Question, Decision] = {}

    def known(self, question: Question) -> Decision:
        """The decision; raises Undecided."""
        decision = self._known.get(question)
        if decision is None:
            raise Undecided(question)
        return decision

    async def run(self, size: int, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run work that evaluates expressions on objects of `size` bytes, until all decisions that
        it needs are known."""
        while True:
            try:
                return await budget.run(size, work, *args, **kwargs)
            except Undecided as error:
                question = error.question
            decision = await self._decide(_attributes(question, self._user))
            allowed, reason = decision.allowed, decision.reason
            self._known[question] = Decision(allowed, reason, decision.error)


def _attributes(question: Question, user: User) -> access.Attributes:
    if question.account is not None:
        namespace, name = question.account
        groups = account_groups(namespace)
        user = with_authenticated_group(User(account_user_name(namespace, name), "", groups))
    if not question.resource:
        return access.of_path(user, question.verb, question.path)
    attributes = access.Attributes(
        user,
        question.verb,
        question.group,
        "*",
        question.resource,
        question.subresource,
        question.namespace,
        question.name,
    )
    return with_requirements(attributes, question.field_selector, question.label_selector)


class Inputs(NamedTuple):
    """The values of the variables of all expressions. `requested` is the resource of the request
    as a question without a verb. Without decisions there is no authorizer."""

    new: Object | None
    old: Object | None
    request: Object
    requested: Question
    namespace: Object | None = None
    params: Object | None = None
    decisions: Decisions | None = None

    def values(self) -> dict[str, Any]:
        values: dict[str, Any] = {
            "object": self.new,
            "oldObject": self.old,
            "request": self.request,
            "namespaceObject": self.namespace,
            "params": self.params,
        }
        if self.decisions is not None:
            decide = self.decisions.known
            values["authorizer"] = Authorizer(decide)
            values["authorizer.requestResource"] = ResourceCheck(self.requested, decide)
        return values


class Outcome(NamedTuple):
    """The result of an expression, or its error, and the duration of the evaluation."""

    value: Any = None
    error: str = ""
    seconds: float = 0.0


class Evaluation:
    """Evaluates expressions of one policy one after the other, within one budget. Variables are
    evaluated when an expression first reads them; their cost is charged to the budget too."""

    def __init__(self, inputs: Inputs, variables: Mapping[str, Expression], budget: int) -> None:
        self._values = inputs.values()
        self._values["variables"] = self
        self._variables = variables
        self._read: dict[str, Any] = {}
        self.left = budget

    def outcome(self, expression: Expression) -> Outcome:
        """Evaluate an expression; raises OutOfBudget."""
        program = expression.program
        if program is None:
            return Outcome(error=f"compilation error: {expression.error}")
        result: Any = None
        failed = ""
        started = perf_counter()
        try:
            result, cost = _evaluate(program.evaluate, self._values)
        except EvaluationError as error:
            cost = error.cost
            failed = f"expression '{expression.text}' resulted in error: {error}"
        self._charge(cost)
        return Outcome(result, failed, perf_counter() - started)

    def _charge(self, cost: int) -> None:
        self.left -= cost
        if self.left < 0:
            raise OutOfBudget

    def read(self, name: str) -> Any:
        """The value of a variable of the policy; raises EvaluationError."""
        if name not in self._read:
            self._read[name] = self._evaluate_variable(name)
        value = self._read[name]
        if isinstance(value, EvaluationError):
            raise value
        return value

    def _evaluate_variable(self, name: str) -> Any:
        expression = self._variables[name]
        if expression.program is None:
            return _variable_error(name, f"fails to compile: {expression.error}")
        try:
            value, cost = _evaluate(expression.program.evaluate, self._values)
        except EvaluationError as error:
            cost, value = error.cost, _variable_error(name, f"fails to evaluate: {error}")
        self._charge(cost)
        return value


def _variable_error(name: str, problem: str) -> EvaluationError:
    return EvaluationError(f'composited variable "{name}" {problem}')


def _evaluate(
    evaluate: Callable[[Mapping[str, Any], int], tuple[Any, int]], values: Mapping[str, Any]
) -> tuple[Any, int]:
    """Evaluate a program; raises EvaluationError, also for one that costs too much."""
    meter.spend()
    limit = _MAX_ON_LOOP if meter.is_on_loop() else MAX_COST
    try:
        value, cost = evaluate(values, limit)
    except CostExceeded as error:
        if limit != MAX_COST:
            raise meter.LoopBudgetExceeded from None
        exceeded = EvaluationError(str(error))
        exceeded.cost = MAX_COST
        raise exceeded from None
    meter.spend(cost)
    return value, cost


class MatchFailed(Exception):
    """The match conditions cannot be evaluated."""


class Conditions(NamedTuple):
    """The result of match conditions: whether one is false, the errors of the conditions before it,
    and the duration of the evaluation."""

    is_false: bool = False
    errors: Sequence[str] = ()
    seconds: float = 0.0

    def hold(self, *, ignores_failure: bool) -> bool:
        """Whether all conditions hold. If they fail, they do not hold or, unless failures are
        ignored, this raises MatchFailed."""
        if self.is_false:
            return False
        errors = list(dict.fromkeys(self.errors))
        if errors and not ignores_failure:
            raise MatchFailed(errors[0] if len(errors) == 1 else f"[{', '.join(errors)}]")
        return not errors


def evaluate_conditions(
    conditions: Sequence[Expression], inputs: Inputs, variables: Mapping[str, Expression]
) -> Conditions:
    evaluation = Evaluation(inputs, variables, MAX_CONDITIONS_COST)
    started = perf_counter()
    try:
        outcomes = [evaluation.outcome(condition) for condition in conditions]
    except OutOfBudget as error:
        outcomes = [Outcome(error=str(error))]
    errors: list[str] = []
    for outcome in outcomes:
        if outcome.value is False:
            return Conditions(True, errors, perf_counter() - started)
        if outcome.error:
            errors.append(outcome.error)
    return Conditions(False, errors, perf_counter() - started)
