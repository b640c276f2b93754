"""Functions of lists: order, extremes, sums, indexes of elements."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

from fairlead.codec.cel.arithmetic import OPERATORS, Implementations
from fairlead.codec.cel.errors import EvaluationError, no_such_overload
from fairlead.codec.cel.values import Duration, Frame, UInt, equal, has_key, item, lookup

_SUM_CLASSES = (int, UInt, float, Duration)


def _less(left: Any, right: Any) -> bool:
    compare = OPERATORS["_<_"].get((type(left), type(right)))
    if compare is None:
        raise no_such_overload()
    return bool(compare(left, right))


def _add(left: Any, right: Any) -> Any:
    add = OPERATORS["_+_"].get((type(left), type(right)))
    if add is None:
        raise no_such_overload()
    return add(left, right)


def _is_sorted(items: list[Any]) -> bool:
    for index, value in enumerate(items):
        if value is None:
            raise EvaluationError("no such overload: isSorted(list)")
        if index and _less(value, items[index - 1]):
            return False
    return True


def _extreme(name: str, better: Callable[[Any, Any], bool]) -> Callable[[list[Any]], Any]:
    def choose(items: list[Any]) -> Any:
        if not items:
            raise EvaluationError(f"{name} called on empty list")
        if None in items:
            raise EvaluationError(f"no such overload: {name}(list)")
        return reduce(lambda best, value: value if better(value, best) else best, items)

    return choose


def total(items: list[Any], nothing: Any) -> Any:
    """The sum of a list; `nothing` if it is empty."""
    if not items:
        return nothing
    if type(items[0]) not in _SUM_CLASSES:
        raise no_such_overload()
    return reduce(_add, items)


def _index_of(frame: Frame, items: list[Any], value: Any) -> int:
    return next((index for index, item in enumerate(items) if equal(item, value, frame)), -1)


def _last_index_of(frame: Frame, items: list[Any], value: Any) -> int:
    index = _index_of(frame, items[::-1], value)
    return len(items) - 1 - index if index >= 0 else -1


def _contains(frame: Frame, value: Any, items: list[Any]) -> bool:
    return any(equal(item, value, frame) for item in items)


LISTS: Implementations = {
    "isSorted": {(list,): _is_sorted},
    "min": {(list,): _extreme("min", _less)},
    "max": {(list,): _extreme("max", lambda value, best: _less(best, value))},
    "sum": {(list,): lambda items: total(items, 0)},
    "_[_]": {(list, int): item, (object, object): lookup},
    "@in": {(object, dict): lambda key, entries: has_key(entries, key)},
}
# These compare elements and count their work in the frame, which is their first argument.
COMPARING: Implementations = {
    "indexOf": {(list, object): _index_of},
    "lastIndexOf": {(list, object): _last_index_of},
    "@in": {(object, list): _contains},
    "_==_": {(object, object): lambda frame, left, right: equal(left, right, frame)},
    "_!=_": {(object, object): lambda frame, left, right: not equal(left, right, frame)},
}
