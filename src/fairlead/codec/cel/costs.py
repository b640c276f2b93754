"""The costs of calls at evaluation that depend on the sizes of their arguments."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

PER_CHARACTER = 0.1
PER_PATTERN_CHARACTER = 0.25
LIST, MAP = 10, 30  # constructing one from its parts
_MAX_PARTS = 1_000_000
_SIZED = (str, bytes, list, dict)
Cost = Callable[..., int]


def tenth(size: int) -> int:
    """A tenth, rounded up: the cost of visiting this many characters."""
    return -(-size // 10)


def _size(value: Any) -> int:
    return len(value) if type(value) in _SIZED else 1


def _shorter(left: Any, right: Any, result: Any) -> int:
    return tenth(min(_size(left), _size(right)))


def _first(value: Any, *rest: Any) -> int:
    return tenth(_size(value))


def _first_twice(value: Any, *rest: Any) -> int:
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
    "bytes": {str: _first},
    "string": {bytes: _first},
    "startsWith": _first,
    "endsWith": _first,
    "contains": _product,
    **dict.fromkeys(("matches", "find", "findAll"), _pattern),
    **dict.fromkeys(("isSorted", "sum", "max", "min", "indexOf", "lastIndexOf"), _traversal),
    **dict.fromkeys(("url", "lowerAscii", "upperAscii", "substring", "trim"), _first),
    "replace": _first_twice,
    "split": _first_twice,
    "join": _result_twice,
}


def cost_of(function: str, kind: type | None) -> Cost | None:
    """The cost function of a call by the class of its first argument (None: unknown before the
    evaluation); takes arguments and result. Returns None if the cost is 1."""
    cost = COSTS.get(function)
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
