"""Quantities such as `1.5Gi`."""

from __future__ import annotations

from decimal import Decimal

from fairlead.codec.cel.costs import first_tenth
from fairlead.codec.cel.errors import EvaluationError
from fairlead.codec.cel.library import Library, declared, scanned
from fairlead.codec.cel.types import BOOL, DOUBLE, INT, QUANTITY, STRING
from fairlead.codec.cel.values import INT_MAX, INT_MIN
from fairlead.codec.types.quantity import (
    FORMAT_ERROR,
    Amount,
    QuantityError,
    amount,
    quantity_digits,
)

_LONGEST = 1000  # characters of a quantity


class Quantity:
    """A quantity; `is_small` if the reference keeps it as an integer of 64 bits and a power."""

    type_name, class_name = "kubernetes.Quantity", "cel.Quantity"
    __slots__ = ("is_small", "value")

    def __init__(self, value: Decimal, is_small: bool = True) -> None:
        self.value, self.is_small = value, is_small

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Quantity) and self.value == other.value

    def __hash__(self) -> int:
        return hash(self.value)


def _parsed(text: str) -> Amount | None:
    try:
        return amount(text) if len(text) <= _LONGEST else None
    except QuantityError:
        return None


def _quantity(text: str) -> Quantity:
    if len(text) > _LONGEST:
        raise EvaluationError(FORMAT_ERROR)
    try:
        parsed = amount(text)
    except QuantityError as error:
        raise EvaluationError(str(error)) from None
    digits, power, kind = quantity_digits(text)
    if kind == "binary":
        return Quantity(parsed.value, 0 <= power < 15 - len(digits))
    return Quantity(parsed.value, len(digits) <= 18)


def _sum(left: Quantity, right: Quantity | int, sign: int = 1) -> Quantity:
    other = right if isinstance(right, Quantity) else Quantity(Decimal(right))
    value = left.value + sign * other.value
    return Quantity(value, left.is_small and other.is_small)


def _difference(left: Quantity, right: Quantity | int) -> Quantity:
    return _sum(left, right, -1)


def _compare(left: Quantity, right: Quantity) -> int:
    return (left.value > right.value) - (left.value < right.value)


def _is_integer(quantity: Quantity) -> bool:
    value = quantity.value
    return quantity.is_small and value % 1 == 0 and INT_MIN <= value <= INT_MAX


def _as_integer(quantity: Quantity) -> int:
    if not _is_integer(quantity):
        raise EvaluationError("cannot convert value to integer")
    return int(quantity.value)


_PAIR = (QUANTITY, QUANTITY)
LIBRARY = Library(
    declared(
        [
            ("quantity", (STRING,), QUANTITY),
            ("isQuantity", (STRING,), BOOL),
            ("sign", (QUANTITY,), INT),
        ],
        [
            ("isGreaterThan", _PAIR, BOOL),
            ("isLessThan", _PAIR, BOOL),
            ("compareTo", _PAIR, INT),
            ("asApproximateFloat", (QUANTITY,), DOUBLE),
            ("asInteger", (QUANTITY,), INT),
            ("isInteger", (QUANTITY,), BOOL),
            *((name, _PAIR, QUANTITY) for name in ("add", "sub")),
            *((name, (QUANTITY, INT), QUANTITY) for name in ("add", "sub")),
        ],
    ),
    {
        "quantity": {(str,): _quantity},
        "isQuantity": {(str,): lambda text: _parsed(text) is not None},
        "sign": {(Quantity,): lambda quantity: _compare(quantity, Quantity(Decimal(0)))},
        "isGreaterThan": {(Quantity, Quantity): lambda left, right: left.value > right.value},
        "isLessThan": {(Quantity, Quantity): lambda left, right: left.value < right.value},
        "compareTo": {(Quantity, Quantity): _compare},
        "asApproximateFloat": {(Quantity,): lambda quantity: float(quantity.value)},
        "asInteger": {(Quantity,): _as_integer},
        "isInteger": {(Quantity,): _is_integer},
        "add": dict.fromkeys(((Quantity, Quantity), (Quantity, int)), _sum),
        "sub": dict.fromkeys(((Quantity, Quantity), (Quantity, int)), _difference),
    },
    dict.fromkeys(("quantity", "isQuantity"), first_tenth),
    dict.fromkeys(("quantity", "isQuantity"), scanned(1)),
    {"kubernetes.Quantity": QUANTITY},
)
