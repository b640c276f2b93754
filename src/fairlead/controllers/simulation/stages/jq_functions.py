"""Functions and operators of jq expressions, on JSON values."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from json import JSONDecodeError, dumps, loads
from math import inf
from typing import Any

from fairlead.base import clock, meter, patterns
from fairlead.codec.types.times import TimeError, parse_time

MAX_STEPS = 20_000
_MAX_SIZE = 1024 * 1024  # characters or items of a result
_EXACT = 2**53


class JqError(Exception):
    """An expression that fails on a value."""


class TooManySteps(Exception):
    """An evaluation that takes too long."""


class Evaluation:
    """Counts the steps of one evaluation."""

    __slots__ = ("_left",)

    def __init__(self) -> None:
        self._left = MAX_STEPS

    def spend(self) -> None:
        """Count a step; raises TooManySteps."""
        meter.spend()
        self._left -= 1
        if self._left < 0:
            raise TooManySteps(f"takes more than {MAX_STEPS} steps")


Filter = Callable[[Any, Evaluation], Iterator[Any]]

_KINDS = {bool: "boolean", int: "number", float: "number", str: "string", list: "array"}
_ORDER = ("null", "boolean", "number", "string", "array", "object")


def kind_of(value: Any) -> str:
    if value is None:
        return "null"
    return _KINDS.get(type(value), "object")


def is_true(value: Any) -> bool:
    return value is not None and value is not False


def _rank(value: Any) -> tuple[Any, ...]:
    """The place of a value in the order of all values."""
    kind = _ORDER.index(kind_of(value))
    if isinstance(value, list):
        return kind, [_rank(item) for item in value]
    if isinstance(value, dict):
        return kind, sorted(value), [_rank(value[name]) for name in sorted(value)]
    return kind, value or 0 if not isinstance(value, str) else value


def _equal(left: Any, right: Any) -> bool:
    return kind_of(left) == kind_of(right) and bool(left == right)


def _number(value: float) -> float:
    """Numbers are doubles: integers stay exact while a double is."""
    return float(value) if isinstance(value, int) and abs(value) > _EXACT else value


def _bounded(value: Any) -> Any:
    if len(value) > _MAX_SIZE:
        raise JqError("the result is too large")
    return value


def _add(left: Any, right: Any) -> Any:
    if left is None or right is None:
        return right if left is None else left
    kinds = {kind_of(left), kind_of(right)}
    if len(kinds) == 1:
        match kinds.pop():
            case "number":
                return _number(left + right)
            case "string" | "array":
                return _bounded(left + right)
            case "object":
                return {**left, **right}
    raise JqError(f"cannot add {kind_of(left)} and {kind_of(right)}")


def _subtract(left: Any, right: Any) -> Any:
    if kind_of(left) == kind_of(right) == "array":
        return [item for item in left if not any(_equal(item, other) for other in right)]
    return _number(_numeric(left) - _numeric(right))


def _numeric(value: Any) -> float:
    if kind_of(value) != "number":
        raise JqError(f"{kind_of(value)} is not a number")
    return value  # type: ignore[no-any-return]


def _multiply(left: Any, right: Any) -> Any:
    return _number(_numeric(left) * _numeric(right))


def _divide(left: Any, right: Any) -> Any:
    if kind_of(left) == kind_of(right) == "string":
        return left.split(right) if right else list(left)
    if _numeric(right) == 0:
        raise JqError("division by zero")
    result = _numeric(left) / right
    return int(result) if result.is_integer() and abs(result) < _EXACT else result


def _remainder(left: Any, right: Any) -> Any:
    dividend, divisor = (int(max(-_EXACT, min(_EXACT, _numeric(value)))) for value in (left, right))
    if divisor == 0:
        raise JqError("division by zero")
    result = abs(dividend) % abs(divisor)
    return -result if dividend < 0 else result


OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "==": _equal,
    "!=": lambda left, right: not _equal(left, right),
    "<": lambda left, right: _rank(left) < _rank(right),
    "<=": lambda left, right: _rank(left) <= _rank(right),
    ">": lambda left, right: _rank(left) > _rank(right),
    ">=": lambda left, right: _rank(left) >= _rank(right),
    "+": _add,
    "-": _subtract,
    "*": _multiply,
    "/": _divide,
    "%": _remainder,
}


# Functions of a value.


def _length(value: Any) -> Any:
    if value is None:
        return 0
    if isinstance(value, bool):
        raise JqError("boolean has no length")
    return abs(value) if isinstance(value, int | float) else len(value)


def _keys(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return sorted(value)
    return list(range(len(_array(value))))


def _array(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise JqError(f"{kind_of(value)} is not an array")
    return value


def _string(value: Any) -> str:
    if not isinstance(value, str):
        raise JqError(f"{kind_of(value)} is not a string")
    return value


def _to_string(value: Any) -> str:
    return value if isinstance(value, str) else _to_json(value)


def _to_json(value: Any) -> str:
    return dumps(value, separators=(",", ":"), ensure_ascii=False)


def _from_json(value: Any) -> Any:
    try:
        return loads(_string(value))
    except (JSONDecodeError, RecursionError):
        raise JqError("not JSON") from None


def _to_number(value: Any) -> Any:
    if kind_of(value) == "number":
        return value
    try:
        result = float(_string(value))
    except ValueError:
        raise JqError("not a number") from None
    return int(result) if result.is_integer() and abs(result) < _EXACT else result


def _from_date(value: Any) -> float:
    try:
        return parse_time(_string(value)).timestamp()
    except (TimeError, ValueError):
        raise JqError("not a time") from None


def _sum(value: Any) -> Any:
    result = None
    for item in _array(value):
        meter.spend()
        result = _add(result, item)
    return result


def _unique(value: Any) -> list[Any]:
    result: list[Any] = []
    for item in sorted(_array(value), key=_rank):
        if not result or not _equal(result[-1], item):
            result.append(item)
    return result


def _flat(value: Any) -> list[Any]:
    result: list[Any] = []
    for item in _array(value):
        result += _flat(item) if isinstance(item, list) else [item]
    return result


def _end(value: Any, at: int) -> Any:
    return _array(value)[at] if value else None


_OF_VALUES: dict[str, Callable[[Any], Any]] = {
    "add": _sum,
    "all": lambda value: all(map(is_true, _array(value))),
    "any": lambda value: any(map(is_true, _array(value))),
    "ascii_downcase": lambda value: _string(value).lower(),
    "ascii_upcase": lambda value: _string(value).upper(),
    "first": lambda value: _end(value, 0),
    "flatten": _flat,
    "floor": lambda value: int(_numeric(value) // 1) if abs(_numeric(value)) < inf else value,
    "fromdate": _from_date,
    "fromdateiso8601": _from_date,
    "fromjson": _from_json,
    "keys": _keys,
    "last": lambda value: _end(value, -1),
    "length": _length,
    "max": lambda value: max(_array(value), key=_rank, default=None),
    "min": lambda value: min(_array(value), key=_rank, default=None),
    "not": lambda value: not is_true(value),
    "now": lambda _: clock.time(),
    "reverse": lambda value: (_string(value) if isinstance(value, str) else _array(value))[::-1],
    "sort": lambda value: sorted(_array(value), key=_rank),
    "to_entries": lambda value: [{"key": key, "value": value[key]} for key in _keys(value)],
    "tojson": _to_json,
    "tonumber": _to_number,
    "tostring": _to_string,
    "type": kind_of,
    "unique": _unique,
}


# Functions of a value and an argument.


def _has(value: Any, key: Any) -> bool:
    if isinstance(value, dict) and isinstance(key, str):
        return key in value
    if isinstance(value, list) and isinstance(key, int):
        return 0 <= key < len(value)
    raise JqError(f"cannot look for {kind_of(key)} in {kind_of(value)}")


def _contains(value: Any, part: Any) -> bool:
    meter.spend()
    if kind_of(value) != kind_of(part):
        raise JqError(f"{kind_of(value)} cannot contain {kind_of(part)}")
    if isinstance(value, str):
        return part in value
    if isinstance(value, list):
        return all(any(_may_contain(item, wanted) for item in value) for wanted in part)
    if isinstance(value, dict):
        return all(name in value and _may_contain(value[name], part[name]) for name in part)
    return _equal(value, part)


def _may_contain(value: Any, part: Any) -> bool:
    return kind_of(value) == kind_of(part) and _contains(value, part)


def _matches(value: Any, pattern: Any) -> bool:
    try:
        return patterns.compiled(_string(pattern)).search(_string(value)) is not None
    except patterns.PatternError as error:
        raise JqError(str(error)) from None


def _joined(value: Any, separator: Any) -> str:
    texts = ["" if item is None else _to_string(item) for item in _array(value)]
    return str(_bounded(_string(separator).join(texts)))


_OF_ARGUMENTS: dict[str, Callable[[Any, Any], Any]] = {
    "contains": _contains,
    "endswith": lambda value, end: _string(value).endswith(_string(end)),
    "has": _has,
    "inside": lambda value, whole: _contains(whole, value),
    "join": _joined,
    "ltrimstr": lambda value, start: (
        value.removeprefix(start) if _are_texts(value, start) else value
    ),
    "rtrimstr": lambda value, end: value.removesuffix(end) if _are_texts(value, end) else value,
    "split": lambda value, separator: _divide(_string(value), _string(separator)),
    "startswith": lambda value, start: _string(value).startswith(_string(start)),
    "test": _matches,
}


def _are_texts(*values: Any) -> bool:
    return all(isinstance(value, str) for value in values)


# Functions of filters.


def _of_value(function: Callable[[Any], Any]) -> Callable[[], Filter]:
    def build() -> Filter:
        def run(value: Any, evaluation: Evaluation) -> Iterator[Any]:
            evaluation.spend()
            yield function(value)

        return run

    return build


def _of_argument(function: Callable[[Any, Any], Any]) -> Callable[[Filter], Filter]:
    def build(argument: Filter) -> Filter:
        def run(value: Any, evaluation: Evaluation) -> Iterator[Any]:
            for each in argument(value, evaluation):
                evaluation.spend()
                yield function(value, each)

        return run

    return build


def _select(condition: Filter) -> Filter:
    def run(value: Any, evaluation: Evaluation) -> Iterator[Any]:
        for result in condition(value, evaluation):
            evaluation.spend()
            if is_true(result):
                yield value

    return run


def _map(change: Filter) -> Filter:
    def run(value: Any, evaluation: Evaluation) -> Iterator[Any]:
        items = value.values() if isinstance(value, dict) else _array(value)
        yield [result for item in items for result in change(item, evaluation)]

    return run


def _quantified(decide: Callable[[Iterator[bool]], bool]) -> Callable[[Filter], Filter]:
    def build(condition: Filter) -> Filter:
        def run(value: Any, evaluation: Evaluation) -> Iterator[Any]:
            items = value.values() if isinstance(value, dict) else _array(value)
            yield decide(
                is_true(result) for item in items for result in condition(item, evaluation)
            )

        return run

    return build


def _first_of(inner: Filter) -> Filter:
    def run(value: Any, evaluation: Evaluation) -> Iterator[Any]:
        for result in inner(value, evaluation):
            yield result
            return

    return run


def _empty() -> Filter:
    def run(value: Any, evaluation: Evaluation) -> Iterator[Any]:
        return iter(())

    return run


# By name and number of arguments; each builds a filter from those of its arguments.
FUNCTIONS: dict[tuple[str, int], Callable[..., Filter]] = {
    **{(name, 0): _of_value(function) for name, function in _OF_VALUES.items()},
    **{(name, 1): _of_argument(function) for name, function in _OF_ARGUMENTS.items()},
    ("all", 1): _quantified(all),
    ("any", 1): _quantified(any),
    ("empty", 0): _empty,
    ("first", 1): _first_of,
    ("map", 1): _map,
    ("select", 1): _select,
}
