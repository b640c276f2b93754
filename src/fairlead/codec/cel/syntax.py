"""The syntax tree of an expression. Operators are calls with names such as `_+_`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from fairlead.codec.cel.types import DYN, Overload, Type


@dataclass(slots=True, eq=False)
class Node:
    """A node at an offset of the text; the checker sets its type."""

    place: int
    type: Type = field(default=DYN, init=False)


@dataclass(slots=True, eq=False)
class Literal(Node):
    value: Any


@dataclass(slots=True, eq=False)
class Name(Node):
    name: str


@dataclass(slots=True, eq=False)
class Select(Node):
    """`operand.field`, or with `test` whether the field is present. The checker sets `name` if the
    whole node is a dotted name."""

    operand: Node
    field: str
    test: bool = False
    name: str = ""


@dataclass(slots=True, eq=False)
class Call(Node):
    """A function call; for a method the target is the first argument. The checker sets the
    overloads that match its arguments."""

    function: str
    arguments: list[Node]
    method: bool = False
    overloads: list[Overload] = field(default_factory=list, init=False)


@dataclass(slots=True, eq=False)
class Logic(Node):
    """Any number of operands joined by `&&` or by `||`, and the offsets of these operators."""

    function: str
    arguments: list[Node]
    places: list[int]


@dataclass(slots=True, eq=False)
class ListOf(Node):
    items: list[Node]


@dataclass(slots=True, eq=False)
class MapOf(Node):
    entries: list[tuple[Node, Node]]


@dataclass(slots=True, eq=False)
class Message(Node):
    """`name{field: value}`; always an error, because no declared type can be constructed."""

    name: str


@dataclass(slots=True, eq=False)
class Loop(Node):
    """A macro that iterates over a list or a map's keys: all, exists, exists_one, filter, map."""

    macro: str
    range: Node
    variable: str
    condition: Node | None
    transform: Node | None
