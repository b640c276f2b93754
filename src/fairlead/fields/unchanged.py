"""Finds the settled parts of a configuration: in the object and owned already, nothing to remove.

A manager mostly applies the same configuration again with few changes. If a field of the object
(such as its spec) contains everything that the configuration states there, and the manager owns
exactly that, merging it changes nothing and removes nothing. One walk over configuration, object
and owned fields detects this; it may miss a settled part, which only costs time.
"""

from __future__ import annotations

from typing import Any

import orjson

from fairlead.codec.types.defaults import filler
from fairlead.codec.types.model import ListOf, MapOf, Struct, Type
from fairlead.codec.types.model import Object as Object
from fairlead.fields.encoded_fields import stated_fields
from fairlead.fields.entries import Identity, ManagedEntry, entries_of, entry_of, fields_of
from fairlead.fields.field_sets import EMPTY, FieldSet
from fairlead.fields.shapes import (
    Items,
    Record,
    Shape,
    ShapeCache,
    Single,
    Table,
    Untrackable,
    shape_of,
)
from fairlead.fields.stored_entries import StoredEntry
from fairlead.fields.values import copied, equal


class UnchangedChecker:
    """Decides whether a stated value is settled, from the live value and the node of the manager's
    fields. `alone`: no other manager owns fields there. `node` is None if the caller compares the
    fields itself. This base class always returns False."""

    def settled(self, stated: Any, live: Any, node: FieldSet | None, alone: bool) -> bool:
        return False


class Part:
    """A settled field: the encoded node of its manager's fields, and whether no other manager owns
    fields there."""

    def __init__(self, name: str, element: str, node: bytes, alone: bool) -> None:
        self.name = name
        self.element = element
        self.node = node
        self.alone = alone


class Settled:
    """The settled nodes of a manager's fields, and the rest of its fields. `parts` are the nodes
    that were not decoded."""

    def __init__(self, fields: FieldSet, rest: FieldSet, parts: list[Part]) -> None:
        self.fields = fields
        self.rest = rest
        self.parts = parts


# Always merged: they identify the object, or always differ.
_LOOKED_AT_ANYWAY = ("apiVersion", "kind", "metadata")


def find_unchanged(
    struct: Struct,
    live: Object | None,
    config: Object,
    who: Identity,
    api_version: str,
    ignored: FieldSet,
) -> Settled:
    """The settled parts of a configuration that a manager applies to an object."""
    known = entries_of(live)
    last = entry_of(known, who)
    if last is None:
        return Settled(EMPTY, EMPTY, [])
    if live is None or last["apiVersion"] != api_version:
        return Settled(EMPTY, fields_of(last), [])
    config = {name: item for name, item in config.items() if "f:" + name not in ignored}
    others = [item for item in known if item is not last]
    if type(last) is StoredEntry and last.is_current:
        return _settled_unread(struct, live, config, last, others)
    fields = fields_of(last)
    found = settled_fields(struct, live, config, fields, [fields_of(item) for item in others])
    rest = {element: node for element, node in fields.items() if element not in found}
    return Settled(found, rest, [])


def recheck_unchanged(live: Object, who: Identity, api_version: str, part: Part) -> Settled | None:
    """The settled parts when only one part counts, which was settled before, and neither the
    configuration nor the object has changed in it. None if its owners have changed.
    """
    known = entries_of(live)
    last = entry_of(known, who)
    if type(last) is not StoredEntry or not last.is_current or last["apiVersion"] != api_version:
        return None
    place = last.place_of(part.element, part.node)
    others = [item for item in known if item is not last]
    if place < 0 or part.alone == _any_has(others, part.element):
        return None
    return _around(last, [part], [place])


def settled_fields(
    struct: Struct, live: Object, config: Object, owned: FieldSet, others: list[FieldSet]
) -> FieldSet:
    """The nodes of the fields of an object in which a configuration is settled."""
    found: FieldSet = {}
    members = shape_of(struct).members
    for name, stated in config.items():
        member = members.get(name)
        if member is None or not stated or name in _LOOKED_AT_ANYWAY:
            continue
        node = owned.get(member.element)
        if not node or name not in live:
            continue
        alone = not any(member.element in fields for fields in others)
        settler = _settler(struct.fields[name].type, member.shape)
        try:
            if settler.settled(stated, live[name], node, alone):
                found[member.element] = node
        except Untrackable:
            continue  # the full check explains why
    return found


def _settled_unread(
    struct: Struct, live: Object, config: Object, last: StoredEntry, others: list[ManagedEntry]
) -> Settled:
    """Like `settled_fields`, but without decoding the manager's fields where they are the stated
    ones."""
    parts: list[Part] = []
    places: list[int] = []
    members = shape_of(struct).members
    for name, stated in config.items():
        member = members.get(name)
        if member is None or not stated or name in _LOOKED_AT_ANYWAY or name not in live:
            continue
        if isinstance(member.shape, Single):
            continue
        alone = not _any_has(others, member.element)
        settler = _settler(struct.fields[name].type, member.shape)
        try:
            if not settler.settled(stated, live[name], None, alone):
                continue
            text = stated_fields(member.shape, stated)
            place = last.place_of(member.element, text)
            if place >= 0:
                parts.append(Part(name, member.element, text, alone))
                places.append(place)
        except Untrackable:
            continue  # the full check explains why
    found = _around(last, parts, places) if parts else None
    return Settled(EMPTY, last.fields, []) if found is None else found


def _around(last: StoredEntry, parts: list[Part], places: list[int]) -> Settled | None:
    """The parts at some offsets in a manager's fields, as fragments that only encoders can use;
    None if they are not top-level nodes of the set."""
    holes = [(place, place + len(part.node)) for part, place in zip(parts, places, strict=True)]
    rest = last.fields_without(holes, [part.element for part in parts])
    if rest is None:
        return None
    return Settled({part.element: orjson.Fragment(part.node) for part in parts}, rest, parts)


