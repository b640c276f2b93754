"""The entries of `metadata.managedFields`: manager, operation, version, time and fields.

An entry names fields in the API version of its writer: `Versions` are those of a kind.
Entries are the dictionaries of the object itself, with `fieldsV1` as a set of `field_sets`, which a
`StoredEntry` parses when it is needed. Entries are never changed; a new state is a new list.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any, Final, Protocol

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
from fairlead.fields.values import is_plain, string_json

ManagedEntry = dict[str, Any]
Identity = tuple[str, str, str, str]

APPLY: Final = "Apply"
UPDATE: Final = "Update"
MAX_UPDATE_ENTRIES: Final = 10
ANCIENT: Final = "ancient-changes"
UNKNOWN: Final = "unknown"


def entries_of(value: dict[str, Any] | None) -> list[ManagedEntry]:
    """The entries of an object: the list itself, so that `is` detects an unchanged one."""
    if value is None:
        return []
    entries = (value.get("metadata") or {}).get("managedFields")
    return entries if isinstance(entries, list) else []


def entry(identity: Identity, api_version: str, fields: FieldSet, time: str | None) -> ManagedEntry:
    manager, operation, _, subresource = identity
    result: ManagedEntry = {"manager": manager, "operation": operation, "apiVersion": api_version}
    if time:
        result["time"] = time
    result["fieldsType"] = "FieldsV1"
    result["fieldsV1"] = fields
    if subresource:
        result["subresource"] = subresource
    return result


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


def entry_of(items: list[ManagedEntry], identity: Identity) -> ManagedEntry | None:
    """The entry of a manager, if there is one."""
    for item in items:
        if identity_of(item) == identity:
            return item
    return None


def fields_of(item: ManagedEntry) -> FieldSet:
    if type(item) is StoredEntry:
        return item.set.fields
    return item.get("fieldsV1") or EMPTY


def differ_in_times_only(items: list[ManagedEntry], known: list[ManagedEntry]) -> bool:
    """Whether two lists have the same managers with the same fields."""
    if len(items) != len(known):
        return False
    by_identity = {identity_of(item): item for item in known}
    for item in items:
        match = by_identity.get(identity_of(item))
        if match is None or item["apiVersion"] != match["apiVersion"]:
            return False
        if item is not match and fields_of(item) != fields_of(match):
            return False
    return True


def ordered(items: Iterable[ManagedEntry]) -> list[ManagedEntry]:
    """Appliers first, then by time (entries without a time come first), then by name."""
    entries = list(items)
    ranks = [_rank(item) for item in entries] if len(entries) > 1 else []
    for index in range(1, len(ranks)):
        if ranks[index] < ranks[index - 1]:
            return sorted(entries, key=_rank)
    return entries


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


def decoded(value: Any) -> list[ManagedEntry]:
    """Entries sent by a client, in normal form. Raises `InvalidFields` if they are malformed."""
    if not isinstance(value, list):
        raise InvalidFields("managedFields must be a list")
    entries: dict[Identity, ManagedEntry] = {}
    for item in value:
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
        identity = (names[0], operation, "" if operation == APPLY else version, names[1])
        fields = item.get("fieldsV1")
        entries[identity] = entry(
            identity,
            version,
            EMPTY if fields is None else in_order(parsed(fields)),
            _time(item.get("time")),
        )
    return list(entries.values())


def _time(value: Any) -> str | None:
    if value is None:
        return None
    if not isinstance(value, str):
        raise InvalidFields("time must be a string")
    try:
        moment = datetime.fromisoformat(value)
    except ValueError as error:
        raise InvalidFields(str(error)) from None
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
    entries = {identity_of(item): item for item in items}
    oldest: dict[str, Identity] = {}
    for item in updates:
        if excess <= 0:
            break
        identity, version = identity_of(item), item["apiVersion"]
        bucket = updater(ANCIENT, version, "")
        oldest_identity = oldest.setdefault(version, bucket if bucket in entries else identity)
        if oldest_identity == identity or bucket == identity:
            continue
        fields = union(
            fields_of(entries.pop(bucket if bucket in entries else oldest_identity)),
            fields_of(item),
        )
        del entries[identity]
        entries[bucket] = entry(bucket, version, in_order(fields), item.get("time"))
        excess -= 1
    return list(entries.values())


# The versions in which managers own fields: the served ones, and older definitions of a type
#
# `Difference` computes the changes of a write in each of these versions; `current_fields` adjusts
# a set to the present type.


class Versions(Protocol):
    """The served versions of a kind."""

    @property
    def are_fixed(self) -> bool:
        """Whether the types stay the same while the server runs."""

    def struct(self, api_version: str) -> Struct | None:
        """The type of the kind in a version; None if the version is no longer served."""

    def convert(self, value: Object, api_version: str) -> Object:
        """Convert an object to another served version. Returns the object itself if it has that
        version already."""


class OneVersion:
    """`Versions` of a kind that is served in a single version."""

    def __init__(self, api_version: str, struct: Struct, *, are_fixed: bool = False) -> None:
        self._api_version = api_version
        self._struct = struct
        self.are_fixed = are_fixed

    def struct(self, api_version: str) -> Struct | None:
        return self._struct if api_version == self._api_version else None

    def convert(self, value: Object, api_version: str) -> Object:
        return value


def served_struct(versions: Versions, api_version: str) -> Struct:
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
        self.own = compare(served_struct(versions, api_version), old, new).outside(ignored)
        self._by_version: dict[str, Changes] = {api_version: self.own}
        self._last_steps: dict[str, list[bytes]] = {}  # of the changes, by version

    def changes_in(self, api_version: str) -> Changes:
        """The changes in a served version."""
        changes = self._by_version.get(api_version)
        if changes is None:
            changes = self._by_version[api_version] = compare(
                served_struct(self.versions, api_version),
                self.versions.convert(self._old, api_version),
                self.versions.convert(self._new, api_version),
            ).outside(self._ignored)
        return changes

    def remaining_entries(self, entries: list[ManagedEntry]) -> list[ManagedEntry]:
        """The entries without the fields that changed or were removed. Drops entries left without
        fields and entries of versions that are no longer served."""
        remaining: list[ManagedEntry] = []
        for item in entries:
            version = item["apiVersion"]
            struct = self.versions.struct(version)
            if struct is None:
                continue
            changes = self.changes_in(version)
            if self.versions.are_fixed and self._is_unconcerned(item, changes):
                remaining.append(item)
                continue
            fields = difference(current_fields(struct, item), changes.touched)
            fields = difference(fields, changes.removed)
            if fields is fields_of(item):
                remaining.append(item)
            elif fields:
                remaining.append({**item, "fieldsV1": fields})
        return remaining

    def _is_unconcerned(self, item: ManagedEntry, changes: Changes) -> bool:
        """Whether the text of a stored set shows that it has none of the changed fields, so that it
        need not be parsed: it lacks the last step of each."""
        if type(item) is not StoredEntry:
            return False
        version = item["apiVersion"]
        steps = self._last_steps.get(version)
        if steps is None:
            steps = self._last_steps[version] = _last_steps(changes)
        return bool(steps) and not item.mentions(steps)


_MAX_LAST_STEPS: Final = 8


def _last_steps(changes: Changes) -> list[bytes]:
    """The last steps of the changed fields, as every encoder writes them; empty if there are many,
    or some that may be written in several ways."""
    steps: set[str] = set()
    _add_last_steps(changes.touched, steps)
    _add_last_steps(changes.removed, steps)
    if len(steps) > _MAX_LAST_STEPS or not is_plain("".join(steps)):
        return []
    return [string_json(step).encode() for step in steps]


def _add_last_steps(fields: FieldSet, steps: set[str]) -> None:
    for step, node in fields.items():
        if len(steps) > _MAX_LAST_STEPS:
            return
        if step == ".":
            continue
        if not node or "." in node:
            steps.add(step)
        if node:
            _add_last_steps(node, steps)


def current_fields(struct: Struct, item: ManagedEntry) -> FieldSet:
    """The fields of an entry, `reconciled` with the type."""
    fields = fields_of(item)
    if type(item) is not StoredEntry:
        return reconciled(struct, fields)
    if item.set.struct is not struct:
        current = reconciled(struct, fields)
        if current is not fields:
            return current
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
    result: FieldSet | None = None
    steps = shape.steps if isinstance(shape, Record) else {}
    for element, node in fields.items():
        if not node:
            continue
        below = steps.get(element) or step_shape(shape, element)
        if isinstance(below, Free):
            continue
        reconciled_node = LEAF if isinstance(below, Single) else _reconciled(below, node)
        if reconciled_node is not node:
            if result is None:
                result = dict(fields)
            result[element] = reconciled_node
    return fields if result is None else result
