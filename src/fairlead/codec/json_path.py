"""JSONPath expressions in the grammar of the reference's client tools:
`.status.conditions[?(@.type=="Ready")].status`.

An expression is parsed into steps: names (with `\\` before a dot inside a name), `['name']`,
numbers, slices, `*`, `..`, filters, quoted text and constants. Each step maps a list of values to a
list of values. `compile_path` is for the columns of custom resources; templates of the command line
(`cli/output/jsonpath.py`) are made of several expressions.
"""

from __future__ import annotations

import operator
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

Values = list[Any]

_LONGEST = 4096
_LONGEST_NUMBER = 18
# The cost of a visited value, about in proportion to its time, for the limit of an evaluation.
_DESCENT_COST = 5
_FILTER_COST = 10
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


class JsonPathError(Exception):
    """Invalid expression, or it does not fit the value; the text says why."""


class MissingField(JsonPathError):
    """No value has the field."""


class Evaluation:
    """The rules of one evaluation for values that do not fit the expression, and the number of
    values that it may visit. A missing field raises if `strict`; other misfits raise unless
    `lenient`."""

    __slots__ = ("left", "lenient", "strict")

    def __init__(
        self, strict: bool = False, lenient: bool = False, maximum: int = sys.maxsize
    ) -> None:
        self.strict = strict
        self.lenient = lenient
        self.left = maximum

    def take(self, groups: Iterable[Iterable[Any]], cost: int = 1) -> Values:
        """Return as many of the values in the groups as the limit allows."""
        maximum = self.left // cost
        taken: Values = []
        for group in groups:
            taken += group
            if len(taken) >= maximum:
                del taken[maximum:]
                break
        self.left -= cost * len(taken)
        return taken


def compile_path(text: str, maximum: int) -> Callable[[Any], Values]:
    """Return a function that finds the values at a path, an empty list if there are none. It skips
    values that do not fit and visits at most about `maximum` values. Raises JsonPathError."""
    if len(text) > _LONGEST:
        raise JsonPathError("the path is too long")
    steps = _parsed(text)
    for step in steps:
        if isinstance(step, Word):
            raise JsonPathError(f"unrecognized identifier {step.name}")

    walks = [step.walk for step in steps]

    def find(value: Any) -> Values:
        evaluation = Evaluation(False, True, maximum)
        values = [value]
        for walk in walks:
            values = walk(values, evaluation)
        return values

    return find


def follow(steps: Steps, values: Values, evaluation: Evaluation) -> Values:
    """Apply all steps to the values; raises JsonPathError."""
    for step in steps:
        values = step.walk(values, evaluation)
    return values


@dataclass(frozen=True, slots=True)
class Text:
    text: str

    def walk(self, values: Values, evaluation: Evaluation) -> Values:
        return [self.text]


@dataclass(frozen=True, slots=True)
class Constant:
    """A number or boolean."""

    value: Any

    def walk(self, values: Values, evaluation: Evaluation) -> Values:
        return [self.value] * len(values)


@dataclass(frozen=True, slots=True)
class Word:
    """`range` and `end` delimit a loop; `range` passes its values on unchanged."""

    name: str

    def walk(self, values: Values, evaluation: Evaluation) -> Values:
        if self.name != "range":
            raise JsonPathError(f"unrecognized identifier {self.name}")
        return values


@dataclass(frozen=True, slots=True)
class Field:
    name: str

    def walk(self, values: Values, evaluation: Evaluation) -> Values:
        name = self.name
        matching = [value[name] for value in values if isinstance(value, dict) and name in value]
        if evaluation.strict and not matching:
            raise MissingField(f"{name} is not found")
        return matching


@dataclass(frozen=True, slots=True)
class Wildcard:
    def walk(self, values: Values, evaluation: Evaluation) -> Values:
        return evaluation.take(map(_children, values))


