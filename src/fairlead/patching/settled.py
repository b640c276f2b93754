"""What of a configuration is settled: stated already, owned already, and nothing beside it.

A manager mostly applies the same again with little changed. Where a field of the object (its spec,
say) holds all that a configuration states there, and the manager's fields there are just those,
merging it would change nothing and give up nothing. One walk over the three finds that out; it
may miss it, which only costs time.
"""

from __future__ import annotations

from typing import Any

import orjson

from fairlead.patching.entries import ManagedEntry, fields_of
from fairlead.patching.field_sets import EMPTY, FieldSet
from fairlead.patching.shapes import Items, Record, Shape, Single, Table, Untrackable, shape_of
from fairlead.patching.stored_entries import StoredEntry
from fairlead.patching.values import copied, equal
from fairlead.patching.written_fields import stated_fields
from fairlead.schema.defaults import filler
from fairlead.schema.model import ListOf, MapOf, Struct, Type
from fairlead.schema.model import Object as Object


class Settler:
    """Finds out whether what is stated is settled in a live value and a node of fields, of which
    nobody else has any if the manager is `alone`. There is no node where the fields are known to be
    those that are stated. This one is never sure."""

    def settled(self, stated: Any, live: Any, node: FieldSet | None, alone: bool) -> bool:
        return False


# Not the whole object has to be settled; these say what it is about, or always differ.
_LOOKED_AT_ANYWAY = ("apiVersion", "kind", "metadata")


def settled_fields(
    struct: Struct, live: Object, config: Object, owned: FieldSet, others: list[FieldSet]
) -> FieldSet:
    """The nodes of those fields of an object in which a configuration is settled."""
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
            continue  # whoever looks closer says why
    return found


def settled_unread(
    struct: Struct, live: Object, config: Object, last: StoredEntry, others: list[ManagedEntry]
) -> tuple[FieldSet, FieldSet]:
    """The same without reading the manager's fields where they are those that are stated: nodes
    that only encoders can look into. Gives the rest of its fields, too."""
    found: FieldSet = {}
    holes: list[tuple[int, int]] = []
    members = shape_of(struct).members
    for name, stated in config.items():
        member = members.get(name)
        if member is None or not stated or name in _LOOKED_AT_ANYWAY or name not in live:
            continue
        if isinstance(member.shape, Single):
            continue
        try:
            text = stated_fields(member.shape, stated)
            place = last.place_of(member.element, text)
            if place < 0:
                continue
            alone = not any(_has(item, member.element) for item in others)
            settler = _settler(struct.fields[name].type, member.shape)
            if settler.settled(stated, live[name], None, alone):
                found[member.element] = orjson.Fragment(text)
                holes.append((place, place + len(text)))
        except Untrackable:
            continue  # whoever looks closer says why
    rest = last.fields_without(holes, list(found)) if found else None
    return (EMPTY, last.fields) if rest is None else (found, rest)


def _has(item: ManagedEntry, element: str) -> bool:
    if type(item) is StoredEntry and not item.may_hold({element: EMPTY}):
        return False
    return element in fields_of(item)


_KEPT = 50_000
_NEVER = Settler()
_made: dict[Shape, Settler] = {}


def _settler(kind: Type, shape: Shape) -> Settler:
    if isinstance(shape, Single):
        return _Whole(kind)
    known = _made.get(shape)
    if known is None:
        if len(_made) >= _KEPT:
            _made.clear()
        known = _made[shape] = _make(kind, shape)
    return known


def _make(kind: Type, shape: Shape) -> Settler:
    if isinstance(shape, Record) and isinstance(kind, Struct):
        return _Fields(kind, shape)
    if isinstance(shape, Table) and isinstance(kind, MapOf) and isinstance(shape.value, Single):
        return _Entries(_Whole(kind.element))
    if isinstance(shape, Items) and isinstance(kind, ListOf):
        return _Keyed(shape, _settler(kind.element, shape.item))
    return _NEVER


class _Whole(Settler):
    """Of what has one owner."""

    def __init__(self, kind: Type) -> None:
        self._fill = filler(kind) if isinstance(kind, Struct) else None

    def settled(self, stated: Any, live: Any, node: FieldSet | None, alone: bool) -> bool:
        if node or type(stated) is not type(live):
            return False
        if self._fill is not None and alone and type(stated) is dict:
            # It is put in the place of the live one and comes to the same again.
            stated = copied(stated)
            self._fill(stated)
        return equal(stated, live)


class _Part:
    """Of a field: its step, how it is looked at, and whether it has one owner."""

    def __init__(self, element: str, settler: Settler, is_single: bool) -> None:
        self.element = element
        self.settler = settler
        self.is_single = is_single


class _Fields(Settler):
    """Of a struct."""

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
        # Made when first met, because a type may contain itself.
        member = self._shape.members.get(name)
        if member is None:
            return None
        below = _settler(self._kind.fields[name].type, member.shape)
        made = self._parts[name] = _Part(member.element, below, isinstance(member.shape, Single))
        return made


class _Entries(Settler):
    """Of a map."""

    def __init__(self, single: Settler) -> None:
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


class _Keyed(Settler):
    """Of a list whose items are told apart by their keys."""

    def __init__(self, shape: Items, below: Settler) -> None:
        self._shape = shape
        self._element = shape.element
        self._key = shape.key
        self._below = below

    def settled(self, stated: Any, live: Any, node: FieldSet | None, alone: bool) -> bool:
        """Live items that are not stated may stand between those that are."""
        if not isinstance(stated, list) or not isinstance(live, list) or not stated:
            return False  # an empty one states nothing
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
            self._shape.indexed(live, False)  # all of them must be told apart
        return True

    def _are_nodes(self, stated: list[Any], node: FieldSet) -> bool:
        """Whether there is a node of each item, which all differ, and of nothing else."""
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
        """Where an item is, from a place on; behind the last if it is not."""
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
