"""Shapes: how a type takes part in field ownership.

The type model describes which values are valid; a shape holds only what the walkers of this
package need: which values have a single owner, which key fields identify a list item, where map
keys are free. Shapes are built once per type and cached. Recursive types give recursive shapes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from fairlead.codec.types.decode import SCALAR_ZEROS, is_struct_like
from fairlead.codec.types.model import Field, ListOf, MapOf, Presence, Scalar, Struct, Type, structs
from fairlead.fields.field_sets import scalar_json, value_element, value_order
from fairlead.fields.values import compact_json, is_plain, string_json


class Untrackable(Exception):
    """A list has items without unique keys, or a value does not match its type.

    The walkers only raise it; `check.problems` reports where and why.
    """


@dataclass(eq=False, slots=True)
class Single:
    """One field with one owner: a scalar, or any atomic value."""

    free: bool = False


@dataclass(eq=False, slots=True)
class Free:
    """A value that the model does not describe: its objects have fields, its lists are atomic."""

    free: bool = True


@dataclass(eq=False, slots=True)
class Record:
    """A struct: `members` by field name, `steps` by path step (`f:name`). Other names are refused,
    or `Free` if the struct is `open`."""

    free: bool = False
    members: dict[str, Member] = field(default_factory=dict)
    open: bool = False
    steps: dict[str, Shape] = field(default_factory=dict)


@dataclass(eq=False, slots=True)
class Member:
    element: str  # the path step, `f:name`
    shape: Shape


@dataclass(eq=False, slots=True)
class Table:
    """A map with arbitrary keys; each entry has its own owner."""

    value: Shape
    free: bool = False


Index = Callable[[Any, bool], dict[str, Any]]
"""Gives the items of a list by their steps, in the order of the list or, if asked, of a set of
fields."""


@dataclass(eq=False, slots=True)
class Items:
    """A list of objects identified by key fields. `element` returns the path step of an item.
    `element` and `indexed` may raise `Untrackable`."""

    item: Shape
    element: Callable[[Any], str]
    indexed: Index
    key: str = ""  # the key field, if there is exactly one
    free: bool = False
    keys: tuple[tuple[str, Any], ...] = ()  # all key fields, each with its default


@dataclass(eq=False, slots=True)
class Values:
    """A list of unique scalars."""

    free: bool = False


Shape = Single | Free | Record | Table | Items | Values
# `free` of a shape: whether it may contain values that the model does not describe. If not, two
# values can be compared with `==`, because no field can hold both `1` and `true`.

SINGLE = Single()
FREE = Free()
VALUES = Values()
_UNKNOWN = Single(free=True)

K = TypeVar("K")
V = TypeVar("V")


class ShapeCache(Generic[K, V]):
    """Cache of objects derived from shapes and types. A changed definition adds new keys; clearing
    the full cache is cheaper than tracking which keys are still in use."""

    def __init__(self, most: int = 50_000) -> None:
        self._most = most
        self._values: dict[K, V] = {}

    def get(self, key: K) -> V | None:
        return self._values.get(key)

    def keep(self, key: K, value: V) -> V:
        if len(self._values) >= self._most:
            self._values.clear()
        self._values[key] = value
        return value


class Parts(Generic[V]):
    """Derived values for the fields of an object: one per declared field, one for all other names.
    Built on first use, because a type may contain itself."""

    def __init__(self, shape: Record | Table | Free, make: Callable[[Shape], V]) -> None:
        self._members = shape.members if isinstance(shape, Record) else {}
        self._other_shape = other_shape(shape)
        self._make = make
        self._known: dict[str, V] = {}
        self._other: V | None = None

    def of(self, name: str) -> V:
        known = self._known.get(name)
        if known is not None:
            return known
        member = self._members.get(name)
        if member is not None:
            made = self._known[name] = self._make(member.shape)
            return made
        if self._other is None:
            self._other = self._make(self._other_shape)
        return self._other


def field_shape(shape: Record | Table | Free, name: str) -> Shape:
    """The shape of a field of an object."""
    if isinstance(shape, Record):
        member = shape.members.get(name)
        if member is not None:
            return member.shape
    return other_shape(shape)


def other_shape(shape: Record | Table | Free) -> Shape:
    """The shape shared by all undeclared fields of an object."""
    if isinstance(shape, Table):
        return shape.value
    return _UNKNOWN if isinstance(shape, Record) and not shape.open else FREE


def step_shape(shape: Shape, element: str) -> Shape:
    """The shape one step down a path."""
    if isinstance(shape, Items):
        return shape.item
    if isinstance(shape, (Record, Table, Free)) and element[0] == "f":
        return field_shape(shape, element[2:])
    return SINGLE


_KEPT = 20_000
_records: dict[Struct, Record] = {}
_zeros: dict[Struct, dict[str, Any]] = {}


def shape_of(struct: Struct) -> Record:
    """The shape of a whole object, or of a struct that is not atomic where it is used."""
    known = _records.get(struct)
    if known is None:
        if len(_records) >= _KEPT:
            _records.clear()
            _zeros.clear()
        known = _records[struct] = Record(has_free(struct), open=struct.preserve_unknown)
        for name, item in struct.fields.items():
            made = Member("f:" + name, _shape(item.type, item.granular))
            known.members[name] = made
            known.steps[made.element] = made.shape
    return known


def _shape(kind: Type, granular: bool = False) -> Shape:
    if isinstance(kind, Scalar):
        if kind.name == "raw":  # the data of a ControllerRevision has one owner
            return _UNKNOWN
        return FREE if kind.is_opaque else SINGLE
    if isinstance(kind, Struct):
        return _single(kind) if kind.atomic and not granular else shape_of(kind)
    if isinstance(kind, MapOf):
        return _single(kind) if kind.atomic else Table(_shape(kind.element), has_free(kind))
    if kind.kind == "set":
        return VALUES
    if kind.kind == "map" and isinstance(kind.element, Struct):
        key = kind.keys[0] if len(kind.keys) == 1 else ""
        return Items(
            _shape(kind.element),
            item_element(kind),
            item_index(kind),
            key,
            has_free(kind),
            _keys(kind),
        )
    return _single(kind)


def _single(kind: Type) -> Single:
    return Single(free=True) if has_free(kind) else SINGLE


def has_free(kind: Type) -> bool:
    """Whether a value of this type can contain data that the model does not describe.

    Ignores the entries of `managedFields`: they are neither owned nor compared.
    """
    return _is_opaque(kind) or any(
        struct.preserve_unknown or any(_is_opaque(item.type) for item in struct.fields.values())
        for struct in structs(kind)
        if struct.name != "ManagedFieldsEntry"
    )


def _is_opaque(kind: Type) -> bool:
    while isinstance(kind, (ListOf, MapOf)):
        kind = kind.element
    return isinstance(kind, Scalar) and kind.is_opaque


def key_default(item: Field | None) -> Any:
    """The default of a key field that an item omits; None if the item must have it."""
    if item is None or item.default is not None:
        return None if item is None else item.default
    if item.presence is Presence.ALWAYS and isinstance(item.type, Scalar):
        return zero_of(item.type)
    return None


def zero_of(kind: Type) -> Any:
    """The value of an always present field that an object omits."""
    if isinstance(kind, Scalar):
        return SCALAR_ZEROS.get(kind.name)
    return zero_object(kind) if isinstance(kind, Struct) else None


def zero_object(struct: Struct) -> dict[str, Any]:
    """The initial object of a type, before any field is set: structs and always present fields.

    A create is a change from this object: the creator does not own the values in it.
    """
    known = _zeros.get(struct)
    if known is not None:
        return known
    made: dict[str, Any] = {}
    for name, item in struct.fields.items():
        if item.presence is Presence.ALWAYS or (
            item.presence is Presence.OMITTED and is_struct_like(item.type)
        ):
            made[name] = zero_of(item.type)
        elif item.presence is Presence.NULLABLE:
            made[name] = None
    _zeros[struct] = made
    return made


def _keys(kind: ListOf) -> tuple[tuple[str, Any], ...]:
    """The key fields of a list in the order of a path step, each with its default."""
    fields = kind.element.fields if isinstance(kind.element, Struct) else {}
    return tuple((name, key_default(fields.get(name))) for name in sorted(kind.keys))


def item_index(kind: ListOf) -> Index:
    """Return the function that indexes the items of a keyed list by their path steps."""
    keys = _keys(kind)
    element, only = item_element(kind), keys[0][0] if len(keys) == 1 else None
    before = "k:{" + compact_json(only) + ':"' if only is not None else ""

    def by_keys(item: Any) -> list[tuple[int, Any]]:
        return [value_order(item.get(name, default)) for name, default in keys]

    def indexed(items: Any, arranged: bool) -> dict[str, Any]:
        if type(items) is not list:
            raise Untrackable
        named = by_text(items, only) if only is not None else None
        if named is not None and is_plain("".join(named)):
            texts = sorted(named) if arranged and len(named) > 1 else named
            return {f'{before}{text}"}}': named[text] for text in texts}
        index = {element(item): item for item in items}
        if len(index) != len(items):
            raise Untrackable
        if arranged and len(index) > 1:
            index = dict(sorted(index.items(), key=lambda pair: by_keys(pair[1])))
        return index

    return indexed


def indexed_values(items: Any, arranged: bool) -> dict[str, Any]:
    """The `Index` of a list of unique scalars."""
    if type(items) is not list:
        raise Untrackable
    index = {
        value_element(item): item
        for item in (sorted(items, key=value_order) if arranged else items)
    }
    if len(index) != len(items):
        raise Untrackable
    return index


def are_aligned(one: list[Any], other: list[Any], key: str) -> bool:
    """Whether two lists have items with the same keys in the same order. A quick check: False may
    be wrong. `key` is that of `Items`."""
    if not key or len(one) != len(other):
        return False
    try:
        texts = [item[key] for item in one]
        same = texts == [item[key] for item in other]
    except (TypeError, LookupError):
        return False
    return same and _ONLY_TEXTS.issuperset(map(type, texts)) and len(set(texts)) == len(texts)


def by_text(items: list[Any], key: str) -> dict[str, Any] | None:
    """Items by their string key; None if an item lacks it. Raises `Untrackable` for duplicates."""
    named: dict[str, Any] = {}
    for item in items:
        text = item.get(key) if isinstance(item, dict) else None
        if not isinstance(text, str):
            return None
        named[text] = item
    if len(named) != len(items):
        raise Untrackable
    return named


_ONLY_TEXTS = frozenset((str,))


def item_element(kind: ListOf) -> Callable[[Any], str]:
    """Return the function that gives the path step of an item, or raises `Untrackable`."""
    defaults = _keys(kind)
    if len(defaults) == 1:
        return _one_key(*defaults[0])
    parts = [
        (name, default, ("," if place else "k:{") + compact_json(name) + ":")
        for place, (name, default) in enumerate(defaults)
    ]

    def element(item: Any) -> str:
        if not isinstance(item, dict):
            raise Untrackable
        text = ""
        for name, default, before in parts:
            value = item.get(name, default)
            if value is None and name not in item:
                raise Untrackable
            text += before + (string_json(value) if type(value) is str else scalar_json(value))
        return text + "}"

    return element


def _one_key(name: str, default: Any) -> Callable[[Any], str]:
    start = "k:{" + compact_json(name) + ":"

    def element(item: Any) -> str:
        if not isinstance(item, dict):
            raise Untrackable
        value = item.get(name, default)
        if type(value) is not str:
            if value is None and name not in item:
                raise Untrackable
            return start + scalar_json(value) + "}"
        return start + string_json(value) + "}"

    return element
