"""Single values as text, the way that clients of the API print them."""

from __future__ import annotations

from typing import Any

import orjson

from fairlead.base.terminal import CONTROLS

# Inside of JSON these stand only in strings, where they can be escaped: then the text can stand in
# a page, and a terminal obeys nothing in it. Line breaks in JSON are outside of strings.
_ESCAPED = {
    code: f"\\u{code:04x}"
    for code in (*map(ord, "<>&\u2028\u2029"), *CONTROLS)
    if code >= 0x20  # what is below is escaped in strings already
}
_EXPONENT_FROM = 1e21
_EXPONENT_BELOW = 1e-4


def compact_json(value: Any) -> str:
    """With sorted keys and without spaces."""
    return escaped(orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode())


def escaped(text: str) -> str:
    """JSON whose text can also stand in a page or on a terminal."""
    return text.translate(_ESCAPED)


def plain(value: Any) -> str:
    """A scalar, a map or a list as `%v` would have it."""
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
