"""Quantities: decimal numbers with a suffix, compared by value and printed in canonical form."""

from __future__ import annotations

import re
from decimal import MAX_EMAX, MIN_EMIN, ROUND_UP, Context, Decimal, localcontext
from typing import Final, NamedTuple

from fairlead.base.caches import memoized

# The last group matches any rest, so that the expression never backtracks.
_PATTERN: Final = re.compile(r"([+-]?)(\d+(?:\.\d*)?|\.\d+)(.*)", re.ASCII | re.DOTALL)
_EXPONENT: Final = re.compile(r"[eE]([+-]?\d{1,19})\Z", re.ASCII)

_BINARY: Final = {"Ki": 1, "Mi": 2, "Gi": 3, "Ti": 4, "Pi": 5, "Ei": 6}
_DECIMAL: Final = {
    "n": -9,
    "u": -6,
    "m": -3,
    "": 0,
    "k": 3,
    "M": 6,
    "G": 9,
    "T": 12,
    "P": 15,
    "E": 18,
}
_BINARY_NAMES: Final = {power: name for name, power in _BINARY.items()}
_DECIMAL_NAMES: Final = {power: name for name, power in _DECIMAL.items()}

_CONTEXT: Final = Context(prec=60, rounding=ROUND_UP, Emin=MIN_EMIN, Emax=MAX_EMAX)
_NANO: Final = Decimal("1e-9")
_MAX_VALUE: Final = Decimal(2**63 - 1)
_MIN_CANONICAL_POWER: Final = -9  # of digits that count as canonical
_MIN_POWER, _MAX_POWER = -12, 20  # powers of ten: rounded to nano, and above the largest

FORMAT_ERROR: Final = (
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
)

_SHAPE: Final = re.compile(r"[+-]?\d*+(?:\.\d*+)?([eEinumkKMGTP]*+[+-]?\d*+)", re.ASCII)
_SUFFIXES = _BINARY.keys() | _DECIMAL.keys()
_SUFFIX_ERROR: Final = "unable to parse quantity's suffix"


class QuantityError(ValueError):
    """Text that is not a quantity."""


class Amount(NamedTuple):
    """A quantity for arithmetic: its value, and the format in which it is printed: binary, decimal
    or exponent."""

    value: Decimal
    kind: str = "decimal"

    def plus(self, other: Amount) -> Amount:
        """The sum, in the format of `self` unless `self` is zero."""
        return Amount(self.value + other.value, self.kind if self.value else other.kind)

    def __str__(self) -> str:
        return format_quantity(self.value, self.kind)


# The usual notation: integers with these suffixes, all of them below the largest value.
_COMMON_DECIMAL: Final[dict[str, Decimal]] = {
    name: Decimal(10) ** _DECIMAL[name] for name in ("", "m", "k", "M", "G", "T")
}
_COMMON_BINARY: Final[dict[str, int]] = {
    name: 1024 ** _BINARY[name] for name in ("Ki", "Mi", "Gi", "Ti")
}


def _simple_digits(text: str) -> int:
    """The number of digits of a text in the usual notation; 0 for any other notation."""
    cut = len(text)
    if cut < 1 or text[0] == "0":
        return 0
    unit = text[-1]
    if unit == "i":
        cut -= 2
        if cut < 1 or text[cut] not in "KMGT":
            return 0
        unit = text[cut]
    elif not unit.isdigit():
        cut -= 1
        if unit not in "mkMGT":
            return 0
    if cut > (6 if unit == "G" or unit == "T" else 12):
        return 0
    return cut if text[:cut].isdigit() and text.isascii() else 0


@memoized(4096, longest=64)
def amount(text: str) -> Amount:
    """Parse a text, rounded away from zero to nano; raises QuantityError."""
    cut = _simple_digits(text)
    if cut:
        digits, suffix = text[:cut], text[cut:]
        if suffix in _COMMON_BINARY:
            return Amount(Decimal(int(digits) * _COMMON_BINARY[suffix]).quantize(_NANO), "binary")
        return Amount((Decimal(digits) * _COMMON_DECIMAL[suffix]).quantize(_NANO))
    match = _PATTERN.match(text)
    if match is None:
        raise QuantityError(_problem(text))
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
            raise QuantityError(_problem(text))
        if abs(value) > _MAX_VALUE:
            return Amount(_MAX_VALUE.copy_sign(value), kind)
        return Amount(value.quantize(_NANO), kind)


def _problem(text: str) -> str:
    """Why a text is no quantity: its shape is wrong, or only its suffix."""
    match = _SHAPE.fullmatch(text)
    return _SUFFIX_ERROR if match is not None and match[1] not in _SUFFIXES else FORMAT_ERROR


def _scaled(number: Decimal, power: int) -> Decimal:
    """A number times a power of ten; out-of-range results are clamped just beyond the range."""
    if not number:
        return number
    size = min(max(number.adjusted() + power, _MIN_POWER), _MAX_POWER)
    return number.scaleb(size - number.adjusted())


def quantity(text: str) -> Decimal:
    """The value of a quantity; raises QuantityError."""
    return amount(text).value


def canonical(text: str) -> str:
    """The printed form of a quantity: no fraction, the largest suffix that fits. A text that the
    reference considers canonical without parsing stays as it is, like `2.125`."""
    cut = _simple_digits(text)
    return text if cut and _has_largest_suffix(text, cut) else _canonical(text)


def _has_largest_suffix(text: str, cut: int) -> bool:
    """Whether no larger suffix fits a text in the usual notation."""
    if text[-1] == "i":
        return ord(text[cut - 1]) & 1 == 1 or int(text[:cut]) % 1024 != 0
    return cut < 3 or text[cut - 3 : cut] != "000"


def is_less(left: str, other: str) -> bool:
    """Whether a quantity is less than another; raises QuantityError."""
    cut, beside = _simple_digits(left), _simple_digits(other)
    if not cut or not beside or left[cut:] != other[beside:]:
        return quantity(left) < quantity(other)
    return left < other if cut == beside else cut < beside


@memoized(4096, longest=64)
def _canonical(text: str) -> str:
    text = text.strip()
    value, kind = amount(text)
    fits = abs(value) < _MAX_VALUE  # larger values are printed as the largest
    return text if fits and _seems_canonical(text) else format_quantity(value, kind)


def _seems_canonical(text: str) -> bool:
    """Whether the digits of a quantity, without their point, fit a suffix and leave nothing that a
    larger suffix could absorb."""
    digits, power, kind = quantity_digits(text)
    if kind == "binary":
        return 0 <= power < 15 - len(digits) and int(digits) % 8 != 0
    has_suffix = power >= _MIN_CANONICAL_POWER and power % 3 == 0
    return has_suffix and len(digits) <= 18 and digits[0] != "0" and not digits.endswith("000")


def quantity_digits(text: str) -> tuple[str, int, str]:
    """The digits of a quantity without their point, their power of ten (in binary format three per
    suffix, -1 with a fraction), and the format."""
    match = _PATTERN.match(text)
    if match is None:
        raise QuantityError(FORMAT_ERROR)
    integer, _, part = match[2].partition(".")
    digits, suffix = (integer.lstrip("0") or "0") + part, match[3]
    if suffix in _BINARY:
        return digits, -1 if part else 3 * _BINARY[suffix], "binary"
    if suffix in _DECIMAL:
        return digits, _DECIMAL[suffix] - len(part), "decimal"
    return digits, int(suffix[1:]) - len(part), "exponent"


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
