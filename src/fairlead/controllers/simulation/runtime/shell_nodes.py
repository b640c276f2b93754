"""The nodes of a parsed shell script."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple


class Text(NamedTuple):
    """Literal text. Quoted text is neither split nor a pattern."""

    text: str
    is_quoted: bool = False


class Parameter(NamedTuple):
    """`$name` or `${name:-word}`. `operator` is empty, or one of `-`, `=`, `+`, `?`, `#`, `%` with
    an optional `:` before, or doubled `##` and `%%`; `length` is `${#name}`."""

    name: str
    operator: str = ""
    word: Word | None = None
    is_length: bool = False
    is_quoted: bool = False


class Substitution(NamedTuple):
    """`$(script)`."""

    script: Script
    is_quoted: bool = False


class Arithmetic(NamedTuple):
    """`$((expression))`."""

    expression: Word
    is_quoted: bool = False


Part = Text | Parameter | Substitution | Arithmetic
Word = tuple[Part, ...]


class Redirect(NamedTuple):
    """`operator` is `<`, `>`, `>>`, `>&`, or `<<` with the text of a here document."""

    stream: int
    operator: str
    target: Word


@dataclass(slots=True)
class Simple:
    assignments: list[tuple[str, Word]] = field(default_factory=list)
    words: list[Word] = field(default_factory=list)
    redirects: list[Redirect] = field(default_factory=list)


@dataclass(slots=True)
class If:
    branches: list[tuple[Script, Script]]
    otherwise: Script | None
    redirects: list[Redirect] = field(default_factory=list)


@dataclass(slots=True)
class Loop:
    """`while`, or `until` if `is_until`."""

    condition: Script
    body: Script
    is_until: bool
    redirects: list[Redirect] = field(default_factory=list)


@dataclass(slots=True)
class For:
    """Without words it takes the arguments."""

    name: str
    words: list[Word] | None
    body: Script
    redirects: list[Redirect] = field(default_factory=list)


@dataclass(slots=True)
class Case:
    word: Word
    branches: list[tuple[list[Word], Script]]
    redirects: list[Redirect] = field(default_factory=list)


@dataclass(slots=True)
class Group:
    body: Script
    is_subshell: bool
    redirects: list[Redirect] = field(default_factory=list)


@dataclass(slots=True)
class Function:
    name: str
    body: Command
    redirects: list[Redirect] = field(default_factory=list)


Command = Simple | If | Loop | For | Case | Group | Function


class Pipeline(NamedTuple):
    commands: Sequence[Command]
    is_negated: bool = False


class AndOr(NamedTuple):
    """Pipelines, each with the operator before it: `&&`, `||`, or empty for the first."""

    pipelines: Sequence[tuple[str, Pipeline]]
    in_background: bool = False


class Script(NamedTuple):
    lists: Sequence[AndOr]
