"""Compiles jq expressions, the part of the language that stages use: paths, pipes, comparisons,
arithmetic, `if`, lists and the functions of `jq_functions`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from json import JSONDecodeError, loads
from typing import Any, NamedTuple

from fairlead.controllers.simulation.stages.jq_functions import (
    FUNCTIONS,
    OPERATORS,
    Evaluation,
    Filter,
    JqError,
    is_true,
    kind_of,
)

MAX_LENGTH = 4096
_MAX_TOKENS = 400  # filters nest, so this bounds the stack as well
_MAX_DEPTH = 60
_TOO_DEEP = "the expression is nested too deeply"
_TOKEN = re.compile(
    r"""\s*(?:(?P<text>"(?:[^"\\]|\\.)*")
    |(?P<number>\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)
    |(?P<field>\.[A-Za-z_]\w*)
    |(?P<sign>\.\.|\?//|//|==|!=|<=|>=|\|=|[.\[\](){}|,:;?<>+\-*/%=@$])
    |(?P<word>[A-Za-z_]\w*(?:::\w+)*))""",
    re.VERBOSE,
)


class JqSyntaxError(ValueError):
    """An expression that is invalid or uses an unsupported part of the language."""


class _Token(NamedTuple):
    kind: str
    text: str
    at: int


def compile_jq(text: str) -> Filter:
    """Compile an expression; raises JqSyntaxError."""
    if len(text) > MAX_LENGTH:
        raise JqSyntaxError(f"the expression is longer than {MAX_LENGTH} characters")
    parser = _Parser(_tokens(text))
    try:
        result = parser.pipe()
    except RecursionError:
        raise JqSyntaxError(_TOO_DEEP) from None
    parser.expect_end()
    return result


def _tokens(text: str) -> list[_Token]:
    tokens: list[_Token] = []
    at, end = 0, len(text.rstrip())
    while at < end:
        match = _TOKEN.match(text, at)
        if match is None or match.lastgroup is None:
            raise JqSyntaxError(f'cannot read "{text[at:].strip()[:20]}"')
        tokens.append(_Token(match.lastgroup, match[match.lastgroup], at))
        at = match.end()
    if len(tokens) > _MAX_TOKENS:
        raise JqSyntaxError(f"the expression has more than {_MAX_TOKENS} parts")
    return tokens


# Binary operators by precedence, the loosest first. Comparisons do not chain.
_LEVELS: Sequence[frozenset[str]] = (
    frozenset({"//"}),
    frozenset({"or"}),
    frozenset({"and"}),
    frozenset({"==", "!=", "<", "<=", ">", ">="}),
    frozenset({"+", "-"}),
    frozenset({"*", "/", "%"}),
)
_COMPARISONS = 3


class _Parser:
    """Reads tokens from left to right and returns filters."""

    def __init__(self, tokens: list[_Token]) -> None:
        self._tokens = tokens
        self._next = 0
        self._depth = 0

    def pipe(self) -> Filter:
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise JqSyntaxError(_TOO_DEEP)
        left = self._alternatives()
        while self._take("|"):
            left = _piped(left, self._alternatives())
        self._depth -= 1
        return left

    def expect_end(self) -> None:
        if self._next < len(self._tokens):
            raise JqSyntaxError(_unexpected(self._tokens[self._next].text))

    def _alternatives(self) -> Filter:
        filters = [self._binary(0)]
        while self._take(","):
            filters.append(self._binary(0))
        return filters[0] if len(filters) == 1 else _each(filters)

    def _binary(self, level: int) -> Filter:
        if level == len(_LEVELS):
            return self._postfix()
        left = self._binary(level + 1)
        while (sign := self._peek()) in _LEVELS[level]:
            self._next += 1
            left = _combined(sign, left, self._binary(level + 1))
            if level == _COMPARISONS:
                break
        return left

    def _postfix(self) -> Filter:
        if self._take("-"):
            return _combined("-", _constant(0), self._postfix())
        result = self._term()
        while True:
            if self._take("?"):
                result = _without_errors(result)
            elif self._peek_kind() == "field":
                result = _piped(result, _member(_constant(self._word()[1:])))
            elif self._peek() == "." and self._peek(1) == "[":
                self._next += 1
            elif self._peek() == "." and self._peek_kind(1) == "text":
                self._next += 1
                result = _piped(result, _member(_constant(self._string())))
            elif self._take("["):
                result = self._brackets(result)
            else:
                return result

    def _brackets(self, target: Filter) -> Filter:
        """`[]`, `[index]` or `[from:to]` after a value; the inner expressions see the input of the
        whole term."""
        if self._take("]"):
            return _piped(target, _items)
        start = None if self._peek() == ":" else self.pipe()
        if not self._take(":"):
            self._expect("]")
            assert start is not None
            return _indexed(target, start)
        stop = None if self._peek() == "]" else self.pipe()
        self._expect("]")
        return _sliced(target, start or _constant(None), stop or _constant(None))

    def _term(self) -> Filter:
        kind, text = self._peek_kind(), self._peek()
        if kind == "number":
            self._next += 1
            return _constant(loads(text))
        if kind == "text":
            return _constant(self._string())
        if kind == "field":
            self._next += 1
            return _member(_constant(text[1:]))
        if kind == "word":
            return self._word_term()
        self._next += 1
        if text == ".":
            return self._path_start()
        if text == "..":
            return _descendants
        if text == "(":
            inner = self.pipe()
            self._expect(")")
            return inner
        if text == "[":
            if self._take("]"):
                return _list(None)
            inner = self.pipe()
            self._expect("]")
            return _list(inner)
        raise JqSyntaxError(_unexpected(text))

    def _path_start(self) -> Filter:
        if self._peek_kind() == "text":
            return _member(_constant(self._string()))
        return _identity

    def _word_term(self) -> Filter:
        name = self._word()
        if name == "if":
            return self._condition()
        if name in _UNSUPPORTED:
            raise JqSyntaxError(_unexpected(name))
        if name in _CONSTANTS:
            return _constant(_CONSTANTS[name])
        arguments: list[Filter] = []
        if self._take("("):
            arguments.append(self.pipe())
            while self._take(";"):
                arguments.append(self.pipe())
            self._expect(")")
        function = FUNCTIONS.get((name, len(arguments)))
        if function is None:
            raise JqSyntaxError(f"the function {name}/{len(arguments)} is not supported")
        return function(*arguments)

    def _condition(self) -> Filter:
        condition = self.pipe()
        self._expect("then")
        positive = self.pipe()
        if self._take("elif"):
            return _chosen(condition, positive, self._condition())
        negative = self.pipe() if self._take("else") else _identity
        self._expect("end")
        return _chosen(condition, positive, negative)

    def _peek(self, ahead: int = 0) -> str:
        at = self._next + ahead
        return self._tokens[at].text if at < len(self._tokens) else ""

    def _peek_kind(self, ahead: int = 0) -> str:
        at = self._next + ahead
        return self._tokens[at].kind if at < len(self._tokens) else ""

    def _take(self, text: str) -> bool:
        is_next = self._peek() == text and self._peek_kind() != "text"
        self._next += is_next
        return is_next

    def _expect(self, text: str) -> None:
        if not self._take(text):
            raise JqSyntaxError(f'expected "{text}" before "{self._peek() or "the end"}"')

    def _word(self) -> str:
        text = self._peek()
        self._next += 1
        return text

    def _string(self) -> str:
        raw = self._word()
        if "\\(" in raw:
            raise JqSyntaxError("interpolation in strings is not supported")
        try:
            return str(loads(raw))
        except JSONDecodeError:
            raise JqSyntaxError(f"{raw} is not a string") from None


_CONSTANTS = {"true": True, "false": False, "null": None}
_UNSUPPORTED = {
    "{": "object construction",
    "$": "a variable",
    "@": "a format",
    **{word: f'"{word}"' for word in ("as", "catch", "def", "foreach", "import", "include")},
    **{word: f'"{word}"' for word in ("label", "limit", "reduce", "try")},
}


def _unexpected(text: str) -> str:
    if text in _UNSUPPORTED:
        return f"{_UNSUPPORTED[text]} is not supported"
    return f'unexpected "{text}"' if text else "unexpected end"


# Filters: each returns the results for one input.


def _identity(value: Any, _: Evaluation) -> Iterator[Any]:
    yield value


def _constant(constant: Any) -> Filter:
    def run(_: Any, evaluation: Evaluation) -> Iterator[Any]:
        yield constant

    return run


def _piped(left: Filter, right: Filter) -> Filter:
    def run(value: Any, evaluation: Evaluation) -> Iterator[Any]:
        for result in left(value, evaluation):
            evaluation.spend()
            yield from right(result, evaluation)

    return run


def _each(filters: Sequence[Filter]) -> Filter:
    def run(value: Any, evaluation: Evaluation) -> Iterator[Any]:
        for each in filters:
            yield from each(value, evaluation)

    return run


def _member(name: Filter) -> Filter:
    return _indexed(_identity, name)


def _indexed(target: Filter, index: Filter) -> Filter:
    def run(value: Any, evaluation: Evaluation) -> Iterator[Any]:
        for container in target(value, evaluation):
            for key in index(value, evaluation):
                evaluation.spend()
                yield _part(container, key)

    return run


def _part(container: Any, key: Any) -> Any:
    if container is None and isinstance(key, str | int | float):
        return None
    if isinstance(container, dict) and isinstance(key, str):
        return container.get(key)
    if isinstance(container, list) and isinstance(key, int | float) and not isinstance(key, bool):
        at = int(key)
        return container[at] if -len(container) <= at < len(container) else None
    raise JqError(f"cannot index {kind_of(container)} with {kind_of(key)}")


def _sliced(target: Filter, start: Filter, stop: Filter) -> Filter:
    def run(value: Any, evaluation: Evaluation) -> Iterator[Any]:
        for container in target(value, evaluation):
            if not isinstance(container, str | list | None):
                raise JqError(f"cannot slice {kind_of(container)}")
            for first in start(value, evaluation):
                for last in stop(value, evaluation):
                    evaluation.spend()
                    bounds = slice(_bound(first), _bound(last))
                    yield None if container is None else container[bounds]

    return run


def _bound(value: Any) -> int | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise JqError(f"{kind_of(value)} is no bound of a slice")
    return int(value)


def _items(value: Any, evaluation: Evaluation) -> Iterator[Any]:
    if not isinstance(value, dict | list):
        raise JqError(f"cannot iterate over {kind_of(value)}")
    for item in value.values() if isinstance(value, dict) else value:
        evaluation.spend()
        yield item


def _descendants(value: Any, evaluation: Evaluation) -> Iterator[Any]:
    waiting = [value]
    while waiting:
        evaluation.spend()
        value = waiting.pop()
        yield value
        if isinstance(value, dict | list):
            waiting += reversed(list(value.values()) if isinstance(value, dict) else value)


def _list(items: Filter | None) -> Filter:
    def run(value: Any, evaluation: Evaluation) -> Iterator[Any]:
        yield list(items(value, evaluation)) if items is not None else []

    return run


def _without_errors(inner: Filter) -> Filter:
    def run(value: Any, evaluation: Evaluation) -> Iterator[Any]:
        try:
            yield from inner(value, evaluation)
        except JqError:
            return

    return run


def _chosen(condition: Filter, positive: Filter, negative: Filter) -> Filter:
    def run(value: Any, evaluation: Evaluation) -> Iterator[Any]:
        for result in condition(value, evaluation):
            yield from (positive if is_true(result) else negative)(value, evaluation)

    return run


def _combined(sign: str, left: Filter, right: Filter) -> Filter:
    if sign == "//":
        return _alternative(left, right)
    if sign in ("and", "or"):
        return _logical(left, right, stops_at=sign == "or")
    operator: Callable[[Any, Any], Any] = OPERATORS[sign]

    def run(value: Any, evaluation: Evaluation) -> Iterator[Any]:
        for second in right(value, evaluation):
            for first in left(value, evaluation):
                evaluation.spend()
                yield operator(first, second)

    return run


def _alternative(left: Filter, right: Filter) -> Filter:
    def run(value: Any, evaluation: Evaluation) -> Iterator[Any]:
        found = [result for result in _without_errors(left)(value, evaluation) if is_true(result)]
        yield from found or right(value, evaluation)

    return run


def _logical(left: Filter, right: Filter, *, stops_at: bool) -> Filter:
    def run(value: Any, evaluation: Evaluation) -> Iterator[Any]:
        for first in left(value, evaluation):
            evaluation.spend()
            if is_true(first) == stops_at:
                yield stops_at
            else:
                yield from (is_true(second) for second in right(value, evaluation))

    return run
