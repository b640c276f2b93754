"""Splits text into tokens, in one pass."""

from __future__ import annotations

import re
from typing import NamedTuple

from fairlead.codec.cel.errors import MAX_SHOWN, Problem


class Token(NamedTuple):
    kind: str  # the text of an operator, or a name that messages use
    text: str
    place: int


END = "<EOF>"
_TOKEN = re.compile(
    r"""
    (?P<skip>[\t\n\r\f ]+ | //[^\n]*)
  | (?P<text>(?P<prefix>[bB]?[rR]?|[rR][bB])(?P<quote>\"{3}|'{3}|"|'))
  | (?P<NUM_FLOAT>(?:[0-9]+\.[0-9]+|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+)
  | (?P<NUM_UINT>0x[0-9a-fA-F]+[uU]|[0-9]+[uU])
  | (?P<NUM_INT>0x[0-9a-fA-F]+|[0-9]+)
  | (?P<IDENTIFIER>[a-zA-Z_][a-zA-Z0-9_]*)
  | (?P<operator>==|!=|<=|>=|&&|\|\||[-+*/%<>!?:.,()\[\]{}])
    """,
    re.VERBOSE,
)
_WORDS = {"in", "true", "false", "null"}
_BODIES = {
    (quote, raw): re.compile(
        (r"[^{0}\n\r]*+" if raw else r"(?:[^{0}\\\n\r]++|\\[^\n\r])*+").format(quote) + quote
    )
    for quote in "\"'"
    for raw in (False, True)
}


def tokens(text: str, problems: list[Problem]) -> list[Token]:
    """The tokens, ended by one of kind END; invalid characters are reported and skipped."""
    result: list[Token] = []
    position, length = 0, len(text)
    while position < length and len(problems) < MAX_SHOWN:
        match = _TOKEN.match(text, position)
        if match is None:
            end = position + (2 if text[position] in "|&=" and position + 1 < length else 1)
            _unrecognized(text[position:end], position, problems)
            position = end
            continue
        kind = match.lastgroup or ""
        end = match.end()
        if kind == "quote" or kind == "text":
            end = _string_end(text, match)
            if end < 0:
                _unrecognized(_rest_of_line(text, position), position, problems)
                position += len(_rest_of_line(text, position))
                continue
            kind = "BYTES" if "b" in match["prefix"].lower() else "STRING"
        if kind != "skip":
            body = text[position:end]
            if kind == "operator" or (kind == "IDENTIFIER" and body in _WORDS):
                kind = body
            result.append(Token(kind, body, position))
        position = end
    result.append(Token(END, END, length))
    return result


def _string_end(text: str, match: re.Match[str]) -> int:
    """The end of the string that opens here; -1 if it is not closed."""
    quote, start = match["quote"], match.end()
    raw = "r" in match["prefix"].lower()
    if len(quote) == 1:
        body = _BODIES[quote, raw].match(text, start)
        return body.end() if body else -1
    end = text.find(quote, start)
    while end >= 0 and not raw and _escaped(text, start, end):
        end = text.find(quote, end + 1)
    return end + 3 if end >= 0 else -1


def _escaped(text: str, start: int, position: int) -> bool:
    """Whether an odd number of backslashes precedes the place."""
    count = 0
    while position - count > start and text[position - count - 1] == "\\":
        count += 1
    return count % 2 == 1


def _rest_of_line(text: str, position: int) -> str:
    end = text.find("\n", position)
    return text[position : end if end > position else len(text)]


def _unrecognized(text: str, position: int, problems: list[Problem]) -> None:
    shown = text.replace("\n", "\\n").replace("\t", "\\t").replace("\r", "\\r")
    problems.append(Problem(position, f"Syntax error: token recognition error at: '{shown}'"))
