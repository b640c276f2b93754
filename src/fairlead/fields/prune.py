"""Taking back what a manager applied before and does not apply any more."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from fairlead.codec.types.model import Object as Object
from fairlead.codec.types.model import Struct
from fairlead.fields.extract import applied_fields
from fairlead.fields.field_sets import EMPTY, LEAF, FieldSet, difference, intersection, union
from fairlead.fields.merge import with_named, without
from fairlead.fields.shapes import Free, Record, Shape, Single, shape_of, step_shape


class Versions(Protocol):
    """The served versions of a kind, as far as ownership needs to know them."""

    def struct(self, api_version: str) -> Struct | None:
        """The type of the kind in a version; None when the version is not served any more."""

    def convert(self, value: Object, api_version: str) -> Object:
        """An object in another served version; itself when it is in that version already."""


def pruned(
    versions: Versions,
    merged: Object,
    api_version: str,
    last: tuple[str, FieldSet],
    owned: Iterable[tuple[str, FieldSet]],
) -> Object:
    """The merged object without what `last` (a version and its fields) held and nobody owns now.

    `owned` are the versions and fields of all managers, the applying one with its new set. Fields
    below a given-up one that never had an owner go with it; those of others stay, and so does
    everything on the way to them.
    """
    last_version, last_fields = last
    struct = versions.struct(last_version)
    if struct is None:
        return merged
    merged = versions.convert(merged, last_version)
    given_up = with_named(struct, last_fields)
    everything = _all_fields(struct, merged)
    kept = without(struct, merged, given_up)

    by_version: dict[str, FieldSet] = {last_version: EMPTY}
    for version, fields in owned:
        by_version[version] = union(by_version.get(version, EMPTY), fields)
    # The version at hand comes first: what others own may be needed to convert at all.
    for version, fields in by_version.items():
        kind = versions.struct(version)
        if kind is None:
            continue
        there = versions.convert(merged, version)
        wanted = union(_all_fields(kind, versions.convert(kept, version)), with_named(kind, fields))
        found = everything if there is merged else _all_fields(kind, there)
        kept = without(kind, there, difference(found, wanted))

    lost = difference(everything, _all_fields(struct, versions.convert(kept, last_version)))
    return versions.convert(without(struct, merged, intersection(lost, given_up)), api_version)


def _all_fields(struct: Struct, value: Object) -> FieldSet:
    return with_named(struct, applied_fields(struct, value))


def reconciled(struct: Struct, fields: FieldSet) -> FieldSet:
    """A set written under an older definition of the type.

    What was granular then and is atomic now belongs as a whole to whoever owned a part of it. What
    was atomic and is granular now stays owned at the top, its parts have no owner. Nearly always
    nothing was different, and the set itself comes back.
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
