"""Values and types as the reference prints them in its messages."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from math import isfinite
from typing import Any

import orjson


def plain_text(value: Any) -> str:
    """A value as the reference prints it in passing: `map[a:1 b:[x y]]`."""
    if isinstance(value, dict):
        inner = " ".join(f"{name}:{plain_text(item)}" for name, item in sorted(value.items()))
        return f"map[{inner}]"
    if isinstance(value, list):
        return f"[{' '.join(map(plain_text, value))}]"
    return _word(value, str)


def source_text(value: Any) -> str:
    """A value as the reference writes it in source: `map[string]interface {}{"a":1}`."""
    if isinstance(value, dict):
        inner = ", ".join(f"{quoted(k)}:{source_text(v)}" for k, v in sorted(value.items()))
        return f"map[string]interface {{}}{{{inner}}}"
    if isinstance(value, list):
        return f"[]interface {{}}{{{', '.join(map(source_text, value))}}}"
    return _word(value, quoted)


def type_text(value: Any) -> str:
    """The type of a value that is not a number."""
    if isinstance(value, dict):
        return "map[string]interface {}"
    if isinstance(value, list):
        return "[]interface {}"
    return "bool" if isinstance(value, bool) else "string"


def any_type_text(value: Any) -> str:
    """The type of any value as it came from JSON."""
    if value is None:
        return "<nil>"
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return "int64" if isinstance(value, int) else "float64"
    return type_text(value)


def shown(value: Any) -> str:
    """A value as messages about it print it: scalars plainly, null as a text."""
    return quoted("null") if value is None else source_text(value)


def quoted(text: str) -> str:
    return orjson.dumps(text).decode()


def number_text(value: float) -> str:
    """A number as the reference prints it: doubles, and integers that only a double can hold, have
    an exponent from a million on."""
    if isinstance(value, int) and -(2**63) <= value < 2**63:
        return str(value)
    try:
        double = float(value)
    except OverflowError:
        return str(value)
    if not isfinite(double) or double == 0 or 1e-4 <= abs(double) < 1e6:
        return repr(double).removesuffix(".0")
    # The shortest digits that mean the number, in scientific notation with two digits of exponent.
    _, digits, _ = Decimal(repr(double)).as_tuple()
    shown = "".join(map(str, digits)).rstrip("0")
    return f"{double:.{len(shown) - 1}e}"


def _word(value: Any, text: Callable[[str], str]) -> str:
    if isinstance(value, str):
        return text(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    return "<nil>" if value is None else number_text(value)
