"""Text in quotation marks, as messages show names and values."""

from __future__ import annotations

import orjson

LONGEST = 64 * 1024  # no message tells more of one text


def quote(text: str) -> str:
    """Text in double quotes, what cannot be printed escaped as the reference does.
    More of it than would be told is not gone through."""
    if text.isprintable():
        return orjson.dumps(text).decode()
    return f'"{text[:LONGEST].translate(_ESCAPES)}"'


class _Escapes(dict[int, str]):
    """The letters of a text that is not all printable, by code."""

    def __missing__(self, code: int) -> str:
        letter = chr(code)
        if letter.isprintable():
            return letter
        return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


_ESCAPES = _Escapes(
    {code: chr(code) if 0x20 <= code < 0x7F else f"\\x{code:02x}" for code in range(0x80)}
    | {7 + at: f"\\{letter}" for at, letter in enumerate("abtnvfr")}
    | {ord(letter): f"\\{letter}" for letter in '"\\'}
)
