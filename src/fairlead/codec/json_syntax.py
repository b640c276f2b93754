"""Describes JSON syntax errors in the reference's words.

A parser in C finds the place, so that a long text costs little; this module only examines that
place.
"""

from __future__ import annotations

import json
import re
from typing import NoReturn

from fairlead.base.quotes import quote

ENDED = "unexpected end of JSON input"
TOO_DEEP = "exceeded max depth"

_WHITE_SPACE = " \t\r\n"
_DIGIT = frozenset("0123456789abcdefABCDEF")
_EXPONENT_MARK = re.compile("[eE]")
_FRACTION_OR_EXPONENT = re.compile("[.eE]")
_LITERALS = ("true", "false", "null")


def describe_json_error(raw: bytes) -> str:
    """The error of a text; empty if it is well-formed. Messages show bytes, not characters."""
    text = raw.decode("latin-1")
    message = _failure(text)
    return message if isinstance(message, str) else _describe(text, *message)


def _failure(text: str) -> tuple[int, str] | str:
    """The position where the parser fails and its message, or the final message if there is no
    position. Returns plain values, because the exception and its frames would form a reference
    cycle."""
    try:
        json.loads(text, parse_constant=_refuse, parse_int=len, parse_float=len)
    except json.JSONDecodeError as error:
        return error.pos, error.msg
    except _Constant as constant:
        return str(constant)
    except RecursionError:
        return TOO_DEEP
    return ""


class _Constant(Exception):
    """A number that JSON does not allow: NaN or an infinity."""


def _refuse(name: str) -> NoReturn:
    if name[0] == "-":
        raise _Constant("invalid character 'I' in numeric literal")
    raise _Constant(f"invalid character '{name[0]}' looking for beginning of value")


def _unexpected(text: str, position: int, context: str) -> str:
    if position >= len(text):
        return ENDED
    return f"invalid character {_quoted(text[position])} {context}"


def _quoted(character: str) -> str:
    if character == "'":
        return r"'\''"
    if character == '"':
        return "'\"'"
    return f"'{quote(character)[1:-1]}'"


def _skip(text: str, position: int) -> int:
    while text[position : position + 1] and text[position] in _WHITE_SPACE:
        position += 1
    return position


_KEY = "looking for beginning of object key string"


def _describe(text: str, position: int, message: str) -> str:
    if message.startswith("Illegal trailing comma"):  # Python releases that point at the comma
        position = _skip(text, position + 1)
        message = "Expecting value" if message.endswith("array") else "Expecting property name"
    if message == "Expecting value":
        return _no_value(text, position)
    if message.startswith("Expecting property name"):
        return _unexpected(text, position, _KEY)
    if message == "Expecting ':' delimiter":
        return _unexpected(text, position, "after object key")
    if message == "Invalid control character at":
        return _unexpected(text, position, "in string literal")
    if message.startswith("Invalid \\escape"):
        return _unexpected(text, position + 1, "in string escape code")
    if message.startswith("Invalid \\u"):
        return _no_hexadecimal(text, text.index("u", position))
    if message in ("Extra data", "Expecting ',' delimiter"):
        return _no_end(text, position, message == "Extra data")
    return ENDED


def _no_value(text: str, position: int) -> str:
    start = text[position : position + 1]
    for word in _LITERALS:
        if start == word[0]:
            for offset, letter in enumerate(word):
                if text[position + offset : position + offset + 1] != letter:
                    context = f"in literal {word} (expecting '{letter}')"
                    return _unexpected(text, position + offset, context)
    if start == "-":
        return _unexpected(text, position + 1, "in numeric literal")
    return _unexpected(text, position, "looking for beginning of value")


def _no_hexadecimal(text: str, position: int) -> str:
    """The error for the first of the four digits after a `u` that is not hexadecimal."""
    places = range(position + 1, position + 5)
    place = next((place for place in places if text[place : place + 1] not in _DIGIT), len(text))
    return _unexpected(text, place, "in \\u hexadecimal character escape")


def _no_end(text: str, position: int, top: bool) -> str:
    """The error for a character after a value; it may belong to an unfinished number."""
    if position >= len(text):
        return ENDED
    number = _number_before(text, position)
    if number and text[position] == "." and not _FRACTION_OR_EXPONENT.search(number):
        return _unexpected(text, position + 1, "after decimal point in numeric literal")
    if number and text[position] in "eE" and not _EXPONENT_MARK.search(number):
        sign = text[position + 1 : position + 2] in ("+", "-")
        return _unexpected(text, position + 1 + sign, "in exponent of numeric literal")
    return _unexpected(
        text, position, "after top-level value" if top else _container(text, position)
    )


def _number_before(text: str, position: int) -> str:
    """The number that ends at a place, or an empty text."""
    start = position
    while start and text[start - 1] in "0123456789.eE+-":
        start -= 1
    return text[start:position] if text[start:position][-1:].isdigit() else ""


def _container(text: str, position: int) -> str:
    """Whether the value before a place is in a list or an object: only a list can be closed with
    a `]`."""
    probe = _failure(text[:position] + "]")
    in_list = probe == "" or (isinstance(probe, tuple) and probe[0] > position)
    return "after array element" if in_list else "after object key:value pair"
