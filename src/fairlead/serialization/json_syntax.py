"""Says what is wrong with a text that is not JSON, in the words clients of this API know."""

from __future__ import annotations

MOST_DEPTH = 250

_WHITE = " \t\r\n"
_HEX = "0123456789abcdefABCDEF"
_LITERALS = ("true", "false", "null")
_ESCAPES = '"\\/bfnrtu'


class _Wrong(Exception):
    pass


def describe_json_error(raw: bytes) -> str:
    text = raw.decode("utf-8", "replace")
    try:
        end = _value(text, _skip(text, 0), 0)
        rest = _skip(text, end)
        if rest < len(text):
            _fail(text, rest, "after top-level value")
    except _Wrong as wrong:
        return str(wrong)
    return "unexpected end of JSON input"


def _fail(text: str, at: int, context: str) -> None:
    if at >= len(text):
        raise _Wrong("unexpected end of JSON input")
    raise _Wrong(f"invalid character {_quoted(text[at])} {context}")


def _quoted(character: str) -> str:
    if character == "'":
        return r"'\''"
    if character == '"':
        return "'\"'"
    return repr(character).replace('"', "'")


def _skip(text: str, at: int) -> int:
    while at < len(text) and text[at] in _WHITE:
        at += 1
    return at


def _value(text: str, at: int, depth: int) -> int:
    if depth > MOST_DEPTH:
        raise _Wrong("exceeded max depth")
    start = text[at : at + 1]
    if start == "{":
        return _object(text, at + 1, depth)
    if start == "[":
        return _array(text, at + 1, depth)
    if start == '"':
        return _string(text, at + 1)
    if start and start in "-0123456789":
        return _number(text, at)
    return _literal(text, at)


def _literal(text: str, at: int) -> int:
    for word in _LITERALS:
        if text[at : at + 1] == word[0]:
            for offset, letter in enumerate(word):
                if text[at + offset : at + offset + 1] != letter:
                    _fail(text, at + offset, f"in literal {word} (expecting '{letter}')")
            return at + len(word)
    _fail(text, at, "looking for beginning of value")
    return at


def _number(text: str, at: int) -> int:
    at += text[at] == "-"
    if text[at : at + 1] == "0":
        at += 1
    else:
        at = _digits(text, at, "in numeric literal")
    if text[at : at + 1] == ".":
        at = _digits(text, at + 1, "after decimal point in numeric literal")
    if text[at : at + 1] and text[at] in "eE":
        at += 1
        at += text[at : at + 1] in ("+", "-")
        at = _digits(text, at, "in exponent of numeric literal")
    return at


def _digits(text: str, at: int, context: str) -> int:
    """Past at least one digit."""
    start = at
    while text[at : at + 1].isascii() and text[at : at + 1].isdigit():
        at += 1
    if at == start:
        _fail(text, at, context)
    return at


def _string(text: str, at: int) -> int:
    while at < len(text):
        character = text[at]
        if character == '"':
            return at + 1
        if character == "\\":
            at += 1
            if at < len(text) and text[at] not in _ESCAPES:
                _fail(text, at, "in string escape code")
            if text[at : at + 1] == "u":
                at = _hexadecimal(text, at)
        elif character < " ":
            _fail(text, at, "in string literal")
        at += 1
    raise _Wrong("unexpected end of JSON input")


def _hexadecimal(text: str, at: int) -> int:
    """To the last of the four digits behind a `u`."""
    for place in range(at + 1, at + 5):
        if text[place : place + 1] not in _HEX or place >= len(text):
            _fail(text, place, "in \\u hexadecimal character escape")
    return at + 4


def _object(text: str, at: int, depth: int) -> int:
    at = _skip(text, at)
    if text[at : at + 1] == "}":
        return at + 1
    while True:
        if text[at : at + 1] != '"':
            _fail(text, at, "looking for beginning of object key string")
        at = _skip(text, _string(text, at + 1))
        if text[at : at + 1] != ":":
            _fail(text, at, "after object key")
        at = _skip(text, _value(text, _skip(text, at + 1), depth + 1))
        if text[at : at + 1] == "}":
            return at + 1
        if text[at : at + 1] != ",":
            _fail(text, at, "after object key:value pair")
        at = _skip(text, at + 1)


def _array(text: str, at: int, depth: int) -> int:
    at = _skip(text, at)
    if text[at : at + 1] == "]":
        return at + 1
    while True:
        at = _skip(text, _value(text, at, depth + 1))
        if text[at : at + 1] == "]":
            return at + 1
        if text[at : at + 1] != ",":
            _fail(text, at, "after array element")
        at = _skip(text, at + 1)
