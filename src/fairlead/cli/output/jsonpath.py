r"""JSONPath templates of the command line: text with `{.expressions}` and loops.

parse("{.status.phase}").find(pod)
template('{range .items[*]}{.metadata.name}{"\n"}{end}').render(pods)
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from fairlead.base.records import dataclass
from fairlead.cli.output.jsonpath_steps import (
    Constant,
    Descent,
    Field,
    Filter,
    JsonPathError,
    Slice,
    Step,
    Steps,
    Text,
    Union,
    Values,
    Wildcard,
    Word,
    follow,
)
from fairlead.cli.output.values import compact_json, plain

__all__ = ["JsonPathError", "Path", "Template", "parse", "relaxed", "template"]

_RELAXED = re.compile(r"\{\.?([^{}]+)\}|\.?([^{}]+)")
_KEY = re.compile(r"'([^']*)'")
_SLICE = re.compile(r"(-?\d*)(:-?\d*)?(:-?\d*)?", re.ASCII)
_COMPARED = re.compile(r"([^!<>=]+)([!<>=]+)(.+)", re.DOTALL)
_NUMBER = re.compile(r"[+-]?[\d.]*")
_WORD = re.compile(r"[^ \t\r\n.,\[\]$@{}]*")
_FIELD = re.compile(r"(?:\\.|[^ \t\r\n.,\[\]$@{}\\])*", re.DOTALL)
_ESCAPE = re.compile(
    r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-7]{3})|(.))", re.DOTALL
)
_ESCAPED = dict(zip("abfnrtv\\'\"", "\a\b\f\n\r\t\v\\'\"", strict=True))
_LONGEST_NUMBER = 18


@dataclass(frozen=True, slots=True)
class Loop:
    """`{range over}body{end}`."""

    over: Steps
    body: Sequence[Part]


Part = Steps | Loop


@dataclass(frozen=True, slots=True)
class Path:
    """Expressions that return values instead of text."""

    parts: Sequence[Part]

    def find(self, value: Any, strict: bool = False) -> Values:
        """All values found; raises JsonPathError. A missing field yields nothing, or raises if
        `strict`."""
        return [one for found in _results(self.parts, value, strict) for one in found]


@dataclass(frozen=True, slots=True)
class Template:
    """A text with expressions."""

    parts: Sequence[Part]
    text: str

    def render(self, value: Any, strict: bool = False) -> str:
        """The text; raises JsonPathError. Several values of one expression are separated by
        spaces."""
        found = _results(self.parts, value, strict)
        return "".join(" ".join(map(_shown, values)) for values in found)

    def render_json(self, value: Any) -> str:
        """The values of each expression as a JSON list."""
        from fairlead.cli.output.documents import as_json

        return "".join(f"{as_json(found)}\n" for found in _results(self.parts, value, False))


def template(text: str) -> Template:
    """Raises JsonPathError."""
    return Template(_nested(iter(_actions(text))), text)


def parse(text: str) -> Path:
    """Parse an expression in braces; raises JsonPathError. Use `relaxed` for user input."""
    return Path(template(text).parts)


def relaxed(text: str) -> str:
    """Add missing braces and the leading dot; raises JsonPathError."""
    if not text:
        return text
    found = _RELAXED.fullmatch(text)
    if found is None:
        raise JsonPathError(
            "a path consists of names separated by dots, with or without braces, such as"
            " {.metadata.name}"
        )
    return f"{{.{found[1] or found[2]}}}"


def _results(parts: Sequence[Part], value: Any, strict: bool) -> Iterator[Values]:
    for part in parts:
        if not isinstance(part, Loop):
            yield follow(part, [value], strict)
            continue
        for one in follow(part.over, [value], strict):
            yield from _results(part.body, one, strict)


def _shown(value: Any) -> str:
    return compact_json(value) if value is None or isinstance(value, dict | list) else plain(value)


def _nested(actions: Iterator[Steps], depth: int = 0) -> list[Part]:
    """The parts up to the `{end}` of the current loop, or to the end of the text if it is
    missing."""
    parts: list[Part] = []
    for steps in actions:
        words = [step.name for step in steps if isinstance(step, Word)]
        if "range" in words:
            if depth == _DEEPEST:
                raise JsonPathError("loops are nested too deeply")
            parts.append(Loop(steps, _nested(actions, depth + 1)))
        elif "end" not in words:
            parts.append(steps)
        elif depth:
            return parts
        else:
            raise JsonPathError("{end} without a {range}")
    return parts


_DEEPEST = 50


def _actions(text: str) -> Iterator[Steps]:
    """The texts and expressions in order."""
    at = 0
    while at < len(text):
        brace = text.find("{", at)
        if brace < 0:
            brace = len(text)
        if brace > at:
            yield (Text(text[at:brace]),)
        if brace == len(text):
            return
        reader = _Reader(text, brace + 1)
        yield reader.steps()
        at = reader.at


def _inner(text: str) -> Steps:
    return _Reader(f"{text}}}", 0).steps()


class _Reader:
    """Parser of one expression, up to its closing brace."""

    def __init__(self, text: str, at: int) -> None:
        self.text = text
        self.at = at

    def steps(self) -> Steps:
        """Raises JsonPathError."""
        found: list[Step] = []
        while not self.text.startswith("}", self.at):
            found += self._next(found)
        self.at += 1
        return tuple(found)

    def _next(self, before: Sequence[Step]) -> Sequence[Step]:
        sign = self.text[self.at : self.at + 1]
        if not sign or sign in "\r\n":
            raise JsonPathError("unclosed action")
        if self.text.startswith("[?(", self.at):
            return [self._filter()]
        if self.text.startswith("..", self.at):
            return self._descent(before)
        if sign in "+-" or sign.isdecimal():
            return [self._number()]
        if sign == "_" or sign.isalnum():
            return [self._word()]
        self.at += 1
        if sign in " @$":
            return []
        if sign == "[":
            return self._brackets()
        if sign in "\"'":
            return [self._quoted(sign)]
        if sign == ".":
            return [self._field()]
        name = f" '{sign}'" if sign.isprintable() else ""
        raise JsonPathError(f"unrecognized character in action: U+{ord(sign):04X}{name}")

    def _taken(self, pattern: re.Pattern[str]) -> str:
        found = pattern.match(self.text, self.at)
        assert found is not None  # each pattern also matches the empty string
        self.at = found.end()
        return found[0]

    def _descent(self, before: Sequence[Step]) -> Sequence[Step]:
        if before and isinstance(before[-1], Descent):
            raise JsonPathError("invalid multiple recursive descent")
        self.at += 2
        following = self.text[self.at : self.at + 1]
        named = following == "_" or following.isalnum()
        return [Descent(), self._field()] if named else [Descent()]

    def _field(self) -> Step:
        name = self._taken(_FIELD)
        return Wildcard() if name == "*" else Field(name.replace("\\", ""))

    def _word(self) -> Step:
        name = self._taken(_WORD)
        return Constant(name == "true") if name in ("true", "false") else Word(name)

    def _number(self) -> Step:
        text = self._taken(_NUMBER)
        try:
            return Constant(int(text) if len(text) <= _LONGEST_NUMBER else float(text))
        except ValueError:
            pass
        try:
            return Constant(float(text))
        except ValueError:
            raise JsonPathError(f"cannot parse number {text}") from None

    def _quoted(self, sign: str) -> Step:
        begin = self.at
        while True:
            end = self.text.find(sign, self.at)
            if end < 0 or "\n" in self.text[self.at : end]:
                raise JsonPathError("unterminated quoted string")
            self.at = end + 1
            if self.text[end - 1] != "\\":
                return Text(_unquoted(self.text[begin:end], sign))

    def _brackets(self) -> Sequence[Step]:
        end = self.text.find("]", self.at)
        if end < 0 or "\n" in self.text[self.at : end]:
            raise JsonPathError("unterminated array")
        text = self.text[self.at : end]
        self.at = end + 1
        if "," in text:
            return [Union([_inner(f"[{part.strip(' ')}]") for part in text.split(",")])]
        key = _KEY.fullmatch(text)
        return _inner(f".{key[1]}") if key is not None else [_slice(text)]

    def _filter(self) -> Step:
        begin = self.at + len("[?(")
        self.at = self._end_of_filter(begin)
        text = self.text[begin : self.at]
        if self.text[self.at + 1 : self.at + 2] != "]":
            raise JsonPathError("unclosed array expect ]")
        self.at += 2
        compared = _COMPARED.fullmatch(text)
        if compared is None:
            return Filter(_inner(text), "", ())
        left, sign, right = compared.groups()
        return Filter(_inner(left), sign, _inner(right))

    def _end_of_filter(self, at: int) -> int:
        """The position of the closing parenthesis outside of quotes."""
        quote = ""
        for index in range(at, len(self.text)):
            sign = self.text[index]
            if sign == "\n":
                break
            if sign == ")" and not quote:
                return index
            if sign in "\"'" and self.text[index - 1] != "\\" and quote in ("", sign):
                quote = "" if quote else sign
        raise JsonPathError("unterminated filter")


def _slice(text: str) -> Slice:
    found = _SLICE.fullmatch(":" if text == "*" else text)
    if found is None or any(len(part or "") > _LONGEST_NUMBER for part in found.groups()):
        raise JsonPathError(f"invalid array index {text}")
    try:
        first, end, step = (_bound(part) for part in found.groups())
    except ValueError:
        raise JsonPathError("array index - is not a number") from None
    return Slice(first, end, step, is_index=found[2] is None)


def _bound(part: str | None) -> int | None:
    digits = (part or "").removeprefix(":")
    return int(digits) if digits else None


def _unquoted(text: str, quote: str) -> str:
    def meant(found: re.Match[str]) -> str:
        *codes, octal, sign = found.groups()
        for code in codes:
            if code:
                return chr(int(code, 16)) if int(code, 16) <= 0x10FFFF else "\ufffd"
        if octal:
            return chr(int(octal, 8))
        if sign not in _ESCAPED:
            raise JsonPathError(f"unquote string {quote}{text}{quote} error invalid syntax")
        return _ESCAPED[sign]

    return _ESCAPE.sub(meant, text)
