"""Encodes the fields of objects and configurations directly as JSON.

The creator of an object owns nearly all of its fields, and that set goes straight into the store
without being read again. So it is not built as a set of `field_sets` and then encoded, but
assembled from texts that objects with the same field names share. The fields a configuration states
are encoded to compare them with the bytes its manager owns already. The result equals that of
`extract` and `compare`, which serve callers that need the set itself.
"""

from __future__ import annotations

from typing import Any

from fairlead.codec.types.model import Struct
from fairlead.fields.field_sets import FieldSet
from fairlead.fields.field_writers import LEAF, Writer, sorted_names, step_key, writer
from fairlead.fields.shapes import (
    Record,
    Shape,
    ShapeCache,
    Single,
    Untrackable,
    field_shape,
    shape_of,
    zero_object,
)
from fairlead.fields.values import equal, is_plain

_METADATA = "metadata"


def new_fields(
    struct: Struct, new: dict[str, Any], ignored: FieldSet, unowned: FieldSet
) -> bytes | None:
    """The fields of a new object except ignored and unowned ones; empty if there are none. None if
    the caller must build the set instead. Raises `Untrackable`."""
    if any(ignored.values()) or not zero_object(struct).get(_METADATA):
        return None
    return _text(_creation(struct, ignored, unowned), new)


def stated_fields(shape: Shape, stated: Any) -> bytes:
    """The node of a field that a configuration states, as its applier owns it. Raises
    `Untrackable`, also if the value contains empty lists: they state nothing, and only a set shows
    whether anything is left."""
    return _text(writer(shape, False, False), stated)


def _text(by: Writer, value: Any) -> bytes:
    out: list[str] = []
    names: list[str] = []
    by.write(value, out, names)
    if not is_plain("".join(names)):
        out = []
        by.write(value, out, None)
    return "".join(out).encode()


_creations: ShapeCache[tuple[Struct, tuple[str, ...]], _Creation] = ShapeCache(1_000)


def _creation(struct: Struct, ignored: FieldSet, unowned: FieldSet) -> _Creation:
    key = struct, tuple(ignored)
    known = _creations.get(key)
    if known is not None:
        return known
    passed = {**unowned, **ignored}
    return _creations.keep(key, _Creation(shape_of(struct), zero_object(struct), passed))


class _Creation(Writer):
    """Writes the fields in which an object differs from the zero object of its type. `passed` are
    the steps to leave out; if a step has steps below it, only these are left out."""

    def __init__(self, shape: Record, zero: dict[str, Any], passed: FieldSet) -> None:
        self._shape = shape
        self._zero = zero
        self._passed = passed
        self._parts: dict[str, _Part | None] = {}

    def write(self, value: Any, out: list[str], names: list[str] | None) -> None:
        """Appends nothing if nothing differs."""
        if not isinstance(value, dict):
            raise Untrackable
        is_first = True
        for name in sorted_names(value):
            part = self._parts[name] if name in self._parts else self._part(name)
            if part is None:
                continue
            item = value[name]
            if part.is_zero(item):
                continue
            place = len(out)
            out.append(part.first_head if is_first else part.head)
            if item and part.beyond is not None:
                part.beyond.write(item, out, names)
                if len(out) == place + 1:
                    out.pop()
                    continue
            elif item and part.writer is not None:
                part.writer.write(item, out, names)
            else:
                out.append(LEAF)
            is_first = False
        if not is_first:
            out.append("}")

    def _part(self, name: str) -> _Part | None:
        # Built on first use, because a type may contain itself.
        member = self._shape.members.get(name)
        element = "f:" + name
        below = self._passed.get(element)
        if below is not None and not any(step != "." for step in below):
            made = None
        else:
            shape = field_shape(self._shape, name)
            made = _Part(element, shape)
            if member is not None and name in self._zero:
                made.set_zero(shape, self._zero[name], below or {})
        if member is not None:
            self._parts[name] = made
        return made


class _Part:
    """How one field of a new object is written."""

    def __init__(self, element: str, shape: Shape) -> None:
        self.head = "," + step_key(element)
        self.first_head = "{" + step_key(element)
        self.writer: Writer | None = (
            None if isinstance(shape, Single) else writer(shape, True, True)
        )
        self.beyond: _Creation | None = None
        self._has_zero = False
        self._zero: Any = None
        self._is_free = shape.free
        self._is_single = isinstance(shape, Single)

    def set_zero(self, shape: Shape, zero: Any, passed: FieldSet) -> None:
        """Set the value of the field in the zero object."""
        self._has_zero, self._zero = True, zero
        if zero and isinstance(shape, Record):
            self.beyond = _Creation(shape, zero, passed)
        elif self.writer is not None:
            self.writer = writer(shape, True, False)

    def is_zero(self, value: Any) -> bool:
        if not self._has_zero:
            return False
        if not value and self._zero and not self._is_single:
            return True
        return equal(self._zero, value) if self._is_free else bool(self._zero == value)
