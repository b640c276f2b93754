"""The watch cache of one resource: its ordered current state, its recent history, and indexes of
the objects by labels and fields."""

from __future__ import annotations

import asyncio
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from collections.abc import Collection as Keys
from itertools import chain
from typing import Any, Final

from sortedcontainers import SortedList

from fairlead.storage.audience import Audience, Followers
from fairlead.storage.backend import Compacted
from fairlead.storage.selection import EVERYTHING, Fact, IndexHint, Selection
from fairlead.storage.version import Change, Version

SelectFields = Callable[[dict[str, Any]], Mapping[str, str]]
_AFTER_SLASH: Final = (
    "0"  # the character after "/": `ns/` <= key < `ns0` are the keys of a namespace
)


def _revision(item: Change | Version) -> int:
    return item.revision


def key_range(namespace: str) -> tuple[str, str | None]:
    """Return the bounds of a namespace's keys (empty: all keys): inclusive start, exclusive end."""
    return (f"{namespace}/", f"{namespace}{_AFTER_SLASH}") if namespace else ("", None)


class Page:
    """A page of a list: its versions, and the last key and the number of remaining objects if there
    is more."""

    __slots__ = ("entries", "last_key", "remaining")

    def __init__(self, entries: list[Version], last_key: str | None, remaining: int | None) -> None:
        self.entries = entries
        self.last_key = last_key
        self.remaining = remaining


