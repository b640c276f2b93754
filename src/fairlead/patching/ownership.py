"""Who owns which field: what a write does to `metadata.managedFields`.

Two entry points: `track_update` after a create, update or patch, and `apply` for a configuration.
Both take the object as it was and give the entries as they must be afterwards; both return the very
list (and `apply` the very object) they were given when nothing changes, so that `is` tells a write
that is none. Times are texts such as `2024-01-31T12:00:00Z`.
"""

from __future__ import annotations

from typing import Any

from fairlead.dialect import Dialect
from fairlead.patching.check import explained, problems
from fairlead.patching.compare import Changes, compare
from fairlead.patching.conflicts import (
    ApplyConflict,
    BadConfiguration,
    Conflict,
    InvalidConfiguration,
    conflicts_with,
)
from fairlead.patching.entries import (
    Entry,
    Identity,
    applier,
    asks_for_reset,
    capped,
    decoded,
    entries_of,
    entry,
    fields_of,
    identity_of,
    ordered,
    updater,
)
from fairlead.patching.extract import applied_fields
from fairlead.patching.field_sets import (
    EMPTY,
    FieldSet,
    contains,
    covers,
    difference,
    intersection,
    of,
    recursive_difference,
    union,
)
from fairlead.patching.last_applied import ANNOTATION, fields_to_take_over, kept_current
from fairlead.patching.merge import merge
from fairlead.patching.prune import Versions, pruned, reconciled
from fairlead.patching.shapes import Untrackable, zero_object
from fairlead.schema.model import Struct

Object = dict[str, Any]

BEFORE_FIRST_APPLY = "before-first-apply"

_IDENTITY = "name namespace creationTimestamp selfLink uid clusterName generation managedFields"
UNOWNED: FieldSet = of(
    ("f:apiVersion",),
    ("f:kind",),
    ("f:metadata",),
    *(("f:metadata", "f:" + name) for name in [*_IDENTITY.split(), "resourceVersion"]),
)
"""Fields nobody owns: they say which object this is, or the server keeps them."""


class OneVersion:
    """`Versions` of a kind that is served in one version only."""

    def __init__(self, api_version: str, struct: Struct) -> None:
        self._api_version = api_version
        self._struct = struct

    def struct(self, api_version: str) -> Struct | None:
        return self._struct if api_version == self._api_version else None

    def convert(self, value: Object, api_version: str) -> Object:
        return value


class _Difference:
    """What changes between two objects, seen in any served version."""

    def __init__(
        self, versions: Versions, api_version: str, old: Object, new: Object, ignored: FieldSet
    ) -> None:
        self._versions = versions
        self._old, self._new = old, new
        self._ignored = ignored
        self._known: dict[str, Changes | None] = {}
        struct = versions.struct(api_version)
        if struct is None:
            raise ValueError(f"{api_version} is not served")
        self.own = compare(struct, old, new).outside(ignored)
        self._known[api_version] = self.own

    def within(self, api_version: str) -> Changes | None:
        """The changes in a version; None when it is not served any more."""
        if api_version not in self._known:
            struct = self._versions.struct(api_version)
            self._known[api_version] = struct and compare(
                struct,
                self._versions.convert(self._old, api_version),
                self._versions.convert(self._new, api_version),
            ).outside(self._ignored)
        return self._known[api_version]


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
) -> list[Entry]:
    """The entries of an object after a create (`live` is None), update or patch.

    `live` and `new` are both in `api_version`; `new` as it is to be stored before mutating
    admission, with the `managedFields` the client sent or the patch left in it. `ignored` are the
    fields this request cannot write (the status for the main resource and the other way round).

    The manager owns what it added or changed, everyone else loses that and what is gone, and who
    owns nothing any more disappears. An object without entries is not tracked until it is applied
    to, except from its creation. An empty list is returned when there is nothing to record, also
    when the object has list items that cannot be told apart.
    """
    standing, reset = _standing(live, new, subresource, dialect)
    if not standing and live is not None and not (reset and dialect.reset_then_own):
        return standing
    who = updater(manager, api_version, subresource)
    try:
        return _after_update(versions, standing, live, new, who, api_version, now, ignored)
    except Untrackable:
        return []


