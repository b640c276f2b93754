"""The versions in which managers own fields: the served ones, and older definitions of a type.

A managedFields entry names fields in the version of its writer. `Difference` computes the changes
of a write in each of these versions; `current_fields` adjusts a set to the present type.
"""

from __future__ import annotations

from typing import Protocol

from fairlead.codec.types.model import Object, Struct
from fairlead.fields.compare import Changes, compare
from fairlead.fields.entries import ManagedEntry, fields_of
from fairlead.fields.field_sets import LEAF, FieldSet, difference
from fairlead.fields.shapes import Free, Record, Shape, Single, shape_of, step_shape
from fairlead.fields.stored_entries import StoredEntry


class Versions(Protocol):
    """The served versions of a kind."""

    def struct(self, api_version: str) -> Struct | None:
        """The type of the kind in a version; None if the version is no longer served."""

    def convert(self, value: Object, api_version: str) -> Object:
        """An object in another served version; the object itself if it already is in it."""


class OneVersion:
    """`Versions` of a kind that is served in a single version."""

    def __init__(self, api_version: str, struct: Struct) -> None:
        self._api_version = api_version
        self._struct = struct

    def struct(self, api_version: str) -> Struct | None:
        return self._struct if api_version == self._api_version else None

    def convert(self, value: Object, api_version: str) -> Object:
        return value


def served(versions: Versions, api_version: str) -> Struct:
    struct = versions.struct(api_version)
    if struct is None:
        raise ValueError(f"{api_version} is not served")
    return struct


class Difference:
    """The changes between two objects in any served version, computed once per version."""

    def __init__(
        self, versions: Versions, api_version: str, old: Object, new: Object, ignored: FieldSet
    ) -> None:
        self.versions = versions
        self._old, self._new = old, new
        self._ignored = ignored
        self.own = compare(served(versions, api_version), old, new).outside(ignored)
        self._known: dict[str, Changes] = {api_version: self.own}

    def within(self, api_version: str) -> Changes:
        """The changes in a served version."""
        known = self._known.get(api_version)
        if known is None:
            known = self._known[api_version] = compare(
                served(self.versions, api_version),
                self.versions.convert(self._old, api_version),
                self.versions.convert(self._new, api_version),
            ).outside(self._ignored)
        return known

    def others_after(self, standing: list[ManagedEntry]) -> list[ManagedEntry]:
        """The entries without the fields that changed or were removed. Drops entries left without
        fields and entries of versions that are no longer served."""
        left: list[ManagedEntry] = []
        for item in standing:
            version = item["apiVersion"]
            struct = self.versions.struct(version)
            if struct is None:
                continue
            changes = self.within(version)
            rest = difference(current_fields(struct, item), changes.touched)
            rest = difference(rest, changes.removed)
            if rest is fields_of(item):
                left.append(item)
            elif rest:
                left.append({**item, "fieldsV1": rest})
        return left


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
