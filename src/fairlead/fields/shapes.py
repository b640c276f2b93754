"""Shapes: how a type takes part in field ownership.

The type model describes which values are valid; a shape holds only what the walkers of `walk` need:
which values have a single owner, which key fields identify a list item, where map keys are free.
Shapes are built once per type and cached. Recursive types give recursive shapes.
"""

from __future__ import annotations

from typing import Any, Final

from fairlead.base.caches import Shapes
from fairlead.codec.types.decode import SCALAR_ZEROS, is_struct_like
from fairlead.codec.types.model import Field, ListOf, MapOf, Presence, Scalar, Struct, Type, structs
from fairlead.fields.field_sets import LEAF, FieldSet, scalar_json, value_element, value_order
from fairlead.fields.values import compact_json, is_plain, string_json


class Untrackable(Exception):
    """A list has items without unique keys, or a value does not match its type.

    The walkers only raise it; `check.problems` reports where and why.
    """


class Shape:
    """`free`: whether values may contain data that the model does not describe. If not, two values
    can be compared with `==`, because no field can hold both `1` and `true`."""

    def __init__(self, free: bool) -> None:
        self.free = free


ANY_TYPE: Final[tuple[type, ...]] = (str, int, float, bool, dict, list)
SCALAR_TYPES: Final[dict[str, tuple[type, ...]]] = {
    **dict.fromkeys(("string", "bytes", "Duration"), (str,)),
    **dict.fromkeys(("int32", "int64", "double"), (int, float)),
    "bool": (bool,),
    **dict.fromkeys(("Time", "MicroTime", "Quantity", "IntOrString"), (str, int, float, bool)),
    **dict.fromkeys(("raw", "any"), ANY_TYPE),
}


class Single(Shape):
    """One field with one owner: a scalar, or any atomic value. `accepted`: the Python types of a
    scalar; empty for other values, which have a `kind`, and whose `content` only `check` walks."""

    def __init__(self, free: bool, accepted: tuple[type, ...], kind: Type | None = None) -> None:
        super().__init__(free)
        self.accepted = accepted
        self.kind = kind
        self._content: Shape | None = None

    @property
    def content(self) -> Shape:
        # Built on first use, because a type may contain itself.
        if self._content is None:
            assert self.kind is not None
            self._content = _granular(self.kind)
        return self._content


class Free(Shape):
    """A value that the model does not describe: its objects have fields, its lists are atomic."""


class Record(Shape):
    """A struct: `members` by field name, `steps` by path step (`f:name`). Other names are refused,
    or `Free` if the struct is `open`."""

    def __init__(self, free: bool, is_open: bool) -> None:
        super().__init__(free)
        self.open = is_open
        self.members: dict[str, Part] = {}
        self.steps: dict[str, Shape] = {}
        self._plans: Shapes[Plan] = Shapes()
        self._plan_by_names: dict[tuple[str, ...], Plan] = self._plans.values

    def plan(self, names: tuple[str, ...]) -> Plan:
        """The fields of an object with these names."""
        plan = self._plan_by_names.get(names)
        if plan is None:
            undeclared = EXTRA if self.open else UNDECLARED
            parts = [self.members.get(name) or Part(name, undeclared) for name in names]
            plan = Plan(parts)
            if self.members.keys() >= set(names):
                self._plans.keep(names, plan)
        return plan


class Part:
    """A field of a struct: its name, its path step and its shape."""

    def __init__(self, name: str, shape: Shape) -> None:
        self.name = name
        self.element = "f:" + name
        self.shape = shape


class Plan:
    """What objects with the same field names have in common: all fields, those that have fields of
    their own, and the set of all fields as leaves, without and with the object itself."""

    def __init__(self, parts: list[Part]) -> None:
        self.parts = parts
        self.nested = [part for part in parts if not isinstance(part.shape, Single)]
        elements = sorted(part.element for part in parts)
        self.leaves: FieldSet = dict.fromkeys(elements, LEAF) if elements else LEAF
        self.leaves_and_itself: FieldSet = {".": LEAF, **self.leaves} if elements else LEAF