def _standing(
    live: Object | None, new: Object, subresource: str, dialect: Dialect
) -> tuple[list[Entry], bool]:
    """The entries a write starts from, and whether the client asked for none.

    Someone who does not know of entries must not lose them: without a list, or with one that makes
    no sense, those of the live object stand.
    """
    known = entries_of(live)
    sent = (new.get("metadata") or {}).get("managedFields")
    if subresource or sent is None or sent is known:
        return known, False
    if asks_for_reset(sent) or (sent == [] and not dialect.empty_managed_fields_kept):
        return ([] if known else known), True
    if sent == known:
        return known, False
    try:
        return decoded(sent) or known, False
    except ValueError:
        return known, False


def _after_update(
    versions: Versions,
    standing: list[Entry],
    live: Object | None,
    new: Object,
    who: Identity,
    api_version: str,
    now: str,
    ignored: FieldSet,
) -> list[Entry]:
    before = _nothing(versions, api_version) if live is None else live
    changes = _Difference(versions, api_version, before, new, ignored)
    if changes.own.none:
        return standing
    gained = difference(changes.own.touched, UNOWNED)
    left = _others_after(versions, standing, changes)
    if gained:
        for position, item in enumerate(left):
            if identity_of(item) == who:
                gained = union(fields_of(left.pop(position)), gained)
                break
        left.append(entry(who, api_version, gained, now))
    elif len(left) == len(standing) and all(map(_is, left, standing)):
        return standing
    return ordered(capped(left))


def _is(one: Any, other: Any) -> bool:
    return one is other


def _nothing(versions: Versions, api_version: str) -> Object:
    struct = versions.struct(api_version)
    return zero_object(struct) if struct else {}


def _others_after(
    versions: Versions, standing: list[Entry], changes: _Difference
) -> list[Entry]:
    """Entries without the fields that changed or are gone; none without fields, or of a version
    that is not served any more."""
    left: list[Entry] = []
    for item in standing:
        version = item["apiVersion"]
        struct, seen = versions.struct(version), changes.within(version)
        if struct is None or seen is None:
            continue
        fields = fields_of(item)
        rest = reconciled(struct, fields)
        rest = difference(difference(rest, seen.touched), seen.removed)
        if rest is fields:
            left.append(item)
        elif rest:
            left.append({**item, "fieldsV1": rest})
    return left


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
) -> tuple[Object, list[Entry]]:
    """The object and its entries after a configuration is applied (`live` is None: created).

    `live` is in `api_version`, which is the version of the request. The object that comes back
    still carries the `managedFields` of `live`; it has to be read, defaulted and validated like any
    written object, and may hold nulls where a list or map lost all its items.

    Raises `BadConfiguration`, `InvalidConfiguration` or, unless `force`, `ApplyConflict`.
    """
    struct = versions.struct(api_version)
    if struct is None:
        raise ValueError(f"{api_version} is not served")
    _check(struct, config, api_version)
    try:
        request = _Application(versions, struct, live, config, api_version, subresource, ignored)
        request.prepare(manager, now)
    except Untrackable:
        raise InvalidConfiguration(_untrackable(struct, live or config)) from None
    found = [] if force else request.conflicts()
    annotation = dialect.label(ANNOTATION)
    by_client = manager == dialect.client_manager
    if found and by_client and live is not None:
        allowed = fields_to_take_over(struct, live, annotation)
        found = [conflict for conflict in found if not contains(allowed, conflict.path)]
    if found:
        raise ApplyConflict(found)
    entries = request.entries(now)
    if by_client:
        return kept_current(request.result, config, annotation), entries
    return request.result, entries


def _check(struct: Struct, config: Object, api_version: str) -> None:
    given = config.get("apiVersion") or ""
    if given != api_version:
        raise BadConfiguration(
            "Incorrect version specified in apply patch."
            f" Specified patch version: {given}, expected: {api_version}"
        )
    metadata = config.get("metadata")
    if isinstance(metadata, dict) and metadata.get("managedFields") is not None:
        raise BadConfiguration("metadata.managedFields must be nil")
    found = problems(struct, config)
    if found:
        raise InvalidConfiguration(
            f"failed to create typed patch object ({_named(config)}): {explained(found)}"
        )


