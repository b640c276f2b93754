"""The fields of objects and configurations, written as JSON at once.

Whoever makes an object from nothing owns nearly all there is in it, and nobody looks at that set
again while it is made: it goes into the store. So it is not built and then encoded, as a set of
`field_sets` would be; it is put together from texts that objects with the same fields share. What
a configuration states is written to be held against what its manager owns already.
The outcome is that of `extract` and `compare`, which are for sets that something is done with.
"""

from __future__ import annotations

from typing import Any

import orjson

from fairlead.bounded import Shapes
from fairlead.patching.extract import extractor
from fairlead.patching.field_sets import FieldSet
from fairlead.patching.shapes import (
    FREE,
    SINGLE,
    Items,
    Made,
    Record,
    Shape,
    Single,
    Table,
    Untrackable,
    Values,
    by_text,
    indexed_values,
    shape_of,
    zero_object,
)
from fairlead.patching.values import equal, is_plain
from fairlead.schema.model import Struct, names_in

_LEAF = "{}"
_ITSELF = '{".":{}'
_BEHIND_TEXT = '\\"}":'
_METADATA = "metadata"


def new_fields(
    struct: Struct, new: dict[str, Any], ignored: FieldSet, unowned: FieldSet
) -> bytes | None:
    """The fields of a new object outside of those ignored and those that nobody owns; empty if
    there are none. None where only a set can tell. Raises `Untrackable`."""
    if any(ignored.values()) or not zero_object(struct).get(_METADATA):
        return None
    return _text(_creation(struct, ignored, unowned), new)


def stated_fields(shape: Shape, stated: Any) -> bytes:
    """The node of a field in which a configuration states something, as its applier owns it. Raises
    `Untrackable`, also for what has empty lists in it: they state nothing, and only a set can tell
    whether anything is left."""
    return _text(_writer(shape, False, False), stated)


class _Writer:
    """Adds the node of a value that is not empty to a text. `names` are for the texts of the value
    that go into it as they are, which is right if all of them are plain; without it each one is
    looked at where it goes in."""

    def write(self, value: Any, out: list[str], names: list[str] | None) -> None:
        raise NotImplementedError


def _text(writer: _Writer, value: Any) -> bytes:
    out: list[str] = []
    names: list[str] = []
    writer.write(value, out, names)
    if not is_plain("".join(names)):
        out = []
        writer.write(value, out, None)
    return "".join(out).encode()


_creations: Made[tuple[Struct, tuple[str, ...]], _Creation] = Made(1_000)


def _creation(struct: Struct, ignored: FieldSet, unowned: FieldSet) -> _Creation:
    key = struct, tuple(ignored)
    known = _creations.get(key)
    if known is not None:
        return known
    passed = {**unowned, **ignored}
    return _creations.keep(key, _Creation(shape_of(struct), zero_object(struct), passed))


class _Creation(_Writer):
    """Writes what an object has beyond the zero of its type. `passed` are the steps that are left
    out; where they have steps below, those are."""

    def __init__(self, shape: Record, zero: dict[str, Any], passed: FieldSet) -> None:
        self._shape = shape
        self._zero = zero
        self._passed = passed
        self._parts: dict[str, _Part | None] = {}

    def write(self, value: Any, out: list[str], names: list[str] | None) -> None:
        """Adds nothing if there is nothing beyond."""
        if not isinstance(value, dict):
            raise Untrackable
        is_first = True
        for name in _sorted_names(value):
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
                out.append(_LEAF)
            is_first = False
        if not is_first:
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
        self.head = "," + _key(element)
        self.first_head = "{" + _key(element)
        self.writer: _Writer | None = (
            None if isinstance(shape, Single) else _writer(shape, True, True)
        )
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
        elif self.writer is not None:
            self.writer = _writer(shape, True, False)

    def is_zero(self, value: Any) -> bool:
        if not self._has_zero:
            return False
        if not value and self._zero and not self._is_single:
            return True
        return equal(self._zero, value) if self._is_free else bool(self._zero == value)


_written: Made[tuple[Shape, bool, bool], _Writer] = Made()


