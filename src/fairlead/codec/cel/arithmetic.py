"""The operators on numbers, strings, bytes, timestamps and durations, by operand types."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

from fairlead.codec.cel.errors import EvaluationError
from fairlead.codec.cel.timestamps import moment, span
from fairlead.codec.cel.values import INT_MAX, INT_MIN, UINT_MAX, Duration, Timestamp, UInt

Implementations = dict[str, dict[tuple[type, ...], Callable[..., Any]]]


def _int(result: int) -> int:
    if INT_MIN <= result <= INT_MAX:
        return result
    raise EvaluationError("integer overflow")


def _uint(result: int) -> UInt:
    if 0 <= result <= UINT_MAX:
        return UInt(result)
    raise EvaluationError("unsigned integer overflow")


def _int_add(left: int, right: int) -> int:
    result = left + right
    if INT_MIN <= result <= INT_MAX:
        return result
    raise EvaluationError("integer overflow")


def _quotient(left: int, right: int) -> int:
    """Integer division, truncated towards zero."""
    if right == 0:
        raise EvaluationError("division by zero")
    result = abs(left) // abs(right)
    return result if (left < 0) == (right < 0) else -result


def _int_remainder(left: int, right: int) -> int:
    if right == 0:
        raise EvaluationError("modulus by zero")
    if left == INT_MIN and right == -1:
        raise EvaluationError("integer overflow")
    result = abs(left) % abs(right)
    return -result if left < 0 else result


def _uint_remainder(left: UInt, right: UInt) -> UInt:
    if right == 0:
        raise EvaluationError("modulus by zero")
    return UInt(int(left) % int(right))


def _double_quotient(left: float, right: float) -> float:
    if right:
        return left / right
    if left == 0 or math.isnan(left) or math.isnan(right):
        return math.nan
    return math.copysign(math.inf, left) * math.copysign(1.0, right)


_NUMERIC: tuple[type, ...] = (int, UInt, float)
_COMPARED = {"_<_": operator.lt, "_<=_": operator.le, "_>_": operator.gt, "_>=_": operator.ge}


def _comparisons() -> Implementations:
    """Comparisons within a type, and across numeric types for types known only at evaluation."""
    pairs: list[tuple[type, ...]] = [(type_, type_) for type_ in (bool, str, bytes)]
    pairs += [(type_, type_) for type_ in (Timestamp, Duration)]
    pairs += [(left, right) for left in (int, UInt) for right in (int, UInt)]
    doubles: list[tuple[type, ...]] = [(type_, float) for type_ in _NUMERIC]
    doubles += [(float, type_) for type_ in (int, UInt)]
    return {
        name: dict.fromkeys(pairs, compare) | dict.fromkeys(doubles, _of_doubles(compare))
        for name, compare in _COMPARED.items()
    }


def _of_doubles(compare: Callable[[float, float], bool]) -> Callable[[float, float], bool]:
    """Compares an integer with a double as the nearest double."""

    def ordered(left: float, right: float) -> bool:
        if left != left or right != right:
            raise EvaluationError("NaN values cannot be ordered")
        return compare(float(left), float(right))

    return ordered


OPERATORS: Implementations = {
    **_comparisons(),
    "_+_": {
        (int, int): _int_add,
        (UInt, UInt): lambda left, right: _uint(int(left) + int(right)),
        (float, float): operator.add,
        (str, str): operator.add,
        (bytes, bytes): operator.add,
        (Duration, Duration): lambda left, right: span(int(left) + int(right)),
        (Timestamp, Duration): lambda left, right: moment(int(left) + int(right), left.offset),
        (Duration, Timestamp): lambda left, right: moment(int(left) + int(right), right.offset),
    },
    "_-_": {
        (int, int): lambda left, right: _int(left - right),
        (UInt, UInt): lambda left, right: _uint(int(left) - int(right)),
        (float, float): operator.sub,
        (Duration, Duration): lambda left, right: span(int(left) - int(right)),
        (Timestamp, Timestamp): lambda left, right: span(int(left) - int(right)),
        (Timestamp, Duration): lambda left, right: moment(int(left) - int(right), left.offset),
    },
    "_*_": {
        (int, int): lambda left, right: _int(left * right),
        (UInt, UInt): lambda left, right: _uint(int(left) * int(right)),
        (float, float): operator.mul,
    },
    "_/_": {
        (int, int): lambda left, right: _int(_quotient(left, right)),
        (UInt, UInt): lambda left, right: UInt(_quotient(int(left), int(right))),
        (float, float): _double_quotient,
    },
    "_%_": {(int, int): _int_remainder, (UInt, UInt): _uint_remainder},
    "-_": {
        (int,): lambda value: _int(-value),
        (float,): operator.neg,
        (Duration,): lambda value: span(-int(value)),
    },
    "!_": {(bool,): operator.not_},
}