@dataclass(frozen=True, slots=True)
class Descent:
    """`..`: all non-empty objects and lists at any depth."""

    def walk(self, values: Values, evaluation: Evaluation) -> Values:
        matching: Values = []
        waiting = values[::-1]
        maximum, visited = evaluation.left // _DESCENT_COST, 0
        while waiting and visited < maximum:
            value = waiting.pop()
            visited += 1
            children = _children(value)
            if children:
                matching.append(value)
                waiting += reversed(children[: maximum - visited])
        evaluation.left -= _DESCENT_COST * visited
        return matching


@dataclass(frozen=True, slots=True)
class Slice:
    """`[first:end:step]`; a single index is a slice with `is_index`, which computes its end."""

    first: int | None
    end: int | None
    step: int | None
    is_index: bool

    def walk(self, values: Values, evaluation: Evaluation) -> Values:
        is_lenient = evaluation.lenient
        return evaluation.take(
            [self._of(value, is_lenient) for value in values if value is not None]
        )

    def _of(self, value: Any, is_lenient: bool) -> Values:
        try:
            return self._items(value)
        except JsonPathError:
            if is_lenient:
                return []
            raise

    def _items(self, value: Any) -> Values:
        if not isinstance(value, list):
            raise JsonPathError(f"{_type(value)} is not a list")
        size = len(value)
        first = self.first or 0
        end = first + 1 if self.is_index else size if self.end is None else self.end
        first += size if first < 0 else 0
        if end < 0 or (end == 0 and self.is_index):
            end += size
        if first == end:
            return []
        if not 0 <= first < size:
            raise JsonPathError(f"there is no item {first}: the list has {size}")
        if not 0 <= end <= size:
            raise JsonPathError(f"there is no item {end - 1}: the list has {size}")
        if first > end:
            raise JsonPathError(f"the slice ends before it begins: {first}:{end}")
        if self.step is not None and self.step <= 0:
            raise JsonPathError("step must be > 0")
        return value[first : end : self.step or 1]


@dataclass(frozen=True, slots=True)
class Union:
    parts: Sequence[Steps]

    def walk(self, values: Values, evaluation: Evaluation) -> Values:
        return evaluation.take(follow(part, values, evaluation) for part in self.parts)


@dataclass(frozen=True, slots=True)
class Filter:
    """`[?(left operator right)]`, or `[?(left)]` with an empty operator."""

    left: Steps
    operator: str
    right: Steps

    def walk(self, values: Values, evaluation: Evaluation) -> Values:
        lists = [v for v in values if isinstance(v, list)] if evaluation.lenient else values
        items = evaluation.take(map(_list, lists), _FILTER_COST)
        right = None
        if len(self.right) == 1 and isinstance(self.right[0], Text | Constant):
            right = follow(self.right, [None], evaluation)  # the same for all items
        return [item for item in items if self._holds(item, right, evaluation)]

    def _holds(self, item: Any, right: Values | None, evaluation: Evaluation) -> bool:
        try:
            left = follow(self.left, [item], evaluation)
            if not self.operator or not left:
                return bool(left)
            if right is None:
                right = follow(self.right, [item], evaluation)
            if len(left) > 1 or len(right) > 1:
                raise JsonPathError("only single values can be compared")
            return bool(right) and _compare(self.operator, left[0], right[0], evaluation.lenient)
        except MissingField:
            if self.operator:
                raise
            return False
        except JsonPathError:
            if evaluation.lenient:
                return False
            raise


Step = Text | Constant | Word | Field | Wildcard | Descent | Slice | Union | Filter
Steps = tuple[Step, ...]


def _children(value: Any) -> Values:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []


def _list(value: Any) -> Values:
    if isinstance(value, list):
        return value
    shown = value if isinstance(value, str) else orjson.dumps(value).decode()
    raise JsonPathError(f"a filter needs a list, not: {shown}")


_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_TYPES = {
    bool: "bool",
    int: "int64",
    float: "float64",
    str: "string",
    dict: "map[string]interface {}",
    list: "[]interface {}",
    type(None): "<nil>",
}
_COMPARABLE = (str, int, float, bool)


def _type(value: Any) -> str:
    return _TYPES[type(value)]


