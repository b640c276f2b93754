"""Removes fields that a manager applied before and no longer applies."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from fairlead.codec.types.model import Object as Object
from fairlead.codec.types.model import Struct
from fairlead.fields.entries import ManagedEntry, fields_of
from fairlead.fields.extract import applied_fields
from fairlead.fields.field_sets import EMPTY, LEAF, FieldSet, difference, intersection, union
from fairlead.fields.merge import with_parents, without
from fairlead.fields.shapes import Free, Record, Shape, Single, shape_of, step_shape
from fairlead.fields.stored_entries import StoredEntry


class Versions(Protocol):
    """The served versions of a kind."""

    def struct(self, api_version: str) -> Struct | None:
        """The type of the kind in a version; None if the version is no longer served."""

    def convert(self, value: Object, api_version: str) -> Object:
        """An object in another served version; the object itself if it already is in it."""


def pruned(
    versions: Versions,
    merged: Object,
    api_version: str,
    last: tuple[str, FieldSet],
    owned: Iterable[tuple[str, FieldSet]],
) -> Object:
    """The merged object without the fields of `last` (a version and a set) that have no owner now.

    `owned` holds the versions and fields of all managers, with the new set of the applying manager.
    Unowned fields below a removed field are removed with it; fields of other managers stay, and so
    do all their parents.
    """
    last_version, last_fields = last
    struct = versions.struct(last_version)
    if struct is None:
        return merged
    merged = versions.convert(merged, last_version)
    given_up = with_parents(struct, last_fields)
    everything = _all_fields(struct, merged)
    kept = without(struct, merged, given_up)

    by_version: dict[str, FieldSet] = {last_version: EMPTY}
    for version, fields in owned:
        by_version[version] = union(by_version.get(version, EMPTY), fields)
    # `last_version` comes first: converting `kept` may need the fields that are owned in it.
    for version, fields in by_version.items():
        kind = versions.struct(version)
        if kind is None:
            continue
        there = versions.convert(merged, version)
        wanted = union(
            _all_fields(kind, versions.convert(kept, version)), with_parents(kind, fields)
        )
        found = everything if there is merged else _all_fields(kind, there)
        kept = without(kind, there, difference(found, wanted))

    lost = difference(everything, _all_fields(struct, versions.convert(kept, last_version)))
    return versions.convert(without(struct, merged, intersection(lost, given_up)), api_version)


def _all_fields(struct: Struct, value: Object) -> FieldSet:
    return with_parents(struct, applied_fields(struct, value))


def current_fields(struct: Struct, item: ManagedEntry) -> FieldSet:
    """The fields of an entry, `reconciled` with the type."""
    fields = fields_of(item)
    if type(item) is not StoredEntry:
        return reconciled(struct, fields)
    if item.set.struct is not struct:
        after = reconciled(struct, fields)
        if after is not fields:
            return after
        item.set.struct = struct  # need not be compared with this type again
    return fields


def reconciled(struct: Struct, fields: FieldSet) -> FieldSet:
    """Adjust a set that was recorded under an older definition of the type.

    A field that was granular and is atomic now belongs as a whole to each manager that owned a part
    of it. A field that was atomic and is granular now stays owned at the top; its parts have no
    owner. Returns the set itself if nothing differs, which is nearly always.
    """
    return _reconciled(shape_of(struct), fields)


def _reconciled(shape: Shape, fields: FieldSet) -> FieldSet:
    if not any(fields.values()):
        return fields
    made: FieldSet | None = None
    steps = shape.steps if isinstance(shape, Record) else {}
    for element, node in fields.items():
        if not node:
            continue
        below = steps.get(element) or step_shape(shape, element)
        if isinstance(below, Free):
            continue
        after = LEAF if isinstance(below, Single) else _reconciled(below, node)
        if after is not node:
            if made is None:
                made = dict(fields)
            made[element] = after
    return fields if made is None else made
