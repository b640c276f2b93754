"""The costs of calls at evaluation that depend on the sizes of their arguments."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any

from fairlead.codec.cel.values import NONE, Optional

PER_CHARACTER = 0.1
PER_PATTERN_CHARACTER = 0.25
LIST, MAP, MESSAGE = 10, 30, 40  # constructing one from its parts
_MAX_PARTS = 1_000_000
_SIZED = (str, bytes, list, dict)
Cost = Callable[..., int]


def tenth(size: int) -> int:
    """A tenth, rounded up: the cost of visiting this many characters."""
    return -(-size // 10)


def _size(value: Any) -> int:
    if type(value) in _SIZED:
        return len(value)
    if type(value) is Optional and value is not NONE:
        return _size(value.value)
    return len(value) if hasattr(value, "type_name") and hasattr(value, "__len__") else 1


def _shorter(left: Any, right: Any, result: Any) -> int:
    return tenth(min(_size(left), _size(right)))


def first_tenth(value: Any, *rest: Any) -> int:
    return tenth(_size(value))


def twice_tenth(value: Any, *rest: Any) -> int:
    return tenth(2 * _size(value))


def _both(left: Any, right: Any, result: Any) -> int:
    return tenth(_size(left) + _size(right))


def _pattern(text: str, pattern: str, *rest: Any) -> int:
    return tenth(1 + _size(text)) * -(-_size(pattern) // 4)


def _product(left: Any, right: Any, result: Any) -> int:
    return tenth(_size(left)) * tenth(_size(right))


def _traversal(value: Any, *rest: Any) -> int:
    """The cost of visiting all parts; above every budget for more than `_MAX_PARTS` parts."""
    total, seen, left = 0, 0, [value]
    while left:
        part = left.pop()
        seen += 1
        if type(part) is list:
            left.extend(part)
        elif type(part) is dict:
            left.extend(part)
            left.extend(part.values())
        else:
            total += _leaf(part)
        if seen + len(left) > _MAX_PARTS:
            return sys.maxsize
    return total


def _leaf(value: Any) -> int:
    if type(value) is str:
        return len(value if value.isascii() else value.encode(errors="surrogatepass")) // 10
    return len(value) // 10 if type(value) is bytes else 1


def _result_twice(*values: Any) -> int:
    return tenth(2 * _size(values[-1]))


_TEXT: tuple[type, ...] = (str, bytes)
_COMPARED: dict[type, Cost] = {str: _shorter, bytes: _shorter}
# By function, and by the class of the first argument if it matters.
COSTS: dict[str, Cost | dict[type, Cost]] = {
    "_==_": _shorter,
    "_!=_": _shorter,
    **dict.fromkeys(("_<_", "_<=_", "_>_", "_>=_"), _COMPARED),
    "_+_": dict.fromkeys(_TEXT, _both),
    "bytes": {str: first_tenth},
    "string": {bytes: first_tenth},
    "startsWith": first_tenth,
    "endsWith": first_tenth,
    "contains": _product,
    **dict.fromkeys(("matches", "find", "findAll"), _pattern),
    **dict.fromkeys(("isSorted", "sum", "max", "min", "indexOf", "lastIndexOf"), _traversal),
    **dict.fromkeys(("url", "lowerAscii", "upperAscii", "substring", "trim"), first_tenth),
    "replace": twice_tenth,
    "split": twice_tenth,
    "join": _result_twice,
}


class Costs:
    """The cost functions of an environment, by function."""

    def __init__(self, costs: Mapping[str, Cost | dict[type, Cost]]) -> None:
        self._costs = costs

    def of(self, function: str, kind: type | None) -> Cost | None:
        """The cost function of a call by the class of its first argument (None: unknown before the
        evaluation); takes arguments and result. Returns None if the cost is 1."""
        cost = self._costs.get(function)
        if not isinstance(cost, dict):
            return cost
        if kind is not None:
            return cost.get(kind)
        return _by_class(cost)


def _by_class(costs: dict[type, Cost]) -> Cost:
    def cost(first: Any, *rest: Any) -> int:
        own = costs.get(type(first))
        return own(first, *rest) if own else 1

    return cost
