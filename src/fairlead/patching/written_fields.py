"""The fields of a new object, written as JSON at once.

Whoever makes an object from nothing owns nearly all there is in it, and nobody looks at that set
again while it is made: it goes into the store. So it is not built and then encoded, as a set of
`field_sets` would be; it is put together from texts that objects with the same fields share.
The outcome is that of `extract` and `compare`, which are for sets that something is done with.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import orjson

from fairlead.bounded import Shapes
from fairlead.patching.extract import extractor
from fairlead.patching.field_sets import FieldSet
from fairlead.patching.shapes import (
    FREE,
    SINGLE,
    Items,
    Record,
    Shape,
    Single,
    Table,
    Untrackable,
    Values,
    indexed_values,
    shape_of,
    zero_object,
)
from fairlead.patching.values import equal, is_plain
from fairlead.schema.model import Struct

Write = Callable[[Any, list[str]], None]
"""Adds the node of a value that is not empty to a text."""

_LEAF = "{}"
_ITSELF = '{".":{}'
_METADATA = "metadata"


def new_fields(
    struct: Struct, new: dict[str, Any], ignored: FieldSet, unowned: FieldSet
) -> bytes | None:
    """The fields of a new object outside of those ignored and those that nobody owns; empty if
    there are none. None where only a set can tell. Raises `Untrackable`."""
    if any(ignored.values()) or not zero_object(struct).get(_METADATA):
        return None
    out: list[str] = []
    _creation(struct, ignored, unowned)(new, out)
    return "".join(out).encode()


_KEPT = 1_000
_creations: dict[tuple[Struct, tuple[str, ...]], _Creation] = {}


def _creation(struct: Struct, ignored: FieldSet, unowned: FieldSet) -> _Creation:
    key = struct, tuple(ignored)
    known = _creations.get(key)
    if known is None:
        if len(_creations) >= _KEPT:
            _creations.clear()
        known = _creations[key] = _Creation(
            shape_of(struct), zero_object(struct), {**unowned, **ignored}
        )
    return known


class _Creation:
    """Writes what an object has beyond the zero of its type. `passed` are the steps that are left
    out; where they have steps below, those are."""

    def __init__(self, shape: Record, zero: dict[str, Any], passed: FieldSet) -> None:
        self._shape = shape
        self._zero = zero
        self._passed = passed
        self._parts: dict[str, _Part | None] = {}

    def __call__(self, value: Any, out: list[str]) -> None:
        """Adds nothing if there is nothing beyond."""
        if not isinstance(value, dict):
            raise Untrackable
        opening = "{"
        for name in sorted(value):
            part = self._parts[name] if name in self._parts else self._part(name)
            if part is None:
                continue
            item = value[name]
            if part.is_zero(item):
                continue
            place = len(out)
            out.append(opening + part.head)
            if item and part.beyond is not None:
                part.beyond(item, out)
                if len(out) == place + 1:
                    out.pop()
                    continue
            elif item and part.write is not None:
                part.write(item, out)
            else:
                out.append(_LEAF)
            opening = ","
        if opening == ",":
            out.append("}")

    def _part(self, name: str) -> _Part | None:
        # Made when first met, because a type may contain itself.
        member = self._shape.members.get(name)
        element = "f:" + name
        below = self._passed.get(element)
        if below is not None and not any(step != "." for step in below):
            made = None
        elif member is None:
            made = _Part(element, FREE if self._shape.open else SINGLE)
        else:
            made = _Part(element, member.shape)
            if name in self._zero:
                made.set_zero(member.shape, self._zero[name], below or {})
        if member is not None:
            self._parts[name] = made
        return made


class _Part:
    """How a field of such an object is written."""

    def __init__(self, element: str, shape: Shape) -> None:
        self.head = _key(element)
        self.write: Write | None = None if isinstance(shape, Single) else writer(shape, True)
        self.beyond: _Creation | None = None
        self._has_zero = False
        self._zero: Any = None
        self._is_free = shape.free
        self._is_single = isinstance(shape, Single)

    def set_zero(self, shape: Shape, zero: Any, passed: FieldSet) -> None:
        """Say what it has in an object to which nothing was done."""
        self._has_zero, self._zero = True, zero
        if zero and isinstance(shape, Record):
            self.beyond = _Creation(shape, zero, passed)
        elif self.write is not None:
            self.write = writer(shape, False)

    def is_zero(self, value: Any) -> bool:
        if not self._has_zero:
            return False
        if not value and self._zero and not self._is_single:
            return True
        return equal(self._zero, value) if self._is_free else bool(self._zero == value)


_written: dict[tuple[Shape, bool], Write] = {}
_MOST_WRITTEN = 50_000


def writer(shape: Shape, member: bool) -> Write:
    """What writes the fields of values of a shape as an update owns them; `member` when the value
    itself is one of them."""
    known = _written.get((shape, member))
    if known is None:
        if len(_written) >= _MOST_WRITTEN:
            _written.clear()
        known = _written[shape, member] = _make(shape, member)
    return known


def _make(shape: Shape, member: bool) -> Write:
    if isinstance(shape, Record):
        return _record(shape, member)
    if isinstance(shape, Table):
        return _table(shape, member)
    if isinstance(shape, Items):
        return _items(shape, member)
    if isinstance(shape, Values):
        return _values_and_list if member else _values
    return _as_set(shape, member)


def _as_set(shape: Shape, member: bool) -> Write:
    """By way of the set: of what the model does not describe."""
    extract = extractor(shape, True, member)

    def write(value: Any, out: list[str]) -> None:
        out.append(orjson.dumps(extract(value) or {}).decode())

    return write


_Plan = tuple[list[tuple[str, str, Write]], str]
"""What objects with the same fields have in common: the text before the node of each field that has
fields of its own, with its name and who writes it; and the text behind the last of them."""


def _record(shape: Record, member: bool) -> Write:
    plans: Shapes[_Plan] = Shapes()
    known = plans.get

    def plan(names: tuple[str, ...]) -> _Plan:
        # Made when first met, because a type may contain itself.
        text, comma = (_ITSELF, ",") if member else ("{", "")
        nested: list[tuple[str, str, Write]] = []
        for name in sorted(names):
            declared = shape.members.get(name)
            inner: Shape = FREE if shape.open else SINGLE
            if declared is not None:
                inner = declared.shape
            text += comma + _key("f:" + name)
            comma = ","
            if isinstance(inner, Single):
                text += _LEAF
            else:
                nested.append((text, name, writer(inner, True)))
                text = ""
        made = nested, text + "}"
        if shape.members.keys() >= set(names):
            plans.keep(names, made)
        return made

    def write(value: Any, out: list[str]) -> None:
        if not isinstance(value, dict):
            raise Untrackable
        names = tuple(value)
        nested, behind = known(names) or plan(names)
        for before, name, below in nested:
            out.append(before)
            child = value[name]
            if child:
                below(child, out)
            else:
                out.append(_LEAF)
        out.append(behind)

    return write


def _table(shape: Table, member: bool) -> Write:
    start = _ITSELF + "," if member else "{"
    below = None if isinstance(shape.value, Single) else writer(shape.value, True)

    def write(value: Any, out: list[str]) -> None:
        if not isinstance(value, dict):
            raise Untrackable
        names: list[str] = sorted(value) if len(value) > 1 else list(value)
        if below is None:
            if is_plain("".join(names)):
                out.append(start + '"f:' + '":{},"f:'.join(names) + '":{}}')
            else:
                out.append(start + ",".join([_key("f:" + name) + _LEAF for name in names]) + "}")
            return
        before = start
        for name in names:
            out.append(before + _key("f:" + name))
            if value[name]:
                below(value[name], out)
            else:
                out.append(_LEAF)
            before = ","
        out.append("}")

    return write


def _items(shape: Items, member: bool) -> Write:
    start = _ITSELF + "," if member else "{"
    below = writer(shape.item, True)
    indexed = shape.indexed

    def write(value: Any, out: list[str]) -> None:
        before = start
        for element, item in indexed(value, True).items():
            out.append(before + _key(element))
            if item:
                below(item, out)
            else:
                out.append(_LEAF)
            before = ","
        out.append("}")

    return write


def _values(value: Any, out: list[str]) -> None:
    out.append("{" + _leaves(value) + "}")


def _values_and_list(value: Any, out: list[str]) -> None:
    out.append(_ITSELF + "," + _leaves(value) + "}")


def _leaves(value: Any) -> str:
    return ",".join([_key(element) + _LEAF for element in indexed_values(value, True)])


def _key(element: str) -> str:
    """A step as the key of an object in JSON. It has quotes of its own if it is JSON itself, and
    that has backslashes where it has anything else which must be escaped."""
    if element[0] == "f":
        return f'"{element}":' if is_plain(element) else orjson.dumps(element).decode() + ":"
    if "\\" in element:
        return orjson.dumps(element).decode() + ":"
    return '"' + element.replace('"', '\\"') + '":'
