"""Parses the YAML that programs and people commonly write: mappings and lists in block style.

Compiled, it takes a fifth of the CPU of libyaml, which `yaml_reader` uses for all other YAML and
for errors.
"""

from __future__ import annotations

import re
from typing import Any, Final

import orjson

from fairlead.codec.yaml_scalars import WORDS, plain

_MAX_BYTES: Final = 256 * 1024
_MAX_LEVELS: Final = 64
_LONGEST_KEY: Final = 200
# A key, plain or in quotes without escapes, and its colon.
_KEY: Final = re.compile(
    r"""([A-Za-z_./][\w./-]{0,200}|"[^"\\]{0,200}"|'[^']{0,200}'):(?: |$)""", re.A
)
_WORDS_IN_BRACKETS: Final = re.compile(r"\[[A-Za-z_./][\w./-]*(, ?[A-Za-z_./][\w./-]*)*\]", re.A)
_QUOTES: Final = "\"'"
# Characters that give a plain scalar another meaning at its beginning.
_INDICATORS: Final = frozenset("!&*%@`|>?:,]}#\"'[{")


class OtherYamlError(Exception):
    """The text needs a whole YAML parser, or has an error."""


def parse(raw: bytes, words: dict[str, Any] = WORDS) -> Any:
    """The value of a document, as `yaml_reader.load` returns it. Raises OtherYamlError for repeated
    keys too."""
    if len(raw) > _MAX_BYTES:
        raise OtherYamlError
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        raise OtherYamlError from None
    return _Blocks(text, words).document()


