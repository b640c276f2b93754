"""Writers that encode sets of fields as JSON text, one for each shape; see `written_fields`."""

from __future__ import annotations

from typing import Any

import orjson

from fairlead.base.caches import Shapes
from fairlead.codec.types.model import names_in
from fairlead.fields.extract import extractor
from fairlead.fields.shapes import (
    Items,
    Record,
    Shape,
    ShapeCache,
    Single,
    Table,
    Untrackable,
    Values,
    by_text,
    field_shape,
    indexed_values,
)
from fairlead.fields.values import is_plain

LEAF = "{}"
_ITSELF = '{".":{}'
_BEHIND_TEXT = '\\"}":'


class Writer:
    """Appends the node of a non-empty value to a text. With `names`, strings of the value are
    appended unescaped and collected there: the text is valid only if all of them are plain. Without
    it, each string is escaped where necessary."""

    def write(self, value: Any, out: list[str], names: list[str] | None) -> None:
        raise NotImplementedError


_written: ShapeCache[tuple[Shape, bool, bool], Writer] = ShapeCache()


def writer(shape: Shape, whole: bool, member: bool) -> Writer:
    """The writer for values of a shape: `whole` as an updater owns them, else as an applier does;
    `member` if the set includes the value itself."""
    key = shape, whole, member
    known = _written.get(key)
    return known if known is not None else _written.keep(key, _make(shape, whole, member))


def _make(shape: Shape, whole: bool, member: bool) -> Writer:
    if isinstance(shape, Record):
        return _Fields(shape, whole, member)
    if isinstance(shape, Table):
        return _Entries(shape, whole, member)
    if isinstance(shape, Items):
        return _Keyed(shape, whole, member)
    if isinstance(shape, Values):
        return _Texts(member)
    return _Undescribed(shape, member)


class _Undescribed(Writer):
    """Writes values that the model does not describe: extracts the set and encodes it."""

    def __init__(self, shape: Shape, member: bool) -> None:
        self._extractor = extractor(shape, True, member)

    def write(self, value: Any, out: list[str], names: list[str] | None) -> None:
        out.append(orjson.dumps(self._extractor.extract(value) or {}).decode())


class _Placeholder:
    """Where the node of a field with fields of its own goes: after the text `before`. A `silent`
    field states nothing if it is empty."""

    def __init__(self, before: str, name: str, writer: Writer, silent: bool) -> None:
        self.before = before
        self.name = name
        self.writer = writer
        self.silent = silent


class _Plan:
    """The text for objects with the same field names: holes, and the text after the last one."""

    def __init__(self, holes: list[_Placeholder], behind: str) -> None:
        self.holes = holes
        self.behind = behind


class _Fields(Writer):
    """Writes structs."""

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
                out.append(LEAF)
        out.append(plan.behind)

    def _plan(self, names: tuple[str, ...]) -> _Plan:
        # Built on first use, because a type may contain itself.
        text, comma = (_ITSELF, ",") if self._member else ("{", "")
        holes: list[_Placeholder] = []
        members = self._shape.members
        for name in sorted(names):
            inner = field_shape(self._shape, name)
            text += comma + step_key("f:" + name)
            comma = ","
            if isinstance(inner, Single):
                text += LEAF
            else:
                silent = not self._whole and isinstance(inner, (Items, Values))
                below = writer(inner, self._whole, self._whole or name not in members)
                holes.append(_Placeholder(text, name, below, silent))
                text = ""
        made = _Plan(holes, text + "}")
        if members.keys() >= set(names):
            self._plans.keep(names, made)
        return made


class _Entries(Writer):
    """Writes maps."""

    def __init__(self, shape: Table, whole: bool, member: bool) -> None:
        self._start = _ITSELF + "," if member else "{"
        self._first = self._start + '"f:'
        is_single = isinstance(shape.value, Single)
        self._below = None if is_single else writer(shape.value, whole, True)

    def write(self, value: Any, out: list[str], names: list[str] | None) -> None:
        if not isinstance(value, dict):
            raise Untrackable
        entries: dict[str, Any] = value
        given = sorted_names(entries)
        below = self._below
        if below is None:
            if names is not None:
                names.extend(given)
                out.append(self._first)
                out.append('":{},"f:'.join(given) if len(given) > 1 else given[0])
                out.append('":{}}')
            else:
                text = ",".join([step_key("f:" + name) + LEAF for name in given])
                out.append(self._start + text + "}")
            return
        before = self._start
        for name in given:
            out.append(before + step_key("f:" + name))
            if entries[name]:
                below.write(entries[name], out, names)
            else:
                out.append(LEAF)
            before = ","
        out.append("}")


class _KeyPart:
    """A key field of an item: the text before its value, and its default."""

    def __init__(self, name: str, default: Any, before: str) -> None:
        self.name = name
        self.default = default
        self.before = before


class _Keyed(Writer):
    """Writes lists whose items have keys."""

    def __init__(self, shape: Items, whole: bool, member: bool) -> None:
        self._start = _ITSELF + "," if member else "{"
        self._indexed = shape.indexed
        self._below = writer(shape.item, whole, True)
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
            out.append(before + step_key(element))
            self._write_item(item, out, names)
            before = ","
        out.append("}")

    def _has_written(self, items: list[Any], out: list[str], names: list[str]) -> bool:
        """Try to write items with the usual keys: one string, or strings and integers if there is
        a single item. Returns False, with `out` unchanged, for other keys."""
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
        texts = sorted_names(named)
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
        """The text before the node of the only item; empty if it has other keys."""
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
            out.append(LEAF)


class _Texts(Writer):
    """Writes lists of unique scalars."""

    def __init__(self, member: bool) -> None:
        self._start = _ITSELF + "," if member else "{"

    def write(self, value: Any, out: list[str], names: list[str] | None) -> None:
        leaves = [step_key(element) + LEAF for element in indexed_values(value, True)]
        out.append(self._start + ",".join(leaves) + "}")


def sorted_names(value: dict[str, Any]) -> list[str]:
    names: list[str] = list(value.keys())
    if len(names) > 1:
        names.sort()
    return names


def step_key(element: str) -> str:
    """A step as an object key in JSON. Steps other than `f:` are JSON themselves: only their quotes
    need escaping, unless they contain backslashes."""
    if element[0] == "f":
        return f'"{element}":' if is_plain(element) else orjson.dumps(element).decode() + ":"
    if "\\" in element:
        return orjson.dumps(element).decode() + ":"
    return '"' + element.replace('"', '\\"') + '":'