class Table(Shape):
    """A map with arbitrary keys; each entry has its own owner."""

    def __init__(self, value: Shape, free: bool) -> None:
        super().__init__(free)
        self.value = value


class Steps:
    """Gives the items of a list their path steps. This base class handles unique scalars."""

    def __init__(self, key: str = "") -> None:
        self.key = key  # the key field, if there is exactly one

    def element(self, item: Any) -> str:
        """The path step of an item. Raises `Untrackable`."""
        return value_element(item)

    def indexed(self, items: Any, arranged: bool) -> dict[str, Any]:
        """The items by their steps, in the order of the list or, if `arranged`, of a set of fields.
        Raises `Untrackable`."""
        if type(items) is not list:
            raise Untrackable
        index = {self.element(item): item for item in items}
        if len(index) != len(items):
            raise Untrackable
        if arranged and len(index) > 1:
            index = dict(sorted(index.items(), key=self._rank))
        return index

    def _rank(self, pair: tuple[str, Any]) -> Any:
        return value_order(pair[1])


class Key:
    """A key field: its name, its default, and the text before its value in a path step."""

    def __init__(self, name: str, default: Any) -> None:
        self.name = name
        self.default = default
        self.head = "," + compact_json(name) + ":"


class KeySteps(Steps):
    """Names items by key fields: `names` as the type has them, `keys` in the order of a step. If
    they are `partial`, the step of an item that lacks some of them is without these."""

    def __init__(self, names: tuple[str, ...], keys: list[Key], partial: bool) -> None:
        super().__init__(names[0] if len(names) == 1 else "")
        self.names = names
        self.keys = keys
        self.partial = partial

    def element(self, item: Any) -> str:
        if not isinstance(item, dict):
            raise Untrackable
        text = ""
        for key in self.keys:
            value = item.get(key.name, key.default)
            if isinstance(value, str):
                text += key.head + string_json(value)
            elif value is None and key.name not in item:
                if not self.partial:
                    raise Untrackable
            else:
                text += key.head + scalar_json(value)
        if not text:
            raise Untrackable
        return "k:{" + text[1:] + "}"

    def indexed(self, items: Any, arranged: bool) -> dict[str, Any]:
        if type(items) is not list:
            raise Untrackable
        by_key = _by_key_text(items, self.key) if self.key else None
        if by_key is not None and is_plain("".join(by_key)):
            texts = sorted(by_key) if arranged and len(by_key) > 1 else list(by_key)
            head = "k:{" + self.keys[0].head[1:]
            return {f'{head}"{text}"}}': by_key[text] for text in texts}
        return super().indexed(items, arranged)

    def _rank(self, pair: tuple[str, Any]) -> Any:
        item = pair[1]
        return [
            (key.name, value_order(item.get(key.name, key.default)))
            for key in self.keys
            if key.name in item or key.default is not None
        ]


class Items(Shape):
    """A list whose items have owners of their own: objects with key fields, or unique scalars."""

    def __init__(self, item: Shape, steps: Steps, free: bool) -> None:
        super().__init__(free)
        self.item = item
        self.steps = steps


class Listing(Shape):
    """An atomic list as the content of a `Single`."""

    def __init__(self, item: Shape) -> None:
        super().__init__(item.free)
        self.item = item


_SCALARS: Final = {name: Single(False, types) for name, types in SCALAR_TYPES.items()}
SINGLE: Final = Single(False, ANY_TYPE)
FREE: Final = Free(True)
EXTRA: Final = Free(True)  # an undeclared field of an open struct
UNDECLARED: Final = Single(True, ())
_RAW: Final = Single(True, ANY_TYPE)
_VALUES: Final = Steps()


def field_shape(shape: Shape, name: str) -> Shape:
    """The shape of a field of an object."""
    if isinstance(shape, Record):
        member = shape.members.get(name)
        if member is not None:
            return member.shape
        return FREE if shape.open else UNDECLARED
    return shape.value if isinstance(shape, Table) else FREE


def step_shape(shape: Shape, element: str) -> Shape:
    """The shape one step down a path."""
    if isinstance(shape, Items):
        return shape.item
    if not isinstance(shape, (Single, Listing)) and element[0] == "f":
        return field_shape(shape, element[2:])
    return SINGLE


