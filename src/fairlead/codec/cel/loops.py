"""The macros that iterate over a list or the keys of a map, with the cost of each iteration."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from fairlead.codec.cel.code import FAILURES, Run, charge
from fairlead.codec.cel.errors import CostExceeded, EvaluationError, no_such_overload
from fairlead.codec.cel.values import BUDGET, Frame, class_name

# The cost of the reference's own loop around the condition and the transformation.
_TEST = {"all": 2, "exists": 3}
_STEP, _RESULT, _COUNTED, _APPENDED = 1, 1, 2, 12
FIXED = {"all": _RESULT, "exists": _RESULT, "exists_one": 2, "filter": _RESULT, "map": _RESULT}


def _range(over: Run) -> Callable[[Frame], Collection[Any]]:
    def elements(frame: Frame) -> Collection[Any]:
        collection = over(frame)
        if type(collection) is list or type(collection) is dict:
            return collection
        raise EvaluationError(f"got '{class_name(collection)}', expected iterable type")

    return elements


def quantifier(macro: str, over: Run, slot: int, condition: Run, cost: int) -> Run:
    """all, exists: errors count only if no element decides."""
    stop = macro == "exists"
    test = _TEST[macro]
    each = test + _STEP + cost
    elements = _range(over)

    def decide(frame: Frame) -> bool:
        failed: Exception | None = None
        rest = iter(elements(frame))
        for frame[slot] in rest:
            frame[BUDGET] -= each
            if frame[BUDGET] < 0:
                raise CostExceeded
            try:
                value: object = condition(frame)
            except FAILURES as error:
                failed = failed or error
                continue
            if value is stop:
                if any(True for _ in rest):
                    charge(frame, test)
                return stop
            if type(value) is not bool:
                failed = failed or no_such_overload()
        if failed:
            raise failed
        return not stop

    return decide


def exists_one(over: Run, slot: int, condition: Run, cost: int) -> Run:
    elements = _range(over)

    def count(frame: Frame) -> bool:
        number = 0
        items = elements(frame)
        for frame[slot] in items:
            charge(frame, cost)
            if _holds(condition(frame)):
                charge(frame, _COUNTED)
                number += 1
        return number == 1

    return count


def collect(
    over: Run, slot: int, condition: Run | None, cost: int, transform: Run, transform_cost: int
) -> Run:
    """filter, map: the elements that satisfy the condition, transformed."""
    elements = _range(over)

    def gather(frame: Frame) -> list[Any]:
        gathered: list[Any] = []
        items = elements(frame)
        for frame[slot] in items:
            charge(frame, cost)
            if condition is None or _holds(condition(frame)):
                charge(frame, transform_cost)
                gathered.append(transform(frame))
        return gathered

    return gather


def append_cost(transform_cost: int, is_constant: bool) -> int:
    """The cost of appending one element to the result; constants are wrapped in advance."""
    return 2 if is_constant else _APPENDED + transform_cost


def _holds(value: Any) -> bool:
    if type(value) is not bool:
        raise no_such_overload()
    return value
