"""Field ownership: computes `metadata.managedFields` after a write.

Two entry points: `track_update` after a create, update or patch, and `apply` for a configuration.
Both take the object before the write and return the entries after it. If nothing changes, both
return the given list itself (and `apply` the given object), so that callers detect a no-op with
`is`. Times are strings such as `2024-01-31T12:00:00Z`.
"""

from __future__ import annotations

from operator import is_
from typing import Any, Final

from fairlead.base.dialect import Dialect
from fairlead.codec.types.model import Object as Object
from fairlead.codec.types.model import Struct
from fairlead.fields.check import check_configuration, untrackable
from fairlead.fields.conflicts import ApplyConflict, Conflict, UntrackableObject, conflicts_with
from fairlead.fields.duplicates import Duplicates, taken_over
from fairlead.fields.entries import (
    Difference,
    Identity,
    ManagedEntry,
    Versions,
    applier,
    capped,
    current_fields,
    decoded,
    entries_of,
    entry,
    entry_of,
    fields_of,
    identity_of,
    is_reset,
    ordered,
    served_struct,
    updater,
)
from fairlead.fields.field_sets import (
    EMPTY,
    FieldSet,
    InvalidFields,
    Path,
    contains,
    covers,
    difference,
    intersection,
    level_in_order,
    of,
    ordered_union,
    recursive_difference,
)
from fairlead.fields.last_applied import ANNOTATION, fields_to_take_over, update_annotation
from fairlead.fields.prune import pruned
from fairlead.fields.shapes import Untrackable, zero_object
from fairlead.fields.stored_entries import StoredEntry
from fairlead.fields.typed_values import applied_fields, compare, merge
from fairlead.fields.unchanged import unchanged_fields

BEFORE_FIRST_APPLY: Final = "before-first-apply"
_OTHER_VERSION: Final = (
    "the object does not fit the schema of another version, in which others manage fields of it"
)

_IDENTITY: Final = (
    "name namespace creationTimestamp selfLink uid clusterName generation managedFields"
)
_UNOWNED_METADATA = (*_IDENTITY.split(), "resourceVersion")
UNOWNED: Final[FieldSet] = of(
    ("f:apiVersion",),
    ("f:kind",),
    ("f:metadata",),
    *(("f:metadata", "f:" + name) for name in sorted(_UNOWNED_METADATA)),
)
"""Fields nobody owns: they say which object this is, or the server keeps them."""


def track_update(
    versions: Versions,
    live: Object | None,
    new: Object,
    *,
    manager: str,
    api_version: str,
    now: str,
    dialect: Dialect,
    subresource: str = "",
    ignored: FieldSet = EMPTY,
    merges_duplicates: bool = False,
) -> list[ManagedEntry]:
    """The entries of an object after a create (`live` is None), update or patch.

    `live` and `new` are both in `api_version`; `new` is the object to be stored, before mutating
    admission, with the `managedFields` that the client sent or the patch left in it. `ignored` are
    the fields this request cannot write (the status for the main resource and vice versa).

    The manager owns the fields it added or changed; all other managers lose these and the removed
    fields, and entries without fields are dropped. An object without entries is tracked only from
    its creation or its first apply. Returns an empty list if there is nothing to record, also if
    the object has list items without unique keys, unless `merges_duplicates`.
    """
    entries, is_tracked = _initial_entries(live, new, subresource, dialect)
    if live is not None and not is_tracked:
        return entries
    try:
        if live is None and not entries:
            identity = updater(manager, api_version, subresource)
            return _new_object_entries(
                served_struct(versions, api_version), new, identity, api_version, now, ignored
            )
        before = zero_object(served_struct(versions, api_version)) if live is None else live
        changes = Difference(versions, api_version, before, new, ignored)
        return _after_update(
            entries, changes, updater(manager, api_version, subresource), api_version, now
        )
    except Untrackable:
        if not merges_duplicates:
            return []
    struct = served_struct(versions, api_version)
    try:
        old = Duplicates(struct, live) if live is not None else None
        replaced = Duplicates(struct, new)
    except Untrackable:
        return []
    if not replaced and not old:
        return []
    tracked = track_update(
        versions,
        old.value if old is not None else None,
        replaced.value,
        manager=manager,
        api_version=api_version,
        now=now,
        dialect=dialect,
        subresource=subresource,
        ignored=ignored,
    )
    result = replaced.entries_without_keys(tracked)
    changed = _outside(ignored, replaced.changed_since(old))
    if not changed:
        return result
    identity = updater(manager, api_version, subresource)
    return taken_over(result, identity, entry(identity, api_version, of(*changed), now), changed)


def _new_object_entries(
    struct: Struct, new: Object, identity: Identity, api_version: str, now: str, ignored: FieldSet
) -> list[ManagedEntry]:
    """The single entry of a new object: its creator owns every field."""
    touched = compare(struct, zero_object(struct), new).touched
    owned = difference(recursive_difference(touched, ignored), UNOWNED)
    return [entry(identity, api_version, owned, now)] if owned else []


