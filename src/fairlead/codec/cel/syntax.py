"""The syntax tree of an expression. Operators are calls with names such as `_+_`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

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
    """A list; items at the `optional` indexes are present only if their optional has a value."""

    items: list[Node]
    optional: frozenset[int] = frozenset()


@dataclass(slots=True, eq=False)
class MapOf(Node):
    """A map; entries at the `optional` indexes are present only if their optional has a value."""

    entries: list[tuple[Node, Node]]
    optional: frozenset[int] = frozenset()


@dataclass(slots=True, eq=False)
class Message(Node):
    """`name{field: value}`; an error unless the environment has a message type of this name."""

    name: str
    fields: list[MessageField]


class MessageField(NamedTuple):
    """A field of a message, at the offset of its colon; an optional one is present only if its
    optional has a value."""

    place: int
    name: str
    value: Node
    is_optional: bool


@dataclass(slots=True, eq=False)
class Loop(Node):
    """A macro that iterates over a list or a map's keys: all, exists, exists_one, filter, map. With
    a `second` variable it iterates over indexes and items, or keys and values; then it may also be
    transformList, transformMap or transformMapEntry."""

    macro: str
    range: Node
    variable: str
    condition: Node | None
    transform: Node | None
    second: str = ""


@dataclass(slots=True, eq=False)
class OptionalMap(Node):
    """`target.optMap(variable, body)`, or `optFlatMap` if the body is an optional itself."""

    target: Node
    variable: str
    body: Node
    is_flat: bool


@dataclass(slots=True, eq=False)
class SortBy(Node):
    """`target.sortBy(variable, key)`: `keys` is `target.map(variable, key)` over the evaluated
    target."""

    target: Node
    keys: Loop


def parts_of(node: Node) -> list[Node]:
    """The nodes directly below a node."""
    match node:
        case Select():
            return [node.operand]
        case Call() | Logic():
            return node.arguments
        case ListOf():
            return node.items
        case MapOf():
            return [part for entry in node.entries for part in entry]
        case Loop():
            parts = (node.range, node.condition, node.transform)
            return [part for part in parts if part is not None]
        case OptionalMap():
            return [node.target, node.body]
        case SortBy():
            return [node.keys]
    return []