_MAX_CACHED: Final = 20_000
_records: Final[dict[Struct, Record]] = {}
_zeros: Final[dict[Struct, dict[str, Any]]] = {}


def shape_of(struct: Struct) -> Record:
    """The shape of a whole object, or of a struct that is not atomic where it is used."""
    record = _records.get(struct)
    if record is None:
        if len(_records) >= _MAX_CACHED:
            _records.clear()
            _zeros.clear()
        record = _records[struct] = Record(has_free(struct), struct.preserve_unknown)
        for name, item in struct.fields.items():
            part = record.members[name] = Part(name, _shape(item.type, item.granular))
            record.steps[part.element] = part.shape
    return record


def _shape(kind: Type, granular: bool = False) -> Shape:
    if isinstance(kind, Scalar):
        if kind.name == "raw":  # the data of a ControllerRevision has one owner
            return _RAW
        return FREE if kind.is_opaque else _SCALARS[kind.name]
    if isinstance(kind, Struct):
        is_atomic = kind.atomic and not granular
    elif isinstance(kind, MapOf):
        is_atomic = kind.atomic
    else:
        is_map = kind.kind == "map" and isinstance(kind.element, Struct)
        is_atomic = not is_map and kind.kind != "set"
    return Single(has_free(kind), (), kind) if is_atomic else _granular(kind)


def _granular(kind: Type) -> Shape:
    """The shape of a struct, map or list with the owners that its parts have, or would have if the
    value were not atomic."""
    if isinstance(kind, Struct):
        return shape_of(kind)
    if isinstance(kind, MapOf):
        return Table(_shape(kind.element), has_free(kind))
    assert isinstance(kind, ListOf)
    if kind.kind == "atomic":
        return Listing(_shape(kind.element))
    if kind.keys:
        steps = KeySteps(kind.keys, _keys(kind), kind.partial_keys)
        return Items(_shape(kind.element), steps, has_free(kind))
    element = kind.element
    return Items(_SCALARS[element.name] if isinstance(element, Scalar) else SINGLE, _VALUES, False)


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
    cached = _zeros.get(struct)
    if cached is not None:
        return cached
    result: dict[str, Any] = {}
    for name, item in struct.fields.items():
        if item.presence is Presence.ALWAYS or (
            item.presence is Presence.OMITTED and is_struct_like(item.type)
        ):
            result[name] = zero_of(item.type)
        elif item.presence is Presence.NULLABLE:
            result[name] = None
    _zeros[struct] = result
    return result


def _keys(kind: ListOf) -> list[Key]:
    """The key fields of a list in the order of a path step."""
    fields = kind.element.fields if isinstance(kind.element, Struct) else {}
    return [Key(name, key_default(fields.get(name))) for name in sorted(kind.keys)]


def are_aligned(left: list[Any], right: list[Any], key: str) -> bool:
    """Whether two lists have items with the same keys in the same order. A quick check: False may
    be wrong. `key` is that of `Steps`."""
    if not key or len(left) != len(right):
        return False
    try:
        texts = [item[key] for item in left]
        is_same = texts == [item[key] for item in right]
    except (TypeError, LookupError):
        return False
    return is_same and _ONLY_TEXTS.issuperset(map(type, texts)) and len(set(texts)) == len(texts)


def have_unique_keys(items: list[Any], key: str) -> bool:
    """Whether items have different strings as keys. A quick check: False may be wrong."""
    if not key:
        return False
    texts: set[str] = set()
    for item in items:
        text = item.get(key) if isinstance(item, dict) else None
        if not isinstance(text, str):
            return False
        texts.add(text)
    return len(texts) == len(items)


def _by_key_text(items: list[Any], key: str) -> dict[str, Any] | None:
    """Items by their string key; None if an item lacks it. Raises `Untrackable` for duplicates."""
    by_key: dict[str, Any] = {}
    for item in items:
        text = item.get(key) if isinstance(item, dict) else None
        if not isinstance(text, str):
            return None
        by_key[text] = item
    if len(by_key) != len(items):
        raise Untrackable
    return by_key


_ONLY_TEXTS: Final = frozenset((str,))