def _initial_entries(
    live: Object | None, new: Object, subresource: str, dialect: Dialect
) -> tuple[list[ManagedEntry], bool]:
    """The entries a write starts from, and whether its own change is recorded beside them.

    Clients that do not know about entries must not lose them: if the list is absent or malformed,
    the entries of the live object stay. Drops entries without fields.
    """
    live_entries = entries_of(live)
    is_tracked = bool(live_entries)
    sent = (new.get("metadata") or {}).get("managedFields")
    if subresource or sent is None or sent is live_entries:
        return live_entries, is_tracked
    if is_reset(sent) or (sent == [] and not dialect.empty_managed_fields_kept):
        return ([] if live_entries else live_entries), dialect.reset_then_own
    if sent == live_entries:
        return live_entries, is_tracked
    try:
        sent_entries = ordered(capped(decoded(sent)))
    except InvalidFields:
        return live_entries, is_tracked
    if not sent_entries:
        return live_entries, is_tracked
    return [item for item in sent_entries if fields_of(item)], True


def _after_update(
    entries: list[ManagedEntry], changes: Difference, identity: Identity, api_version: str, now: str
) -> list[ManagedEntry]:
    if changes.own.none:
        served_entries = [item for item in entries if changes.versions.struct(item["apiVersion"])]
        return entries if len(served_entries) == len(entries) else served_entries
    fields = difference(changes.own.touched, UNOWNED)
    remaining = changes.remaining_entries(entries)
    if fields:
        for position, item in enumerate(remaining):
            if identity_of(item) == identity:
                fields = ordered_union(fields_of(remaining.pop(position)), fields)
                break
        remaining.append(entry(identity, api_version, fields, now))
    elif len(remaining) == len(entries) and all(map(is_, remaining, entries)):
        return entries
    return ordered(capped(remaining))


def apply(
    versions: Versions,
    live: Object | None,
    config: Object,
    *,
    manager: str,
    api_version: str,
    now: str,
    dialect: Dialect,
    subresource: str = "",
    force: bool = False,
    ignored: FieldSet = EMPTY,
    merges_duplicates: bool = False,
) -> tuple[Object, list[ManagedEntry]]:
    """The object and its entries after a configuration is applied (`live` is None: created).

    `live` is in `api_version`, the version of the request. The returned object still has the
    `managedFields` of `live`; the caller must decode, default and validate it like any written
    object, and it may hold nulls where a list or map lost all its items.

    Raises `BadConfiguration`, `InvalidConfiguration` or, unless `force`, `ApplyConflict`. A live
    object with list items without unique keys is refused unless `merges_duplicates`.
    """
    options: dict[str, Any] = {
        "manager": manager,
        "api_version": api_version,
        "now": now,
        "dialect": dialect,
        "subresource": subresource,
        "force": force,
        "ignored": ignored,
    }
    try:
        return _apply(versions, live, config, **options)
    except UntrackableObject:
        if live is None or not merges_duplicates:
            raise
        try:
            duplicates = Duplicates(served_struct(versions, api_version), live)
        except Untrackable:
            duplicates = None
        if not duplicates:
            raise
    taken = _outside(ignored, duplicates.set_by(config))
    if taken and not force:
        _check_taken(live, applier(manager, subresource), taken)
    result, entries = _apply(versions, duplicates.with_owned_keys(taken), config, **options)
    result["metadata"] = {**result["metadata"], "managedFields": entries_of(live)}
    return duplicates.put_back(result, taken), duplicates.entries_without_keys(entries, taken)


def _outside(ignored: FieldSet, paths: list[Path]) -> list[Path]:
    """The paths that a request can write."""
    return [path for path in paths if recursive_difference(of(path), ignored)]


def _check_taken(live: Object, identity: Identity, taken: list[Path]) -> None:
    """Raise `ApplyConflict` if other managers own items that a configuration sets."""
    conflicts = [
        conflict
        for item in sorted(entries_of(live), key=identity_of)
        if identity_of(item) != identity
        for conflict in conflicts_with(item, intersection(fields_of(item), of(*taken)))
    ]
    if conflicts:
        raise ApplyConflict(conflicts)


def _apply(
    versions: Versions,
    live: Object | None,
    config: Object,
    *,
    manager: str,
    api_version: str,
    now: str,
    dialect: Dialect,
    subresource: str,
    force: bool,
    ignored: FieldSet,
) -> tuple[Object, list[ManagedEntry]]:
    struct = served_struct(versions, api_version)
    identity = applier(manager, subresource)
    unchanged = _unchanged(struct, live, config, identity, api_version, ignored)
    changed = {name: item for name, item in config.items() if "f:" + name not in unchanged}
    check_configuration(struct, changed, api_version)
    try:
        first_entries = _first_entries(struct, live, api_version, subresource, now, ignored)
        application = _Application(
            versions, live, changed, unchanged, identity, api_version, first_entries, ignored
        )
    except Untrackable:
        raise untrackable(struct, live or config) from None
    try:
        conflicts = [] if force else application.conflicts()
        entries = application.entries(now)
    except Untrackable:  # entries are compared in their own versions
        raise UntrackableObject(_OTHER_VERSION) from None
    annotation = dialect.label(ANNOTATION)
    by_client = manager == dialect.client_manager
    if conflicts and by_client and live is not None:
        allowed = fields_to_take_over(struct, live, annotation)
        conflicts = [conflict for conflict in conflicts if not contains(allowed, conflict.path)]
    if conflicts:
        raise ApplyConflict(conflicts)
    if by_client:
        return update_annotation(application.result, config, annotation), entries
    return application.result, entries


