"""Expands the words of shell commands: parameters, substitutions, arithmetic, patterns of files."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterable, Sequence
from fnmatch import fnmatchcase

from fairlead.base.digits import whole_number
from fairlead.controllers.simulation.runtime import arithmetic
from fairlead.controllers.simulation.runtime.files import FileError
from fairlead.controllers.simulation.runtime.process import Effect, Step, error
from fairlead.controllers.simulation.runtime.shell_nodes import (
    Arithmetic,
    Parameter,
    Part,
    Script,
    Text,
    Word,
)
from fairlead.controllers.simulation.runtime.shell_state import (
    SYNTAX_ERROR,
    ShellExit,
    ShellState,
)

MAX_WORDS = 64 * 1024  # characters of a word, and of all arguments of a command
_WORDS_OF_A_STEP = 100
_MAX_MATCHED = 512  # characters of a text and a pattern
_PATTERN = re.compile(r"[*?\[]")

Expanding = Generator[Effect, bytes, str]
Splitting = Generator[Effect, bytes, list[str]]


class Expansion:
    """`substitute` runs a script and returns its output."""

    def __init__(self, state: ShellState, substitute: Callable[[Script], Expanding]) -> None:
        self._state = state
        self._substitute = substitute

    def text(self, word: Word) -> Expanding:
        """A word as one text, not split."""
        texts = []
        for part in word:
            texts.append((yield from self._part(part)))
        if sum(map(len, texts)) > MAX_WORDS:
            yield error("sh: word too long\n")
            raise ShellExit(SYNTAX_ERROR)
        return "".join(texts)

    def fields(self, words: Sequence[Word]) -> Splitting:
        """The words after expansion: unquoted values are split, patterns name files."""
        fields: list[str] = []
        size = 0
        for at, word in enumerate(words, start=1):
            if at % _WORDS_OF_A_STEP == 0:
                yield Step()
            added = yield from self._split(word)
            fields += added
            size += sum(map(len, added))
            if size > MAX_WORDS:
                yield error("sh: argument list too long\n")
                raise ShellExit(SYNTAX_ERROR)
        return fields

    def _split(self, word: Word) -> Splitting:
        if word == (Parameter("@", is_quoted=True),) or word[1:-1] == (
            Parameter("@", is_quoted=True),
        ):
            return self._state.positional[1:]
        fields: list[str] = []
        current: str | None = None
        has_pattern = False
        for part in word:
            text = yield from self.text((part,))
            if len(text) + len(current or "") > MAX_WORDS:
                yield error("sh: word too long\n")
                raise ShellExit(SYNTAX_ERROR)
            if isinstance(part, Text) or part.is_quoted:
                current = (current or "") + text
                has_pattern |= isinstance(part, Text) and not part.is_quoted
                continue
            pieces = text.split()
            if text[:1].isspace() and current is not None:
                fields.append(current)
                current = None
            for piece in pieces[:-1]:
                fields.append((current or "") + piece)
                current = None
            if pieces:
                current = (current or "") + pieces[-1]
                if text[-1:].isspace():
                    fields.append(current)
                    current = None
        if current is not None:
            fields.append(current)
        if not has_pattern:
            return fields
        found: list[str] = []
        for each in fields:
            found += yield from self._matching(each)
        return found

    def _matching(self, pattern: str) -> Splitting:
        """The files that a pattern names in its directory, or the pattern if there are none."""
        directory, slash, name = pattern.rpartition("/")
        if not _PATTERN.search(name) or _PATTERN.search(directory):
            return [pattern]
        yield Step()
        try:
            names = self._state.process.files.list(
                self._state.process.path(f"{directory}{slash}" or ".")
            )
        except FileError:
            return [pattern]
        hidden = name.startswith(".")
        matching = [
            f"{directory}{slash}{each}"
            for each in names
            if matches(each, name) and (hidden or not each.startswith("."))
        ]
        return matching or [pattern]

    def _part(self, part: Part) -> Expanding:
        match part:
            case Text(text=text):
                return text
            case Parameter():
                return (yield from self._parameter(part))
            case Arithmetic(expression=expression):
                text = yield from self.text(expression)
                try:
                    return str(arithmetic.evaluate(text, self._state.process.environment))
                except ValueError as failed:
                    yield error(f"sh: arithmetic: {failed}\n")
                    raise ShellExit(SYNTAX_ERROR) from None
        return (yield from self._substitute(part.script))

    def _value(self, name: str) -> str | None:
        if name[:1].isdigit():
            index, words = whole_number(name), self._state.positional
            return words[index] if index is not None and index < len(words) else None
        special: dict[str, Callable[[], str]] = {
            "@": lambda: " ".join(self._state.positional[1:]),
            "*": lambda: " ".join(self._state.positional[1:]),
            "#": lambda: str(len(self._state.positional) - 1),
            "?": lambda: str(self._state.status),
            "$": lambda: "1",
            "!": lambda: "2",
            "-": lambda: "",
        }
        if name in special:
            return special[name]()
        if name == "PWD":
            return self._state.process.directory
        return self._state.process.environment.get(name)

    def _parameter(self, part: Parameter) -> Expanding:
        value = self._value(part.name)
        if part.is_length:
            return str(len(value or ""))
        operator = part.operator
        if not operator:
            return value or ""
        is_missing = value is None or (operator.startswith(":") and not value)
        word = part.word or ()
        match operator[-1]:
            case "-":
                return (yield from self.text(word)) if is_missing else value or ""
            case "+":
                return "" if is_missing else (yield from self.text(word))
            case "=":
                if is_missing:
                    value = yield from self.text(word)
                    self._state.assign({part.name: value})
                return value or ""
            case "?":
                if is_missing:
                    text = (yield from self.text(word)) or "parameter not set"
                    yield error(f"sh: {part.name}: {text}\n")
                    raise ShellExit(SYNTAX_ERROR)
                return value or ""
        pattern = yield from self.text(word)
        return _trimmed(value or "", pattern, operator)


def matches(text: str, pattern: str) -> bool:
    """Whether a pattern of the shell matches a whole text. Long texts only match themselves."""
    if len(text) + len(pattern) > _MAX_MATCHED:
        return text == pattern
    return fnmatchcase(text, pattern)


def _trimmed(value: str, pattern: str, operator: str) -> str:
    """Cut a prefix (`#`) or suffix (`%`) that matches; doubled: the longest. Long values stay."""
    if len(value) + len(pattern) > _MAX_MATCHED:
        return value
    positions: Iterable[int] = range(len(value) + 1)
    if operator in ("##", "%"):
        positions = reversed(range(len(value) + 1))
    for at in positions:
        head, tail = value[:at], value[at:]
        if operator.startswith("#") and fnmatchcase(head, pattern):
            return tail
        if operator.startswith("%") and fnmatchcase(tail, pattern):
            return head
    return value