class Collection:
    """The cache of one resource: the newest version of every key and the recent changes.

    `heads` includes deletions as long as their change is in the history. `floor` is the oldest
    revision whose state can be read from memory. The history list is trimmed by copying: slices
    handed out before stay intact.
    """

    def __init__(self, resource: str, floor: int = 0) -> None:
        self.resource = resource
        self.api_version = ""  # stored with new writes
        self.select_fields: SelectFields | None = None
        self.last_revision = 0
        self.received = 0  # changes since the start
        self.floor = floor
        self.pending: dict[str, Version] = {}  # newest versions that are not committed yet
        self.followers = Followers(resource)
        self.heads: dict[str, Version] = {}
        self.keys: SortedList[str] = SortedList()
        self._tombstones = 0
        self._history: list[Change] = []
        self._older: dict[str, list[Version]] = {}  # superseded versions after the floor, by key
        self.audience = Audience()
        self.indexes = Indexes()

    def __len__(self) -> int:
        return len(self.heads) - self._tombstones

    @property
    def bytes(self) -> int:
        return sum(len(head.body) for head in self.heads.values() if head.body is not None)

    def fields_of(self, value: dict[str, Any]) -> Mapping[str, str]:
        return self.select_fields(value) if self.select_fields else {}

    def get(self, key: str) -> Version | None:
        head = self.heads.get(key)
        return head if head is not None and head.body is not None else None

    def latest(self, key: str) -> Version | None:
        """Return the newest live version of a key, committed or pending."""
        newest = self.pending.get(key) or self.heads.get(key)
        return newest if newest is not None and newest.body is not None else None

    def load(self, versions: Iterable[Version]) -> None:
        """Load the versions stored before this process started."""
        heads = self.heads
        for version in versions:
            heads[version.key] = version
            if version.revision > self.last_revision:
                self.last_revision = version.revision
        self.keys = SortedList(heads)

    def add(self, version: Version) -> Change:
        """Apply the next version of a key, with a revision above all earlier ones. Returns the
        change."""
        key = version.key
        before = self.heads.get(key)
        if before is None:
            self.keys.add(key)
        else:
            older = self._older.get(key)
            if older is None:
                self._older[key] = [before]
            else:
                older.append(before)
            if before.body is None:
                self._tombstones -= 1
                before = None
        after: Version | None = version
        if version.body is None:
            self._tombstones += 1
            after = None
        self.heads[key] = version
        if self.indexes:
            self.indexes.changed(before, after)
        self.last_revision = version.revision
        self.received += 1
        change = Change(self.resource, key, version.revision, version.api_version, before, after)
        self._history.append(change)
        return change

    def rebuild(self, versions: list[Version], revision: int) -> list[Change]:
        """Replace the state by a snapshot at a revision; the changes in between are unknown.
        Returns the difference; watchers expire."""
        old = {key: head for key, head in self.heads.items() if head.body is not None}
        self.heads, self._history, self._older, self._tombstones = {}, [], {}, 0
        self.indexes.clear()
        self.load(versions)
        self.floor = self.last_revision = revision
        for watcher in list(self.audience):
            watcher.expire(Compacted(revision))
        changes = []
        for version in versions:
            before = old.pop(version.key, None)
            if before is None or before.revision != version.revision:
                changes.append(self._change(version.key, version.revision, before, version))
        changes += (self._change(key, revision, before, None) for key, before in old.items())
        return changes

    def _change(
        self, key: str, revision: int, before: Version | None, after: Version | None
    ) -> Change:
        content = after or before
        assert content is not None
        return Change(self.resource, key, revision, content.api_version, before, after)

    def publish(self, change: Change, *, unbatched: bool = False) -> None:
        """Notify non-essential followers and watchers; their exceptions are not raised here.
        `unbatched`: no other change is queued that a watcher could send in the same batch."""
        self.followers.notify(change)
        if self.audience:
            self.audience.notify(change, unbatched)

    def events_after(self, revision: int) -> list[Change]:
        return self._history[bisect_right(self._history, revision, key=_revision) :]

    def changes_of(self, key: str) -> list[Change]:
        """Return the changes of a key after the floor, as `events_after` does."""
        head = self.heads.get(key)
        if head is None:
            return []
        changes: list[Change] = []
        before: Version | None = None
        for version in (*self._older.get(key, ()), head):
            after = version if version.body is not None else None
            if version.revision > self.floor:
                revision, api_version = version.revision, version.api_version
                changes.append(Change(self.resource, key, revision, api_version, before, after))
            before = after
        return changes

    def version_at(self, key: str, revision: int) -> Version | None:
        """Return the version of a key at a revision, which must not be below the floor."""
        return next(self.state_at([key] if key in self.heads else [], revision), None)

    def _range(self, namespace: str, after: str | None = None) -> Iterator[str]:
        low, high = key_range(namespace)
        if after is not None:
            return self.keys.irange(after, high, inclusive=(False, False))
        return self.keys.irange(low or None, high, inclusive=(True, False))

    def current(self, namespace: str, selection: Selection = EVERYTHING) -> list[Version]:
        """Return all live versions of a namespace (empty: all namespaces) in key order."""
        within = namespace or selection.namespace or ""
        if within and selection.name is not None:
            named = self.get(f"{within}/{selection.name}")
            return [named] if named is not None and selection.matches(named) else []
        versions = self.candidates(within, selection)
        if selection:
            return [version for version in versions if selection.matches(version)]
        if self._tombstones:
            return [version for version in versions if version.body is not None]
        return versions

    def candidates(self, namespace: str, selection: Selection) -> list[Version]:
        """Return a superset of the selected heads, from an index if that is smaller."""
        keys = self._keys_from_index(namespace, selection)
        heads = self.heads
        return [heads[key] for key in (self._range(namespace) if keys is None else sorted(keys))]

    def _keys_from_index(self, namespace: str, selection: Selection) -> list[str] | None:
        """Return the keys an index finds; None if there is no index or it saves nothing."""
        best = self.indexes.best(selection) if self.indexes and selection else None
        if best is None:
            return None
        index, hint = best
        if index.count(hint.values) >= self.count_in(namespace):
            return None
        keys = index.keys(hint.values)
        if not namespace:
            return keys
        start = f"{namespace}/"
        return [key for key in keys if key.startswith(start)]

    def count_in(self, namespace: str) -> int:
        """Count the keys of a namespace, including those of deleted objects."""
        if not namespace:
            return len(self.keys)
        low, high = key_range(namespace)
        return self.keys.bisect_left(high or low) - self.keys.bisect_left(low)

    def newest(self, namespace: str) -> list[Version]:
        """Return all live versions of a namespace, pending ones included."""
        if not self.pending:
            return self.current(namespace)
        versions = {version.key: version for version in self.current(namespace)}
        for key, version in self.pending.items():
            if version.namespace == namespace:
                versions[key] = version
        return [version for version in versions.values() if version.body is not None]

    def keys_at(
        self, namespace: str, selection: Selection, revision: int, after: str | None
    ) -> Iterable[str]:
        """Return the keys above `after` whose objects may be selected at a revision."""
        indexed = self._keys_from_index(namespace, selection)
        if indexed is None:
            return self._range(namespace, after)
        low, high = key_range(namespace)
        keys = {*indexed, *(change.key for change in self.events_after(revision))}
        return sorted(
            key
            for key in keys
            if key >= low and (high is None or key < high) and (after is None or key > after)
        )

    def state_at(self, keys: Iterable[str], revision: int) -> Iterator[Version]:
        heads = self.heads
        for key in keys:
            version: Version | None = heads[key]
            if version is not None and version.revision > revision:
                version = self._older_at(key, revision)
            if version is not None and version.body is not None:
                yield version

    def _older_at(self, key: str, revision: int) -> Version | None:
        older = self._older.get(key, [])
        index = bisect_right(older, revision, key=_revision)
        return older[index - 1] if index else None

    def count_after(self, namespace: str, key: str, revision: int) -> int:
        """Count the objects of the state at `revision` with keys above `key`: today's count
        corrected by the changes since, which saves a scan of all following keys."""
        high = self.keys.bisect_left(f"{namespace}{_AFTER_SLASH}") if namespace else None
        low = self.keys.bisect_right(key)
        count = (high if high is not None else len(self.keys)) - low
        if self._tombstones:
            heads = self.heads
            count -= sum(
                heads[remaining_key].body is None for remaining_key in self._range(namespace, key)
            )
        changed = {change.key for change in self.events_after(revision)}
        for changed_key in changed:
            if changed_key > key and (not namespace or changed_key.startswith(f"{namespace}/")):
                past = next(self.state_at([changed_key], revision), None)
                count += (past is not None) - (self.get(changed_key) is not None)
        return count

    def forget(self, floor: int) -> None:
        """Drop the history up to a revision."""
        self.floor = floor
        history = self._history
        if not history or history[0].revision > floor:
            return
        cut = bisect_right(history, floor, key=_revision)
        self._history = history[cut:]
        for key in {change.key for change in history[:cut]}:
            self._forget_key(key, floor)

    def _forget_key(self, key: str, floor: int) -> None:
        head = self.heads[key]
        if head.revision <= floor:
            self._older.pop(key, None)
            if head.body is None:
                del self.heads[key]
                self.keys.remove(key)
                self._tombstones -= 1
            return
        older = self._older[key]
        # The newest version at or below the floor belongs to the state at the floor.
        needed = max(bisect_right(older, floor, key=_revision) - 1, 0)
        del older[:needed]
        if older and older[0].body is None and older[0].revision <= floor:
            del older[0]
        if not older:
            del self._older[key]

    def reselect(self, select_fields: SelectFields | None) -> None:
        """Change the selectable fields: drop the indexes and what was read from objects."""
        self.select_fields = select_fields
        self.indexes.clear()
        for version in chain(self.heads.values(), *self._older.values()):
            version.drop_facts()

    def forget_readers(self) -> None:
        """Stop serving the resource: close its watchers, and drop its followers, indexes and
        selectable fields, which may differ when it is served again."""
        for watcher in list(self.audience):
            watcher.close()
        self.followers.clear()
        self.reselect(None)


