"""The watch cache of one resource: its ordered current state and its recent history."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

from sortedcontainers import SortedList

from fairlead.storage.entry import Entry
from fairlead.storage.selection import EVERYTHING, Selection
from fairlead.storage.watcher import Watcher

SelectFields = Callable[[dict[str, Any]], Mapping[str, str]]
_AFTER_SLASH = "0"  # the character after "/": `ns/` <= key < `ns0` are the keys of a namespace


def _revision(entry: Entry) -> int:
    return entry.revision


class Page:
    """A part of a list: its entries, and where and how much more there is."""

    __slots__ = ("entries", "last_key", "remaining")

    def __init__(self, entries: list[Entry], last_key: str | None, remaining: int | None) -> None:
        self.entries = entries
        self.last_key = last_key
        self.remaining = remaining


class Collection:
    """Heads are the newest version of every key, deleted ones included while history is kept;
    older versions hang behind them, so the state at any kept revision can be read."""

    def __init__(self, prefix: str) -> None:
        self.prefix = prefix
        self.select_fields: SelectFields | None = None
        self.last_revision = 0
        self.listeners: list[Callable[[Entry], None]] = []  # called on every commit, in order
        self._heads: dict[str, Entry] = {}
        self._keys: SortedList[str] = SortedList()
        self._graves = 0
        self._history: list[Entry] = []
        self._watchers: dict[str, dict[int, Watcher]] = {}

    def __len__(self) -> int:
        return len(self._heads) - self._graves

    @property
    def bytes(self) -> int:
        return sum(len(head.body) for head in self._heads.values() if head.body is not None)

    def fields_of(self, value: dict[str, Any]) -> Mapping[str, str]:
        return self.select_fields(value) if self.select_fields else {}

    def get(self, key: str) -> Entry | None:
        head = self._heads.get(key)
        return head if head is not None and head.body is not None else None

    def head(self, key: str) -> Entry | None:
        """The newest version, a deletion included."""
        return self._heads.get(key)

    def add(self, entry: Entry, *, to_history: bool = True) -> None:
        """Take in the next version of a key; revisions only rise."""
        old = self._heads.get(entry.key)
        if old is None:
            self._keys.add(entry.key)
        elif old.body is None:
            self._graves -= 1
        if entry.body is None:
            self._graves += 1
        self._heads[entry.key] = entry
        self.last_revision = entry.revision
        if to_history:
            self._history.append(entry)
        else:
            entry.previous = None

    def publish(self, entry: Entry) -> None:
        for listener in self.listeners:
            listener(entry)
        watchers = self._watchers
        if not watchers:
            return
        for scope in ("", entry.namespace + "/", entry.key):
            for watcher in tuple(watchers.get(scope, {}).values()):
                watcher.deliver(entry)

    def watch(self, watcher: Watcher) -> None:
        self._watchers.setdefault(watcher.scope, {})[id(watcher)] = watcher

    def unwatch(self, watcher: Watcher) -> None:
        scoped = self._watchers.get(watcher.scope, {})
        scoped.pop(id(watcher), None)
        if not scoped:
            self._watchers.pop(watcher.scope, None)

    def watchers(self) -> Iterator[Watcher]:
        for scoped in self._watchers.values():
            yield from scoped.values()

    def events_after(self, revision: int) -> list[Entry]:
        return self._history[bisect_right(self._history, revision, key=_revision) :]

    def _range(self, namespace: str, after: str | None = None) -> Iterator[str]:
        low = f"{namespace}/" if namespace else None
        high = f"{namespace}{_AFTER_SLASH}" if namespace else None
        if after is not None:
            return self._keys.irange(after, high, inclusive=(False, False))
        return self._keys.irange(low, high, inclusive=(True, False))

    def current(self, namespace: str, selection: Selection = EVERYTHING) -> list[Entry]:
        """All live entries of a namespace (or of all), in the order of keys."""
        within = namespace or selection.namespace or ""
        if within and selection.name is not None:
            found = self.get(f"{within}/{selection.name}")
            return [found] if found is not None and selection.matches(found) else []
        heads = self._heads
        entries = [heads[key] for key in self._range(within)]
        if selection:
            return [entry for entry in entries if selection.matches(entry)]
        if self._graves:
            return [entry for entry in entries if entry.body is not None]
        return entries

    def page(
        self, namespace: str, selection: Selection, revision: int, limit: int, after: str | None
    ) -> Page:
        """Up to `limit` entries (0: all) of the state at `revision`, behind the key `after`."""
        found = self._state_at(self._range(namespace, after), selection, revision)
        entries = list(islice(found, limit)) if limit else list(found)
        more = next(found, None) if limit else None
        if more is None:
            return Page(entries, None, None)
        last = entries[-1].key
        remaining = None if selection else self._count_after(namespace, last, revision)
        return Page(entries, last, remaining)

    def _state_at(
        self, keys: Iterable[str], selection: Selection, revision: int
    ) -> Iterator[Entry]:
        heads = self._heads
        for key in keys:
            entry: Entry | None = heads[key]
            while entry is not None and entry.revision > revision:
                entry = entry.previous
            if entry is None or entry.body is None:
                continue
            if not selection or selection.matches(entry):
                yield entry

    def _count_after(self, namespace: str, key: str, revision: int) -> int:
        """How many entries of the state at `revision` lie behind a key: today's number, corrected
        by what changed since, so that a page costs no walk over all that follows."""
        high = self._keys.bisect_left(f"{namespace}{_AFTER_SLASH}") if namespace else None
        low = self._keys.bisect_right(key)
        count = (high if high is not None else len(self._keys)) - low
        if self._graves:
            heads = self._heads
            count -= sum(heads[found].body is None for found in self._range(namespace, key))
        changed = {entry.key for entry in self.events_after(revision)}
        for found in changed:
            if found > key and (not namespace or found.startswith(f"{namespace}/")):
                then = next(self._state_at([found], EVERYTHING, revision), None)
                count += (then is not None) - (self.get(found) is not None)
        return count

    def forget(self, floor: int) -> list[int]:
        """Drop the history up to a revision; gives the revisions that nothing needs any more."""
        cut = bisect_right(self._history, floor, key=_revision)
        superseded: list[int] = []
        for entry in self._history[:cut]:
            if entry.previous is not None:
                superseded.append(entry.previous.revision)
                entry.previous = None
            entry.frames = None
            if entry.body is None:
                superseded.append(entry.revision)
                if self._heads.get(entry.key) is entry:
                    del self._heads[entry.key]
                    self._keys.remove(entry.key)
                    self._graves -= 1
        del self._history[:cut]
        return superseded