def _untrackable(struct: Struct, live: Object) -> str:
    why = explained(problems(struct, live) or ["list items cannot be told apart"])
    if entries_of(live):
        return f"failed to create typed live object ({_named(live)}): {why}"
    return (
        "failed to create manager for existing fields:"
        f" failed to convert new object ({_named(live)}) to smd typed: {why}"
    )


def _named(value: Object) -> str:
    metadata = value.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    group, _, version = str(value.get("apiVersion", "")).rpartition("/")
    return (
        f"{metadata.get('namespace') or ''}/{metadata.get('name') or ''};"
        f" {group}/{version}, Kind={value.get('kind', '')}"
    )


class _Application:
    """One configuration on its way into one object."""

    result: Object

    def __init__(
        self,
        versions: Versions,
        struct: Struct,
        live: Object | None,
        config: Object,
        api_version: str,
        subresource: str,
        ignored: FieldSet,
    ) -> None:
        self.versions = versions
        self.struct = struct
        self.live = live
        self.config = config
        self.api_version = api_version
        self.subresource = subresource
        self.ignored = ignored

    def prepare(self, manager: str, now: str) -> None:
        """Merges; afterwards conflicts and entries can be asked for."""
        self.who = applier(manager, self.subresource)
        self.known = entries_of(self.live)
        self.standing = self.known or self._first_entries(now)
        own = [item for item in self.standing if identity_of(item) == self.who]
        self.last = own[0] if own else None
        self.others = [item for item in self.standing if item is not self.last]
        fields = applied_fields(self.struct, self.config)
        self.applied = recursive_difference(fields, self.ignored)
        base = zero_object(self.struct) if self.live is None else self.live
        merged = merge(self.struct, base, self.config)
        if self.last is not None:
            merged = self._without_given_up(merged, self.last)
        self.changes = _Difference(self.versions, self.api_version, base, merged, self.ignored)
        unchanged = self.live is not None and self.changes.own.none
        self.result = self.live if unchanged and self.live is not None else merged

    def _first_entries(self, now: str) -> list[Entry]:
        """An object that nobody owns anything of gets an owner of everything before an apply."""
        if self.live is None:
            return []
        changes = compare(self.struct, zero_object(self.struct), self.live)
        fields = difference(changes.outside(self.ignored).touched, UNOWNED)
        who = updater(BEFORE_FIRST_APPLY, self.api_version, self.subresource)
        return [entry(who, self.api_version, fields, now)] if fields else []

    def _without_given_up(self, merged: Object, last: Entry) -> Object:
        version = last["apiVersion"]
        if version == self.api_version and covers(self.applied, fields_of(last)):
            return merged
        struct = self.versions.struct(version)
        if struct is None:
            return merged
        owned = [(item["apiVersion"], self._fields(item)) for item in self.others]
        return pruned(
            self.versions,
            merged,
            self.api_version,
            (version, reconciled(struct, fields_of(last))),
            [*owned, (self.api_version, self.applied)],
        )

    def _fields(self, item: Entry) -> FieldSet:
        struct = self.versions.struct(item["apiVersion"])
        return reconciled(struct, fields_of(item)) if struct else EMPTY

    def conflicts(self) -> list[Conflict]:
        if self.changes.own.none:
            return []
        found: list[Conflict] = []
        for item in sorted(self.others, key=identity_of):
            seen = self.changes.within(item["apiVersion"])
            if seen is not None:
                found += conflicts_with(item, intersection(self._fields(item), seen.touched))
        return found

    def entries(self, now: str) -> list[Entry]:
        """The entries afterwards; the time of this manager's moves only when the object does."""
        owned = difference(self.applied, UNOWNED)
        last = self.last
        if self.live is not None and self.changes.own.none:
            if last is not None and owned == fields_of(last) and self.known:
                if last["apiVersion"] == self.api_version:
                    return self.known
            elif last is None and not owned and self.known:
                return self.known
            time = last.get("time") if last is not None else None
            left = list(self.others)
        else:
            time = now
            left = _others_after(self.versions, self.others, self.changes)
        if owned:
            left.append(entry(self.who, self.api_version, owned, time))
        return ordered(left)
