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
QUOTED_NAME = "ESC_IDENTIFIER"
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
_HEX = "[0-9a-fA-F]"
_ESCAPE = rf"\\(?:[abfnrtv\"'\\?`]|[xX]{_HEX}{{2}}|u{_HEX}{{4}}|U{_HEX}{{8}}|[0-3][0-7]{{2}})"
_BROKEN_ESCAPE = re.compile(rf"\\(?:[xX]{_HEX}?|u{_HEX}{{0,3}}|U{_HEX}{{0,7}}|[0-3][0-7]?)?")
_QUOTED_NAME = re.compile(r"`[a-zA-Z0-9_./ -]*")


def _body(mark: str, triple: bool, raw: bool) -> re.Pattern[str]:
    """The pattern of the text between the quotes of a string."""
    ends = "" if triple else r"\n\r"
    plain = f"[^{mark}{ends}]++" if raw else rf"[^{mark}\\{ends}]++|{_ESCAPE}"
    return re.compile(f"(?:{plain}|{mark}(?!{mark * 2}))*+" if triple else f"(?:{plain})*+")


_BODIES = {
    (mark * (3 if triple else 1), raw): _body(mark, triple, raw)
    for mark in "\"'"
    for triple in (False, True)
    for raw in (False, True)
}


def tokens(text: str, problems: list[Problem], quoted_names: bool = False) -> list[Token]:
    """The tokens, ended by one of kind END; invalid characters are reported and skipped."""
    result: list[Token] = []
    position, length = 0, len(text)
    while position < length and len(problems) < MAX_SHOWN:
        match = _TOKEN.match(text, position)
        if match is None and quoted_names and text[position] == "`":
            position = _quoted_name(text, position, result, problems)
            continue
        if match is None:
            end = position + (2 if text[position] in "|&=" and position + 1 < length else 1)
            _unrecognized(text[position:end], position, problems)
            position = end
            continue
        kind = match.lastgroup or ""
        if kind == "quote" or kind == "text":
            position = _string(text, match, result, problems)
            continue
        end = match.end()
        if kind != "skip":
            body = text[position:end]
            if kind == "operator" or (kind == "IDENTIFIER" and body in _WORDS):
                kind = body
            result.append(Token(kind, body, position))
        position = end
    result.append(Token(END, END, length))
    return result


def _string(text: str, match: re.Match[str], result: list[Token], problems: list[Problem]) -> int:
    """Read a string; return the position after it. In an invalid string the longest valid token
    counts: the prefix, which is a name, or the empty string at the start of a triple quote."""
    start, prefix, quote = match.start(), match["prefix"], match["quote"]
    body = _BODIES[quote, "r" in prefix.lower()].match(text, match.end())
    assert body is not None
    end = body.end()
    if text.startswith(quote, end):
        end += len(quote)
        kind = "BYTES" if "b" in prefix.lower() else "STRING"
        result.append(Token(kind, text[start:end], start))
    elif len(quote) == 3:
        kind = "BYTES" if "b" in prefix.lower() else "STRING"
        end = match.end() - 1
        result.append(Token(kind, text[start:end], start))
    elif prefix:
        end = start + len(prefix)
        result.append(Token("IDENTIFIER", prefix, start))
    else:
        if broken := _BROKEN_ESCAPE.match(text, end):
            end = broken.end()
        end = _past_failure(text, end)
        _unrecognized(text[start:end], start, problems)
    return end


def _quoted_name(text: str, position: int, result: list[Token], problems: list[Problem]) -> int:
    """Read a name in backquotes; return the position after it."""
    body = _QUOTED_NAME.match(text, position)
    assert body is not None
    end = body.end()
    if end > position + 1 and text.startswith("`", end):
        result.append(Token(QUOTED_NAME, text[position : end + 1], position))
        return end + 1
    end = _past_failure(text, end)
    _unrecognized(text[position:end], position, problems)
    return end


def _past_failure(text: str, position: int) -> int:
    """The end of the text that is reported: a character that does not fit belongs to it, but the
    end of a line does not."""
    return position + (text[position : position + 1] not in ("", "\n"))


def _unrecognized(text: str, position: int, problems: list[Problem]) -> None:
    shown = text.replace("\n", "\\n").replace("\t", "\\t").replace("\r", "\\r")
    problems.append(Problem(position, f"Syntax error: token recognition error at: '{shown}'"))
