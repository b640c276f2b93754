"""Quantities: decimal numbers with a suffix, compared by value and printed canonically."""

from __future__ import annotations

import re
from decimal import ROUND_UP, Decimal, localcontext
from functools import lru_cache

_PATTERN = re.compile(r"^([+-]?)(\d+\.?\d*|\.\d+)(.*)$", re.ASCII)
_EXPONENT = re.compile(r"^[eE]([+-]?\d+)$", re.ASCII)

_BINARY = {"Ki": 1, "Mi": 2, "Gi": 3, "Ti": 4, "Pi": 5, "Ei": 6}
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY_NAMES = {power: name for name, power in _BINARY.items()}
_DECIMAL_NAMES = {power: name for name, power in _DECIMAL.items()}

_NANO = Decimal("1e-9")
_LARGEST = Decimal(2**63 - 1)

FORMAT_ERROR = (
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
)


class QuantityError(ValueError):
    """Text that is not a quantity."""


@lru_cache(maxsize=8192)
def _parse(text: str) -> tuple[Decimal, str]:
    """The value, rounded away from zero to nano, and its format: binary, decimal or exponent."""
    match = _PATTERN.match(text)
    if match is None:
        raise QuantityError(FORMAT_ERROR)
    sign, digits, suffix = match.groups()
    with localcontext() as context:
        context.prec = 60
        number = Decimal(sign + digits)
        if suffix in _BINARY:
            value, kind = number * 1024 ** _BINARY[suffix], "binary"
        elif suffix in _DECIMAL:
            value, kind = number.scaleb(_DECIMAL[suffix]), "decimal"
        elif exponent := _EXPONENT.match(suffix):
            value, kind = number.scaleb(int(exponent[1])), "exponent"
        else:
            raise QuantityError(FORMAT_ERROR)
        if abs(value) > _LARGEST:
            return _LARGEST.copy_sign(value), kind
        return value.quantize(_NANO, rounding=ROUND_UP), kind


def quantity(text: str) -> Decimal:
    """The value of a quantity; raises QuantityError."""
    return _parse(text)[0]


@lru_cache(maxsize=8192)
def canonical(text: str) -> str:
    """The one way to print a quantity: no fraction, the largest suffix that fits."""
    value, kind = _parse(text.strip())
    return format_quantity(value, kind)


def format_quantity(value: Decimal, kind: str = "decimal") -> str:
    if value == 0:
        return "0"
    if kind == "binary" and abs(value) >= 1024 and value == value.to_integral_value():
        return _format_binary(int(value))
    mantissa, power = int(value.scaleb(9)), -9
    while mantissa % 1000 == 0 and power < 18:
        mantissa, power = mantissa // 1000, power + 3
    if kind == "exponent":
        return f"{mantissa}e{power}" if power else str(mantissa)
    return f"{mantissa}{_DECIMAL_NAMES[power]}"


def _format_binary(mantissa: int) -> str:
    power = 0
    while mantissa % 1024 == 0 and power < 6:
        mantissa, power = mantissa // 1024, power + 1
    return f"{mantissa}{_BINARY_NAMES[power]}" if power else str(mantissa)
