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

_WHITE = " \t\r\n"
_DIGIT = frozenset("0123456789abcdefABCDEF")
_RAISED = re.compile("[eE]")
_PARTED = re.compile("[.eE]")
_LITERALS = ("true", "false", "null")


def describe_json_error(raw: bytes) -> str:
    """The error of a text; empty if it is well-formed. Messages show bytes, not characters."""
    text = raw.decode("latin-1")
    found = _failure(text)
    return found if isinstance(found, str) else _described(text, *found)


def _failure(text: str) -> tuple[int, str] | str:
    """The place where the parser fails and its message, or the final message if there is no place.
    Returns plain values: the exception and its frames would form a reference cycle."""
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


def _unexpected(text: str, at: int, context: str) -> str:
    if at >= len(text):
        return ENDED
    return f"invalid character {_quoted(text[at])} {context}"


def _quoted(character: str) -> str:
    if character == "'":
        return r"'\''"
    if character == '"':
        return "'\"'"
    return f"'{quote(character)[1:-1]}'"


def _skip(text: str, at: int) -> int:
    while text[at : at + 1] and text[at] in _WHITE:
        at += 1
    return at


_KEY = "looking for beginning of object key string"


def _described(text: str, at: int, what: str) -> str:
    if what.startswith("Illegal trailing comma"):  # Python releases that point at the comma
        at = _skip(text, at + 1)
        what = "Expecting value" if what.endswith("array") else "Expecting property name"
    if what == "Expecting value":
        return _no_value(text, at)
    if what.startswith("Expecting property name"):
        return _unexpected(text, at, _KEY)
    if what == "Expecting ':' delimiter":
        return _unexpected(text, at, "after object key")
    if what == "Invalid control character at":
        return _unexpected(text, at, "in string literal")
    if what.startswith("Invalid \\escape"):
        return _unexpected(text, at + 1, "in string escape code")
    if what.startswith("Invalid \\u"):
        return _no_hexadecimal(text, text.index("u", at))
    if what in ("Extra data", "Expecting ',' delimiter"):
        return _no_end(text, at, what == "Extra data")
    return ENDED


def _no_value(text: str, at: int) -> str:
    start = text[at : at + 1]
    for word in _LITERALS:
        if start == word[0]:
            for offset, letter in enumerate(word):
                if text[at + offset : at + offset + 1] != letter:
                    context = f"in literal {word} (expecting '{letter}')"
                    return _unexpected(text, at + offset, context)
    if start == "-":
        return _unexpected(text, at + 1, "in numeric literal")
    return _unexpected(text, at, "looking for beginning of value")


def _no_hexadecimal(text: str, at: int) -> str:
    """The error for the first of the four digits after a `u` that is not hexadecimal."""
    places = range(at + 1, at + 5)
    place = next((place for place in places if text[place : place + 1] not in _DIGIT), len(text))
    return _unexpected(text, place, "in \\u hexadecimal character escape")


def _no_end(text: str, at: int, top: bool) -> str:
    """The error for a character after a value; it may belong to an unfinished number."""
    if at >= len(text):
        return ENDED
    number = _number_before(text, at)
    if number and text[at] == "." and not _PARTED.search(number):
        return _unexpected(text, at + 1, "after decimal point in numeric literal")
    if number and text[at] in "eE" and not _RAISED.search(number):
        sign = text[at + 1 : at + 2] in ("+", "-")
        return _unexpected(text, at + 1 + sign, "in exponent of numeric literal")
    return _unexpected(text, at, "after top-level value" if top else _container(text, at))


def _number_before(text: str, at: int) -> str:
    """The number that ends at a place, or an empty text."""
    start = at
    while start and text[start - 1] in "0123456789.eE+-":
        start -= 1
    return text[start:at] if text[start:at][-1:].isdigit() else ""


def _container(text: str, at: int) -> str:
    """Whether the value before a place is in a list or an object: only a list can be closed with
    a `]`."""
    probe = _failure(text[:at] + "]")
    in_list = probe == "" or (isinstance(probe, tuple) and probe[0] > at)
    return "after array element" if in_list else "after object key:value pair"