def _any_has(items: list[ManagedEntry], element: str) -> bool:
    return any(_has(item, element) for item in items)


def _has(item: ManagedEntry, element: str) -> bool:
    if type(item) is StoredEntry and not item.may_contain({element: EMPTY}):
        return False
    return element in fields_of(item)


_NEVER = UnchangedChecker()
_made: ShapeCache[Shape, UnchangedChecker] = ShapeCache()


def _settler(kind: Type, shape: Shape) -> UnchangedChecker:
    if isinstance(shape, Single):
        return _Whole(kind)
    known = _made.get(shape)
    return known if known is not None else _made.keep(shape, _make(kind, shape))


def _make(kind: Type, shape: Shape) -> UnchangedChecker:
    if isinstance(shape, Record) and isinstance(kind, Struct):
        return _Fields(kind, shape)
    if isinstance(shape, Table) and isinstance(kind, MapOf) and isinstance(shape.value, Single):
        return _Entries(_Whole(kind.element))
    if isinstance(shape, Items) and isinstance(kind, ListOf):
        return _Keyed(shape, _settler(kind.element, shape.item))
    return _NEVER


class _Whole(UnchangedChecker):
    """Checks values with a single owner."""

    def __init__(self, kind: Type) -> None:
        self._fill = filler(kind) if isinstance(kind, Struct) else None

    def settled(self, stated: Any, live: Any, node: FieldSet | None, alone: bool) -> bool:
        if node or type(stated) is not type(live):
            return False
        if self._fill is not None and alone and type(stated) is dict:
            # Apply replaces the live struct and sets its defaults again: compare with defaults set.
            stated = copied(stated)
            self._fill(stated)
        return equal(stated, live)


class _Part:
    """A field of a struct: its step, its settler, and whether it has a single owner."""

    def __init__(self, element: str, settler: UnchangedChecker, is_single: bool) -> None:
        self.element = element
        self.settler = settler
        self.is_single = is_single


class _Fields(UnchangedChecker):
    """Checks structs."""

    def __init__(self, kind: Struct, shape: Record) -> None:
        self._kind = kind
        self._shape = shape
        self._parts: dict[str, _Part] = {}

    def settled(self, stated: Any, live: Any, node: FieldSet | None, alone: bool) -> bool:
        if not isinstance(stated, dict) or not isinstance(live, dict):
            return False
        fields: FieldSet | None = None
        for name, value in stated.items():
            part = self._parts.get(name)
            if part is None:
                part = self._part(name)
                if part is None:
                    return False
            if node is not None:
                fields = node.get(part.element)
                if fields is None:
                    return False
            there = live.get(name)
            if part.is_single and isinstance(value, str):
                if fields or there != value:
                    return False
            elif (there is None and name not in live) or not part.settler.settled(
                value, there, fields, alone
            ):
                return False
        return node is None or len(node) == len(stated) + ("." in node)

    def _part(self, name: str) -> _Part | None:
        # Built on first use, because a type may contain itself.
        member = self._shape.members.get(name)
        if member is None:
            return None
        below = _settler(self._kind.fields[name].type, member.shape)
        made = self._parts[name] = _Part(member.element, below, isinstance(member.shape, Single))
        return made


class _Entries(UnchangedChecker):
    """Checks maps."""

    def __init__(self, single: UnchangedChecker) -> None:
        self._single = single

    def settled(self, stated: Any, live: Any, node: FieldSet | None, alone: bool) -> bool:
        if not isinstance(stated, dict) or not isinstance(live, dict):
            return False
        if node is not None and len(node) != len(stated):
            return False
        fields: FieldSet | None = None
        for key, value in stated.items():
            if node is not None:
                fields = node.get("f:" + key)
                if fields is None:
                    return False
            if key not in live or not self._single.settled(value, live[key], fields, alone):
                return False
        return True


class _Keyed(UnchangedChecker):
    """Checks lists whose items have keys."""

    def __init__(self, shape: Items, below: UnchangedChecker) -> None:
        self._shape = shape
        self._element = shape.element
        self._key = shape.key
        self._below = below

    def settled(self, stated: Any, live: Any, node: FieldSet | None, alone: bool) -> bool:
        """Allows live items that are not stated between the stated ones."""
        if not isinstance(stated, list) or not isinstance(live, list) or not stated:
            return False  # an empty list states nothing
        if node is not None and not self._are_nodes(stated, node):
            return False
        fields: FieldSet | None = None
        place = 0
        for item in stated:
            if node is not None:
                fields = node[self._element(item)]
            place = self._place(item, live, place)
            if place == len(live) or not self._below.settled(item, live[place], fields, alone):
                return False
            place += 1
        if len(live) > len(stated):
            self._shape.indexed(live, False)  # raises unless all keys are unique
        return True

    def _are_nodes(self, stated: list[Any], node: FieldSet) -> bool:
        """Whether there is one node for each item and no other, and all items have unique keys."""
        if len(node) != len(stated):
            return False
        seen: set[str] = set()
        for item in stated:
            name = self._element(item)
            fields = node.get(name)
            if not fields or "." not in fields:
                return False
            seen.add(name)
        return len(seen) == len(stated)

    def _place(self, item: Any, live: list[Any], place: int) -> int:
        """The index of an item at or after `place`; `len(live)` if there is none."""
        key = self._key
        if key and key in item:
            text = item[key]
            while place < len(live) and live[place].get(key) != text:
                place += 1
        else:
            name = self._element(item)
            while place < len(live) and self._element(live[place]) != name:
                place += 1
        return place
