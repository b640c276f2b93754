"""What calls cost at evaluation, where it depends on the sizes of their arguments."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

PER_CHARACTER = 0.1
PER_PATTERN_CHARACTER = 0.25
LIST, MAP = 10, 30  # making one from its parts
_MOST_PARTS = 1_000_000
_SIZED = (str, bytes, list, dict)
Cost = Callable[..., int]


def tenth(size: int) -> int:
    """A tenth rounded up: what it costs to go over so many characters."""
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
    """A step a part; one step more than any budget has if there is no end to them."""
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
        if seen + len(left) > _MOST_PARTS:
            return sys.maxsize
    return total


def _leaf(value: Any) -> int:
    if type(value) is str:
        return len(value if value.isascii() else value.encode(errors="surrogatepass")) // 10
    return len(value) // 10 if type(value) is bytes else 1


def _made(*values: Any) -> int:
    return tenth(2 * _size(values[-1]))


_TEXT: tuple[type, ...] = (str, bytes)
_COMPARED: dict[type, Cost] = {str: _shorter, bytes: _shorter}
# By function, and by the class of its first argument where that matters.
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
    "join": _made,
}


def cost_of(function: str, kind: type | None) -> Cost | None:
    """The cost of a call by its first argument's class, if it is not 1; arguments and result go
    in. None as the class: it is not known before the evaluation."""
    found = COSTS.get(function)
    if not isinstance(found, dict):
        return found
    if kind is not None:
        return found.get(kind)
    return _by_class(found)


def _by_class(costs: dict[type, Cost]) -> Cost:
    def cost(first: Any, *rest: Any) -> int:
        own = costs.get(type(first))
        return own(first, *rest) if own else 1

    return cost
