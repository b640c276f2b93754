"""The macros that iterate over a list or the keys of a map, with the cost of each iteration."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Any

from fairlead.codec.cel.code import FAILURES, Code, Run, charge
from fairlead.codec.cel.errors import CostExceeded, EvaluationError, no_such_overload
from fairlead.codec.cel.syntax import Loop
from fairlead.codec.cel.values import BUDGET, Frame, UInt, class_name, has_key, shown

# The cost of the reference's own loop around the condition and the transformation.
_TEST = {"all": 2, "exists": 3}
_STEP, _RESULT, _COUNTED, _APPENDED = 1, 1, 2, 12
FIXED = {
    **dict.fromkeys(("all", "exists", "filter", "map"), _RESULT),
    **dict.fromkeys(("transformList", "transformMap", "transformMapEntry"), _RESULT),
    "exists_one": 2,
}
_INSERTION_COSTS = {
    "transformMap": 3,
    "transformMapEntry": 2,
}  # a call and the names of its arguments
_KEYS = frozenset((bool, int, UInt, str))


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
    round_cost = test + _STEP + cost
    elements = _range(over)

    def decide(frame: Frame) -> bool:
        failed: Exception | None = None
        rest = iter(elements(frame))
        for frame[slot] in rest:
            frame[BUDGET] -= round_cost
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


# Loops with two variables, in adjacent slots: an index and an item, or a key and a value


def pair_loop(
    node: Loop, over: Run, slot: int, condition: Code | None, transform: Code | None
) -> Run:
    """The code of a loop with two variables. Each round sets the pair before its first part."""
    pairs = _pairs(over)

    def with_pair(part: Code) -> Run:
        run = part.run

        def run_with_pair(frame: Frame) -> Any:
            frame[slot], frame[slot + 1] = frame[slot]
            return run(frame)

        return run_with_pair

    if transform is None:
        assert condition is not None
        check = with_pair(condition)
        if node.macro == "exists_one":
            return exists_one(pairs, slot, check, condition.cost)
        return quantifier(node.macro, pairs, slot, check, condition.cost)
    run = _keyed(slot, transform.run) if node.macro == "transformMap" else transform.run
    if condition is None:
        test, cost, run = None, 0, with_pair(Code(run))
    else:
        test, cost = with_pair(condition), condition.cost
    if node.macro == "transformList":
        item_cost = append_cost(transform.cost, transform.constant)
        return collect(pairs, slot, test, cost, run, item_cost)
    gather = collect(pairs, slot, test, cost, run, _INSERTION_COSTS[node.macro] + transform.cost)
    if node.macro == "transformMap":
        return lambda frame: _inserted({}, gather(frame))
    return _merged(gather)


def _keyed(slot: int, run: Run) -> Run:
    return lambda frame: (frame[slot], run(frame))


def _pairs(over: Run) -> Run:
    elements = _range(over)

    def pairs(frame: Frame) -> list[Any]:
        collection = elements(frame)
        if type(collection) is dict:
            return list(collection.items())
        return list(enumerate(collection))

    return pairs


def _merged(gather: Run) -> Run:
    """The entries of the maps that transformMapEntry made."""

    def merge(frame: Frame) -> dict[Any, Any]:
        result: dict[Any, Any] = {}
        for entries in gather(frame):
            if type(entries) is not dict:
                raise no_such_overload()
            _inserted(result, entries.items())
        return result

    return merge


def _inserted(entries: dict[Any, Any], pairs: Iterable[tuple[Any, Any]]) -> dict[Any, Any]:
    for key, value in pairs:
        if type(key) not in _KEYS:
            raise EvaluationError("unsupported key type")
        if has_key(entries, key):
            raise EvaluationError(f"insert failed: key {shown(key)} already exists")
        entries[key] = value
    return entries