def _writer(shape: Shape, whole: bool, member: bool) -> _Writer:
    """What writes the fields of values of a shape: `whole` as an update owns them, else as an
    applier does; `member` when the value itself is one of them."""
    key = shape, whole, member
    known = _written.get(key)
    return known if known is not None else _written.keep(key, _make(shape, whole, member))


def _make(shape: Shape, whole: bool, member: bool) -> _Writer:
    if isinstance(shape, Record):
        return _Fields(shape, whole, member)
    if isinstance(shape, Table):
        return _Entries(shape, whole, member)
    if isinstance(shape, Items):
        return _Keyed(shape, whole, member)
    if isinstance(shape, Values):
        return _Texts(member)
    return _Undescribed(shape, member)


class _Undescribed(_Writer):
    """Of what the model does not describe: by way of the set."""

    def __init__(self, shape: Shape, member: bool) -> None:
        self._extractor = extractor(shape, True, member)

    def write(self, value: Any, out: list[str], names: list[str] | None) -> None:
        out.append(orjson.dumps(self._extractor.extract(value) or {}).decode())


class _Hole:
    """Where the node of a field goes that has fields of its own: behind a text. A `silent` one
    states nothing if it is empty."""

    def __init__(self, before: str, name: str, writer: _Writer, silent: bool) -> None:
        self.before = before
        self.name = name
        self.writer = writer
        self.silent = silent


class _Plan:
    """What objects with the same fields have in common, up to the text behind the last hole."""

    def __init__(self, holes: list[_Hole], behind: str) -> None:
        self.holes = holes
        self.behind = behind


class _Fields(_Writer):
    """Of a struct."""

    def __init__(self, shape: Record, whole: bool, member: bool) -> None:
        self._shape = shape
        self._whole = whole
        self._member = member
        self._plans: Shapes[_Plan] = Shapes()
        self._known: dict[tuple[str, ...], _Plan] = self._plans.values

    def write(self, value: Any, out: list[str], names: list[str] | None) -> None:
        if not isinstance(value, dict):
            raise Untrackable
        fields: dict[str, Any] = value
        given = names_in(fields)
        plan = self._known.get(given)
        if plan is None:
            plan = self._plan(given)
        for hole in plan.holes:
            out.append(hole.before)
            child: Any = fields[hole.name]
            if child:
                hole.writer.write(child, out, names)
            elif hole.silent and child is not None:
                raise Untrackable
            else:
                out.append(_LEAF)
        out.append(plan.behind)

    def _plan(self, names: tuple[str, ...]) -> _Plan:
        # Made when first met, because a type may contain itself.
        text, comma = (_ITSELF, ",") if self._member else ("{", "")
        holes: list[_Hole] = []
        members = self._shape.members
        for name in sorted(names):
            inner: Shape = FREE if self._shape.open else SINGLE
            if name in members:
                inner = members[name].shape
            text += comma + _key("f:" + name)
            comma = ","
            if isinstance(inner, Single):
                text += _LEAF
            else:
                silent = not self._whole and isinstance(inner, (Items, Values))
                below = _writer(inner, self._whole, self._whole or name not in members)
                holes.append(_Hole(text, name, below, silent))
                text = ""
        made = _Plan(holes, text + "}")
        if members.keys() >= set(names):
            self._plans.keep(names, made)
        return made


class _Entries(_Writer):
    """Of a map."""

    def __init__(self, shape: Table, whole: bool, member: bool) -> None:
        self._start = _ITSELF + "," if member else "{"
        self._first = self._start + '"f:'
        is_single = isinstance(shape.value, Single)
        self._below = None if is_single else _writer(shape.value, whole, True)

    def write(self, value: Any, out: list[str], names: list[str] | None) -> None:
        if not isinstance(value, dict):
            raise Untrackable
        entries: dict[str, Any] = value
        given = _sorted_names(entries)
        below = self._below
        if below is None:
            if names is not None:
                names.extend(given)
                out.append(self._first)
                out.append('":{},"f:'.join(given) if len(given) > 1 else given[0])
                out.append('":{}}')
            else:
                text = ",".join([_key("f:" + name) + _LEAF for name in given])
                out.append(self._start + text + "}")
            return
        before = self._start
        for name in given:
            out.append(before + _key("f:" + name))
            if entries[name]:
                below.write(entries[name], out, names)
            else:
                out.append(_LEAF)
            before = ","
        out.append("}")


