"""The nodes of a template's tree: the parts of its text, and the operands of its actions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple


class Literal(NamedTuple):
    value: Any


class Dot(NamedTuple):
    """The current value."""


class Variable(NamedTuple):
    name: str


class Function(NamedTuple):
    name: str


class Fields(NamedTuple):
    """Fields of the value of another operand."""

    of: Operand
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Pipeline:
    """Commands, each with the result of the one before as its last argument. The result is assigned
    to the variables; `declares` if they are new."""

    commands: tuple[tuple[Operand, ...], ...]
    variables: tuple[str, ...] = ()
    declares: bool = True


Operand = Literal | Dot | Variable | Function | Fields | Pipeline


@dataclass(frozen=True, slots=True)
class Block:
    """`if`, `range` or `with`, and its alternative."""

    word: str
    pipeline: Pipeline
    body: Body
    otherwise: Body


class Leave(NamedTuple):
    """`break` or `continue`."""

    word: str


@dataclass(frozen=True, slots=True)
class Call:
    """`template`: another template, with the value of a pipeline or with nothing. Any part of the
    text may define it, so it is looked up when it is rendered."""

    name: str
    pipeline: Pipeline | None
    templates: Mapping[str, Body]


Part = str | Pipeline | Block | Leave | Call
Body = tuple["Part", ...]
