"""What of a configuration is settled: stated already, owned already, and nothing beside it.

A manager mostly applies the same again with little changed. Where a field of the object (its spec,
say) holds all that a configuration states there, and the manager's fields there are just those,
merging it would change nothing and give up nothing. One walk over the three finds that out; it
may miss it, which only costs time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fairlead.patching.field_sets import LEAF, FieldSet
from fairlead.patching.shapes import Items, Record, Shape, Single, Table, Untrackable, shape_of
from fairlead.patching.values import copied, equal
from fairlead.schema.defaults import filler
from fairlead.schema.model import ListOf, MapOf, Struct, Type
from fairlead.schema.model import Object as Object

Settled = Callable[[Any, Any, FieldSet, bool], bool]
"""Whether what is stated is settled in a live value and a node of fields, of
which nobody else has any if the manager is `alone`."""

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
        settled = _settler(struct.fields[name].type, member.shape)
        try:
            if settled(stated, live[name], node, alone):
                found[member.element] = node
        except Untrackable:
            continue  # whoever looks closer says why
    return found


_KEPT = 50_000
_made: dict[Shape, Settled] = {}


def _settler(kind: Type, shape: Shape) -> Settled:
    if isinstance(shape, Single):
        return _single(kind)
    known = _made.get(shape)
    if known is None:
        if len(_made) >= _KEPT:
            _made.clear()
        known = _made[shape] = _make(kind, shape)
    return known


def _make(kind: Type, shape: Shape) -> Settled:
    if isinstance(shape, Record) and isinstance(kind, Struct):
        return _record(kind, shape)
    if isinstance(shape, Table) and isinstance(kind, MapOf) and isinstance(shape.value, Single):
        return _table(_single(kind.element))
    if isinstance(shape, Items) and isinstance(kind, ListOf):
        return _items(shape, _settler(kind.element, shape.item))
    return _never


def _never(stated: Any, live: Any, node: FieldSet, alone: bool) -> bool:
    return False


def _single(kind: Type) -> Settled:
    fill = filler(kind) if isinstance(kind, Struct) else None

    def settled(stated: Any, live: Any, node: FieldSet, alone: bool) -> bool:
        if node or type(stated) is not type(live):
            return False
        if fill is not None and alone and type(stated) is dict:
            # It is put in the place of the live one and comes to the same again.
            stated = copied(stated)
            fill(stated)
        return equal(stated, live)

    return settled


def _record(kind: Struct, shape: Record) -> Settled:
    # For each field its step, and how it is looked at; made when first met, because a type may
    # contain itself.
    parts: dict[str, tuple[str, Settled]] = {}
    singles = {
        name: member.element
        for name, member in shape.members.items()
        if isinstance(member.shape, Single)
    }

    def part(name: str) -> tuple[str, Settled] | None:
        member = shape.members.get(name)
        if member is None:
            return None
        below = _settler(kind.fields[name].type, member.shape)
        made = parts[name] = (member.element, below)
        return made

    def settled(stated: Any, live: Any, node: FieldSet, alone: bool) -> bool:
        if not isinstance(stated, dict) or not isinstance(live, dict):
            return False
        for name, value in stated.items():
            step = singles.get(name)
            if step is not None and isinstance(value, str):
                if node.get(step) != LEAF or live.get(name) != value:
                    return False
                continue
            known = parts.get(name) or part(name)
            if known is None or name not in live:
                return False
            element, below = known
            fields = node.get(element)
            if fields is None or not below(value, live[name], fields, alone):
                return False
        return len(node) == len(stated) + ("." in node)

    return settled


def _table(single: Settled) -> Settled:
    def settled(stated: Any, live: Any, node: FieldSet, alone: bool) -> bool:
        if not isinstance(stated, dict) or not isinstance(live, dict) or len(node) != len(stated):
            return False
        for key, value in stated.items():
            fields = node.get("f:" + key)
            if fields is None or key not in live or not single(value, live[key], fields, alone):
                return False
        return True

    return settled


def _items(shape: Items, below: Settled) -> Settled:
    element, key = shape.element, shape.key

    def settled(stated: Any, live: Any, node: FieldSet, alone: bool) -> bool:
        """Live items that are not stated may stand between those that are."""
        if not isinstance(stated, list) or not isinstance(live, list) or len(node) != len(stated):
            return False
        if not stated:
            return False  # it states nothing
        seen: set[str] = set()
        place = 0
        for item in stated:
            name = element(item)
            fields = node.get(name)
            if not fields or "." not in fields:
                return False
            if key and key in item:
                while place < len(live) and live[place].get(key) != item[key]:
                    place += 1
            else:
                while place < len(live) and element(live[place]) != name:
                    place += 1
            if place == len(live) or not below(item, live[place], fields, alone):
                return False
            seen.add(name)
            place += 1
        if len(live) > len(stated):
            shape.indexed(live, False)  # all of them must be told apart
        return len(seen) == len(stated)

    return settled
