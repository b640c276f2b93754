"""The entries of `metadata.managedFields`: manager, operation, version, time and fields.

An entry names fields in the API version of its writer: `Versions` are those of a kind.
Entries are the dictionaries of the object itself, with `fieldsV1` as a set of `field_sets`, which a
`StoredEntry` parses when it is needed. Entries are never changed; a new state is a new list.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any, Protocol

from fairlead.codec.types.model import Object, Struct
from fairlead.fields.field_sets import (
    EMPTY,
    LEAF,
    FieldSet,
    InvalidFields,
    difference,
    in_order,
    parsed,
    union,
)
from fairlead.fields.shapes import Free, Record, Shape, Single, shape_of, step_shape
from fairlead.fields.stored_entries import StoredEntry
from fairlead.fields.typed_values import Changes, compare

ManagedEntry = dict[str, Any]
Identity = tuple[str, str, str, str]

APPLY = "Apply"
UPDATE = "Update"
MAX_UPDATE_ENTRIES = 10
ANCIENT = "ancient-changes"
UNKNOWN = "unknown"


def entries_of(value: dict[str, Any] | None) -> list[ManagedEntry]:
    """The entries of an object: the list itself, so that `is` detects an unchanged one."""
    if value is None:
        return []
    found = (value.get("metadata") or {}).get("managedFields")
    return found if isinstance(found, list) else []


def entry(identity: Identity, api_version: str, fields: FieldSet, time: str | None) -> ManagedEntry:
    manager, operation, _, subresource = identity
    made: ManagedEntry = {"manager": manager, "operation": operation, "apiVersion": api_version}
    if time:
        made["time"] = time
    made["fieldsType"] = "FieldsV1"
    made["fieldsV1"] = fields
    if subresource:
        made["subresource"] = subresource
    return made


def applier(manager: str, subresource: str) -> Identity:
    """The identity of an applier: one entry, whatever version the configuration is in."""
    return manager or UNKNOWN, APPLY, "", subresource


def updater(manager: str, api_version: str, subresource: str) -> Identity:
    """The identity of an updater: one entry per version in which it writes."""
    return manager or UNKNOWN, UPDATE, api_version, subresource


def identity_of(item: ManagedEntry) -> Identity:
    operation = item["operation"]
    version = "" if operation == APPLY else item["apiVersion"]
    return item.get("manager", ""), operation, version, item.get("subresource", "")


def entry_of(items: list[ManagedEntry], who: Identity) -> ManagedEntry | None:
    """The entry of a manager, if there is one."""
    for item in items:
        if identity_of(item) == who:
            return item
    return None


def fields_of(item: ManagedEntry) -> FieldSet:
    if type(item) is StoredEntry:
        return item.set.fields
    return item.get("fieldsV1") or EMPTY


def differ_in_times_only(items: list[ManagedEntry], others: list[ManagedEntry]) -> bool:
    """Whether two lists have the same managers with the same fields."""
    if len(items) != len(others):
        return False
    by_identity = {identity_of(item): item for item in others}
    for item in items:
        other = by_identity.get(identity_of(item))
        if other is None or item["apiVersion"] != other["apiVersion"]:
            return False
        if item is not other and fields_of(item) != fields_of(other):
            return False
    return True


def ordered(items: Iterable[ManagedEntry]) -> list[ManagedEntry]:
    """Appliers first, then by time (entries without a time come first), then by name."""
    found = list(items)
    ranks = [_rank(item) for item in found] if len(found) > 1 else []
    for place in range(1, len(ranks)):
        if ranks[place] < ranks[place - 1]:
            return sorted(found, key=_rank)
    return found


def _rank(item: ManagedEntry) -> tuple[str, str, str, str, str]:
    return (
        item["operation"],
        item.get("time") or "",
        item.get("manager", ""),
        item["apiVersion"],
        item.get("subresource", ""),
    )


def is_reset(sent: Any) -> bool:
    """Whether the client sent a list with one empty entry, which resets the ownership."""
    return (
        isinstance(sent, list)
        and len(sent) == 1
        and isinstance(sent[0], dict)
        and not any(value not in ("", None) for value in sent[0].values())
    )


def decoded(sent: Any) -> list[ManagedEntry]:
    """Entries sent by a client, in normal form. Raises `InvalidFields` if they are malformed."""
    if not isinstance(sent, list):
        raise InvalidFields("managedFields must be a list")
    made: dict[Identity, ManagedEntry] = {}
    for item in sent:
        if not isinstance(item, dict):
            raise InvalidFields("a managedFields entry must be an object")
        operation, version = item.get("operation"), item.get("apiVersion")
        if operation not in (APPLY, UPDATE):
            raise InvalidFields("operation must be `Apply` or `Update`")
        if not isinstance(version, str) or not version:
            raise InvalidFields("apiVersion must not be empty")
        if item.get("fieldsType") != "FieldsV1":
            raise InvalidFields("fieldsType must be FieldsV1")
        names = [item.get("manager") or "", item.get("subresource") or ""]
        if not all(isinstance(name, str) for name in names):
            raise InvalidFields("names must be strings")
        who = (names[0], operation, "" if operation == APPLY else version, names[1])
        fields = item.get("fieldsV1")
        made[who] = entry(
            who,
            version,
            EMPTY if fields is None else in_order(parsed(fields)),
            _time(item.get("time")),
        )
    return list(made.values())


def _time(sent: Any) -> str | None:
    if sent is None:
        return None
    if not isinstance(sent, str):
        raise InvalidFields("time must be a string")
    try:
        moment = datetime.fromisoformat(sent)
    except ValueError as why:
        raise InvalidFields(str(why)) from None
    if moment.tzinfo is None:
        raise InvalidFields("time must have a zone")
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def capped(items: list[ManagedEntry]) -> list[ManagedEntry]:
    """Merge the oldest update entries of a version until `MAX_UPDATE_ENTRIES` are left.

    More remain if each is of a different version.
    """
    updates = [item for item in items if item["operation"] == UPDATE]
    excess = len(updates) - MAX_UPDATE_ENTRIES
    if excess <= 0:
        return items
    updates.sort(key=lambda item: (item.get("time") or "", identity_of(item)))
    kept = {identity_of(item): item for item in items}
    oldest: dict[str, Identity] = {}
    for item in updates:
        if excess <= 0:
            break
        who, version = identity_of(item), item["apiVersion"]
        bucket = updater(ANCIENT, version, "")
        first = oldest.setdefault(version, bucket if bucket in kept else who)
        if first == who or bucket == who:
            continue
        joined = union(fields_of(kept.pop(bucket if bucket in kept else first)), fields_of(item))
        del kept[who]
        kept[bucket] = entry(bucket, version, in_order(joined), item.get("time"))
        excess -= 1
    return list(kept.values())


# The versions in which managers own fields: the served ones, and older definitions of a type
#
# `Difference` computes the changes of a write in each of these versions; `current_fields` adjusts
# a set to the present type.


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