class _Blocks:
    """The lines of a document, read from the first to the last."""

    def __init__(self, text: str, words: dict[str, Any]) -> None:
        self._words = words
        self._lines = text.split("\n")
        # Tabs, which texts may contain, and other line breaks, which none may, are not printable.
        self._is_printable = text.replace("\n", "").isprintable()
        self._next = 0  # the line after the current one
        # The current position: the rest of the line and its column, -1 at the end of the document.
        self._text = ""
        self._column = -1
        # The key of the current line and what follows it, after `_find_key`.
        self._key = ""
        self._rest = ""

    def document(self) -> Any:
        self._advance()
        if self._text == "---" and self._column == 0:
            self._advance()
        if self._column < 0:
            raise OtherYamlError
        value = self._block(0)
        if self._column >= 0:
            raise OtherYamlError
        return value

    def _advance(self) -> None:
        """Go to the next line that has content."""
        lines = self._lines
        while self._next < len(lines):
            line = lines[self._next]
            self._next += 1
            text = line.lstrip(" ")
            if not text:
                continue
            if not self._is_printable and not text.isprintable():
                raise OtherYamlError
            if text[0] == "#":
                continue
            self._column = len(line) - len(text)
            self._text = text.rstrip(" ")
            if self._column == 0 and self._next > 1 and text.startswith(("---", "...")):
                raise OtherYamlError
            return
        self._text, self._column = "", -1

    def _is_item(self) -> bool:
        text = self._text
        return text[0] == "-" and (len(text) == 1 or text[1] == " ")

    def _find_key(self) -> bool:
        """Whether the rest of the line begins with a key."""
        text = self._text
        end = text.find(":")
        if end <= 0:
            return False
        key = text[:end]
        if key.isidentifier() and key.isascii():  # fast path: most keys
            if end > _LONGEST_KEY or (end + 1 < len(text) and text[end + 1] != " "):
                return False
        else:
            match = _KEY.match(text)
            if match is None:
                return False
            end = match.end(1)
            key = text[:end]
        self._key = key
        self._rest = text[end + 1 :].lstrip(" ")
        return True

    def _block(self, levels: int) -> Any:
        """The list or mapping whose first item or key is at the current position."""
        if levels > _MAX_LEVELS:
            raise OtherYamlError
        if self._is_item():
            return self._list(levels)
        if not self._find_key():
            raise OtherYamlError
        return self._mapping(levels)

    def _list(self, levels: int) -> list[Any]:
        column = self._column
        items: list[Any] = []
        while self._column == column and self._is_item():  # else the next key of its mapping
            text = self._text
            if len(text) == 1:
                self._advance()
                items.append(self._nested(column, levels))
                continue
            rest = text[2:].lstrip(" ")
            self._column = column + len(text) - len(rest)
            self._text = rest
            if self._is_item():
                items.append(self._block(levels + 1))
            elif self._find_key():
                items.append(self._mapping(levels + 1))
            else:
                items.append(self._scalar(rest, column))
        if self._column > column:
            raise OtherYamlError
        return items

    def _mapping(self, levels: int) -> dict[str, Any]:
        """The mapping whose first key was found."""
        if levels > _MAX_LEVELS:
            raise OtherYamlError
        column = self._column
        mapping: dict[str, Any] = {}
        while True:
            key, rest = self._key_text(), self._rest
            if key in mapping:
                raise OtherYamlError
            if rest and rest[0] != "#":
                mapping[key] = self._scalar(rest, column)
            else:
                self._advance()
                if self._column == column and self._is_item():
                    mapping[key] = self._list(levels + 1)
                else:
                    mapping[key] = self._nested(column, levels)
            if self._column != column:
                break
            if not self._find_key():
                raise OtherYamlError
        if self._column > column:
            raise OtherYamlError
        return mapping

    def _key_text(self) -> str:
        key = self._key
        if key[0] in _QUOTES:
            return key[1:-1]
        if key in self._words or key[0] == ".":
            raise OtherYamlError
        return key

    def _nested(self, column: int, levels: int) -> Any:
        """The value that the lines below this column have, null if there are none."""
        if self._column <= column:
            return self._words[""]
        return self._block(levels + 1)

    def _scalar(self, text: str, column: int) -> Any:
        """The value of a scalar. Goes to the next line."""
        first = text[0]
        if first == "|":
            return self._literal(text, column)
        if first in _QUOTES:
            text = self._quoted(text, first, column)
        elif first not in _INDICATORS:
            text = self._folded(text, column)
        value = self._value(text)
        self._advance()
        if self._column > column:
            raise OtherYamlError
        return value

    def _quoted(self, text: str, quote: str, column: int) -> str:
        """The complete text in quotes, which may be folded over several lines."""
        if "\\" in text or text.count(quote) % 2 == 0:
            return text
        parts = [text]
        while True:
            part = self._continuation(column)
            if not part or "\\" in part:
                raise OtherYamlError
            self._next += 1
            parts.append(part)
            if part.count(quote) % 2:
                return " ".join(parts)

    def _folded(self, text: str, column: int) -> str:
        """The complete plain text, which may be folded over several lines."""
        part = self._continuation(column)
        if not part or " #" in text:
            return text
        parts = [text]
        while part:
            if part[0] in _INDICATORS or part[0] == "-" or " #" in part:
                raise OtherYamlError
            self._next += 1
            parts.append(part)
            part = self._continuation(column)
        return " ".join(parts)

    def _continuation(self, column: int) -> str:
        """The content of the next line if it is within this column, else an empty text."""
        if self._next == len(self._lines):
            return ""
        line = self._lines[self._next]
        text = line.lstrip(" ")
        if len(line) - len(text) <= column or not text or text[0] == "#":
            return ""
        if not self._is_printable and not text.isprintable():
            raise OtherYamlError
        return text.rstrip(" ")

    def _value(self, text: str) -> Any:
        first = text[0]
        if first in _INDICATORS:
            return self._marked(text, first)
        comment = text.find(" #")
        if comment >= 0:
            text = text[:comment].rstrip(" ")
        if ": " in text or text[-1] == ":" or text == "-" or text.startswith("- "):
            raise OtherYamlError
        value = plain(text, self._words)
        if value.__class__ is float:  # JSON has no infinities and no NaN
            raise OtherYamlError
        return value

    def _marked(self, text: str, first: str) -> Any:
        """The value of a quoted scalar, `{}`, or a list in brackets."""
        if first == '"':
            if "\\" not in text and text.find('"', 1) == len(text) - 1:
                return text[1:-1]
            if "\\u" in text:  # lone surrogates are errors
                raise OtherYamlError
            return _json(text, str)
        if first == "'":
            inner = text[1:-1].replace("''", "")
            if len(text) < 2 or text[-1] != "'" or "'" in inner:
                raise OtherYamlError
            return text[1:-1].replace("''", "'")
        if text == "{}":
            return {}
        if first == "[":
            return self._bracketed(text)
        raise OtherYamlError

    def _bracketed(self, text: str) -> list[Any]:
        items: list[Any]
        if _WORDS_IN_BRACKETS.fullmatch(text) is not None:
            items = [plain(word.lstrip(" "), self._words) for word in text[1:-1].split(",")]
        else:
            items = _json(text, list)
        if "\\u" in text:
            raise OtherYamlError
        for item in items:
            if item.__class__ is not str:
                raise OtherYamlError
        return items

    def _literal(self, header: str, column: int) -> str:
        """The text of the lines below. Goes to the line behind it."""
        if header not in ("|", "|-"):
            raise OtherYamlError
        lines = self._lines
        start = end = self._next
        if start == len(lines):
            raise OtherYamlError
        indentation = len(lines[start]) - len(lines[start].lstrip(" "))
        if indentation <= column:
            raise OtherYamlError
        margin = " " * indentation
        found: list[str] = []
        for number in range(start, len(lines)):
            line = lines[number]
            text = line[indentation:]
            if not line.startswith(margin):
                if line.strip(" "):
                    break
                text = ""
            elif not self._is_printable and not text.replace("\t", "").isprintable():
                raise OtherYamlError
            found.append(text)
            if text:
                end = number + 1
        # Without a line break at the end of the document the text has none either.
        if end == len(lines) or end == start or lines[start][indentation : indentation + 1] in "\t":
            raise OtherYamlError
        self._next = end
        self._advance()
        if self._column > column:
            raise OtherYamlError
        text = "\n".join(found[: end - start])
        return text if header == "|-" else text + "\n"


def _json(text: str, kind: type) -> Any:
    """The value of text that is also JSON."""
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError:
        raise OtherYamlError from None
    if value.__class__ is not kind:
        raise OtherYamlError
    return value