# Indexes of objects by a label or a field, which save scans.

MAX_INDEXES: Final = 8  # per resource
FEW = 500  # scanned without an index


class Index:
    """Object keys by the value of one fact. A value with a single object takes no set."""

    __slots__ = ("_by_value", "_size", "fact", "ready")

    def __init__(self, fact: Fact) -> None:
        self.fact = fact
        self.ready = asyncio.Event()
        self._by_value: dict[str, str | set[str]] = {}
        self._size = 0

    def put(self, version: Version) -> None:
        value = self.fact.of(version)
        if value is None:
            return
        indexed = self._by_value.get(value)
        if indexed is None:
            self._by_value[value] = version.key
        elif version.key in self._keys_of(value):
            return
        elif isinstance(indexed, set):
            indexed.add(version.key)
        else:
            self._by_value[value] = {indexed, version.key}
        self._size += 1

    def drop(self, version: Version) -> None:
        value = self.fact.of(version)
        if value is None or version.key not in self._keys_of(value):
            return
        indexed = self._by_value[value]
        if isinstance(indexed, set) and len(indexed) > 1:
            indexed.remove(version.key)
        else:
            del self._by_value[value]
        self._size -= 1

    def count(self, values: Iterable[str] | None) -> int:
        if values is None:
            return self._size
        return sum(len(self._keys_of(value)) for value in values)

    def keys(self, values: Iterable[str] | None) -> list[str]:
        chosen = self._by_value if values is None else values
        return [key for value in chosen for key in self._keys_of(value)]

    def _keys_of(self, value: str) -> Keys[str]:
        indexed = self._by_value.get(value, ())
        return (indexed,) if isinstance(indexed, str) else indexed


class Indexes:
    """The indexes of one resource, built on demand for selectors. Above the limit, the least
    recently used one is dropped."""

    def __init__(self) -> None:
        self.built: OrderedDict[Fact, Index] = OrderedDict()
        self.building: dict[Fact, Index] = {}

    def __bool__(self) -> bool:
        return bool(self.built or self.building)

    def changed(self, before: Version | None, after: Version | None) -> None:
        """Apply a change of a key to all indexes."""
        for index in (*self.built.values(), *self.building.values()):
            if before is not None:
                index.drop(before)
            if after is not None:
                index.put(after)

    def clear(self) -> None:
        """Drop all indexes, including those being built."""
        self.built.clear()
        self.building.clear()

    def best(self, selection: Selection) -> tuple[Index, IndexHint] | None:
        """Return the index with the fewest candidates for a selection, None if there is none."""
        built = self.built
        usable = [(built[hint.fact], hint) for hint in selection.hints if hint.fact in built]
        if not usable:
            return None
        index, hint = min(usable, key=lambda candidate: candidate[0].count(candidate[1].values))
        self.built.move_to_end(index.fact)
        return index, hint

    def begin(self, fact: Fact) -> Index:
        """Start an index that `prepare_index` fills; changes are added to it from now on."""
        index = self.building[fact] = Index(fact)
        return index

    def end(self, index: Index, *, complete: bool) -> None:
        """Use an index from now on, or drop it if it is incomplete."""
        if complete:
            self.built[index.fact] = index
            if len(self.built) > MAX_INDEXES:
                self.built.popitem(last=False)
        if self.building.get(index.fact) is index:
            del self.building[index.fact]
        index.ready.set()
