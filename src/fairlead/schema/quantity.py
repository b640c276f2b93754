"""Quantities: decimal numbers with a suffix, compared by value and printed canonically."""

from __future__ import annotations

import re
from decimal import MAX_EMAX, MIN_EMIN, ROUND_UP, Context, Decimal, localcontext
from typing import NamedTuple

from fairlead.bounded import remembered

# The rest matches whatever is left, so that nothing is ever tried twice.
_PATTERN = re.compile(r"([+-]?)(\d+(?:\.\d*)?|\.\d+)(.*)", re.ASCII | re.DOTALL)
_EXPONENT = re.compile(r"[eE]([+-]?\d{1,19})\Z", re.ASCII)

_BINARY = {"Ki": 1, "Mi": 2, "Gi": 3, "Ti": 4, "Pi": 5, "Ei": 6}
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY_NAMES = {power: name for name, power in _BINARY.items()}
_DECIMAL_NAMES = {power: name for name, power in _DECIMAL.items()}

_CONTEXT = Context(prec=60, rounding=ROUND_UP, Emin=MIN_EMIN, Emax=MAX_EMAX)
_NANO = Decimal("1e-9")
_LARGEST = Decimal(2**63 - 1)
_SMALLEST_SIZE, _LARGEST_SIZE = -12, 20  # as powers of ten: rounded to nano, and over the largest

FORMAT_ERROR = (
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
)


class QuantityError(ValueError):
    """Text that is not a quantity."""


class Amount(NamedTuple):
    """A quantity to reckon with: its value, and the format in which it is printed: binary, decimal
    or exponent."""

    value: Decimal
    kind: str = "decimal"

    def plus(self, other: Amount) -> Amount:
        """The sum, in our own format unless we are nothing."""
        return Amount(self.value + other.value, self.kind if self.value else other.kind)

    def __str__(self) -> str:
        return format_quantity(self.value, self.kind)


# What people and programs write, all of it below the largest number. It is canonical unless a
# larger suffix fits.
_USUAL = re.compile(
    r"([1-9][0-9]{0,5}+(?:[0-9]{1,6}+(?![GT]))?+)(?:([mkMGT])|([KMGT]i))?\Z", re.ASCII
)
_USUAL_DECIMAL = {name: Decimal(10) ** _DECIMAL[name] for name in ("m", "k", "M", "G", "T")}
_USUAL_BINARY = {name: 1024 ** _BINARY[name] for name in ("Ki", "Mi", "Gi", "Ti")}


@remembered(4096, longest=64)
def amount(text: str) -> Amount:
    """What a text says, rounded away from zero to nano; raises QuantityError."""
    usual = _USUAL.match(text)
    if usual is not None:
        digits, decimal, binary = usual.groups()
        if binary:
            return Amount(Decimal(int(digits) * _USUAL_BINARY[binary]).quantize(_NANO), "binary")
        number = Decimal(digits)
        return Amount((number * _USUAL_DECIMAL[decimal] if decimal else number).quantize(_NANO))
    match = _PATTERN.match(text)
    if match is None:
        raise QuantityError(FORMAT_ERROR)
    sign, digits, suffix = match.groups()
    with localcontext(_CONTEXT):
        number = +Decimal(sign + digits)
        if suffix in _BINARY:
            value, kind = number * 1024 ** _BINARY[suffix], "binary"
        elif suffix in _DECIMAL:
            value, kind = number.scaleb(_DECIMAL[suffix]), "decimal"
        elif exponent := _EXPONENT.match(suffix):
            value, kind = _scaled(number, int(exponent[1])), "exponent"
        else:
            raise QuantityError(FORMAT_ERROR)
        if abs(value) > _LARGEST:
            return Amount(_LARGEST.copy_sign(value), kind)
        return Amount(value.quantize(_NANO), kind)


def _scaled(number: Decimal, power: int) -> Decimal:
    """A number times a power of ten; one that is out of all bounds stands right beyond them."""
    if not number:
        return number
    size = min(max(number.adjusted() + power, _SMALLEST_SIZE), _LARGEST_SIZE)
    return number.scaleb(size - number.adjusted())


def quantity(text: str) -> Decimal:
    """The value of a quantity; raises QuantityError."""
    return amount(text).value


def canonical(text: str) -> str:
    """The one way to print a quantity: no fraction, the largest suffix that fits."""
    usual = _USUAL.match(text)
    if usual is not None and int(usual[1]) % (1024 if usual[3] else 1000):
        return text
    return _canonical(text)


@remembered(4096, longest=64)
def _canonical(text: str) -> str:
    value, kind = amount(text.strip())
    return format_quantity(value, kind)


def format_quantity(value: Decimal, kind: str = "decimal") -> str:
    if value == 0:
        return "0"
    if kind == "binary" and abs(value) >= 1024 and value == value.to_integral_value():
        return _format_binary(int(value))
    mantissa, power = int(value), 0
    if mantissa != value:
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
