"""Parses literals: numbers with their limits, strings and bytes with their escapes."""

from __future__ import annotations

import re

from fairlead.codec.cel.values import INT_MAX, INT_MIN, UINT_MAX, UInt

_ESCAPE = re.compile(
    r"\\(?:x([0-9a-fA-F]{2})|X([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})"
    r"|([0-3][0-7]{2})|([abfnrtv\\'\"`?])|(.?))",
    re.DOTALL,
)
_SIMPLE = {"a": 7, "b": 8, "f": 12, "n": 10, "r": 13, "t": 9, "v": 11}


class LiteralError(ValueError):
    """An invalid literal; `str()` is the message."""


def integer(text: str) -> int:
    sign, digits = ("-", text[1:]) if text.startswith("-") else ("", text)
    value = _digits(digits, sign)
    if value is None or not INT_MIN <= value <= INT_MAX:
        raise LiteralError("invalid int literal")
    return value


def unsigned(text: str) -> UInt:
    value = _digits(text[:-1], "")
    if value is None or value > UINT_MAX:
        raise LiteralError("invalid uint literal")
    return UInt(value)


def double(text: str) -> float:
    value = float(text)
    if value in (float("inf"), float("-inf")):
        raise LiteralError("invalid double literal")
    return value


def _digits(text: str, sign: str) -> int | None:
    if len(text) > 40:  # many leading zeros must not cause quadratic work
        text = text.lstrip("0") or "0" if not text.startswith("0x") else "0x" + text[2:].lstrip("0")
        if len(text) > 40:
            return None
    return int(sign + text, 16) if text.startswith("0x") else int(sign + text)


def string(text: str) -> str:
    body, raw = _body(text)
    if raw or "\\" not in body:
        return body
    return _ESCAPE.sub(lambda match: chr(_code(match, 0x10FFFF)), body)


def bytes_(text: str) -> bytes:
    body, raw = _body(text)
    if raw or "\\" not in body:
        return body.encode(errors="surrogatepass")
    parts, position = [], 0
    for match in _ESCAPE.finditer(body):
        parts.append(body[position : match.start()].encode(errors="surrogatepass"))
        parts.append(bytes([_code(match, 0xFF)]))
        position = match.end()
    parts.append(body[position:].encode(errors="surrogatepass"))
    return b"".join(parts)


def _body(text: str) -> tuple[str, bool]:
    """The text between the quotes, and whether it is raw: backslashes are not escapes."""
    quote = min(index for index in (text.find("'"), text.find('"')) if index >= 0)
    raw = "r" in text[:quote].lower()
    width = 3 if text[quote : quote + 3] in ("'''", '"""') and len(text) - quote >= 6 else 1
    body = text[quote + width : len(text) - width]
    return body.replace("\r\n", "\n").replace("\r", "\n"), raw


def _code(match: re.Match[str], maximum: int) -> int:
    hex2, hex2_upper, hex4, hex8, octal, simple, other = match.groups()
    if other is not None:
        raise LiteralError("unable to unescape string")
    if maximum == 0xFF and (hex4 or hex8):
        raise LiteralError("unable to unescape string")
    if simple:
        return _SIMPLE.get(simple, ord(simple))
    code = int(octal, 8) if octal else int(hex2 or hex2_upper or hex4 or hex8, 16)
    if code > maximum or 0xD800 <= code <= 0xDFFF:
        raise LiteralError("unable to unescape string")
    return code
