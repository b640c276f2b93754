"""Conversions between types, such as `int("5")`, and sizes."""

from __future__ import annotations

import math
import re
from typing import Any

from fairlead.codec.cel.arithmetic import Implementations
from fairlead.codec.cel.errors import EvaluationError
from fairlead.codec.cel.timestamps import (
    SECOND,
    moment,
    parse_duration,
    parse_timestamp,
    show_duration,
    show_timestamp,
)
from fairlead.codec.cel.values import (
    INT_MAX,
    INT_MIN,
    UINT_MAX,
    Duration,
    Timestamp,
    TypeName,
    UInt,
    shown,
    type_name,
)

_DECIMAL = re.compile(r"[+-]?[0-9]{1,40}")
_DOUBLE = re.compile(
    r"[+-]?(?:(?:[0-9]++(?:\.[0-9]*+)?|\.[0-9]++)(?:e[+-]?[0-9]+)?|inf(?:inity)?|nan)",
    re.IGNORECASE,
)
_TARGETS = {
    "timestamp": "google.protobuf.Timestamp",
    "duration": "google.protobuf.Duration",
}
_BOOLS = dict.fromkeys(("1", "t", "T", "TRUE", "true", "True"), True)
_BOOLS |= dict.fromkeys(("0", "f", "F", "FALSE", "false", "False"), False)


def _to_int(value: int) -> int:
    if INT_MIN <= value <= INT_MAX:
        return int(value)
    raise EvaluationError("integer overflow")


def _to_uint(value: int) -> UInt:
    if 0 <= value <= UINT_MAX:
        return UInt(value)
    raise EvaluationError("unsigned integer overflow")


def _to_integer(value: float, kind: str) -> int:
    if math.isfinite(value):
        return int(value)
    raise EvaluationError(f"{kind} overflow")


def unconvertible(value: Any, function: str) -> EvaluationError:
    """The error for a value that a conversion does not support."""
    target = _TARGETS.get(function, function)
    return EvaluationError(f"type conversion error from '{type_name(value)}' to '{target}'")


def _parsed_int(text: str) -> int:
    value = int(text) if _DECIMAL.fullmatch(text) else None
    if value is None or not INT_MIN <= value <= INT_MAX:
        raise unconvertible(text, "int")
    return value


def _parsed_uint(text: str) -> UInt:
    value = int(text) if _DECIMAL.fullmatch(text) and text[0] not in "+-" else None
    if value is None or value > UINT_MAX:
        raise unconvertible(text, "uint")
    return UInt(value)


def _parsed_double(text: str) -> float:
    value = float(text) if _DOUBLE.fullmatch(text) else None
    if value is None or (math.isinf(value) and "i" not in text.lower()):
        raise unconvertible(text, "double")
    return value


def _parsed_bool(text: str) -> bool:
    if text not in _BOOLS:
        raise unconvertible(text, "bool")
    return _BOOLS[text]


def _parsed_timestamp(text: str) -> Timestamp:
    try:
        return parse_timestamp(text)
    except ValueError:
        raise unconvertible(text, "timestamp") from None


def _parsed_duration(text: str) -> Duration:
    try:
        return parse_duration(text)
    except ValueError:
        raise unconvertible(text, "duration") from None


def _decode(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        raise EvaluationError("invalid UTF-8 in bytes, cannot convert to string") from None


def show_double(value: float) -> str:
    """The shortest digits that parse to the same value; with an exponent from a million on."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    digits, exponent = _shortest(value)
    if exponent < -4 or exponent >= 6:
        return _scientific(value, digits, exponent)
    return f"{value:.{max(len(digits) - 1 - exponent, 0)}f}"


def _shortest(value: float) -> tuple[str, int]:
    mantissa, _, exponent = f"{abs(value)!r}".partition("e")
    integer, _, fraction = mantissa.partition(".")
    digits = (integer + fraction).lstrip("0")
    lead = len(integer + fraction) - len(digits)
    scale = len(integer) - lead - 1 + int(exponent or 0)
    return digits.rstrip("0") or "0", scale if digits.strip("0") else 0


def _scientific(value: float, digits: str, exponent: int) -> str:
    sign = "-" if value < 0 else ""
    fraction = f".{digits[1:]}" if len(digits) > 1 else ""
    return f"{sign}{digits[0]}{fraction}e{'-' if exponent < 0 else '+'}{abs(exponent):02}"


def _same(value: Any) -> Any:
    return value


CONVERSIONS: Implementations = {
    "int": {
        (int,): _same,
        (UInt,): _to_int,
        (float,): lambda value: _to_int(_to_integer(value, "integer")),
        (str,): _parsed_int,
        (Timestamp,): lambda value: int(value) // SECOND,
        (Duration,): int,
    },
    "uint": {
        (UInt,): _same,
        (int,): _to_uint,
        (float,): lambda value: _to_uint(_to_integer(value, "unsigned integer")),
        (str,): _parsed_uint,
    },
    "double": {(float,): _same, (int,): float, (UInt,): float, (str,): _parsed_double},
    "bool": {(bool,): _same, (str,): _parsed_bool},
    "string": {
        (str,): _same,
        (bool,): shown,
        (int,): str,
        (UInt,): str,
        (float,): show_double,
        (bytes,): _decode,
        (Timestamp,): show_timestamp,
        (Duration,): show_duration,
        (type(None),): lambda value: "null",
        (TypeName,): str,
    },
    "bytes": {(bytes,): _same, (str,): str.encode},
    "timestamp": {
        (Timestamp,): _same,
        (str,): _parsed_timestamp,
        (int,): lambda value: moment(value * SECOND),
    },
    "duration": {(Duration,): _same, (str,): _parsed_duration},
    "dyn": {(object,): _same},
    "type": {(object,): type_name},
    "size": {(str,): len, (bytes,): len, (list,): len, (dict,): len},
}
