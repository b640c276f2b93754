"""Values as text, the way the reference prints them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

NONE = "<none>"
UNSET = "<unset>"
UNKNOWN = "<unknown>"
NIL = "<nil>"
_DEEPEST = 50
_PLAIN_EXPONENTS = range(-4, 21)  # of fractions that are written without an exponent


def shown(value: Any, depth: int = 0) -> str:
    """Any value on one line: `[a b]`, `map[a:1]`, `true`, `<nil>`."""
    if isinstance(value, str):
        return value
    if value is None:
        return NIL
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return _fraction(value)
    if depth >= _DEEPEST:
        return "..."
    if isinstance(value, list):
        return f"[{' '.join(shown(item, depth + 1) for item in value)}]"
    if isinstance(value, dict):
        inside = (f"{key}:{shown(value[key], depth + 1)}" for key in sorted(value))
        return f"map[{' '.join(inside)}]"
    return str(value)


def _fraction(value: float) -> str:
    if value.is_integer() and abs(value) < 1e21:
        return str(int(value))
    mantissa, _, exponent = f"{value!r}".partition("e")
    if exponent:
        power = int(exponent)
        if power in _PLAIN_EXPONENTS:
            return f"{value:f}"
        return f"{mantissa.removesuffix('.0')}e{power:+03d}"
    return mantissa


def listed(values: Iterable[str]) -> str:
    """A list as the reference prints one: `[a b]`."""
    return f"[{' '.join(values)}]"


def yes_or_no(value: Any) -> str:
    """A switch that may not be set."""
    return UNSET if value is None else ("True" if value is True else "False")


def host_and_port(host: str, port: Any) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