def _unchanged(
    struct: Struct,
    live: Object | None,
    config: Object,
    identity: Identity,
    api_version: str,
    ignored: FieldSet,
) -> FieldSet:
    entries = entries_of(live)
    last_entry = entry_of(entries, identity)
    if live is None or last_entry is None or last_entry["apiVersion"] != api_version:
        return EMPTY
    other_fields = [fields_of(item) for item in entries if item is not last_entry]
    owned = {step: node for step, node in fields_of(last_entry).items() if step not in ignored}
    return unchanged_fields(struct, live, config, owned, other_fields)


def _first_entries(
    struct: Struct,
    live: Object | None,
    api_version: str,
    subresource: str,
    now: str,
    ignored: FieldSet,
) -> list[ManagedEntry]:
    """The entry that an object without entries gets before an apply: it owns every field."""
    if live is None or entries_of(live):
        return []
    changes = compare(struct, zero_object(struct), live).outside(ignored)
    fields = difference(changes.touched, UNOWNED)
    identity = updater(BEFORE_FIRST_APPLY, api_version, subresource)
    return [entry(identity, api_version, fields, now)] if fields else []


class _Application:
    """One configuration merged into one object. `result` is the live object itself if nothing
    changes. The configuration lacks the `unchanged` fields."""

    def __init__(
        self,
        versions: Versions,
        live: Object | None,
        config: Object,
        unchanged: FieldSet,
        identity: Identity,
        api_version: str,
        first_entries: list[ManagedEntry],
        ignored: FieldSet,
    ) -> None:
        self._versions = versions
        self._identity = identity
        self._api_version = api_version
        self._live_entries = entries_of(live)
        entries = self._live_entries or first_entries
        self._last_entry = entry_of(entries, identity)
        self._other_entries = [item for item in entries if item is not self._last_entry]

        struct = served_struct(versions, api_version)
        applied = applied_fields(struct, config)
        if unchanged:
            applied = level_in_order({**applied, **unchanged})
        self._applied = recursive_difference(applied, ignored)
        self._owned = difference(self._applied, UNOWNED)
        base = zero_object(struct) if live is None else live
        merged = self._without_abandoned(merge(struct, base, config))
        self._changes = Difference(versions, api_version, base, merged, ignored)
        self._unchanged = live is not None and self._changes.own.none
        self.result = live if live is not None and self._unchanged else merged

    def _without_abandoned(self, merged: Object) -> Object:
        if self._last_entry is None:
            return merged
        version = self._last_entry["apiVersion"]
        if version == self._api_version:
            fields = fields_of(self._last_entry)
            if fields == self._owned or covers(self._applied, fields):
                return merged
        struct = self._versions.struct(version)
        if struct is None:
            return merged
        owned = [(item["apiVersion"], self._fields(item)) for item in self._other_entries]
        owned.append((self._api_version, self._applied))
        last_set = version, current_fields(struct, self._last_entry)
        return pruned(self._versions, merged, self._api_version, last_set, owned)

    def _fields(self, item: ManagedEntry) -> FieldSet:
        struct = self._versions.struct(item["apiVersion"])
        return current_fields(struct, item) if struct else EMPTY

    def conflicts(self) -> list[Conflict]:
        """The fields of other managers that change, each in its owner's version."""
        result: list[Conflict] = []
        if not self._unchanged:
            for item in sorted(self._other_entries, key=identity_of):
                fields = self._fields(item)
                if fields:
                    touched = self._changes.changes_in(item["apiVersion"]).touched
                    result += conflicts_with(item, intersection(fields, touched))
        return result

    def entries(self, now: str) -> list[ManagedEntry]:
        """The entries afterwards. This manager's time changes only if the object does."""
        last_entry = self._last_entry
        owns_same = self._owned == (fields_of(last_entry) if last_entry is not None else EMPTY)
        if self._unchanged:
            is_same = last_entry is None or last_entry["apiVersion"] == self._api_version
            if self._live_entries and owns_same and is_same:
                return self._live_entries
            time = last_entry.get("time") if last_entry is not None else None
            remaining = list(self._other_entries)
        else:
            time = now
            remaining = self._changes.remaining_entries(self._other_entries)
        if self._owned:
            new_entry = entry(self._identity, self._api_version, self._owned, time)
            if owns_same and type(last_entry) is StoredEntry:
                new_entry = StoredEntry(new_entry, last_entry.text)
            remaining.append(new_entry)
        return ordered(remaining)