def _compare(sign: str, left: Any, right: Any, is_lenient: bool) -> bool:
    if sign not in _COMPARISONS:
        raise JsonPathError(f"unrecognized filter operator {sign}")
    kind, other = type(left), type(right)
    if kind not in _COMPARABLE or other not in _COMPARABLE:
        raise JsonPathError("invalid type for comparison")
    if kind is not other and not (is_lenient and {kind, other} == {int, float}):
        raise JsonPathError("incompatible types for comparison")
    if kind is bool and sign not in ("==", "!="):
        raise JsonPathError("invalid type for comparison")
    return _COMPARISONS[sign](left, right)


def parse_action(text: str, at: int) -> tuple[Steps, int]:
    """Parse the expression that starts at `at`; returns its steps and the index after the closing
    brace. Raises JsonPathError."""
    reader = _Reader(text, at)
    return reader.steps(), reader.at


def _parsed(text: str) -> Steps:
    """Parse an expression without braces."""
    steps, end = parse_action(f"{text}}}", 0)
    if end <= len(text):
        raise JsonPathError("unexpected }")
    return steps


class _Reader:
    """Parser of one expression, up to its closing brace."""

    def __init__(self, text: str, at: int) -> None:
        self.text = text
        self.at = at

    def steps(self) -> Steps:
        """Raises JsonPathError."""
        steps: list[Step] = []
        while not self.text.startswith("}", self.at):
            steps += self._next(steps)
        self.at += 1
        return tuple(steps)

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

    def _match(self, pattern: re.Pattern[str]) -> str:
        match = pattern.match(self.text, self.at)
        assert match is not None  # each pattern also matches the empty string
        self.at = match.end()
        return match[0]

    def _descent(self, before: Sequence[Step]) -> Sequence[Step]:
        if before and isinstance(before[-1], Descent):
            raise JsonPathError("invalid multiple recursive descent")
        self.at += 2
        following = self.text[self.at : self.at + 1]
        named = following == "_" or following.isalnum()
        return [Descent(), self._field()] if named else [Descent()]

    def _field(self) -> Step:
        name = self._match(_FIELD)
        return Wildcard() if name == "*" else Field(name.replace("\\", ""))

    def _word(self) -> Step:
        name = self._match(_WORD)
        return Constant(name == "true") if name in ("true", "false") else Word(name)

    def _number(self) -> Step:
        text = self._match(_NUMBER)
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
            return [Union([_parsed(f"[{part.strip(' ')}]") for part in text.split(",")])]
        key = _KEY.fullmatch(text)
        return _parsed(f".{key[1]}") if key is not None else [_slice(text)]

    def _filter(self) -> Step:
        begin = self.at + len("[?(")
        self.at = self._end_of_filter(begin)
        text = self.text[begin : self.at]
        if self.text[self.at + 1 : self.at + 2] != "]":
            raise JsonPathError("unclosed array expect ]")
        self.at += 2
        compared = _COMPARED.fullmatch(text)
        if compared is None:
            return Filter(_parsed(text), "", ())
        left, sign, right = compared.groups()
        return Filter(_parsed(left), sign, _parsed(right))

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
    match = _SLICE.fullmatch(":" if text == "*" else text)
    if match is None or any(len(part or "") > _LONGEST_NUMBER for part in match.groups()):
        raise JsonPathError(f"invalid array index {text}")
    try:
        first, end, step = (_bound(part) for part in match.groups())
    except ValueError:
        raise JsonPathError("array index - is not a number") from None
    return Slice(first, end, step, is_index=match[2] is None)


def _bound(part: str | None) -> int | None:
    digits = (part or "").removeprefix(":")
    return int(digits) if digits else None


def _unquoted(text: str, quote: str) -> str:
    def unescaped(match: re.Match[str]) -> str:
        *codes, octal, sign = match.groups()
        for code in codes:
            if code:
                return chr(int(code, 16)) if int(code, 16) <= 0x10FFFF else "\ufffd"
        if octal:
            return chr(int(octal, 8))
        if sign not in _ESCAPED:
            raise JsonPathError(f"unquote string {quote}{text}{quote} error invalid syntax")
        return _ESCAPED[sign]

    return _ESCAPE.sub(unescaped, text)
