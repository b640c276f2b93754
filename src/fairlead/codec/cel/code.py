"""Building blocks of programs: closures over a frame, and their costs.

A frame is a list: the remaining budget, the remaining work (for operations without a cost), the
converted parts of the data, then the variables. Costs known at compile time are charged once per
straight piece of code; a call whose cost depends on sizes is charged 1 in advance and the
difference when it runs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from fairlead.codec.cel.errors import CostExceeded, EvaluationError, no_such_overload
from fairlead.codec.cel.values import BUDGET, READ, Frame

Run = Callable[[Frame], Any]
MAX_WORK = 1_000_000  # elements compared and copied
FAILURES = (EvaluationError, TypeError)
VARYING: Any = object()


class Code(NamedTuple):
    run: Run
    cost: int = 0
    value: Any = VARYING  # of a constant

    @property
    def constant(self) -> bool:
        return self.value is not VARYING


def constant(value: Any) -> Code:
    return Code(lambda frame: value, 0, value)


def charge(frame: Frame, cost: int) -> None:
    frame[BUDGET] -= cost
    if frame[BUDGET] < 0:
        raise CostExceeded


def charged(code: Code, less: int = 0) -> Run:
    """Code that may be skipped charges its own cost (minus `less`) when it runs."""
    run, cost = code.run, code.cost - less
    if not cost:
        return run

    def run_charged(frame: Frame) -> Any:
        frame[BUDGET] -= cost
        if frame[BUDGET] < 0:
            raise CostExceeded
        return run(frame)

    return run_charged


def failure(error: Exception) -> EvaluationError:
    """The error of a failed evaluation; a TypeError of Python means a missing overload."""
    if isinstance(error, EvaluationError):
        return error
    if isinstance(error, UnicodeError):
        return EvaluationError("invalid UTF-8 in string")
    return no_such_overload()


def logic(parts: list[Run], stop: bool) -> Run:
    """`&&` (stops at false) or `||` (at true): an error counts only if no operand decides."""

    def decide(frame: Frame) -> bool:
        failed: Exception | None = None
        for part in parts:
            try:
                value: object = part(frame)
            except FAILURES as error:
                failed = failed or error
                continue
            if value is stop:
                return stop
            if type(value) is not bool:
                failed = failed or no_such_overload()
        if failed:
            raise failed
        return not stop

    return decide


def conditional(condition: Run, chosen: Run, other: Run) -> Run:
    def choose(frame: Frame) -> Any:
        value = condition(frame)
        if value is True:
            return chosen(frame)
        if value is False:
            return other(frame)
        raise no_such_overload()

    return choose


def field_of(slot: int | None, operand: Run, key: str, name: str) -> Run:
    """A field of an object, by its key in the data and its name in expressions. A null field counts
    as missing, and a null object has no fields."""
    if slot is not None:

        def get_of_variable(frame: Frame) -> Any:
            holder = frame[slot]
            value = holder.get(key) if type(holder) is dict else None
            if value is None:
                raise EvaluationError(f"no such key: {name}")
            return value

        return get_of_variable

    def get(frame: Frame) -> Any:
        holder = operand(frame)
        value = holder.get(key) if type(holder) is dict else None
        if value is None:
            raise EvaluationError(f"no such key: {name}")
        return value

    return get


def read_as(get: Run, kind: type | None, read: Callable[[Any], Any], many: bool) -> Run:
    """Converts a value to its declared type; lists and maps once per evaluation."""
    if kind is None:
        return get

    def get_read(frame: Frame) -> Any:
        value = get(frame)
        return value if type(value) is kind else read(value)

    def get_many(frame: Frame) -> Any:
        value = get(frame)
        cached = frame[READ].get(id(value))
        if cached is None:
            cached = frame[READ][id(value)] = read(value)
        return cached

    return get_many if many else get_read
