"""Computes the changes of a write in each version in which managers own fields."""

from __future__ import annotations

from fairlead.codec.types.model import Object, Struct
from fairlead.fields.compare import Changes, compare
from fairlead.fields.entries import ManagedEntry, fields_of
from fairlead.fields.field_sets import FieldSet, difference
from fairlead.fields.prune import Versions, current_fields


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
