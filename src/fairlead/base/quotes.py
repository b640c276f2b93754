"""Quotes names and values for messages."""

from __future__ import annotations

import orjson

MAX_QUOTED_LENGTH = 64 * 1024  # of a quoted text in a message


def quote(text: str) -> str:
    """Put text in double quotes, escaping unprintable characters as the reference does. A text that
    needs escapes is cut to MAX_QUOTED_LENGTH."""
    if text.isprintable():
        return orjson.dumps(text).decode()
    return f'"{text[:MAX_QUOTED_LENGTH].translate(_ESCAPES)}"'


class _Escapes(dict[int, str]):
    """Maps the codes of characters to their escapes, for `str.translate`."""

    def __missing__(self, code: int) -> str:
        letter = chr(code)
        if letter.isprintable():
            return letter
        return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


_ESCAPES = _Escapes(
    {code: chr(code) if 0x20 <= code < 0x7F else f"\\x{code:02x}" for code in range(0x80)}
    | {7 + index: f"\\{letter}" for index, letter in enumerate("abtnvfr")}
    | {ord(letter): f"\\{letter}" for letter in '"\\'}
)
