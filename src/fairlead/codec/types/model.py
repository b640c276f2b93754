"""The type model of built-in and custom types, which all walkers traverse."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Protocol

from fairlead.base.release import Release

Object = dict[str, Any]  # a JSON object, and so every API object


class Presence(Enum):
    """How a field that is zero or not given is stored."""

    DISTINCT = "?"  # absent and zero differ; kept as given
    OMITTED = ""  # zero is the same as absent; a struct is always present
    ALWAYS = "!"  # always present, zero if not given
    NULLABLE = "?!"  # kept as given, null if not given


@dataclass(frozen=True, slots=True)
class Scalar:
    """A leaf: string, int32, int64, bool, double, bytes, Time, MicroTime, Quantity, IntOrString,
    raw (a free-form object) or any."""

    name: str

    @property
    def is_opaque(self) -> bool:
        """Whether the value may have structure that the model does not describe."""
        return self.name in ("raw", "any")


@dataclass(eq=False, slots=True)
class ListOf:
    """`kind` is atomic (one owner), set (scalars) or map (items identified by `keys`). With
    `partial_keys`, an item may lack some of the keys, but not all of them."""

    element: Type
    kind: str = "atomic"
    keys: tuple[str, ...] = ()
    partial_keys: bool = False


@dataclass(eq=False, slots=True)
class MapOf:
    element: Type
    atomic: bool = False


@dataclass(eq=False, slots=True)
class Struct:
    """A type with named fields. Compared by identity: there is one object per type.

    `walkers` caches what walkers derive from this type, each under its own name; the cache lives as
    long as the type.
    """

    name: str
    group_version: str = ""
    fields: dict[str, Field] = field(default_factory=dict)
    atomic: bool = False
    is_kind: bool = False
    embedded: dict[str, Embedded] = field(default_factory=dict)
    preserve_unknown: bool = False
    walkers: dict[str, Any] = field(default_factory=dict, repr=False)

    def __repr__(self) -> str:
        return f"Struct({self.group_version}.{self.name})"


@dataclass(eq=False, slots=True)
class Field:
    """A field and its properties. `merge` to `replace` are for strategic merge patches."""

    name: str
    type: Type
    presence: Presence = Presence.OMITTED
    number: int = 0
    default: Any = None
    enum: tuple[str, ...] = ()
    merge: bool = False
    merge_key: str = ""
    retain_keys: bool = False
    replace: bool = False
    granular: bool = False  # overrides `atomic` of the struct it refers to
    gate: str = ""  # the feature gate without which the field is dropped
    type_name: str = ""  # in errors, if it is not the one in `names.table`
    message: Struct | None = None  # the protobuf type of the field or its entries, if it differs

    @property
    def required(self) -> bool:
        return self.presence is Presence.ALWAYS


@dataclass(frozen=True, slots=True)
class Embedded:
    """A struct whose JSON fields are inlined in another; a nested message in protobuf."""

    name: str
    struct: Struct
    number: int


Type = Scalar | ListOf | MapOf | Struct


class TypeProvider(Protocol):
    """Source of resource types: the built-in tables, or schemas added at run time. Names are of the
    form `core/v1.Pod`."""

    @property
    def release(self) -> Release: ...

    def struct(self, name: str) -> Struct: ...

    def group_version(self, name: str) -> Mapping[str, Struct]: ...


def names_in(value: Object) -> tuple[str, ...]:
    """The field names of an object, in its order."""
    return tuple(list(value.keys()))  # noqa: C414  # twice as fast when compiled


def at(struct: Struct, path: str) -> Field:
    """The field at a dotted path through structs, lists and maps, e.g. `spec.containers.image`."""
    current: Type = struct
    field: Field | None = None
    for name in path.split("."):
        while isinstance(current, (ListOf, MapOf)):
            current = current.element
        if not isinstance(current, Struct):
            raise KeyError(path)
        field = current.fields[name]
        current = field.type
    assert field is not None
    return field


def struct_at(struct: Struct, path: str) -> Struct:
    """The type of the field at a path, or of the items in it."""
    type_ = at(struct, path).type
    while isinstance(type_, (ListOf, MapOf)):
        type_ = type_.element
    assert isinstance(type_, Struct)
    return type_


def structs(root: Type) -> Iterator[Struct]:
    """Every struct reachable from a type, each once."""
    seen: set[int] = set()
    todo: list[Type] = [root]
    while todo:
        node = todo.pop()
        if isinstance(node, (ListOf, MapOf)):
            todo.append(node.element)
        elif isinstance(node, Struct) and id(node) not in seen:
            seen.add(id(node))
            yield node
            todo.extend(item.type for item in node.fields.values())


def recurs(struct: Struct) -> bool:
    """`contains_itself`, cached."""
    cached: bool | None = struct.walkers.get("recurs")
    if cached is None:
        cached = struct.walkers["recurs"] = contains_itself(struct)
    return cached


def contains_itself(root: Struct) -> bool:
    """Whether a struct, or one reachable from it, contains values of its own type."""
    done: set[int] = set()

    def recurs(node: Type, around: frozenset[int]) -> bool:
        while isinstance(node, (ListOf, MapOf)):
            node = node.element
        if not isinstance(node, Struct) or id(node) in done:
            return False
        if id(node) in around:
            return True
        inner = around | {id(node)}
        result = any(recurs(item.type, inner) for item in node.fields.values())
        done.add(id(node))
        return result

    return recurs(root, frozenset())
