"""Formats single values as API clients print them."""

from __future__ import annotations

from typing import Any

import orjson

from fairlead.base.terminal import CONTROLS

# Characters that occur only inside of JSON strings. Escaping them makes the text safe for HTML
# pages and terminals. Raw line breaks in JSON are outside of strings.
_ESCAPED = {
    code: f"\\u{code:04x}"
    for code in (*map(ord, "<>&\u2028\u2029"), *CONTROLS)
    if code >= 0x20  # JSON already escapes lower codes in strings
}
_EXPONENT_FROM = 1e21
_EXPONENT_BELOW = 1e-4


def compact_json(value: Any) -> str:
    """JSON with sorted keys, without spaces."""
    return escaped(orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode())


def escaped(text: str) -> str:
    """Escape JSON text so that it is safe in HTML pages and on terminals."""
    return text.translate(_ESCAPED)


def plain(value: Any) -> str:
    """Format a value like `%v` in Go."""
    if isinstance(value, str):
        return value
    if value is None:
        return "<nil>"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return _number(value)
    if isinstance(value, dict):
        return f"map[{' '.join(f'{key}:{plain(value[key])}' for key in sorted(value))}]"
    if isinstance(value, list):
        return f"[{' '.join(map(plain, value))}]"
    return str(value)


def _number(value: float) -> str:
    size = abs(value)
    if size and not _EXPONENT_BELOW <= size < _EXPONENT_FROM:
        return repr(value) if "e" in repr(value) else f"{value:e}"
    text = repr(value)
    if "e" in text:
        text = f"{value:f}"
    return text.removesuffix(".0")