class _KeyPart:
    """A key of an item: what stands before its value, and the value if it is not given."""

    def __init__(self, name: str, default: Any, before: str) -> None:
        self.name = name
        self.default = default
        self.before = before


class _Keyed(_Writer):
    """Of a list whose items are told apart by their keys."""

    def __init__(self, shape: Items, whole: bool, member: bool) -> None:
        self._start = _ITSELF + "," if member else "{"
        self._indexed = shape.indexed
        self._below = _writer(shape.item, whole, True)
        self._key = shape.key if is_plain(shape.key) else ""
        before = f'"k:{{\\"{shape.key}\\":\\"'
        self._first, self._next = self._start + before, "," + before
        self._parts: list[_KeyPart] = []
        if is_plain("".join([name for name, _ in shape.keys])):
            before = self._start + '"k:{'
            for name, default in shape.keys:
                self._parts.append(_KeyPart(name, default, f'{before}\\"{name}\\":'))
                before = ","

    def write(self, value: Any, out: list[str], names: list[str] | None) -> None:
        if not isinstance(value, list):
            raise Untrackable
        items: list[Any] = value
        if names is not None and self._has_written(items, out, names):
            return
        before = self._start
        for element, item in self._indexed(items, True).items():
            out.append(before + _key(element))
            self._write_item(item, out, names)
            before = ","
        out.append("}")

    def _has_written(self, items: list[Any], out: list[str], names: list[str]) -> bool:
        """Write items whose keys are as most are: a text, or of one item texts and numbers."""
        if len(items) == 1:
            head = self._head(items[0], names)
            if not head:
                return False
            out.append(head)
            self._write_item(items[0], out, names)
            out.append("}")
            return True
        if not self._key:
            return False
        named = by_text(items, self._key)
        if named is None:
            return False
        texts = _sorted_names(named)
        names.extend(texts)
        before = self._first
        for text in texts:
            out.append(before)
            out.append(text)
            out.append(_BEHIND_TEXT)
            self._write_item(named[text], out, names)
            before = self._next
        out.append("}")
        return True

    def _head(self, item: Any, names: list[str]) -> str:
        """What stands before the node of the only item; nothing if it has no such keys."""
        if not isinstance(item, dict):
            return ""
        head = ""
        for part in self._parts:
            value = item.get(part.name)
            if value is None and part.name not in item:
                value = part.default
            if isinstance(value, str):
                names.append(value)
                head += part.before + '\\"' + value + '\\"'
            elif isinstance(value, int) and not isinstance(value, bool):
                head += part.before + str(value)
            else:
                return ""
        return head + '}":' if head else ""

    def _write_item(self, item: Any, out: list[str], names: list[str] | None) -> None:
        if item:
            self._below.write(item, out, names)
        else:
            out.append(_LEAF)


class _Texts(_Writer):
    """Of a list of scalars, each of which is there once."""

    def __init__(self, member: bool) -> None:
        self._start = _ITSELF + "," if member else "{"

    def write(self, value: Any, out: list[str], names: list[str] | None) -> None:
        leaves = [_key(element) + _LEAF for element in indexed_values(value, True)]
        out.append(self._start + ",".join(leaves) + "}")


def _sorted_names(value: dict[str, Any]) -> list[str]:
    names: list[str] = list(value.keys())
    if len(names) > 1:
        names.sort()
    return names


def _key(element: str) -> str:
    """A step as the key of an object in JSON. It has quotes of its own if it is JSON itself, and
    that has backslashes where it has anything else which must be escaped."""
    if element[0] == "f":
        return f'"{element}":' if is_plain(element) else orjson.dumps(element).decode() + ":"
    if "\\" in element:
        return orjson.dumps(element).decode() + ":"
    return '"' + element.replace('"', '\\"') + '":'
