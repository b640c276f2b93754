"""The watchers of a collection: who hears of a change, and as what."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from typing import Protocol

from fairlead.base.compiled import mypyc_attr
from fairlead.storage.change import ADDED, DELETED, MODIFIED, Change
from fairlead.storage.metrics import WATCHERS_ENDED
from fairlead.storage.selection import Fact, Requirement, Selection

_ANY = "*"  # stands for all values of a fact; none of a label or a name is that
_MOST_VALUES = 16  # of a selection by which its group is found; each costs an entry

Rules = tuple[tuple[Requirement, ...], tuple[Requirement, ...]]


class Group:
    """Watchers with the same selection: what a change is to one it is to all."""

    __slots__ = ("_selection", "watchers")

    def __init__(self, selection: Selection) -> None:
        self._selection = selection
        self.watchers: dict[int, Watcher] = {}

    def tell(self, change: Change, alone: bool) -> None:
        watchers = tuple(self.watchers.values())
        try:
            kind = event_type(change, self._selection)
        except Exception as error:
            for watcher in watchers:
                watcher.fail(error)
            return
        if kind is not None:
            for watcher in watchers:
                watcher.deliver(kind, change, alone)


class Scope:
    """The groups of one part of the collection. A selection that names values of a fact, or asks
    for it to be there, is only held against changes of objects with such a value."""

    __slots__ = ("_by_fact", "_groups", "_others")

    def __init__(self) -> None:
        self._groups: dict[Rules, Group] = {}
        self._others: dict[Rules, Group] = {}
        self._by_fact: dict[Fact, dict[str, dict[Rules, Group]]] = {}

    def __bool__(self) -> bool:
        return bool(self._groups)

    def __iter__(self) -> Iterator[Watcher]:
        for group in self._groups.values():
            yield from group.watchers.values()

    @property
    def everybody(self) -> int:
        """How many look at every change, whatever its facts are."""
        return sum(len(group.watchers) for group in self._others.values())

    def add(self, watcher: Watcher) -> None:
        rules = watcher.selection.rules
        group = self._groups.get(rules)
        if group is None:
            group = self._groups[rules] = Group(watcher.selection)
            for place in self._places(watcher.selection):
                place[rules] = group
        group.watchers[id(watcher)] = watcher

    def remove(self, watcher: Watcher) -> None:
        rules = watcher.selection.rules
        group = self._groups.get(rules)
        if group is None:
            return
        group.watchers.pop(id(watcher), None)
        if not group.watchers:
            del self._groups[rules]
            for place in self._places(watcher.selection):
                del place[rules]
            self._clear_places(watcher.selection)

    def tell(self, change: Change, alone: bool) -> None:
        if self._others:
            for group in tuple(self._others.values()):
                group.tell(change, alone)
        if self._by_fact:
            for group in self._concerned(change):
                group.tell(change, alone)

    def _places(self, selection: Selection) -> list[dict[Rules, Group]]:
        """Where a group with this selection is kept."""
        for fact, values in selection.clues:
            if values is None or len(values) <= _MOST_VALUES:
                by_value = self._by_fact.setdefault(fact, {})
                return [by_value.setdefault(value, {}) for value in values or (_ANY,)]
        return [self._others]

    def _clear_places(self, selection: Selection) -> None:
        for clue in selection.clues:
            by_value = self._by_fact.get(clue.fact, {})
            for value in clue.values or (_ANY,):
                if value in by_value and not by_value[value]:
                    del by_value[value]
            if not by_value:
                self._by_fact.pop(clue.fact, None)

    def _concerned(self, change: Change) -> Iterable[Group]:
        found: dict[Rules, Group] = {}
        for fact, by_value in self._by_fact.items():
            try:
                values = {fact.of(one) for one in (change.before, change.after) if one is not None}
            except Exception:  # each of them finds out for itself
                values = set(by_value)
            values.discard(None)
            if values:
                values.add(_ANY)
            for value in values:
                if value in by_value:
                    found.update(by_value[value])
        return found.values()


class Audience:
    """The watchers by what part of the collection they watch: all, a namespace, or one key."""

    __slots__ = ("_scopes",)

    def __init__(self) -> None:
        self._scopes: dict[str, Scope] = {}

    def __bool__(self) -> bool:
        return bool(self._scopes)

    def __iter__(self) -> Iterator[Watcher]:
        for scope in self._scopes.values():
            yield from scope

    def add(self, watcher: Watcher) -> None:
        self._scopes.setdefault(watcher.scope, Scope()).add(watcher)

    def remove(self, watcher: Watcher) -> None:
        scope = self._scopes.get(watcher.scope)
        if scope is not None:
            scope.remove(watcher)
            if not scope:
                del self._scopes[watcher.scope]

    def count(self, key: str) -> int:
        """About how many hear of a change of a key: those who select by facts are few for each."""
        return sum(
            scope.everybody
            for name in _concerned_by(key)
            if (scope := self._scopes.get(name)) is not None
        )

    def tell(self, change: Change, alone: bool) -> None:
        for name in _concerned_by(change.key):
            scope = self._scopes.get(name)
            if scope is not None:
                scope.tell(change, alone)


def _concerned_by(key: str) -> tuple[str, str, str]:
    """The names of scopes that a key belongs to."""
    return "", key.rpartition("/")[0] + "/", key


# One watcher's queue between the commit and its connection.

logger = logging.getLogger("fairlead.storage")

Event = tuple[str, Change]

MOST_PENDING = 10_000
MOST_PENDING_BYTES = 64 << 20


def event_type(change: Change, selection: Selection) -> str | None:
    """What the change means to someone who sees only the selection, or None if nothing."""
    if not selection:
        return change.kind
    old, new = change.before, change.after
    before = old is not None and selection.matches(old)
    if new is not None and selection.matches(new):
        return MODIFIED if before else ADDED
    return DELETED if before else None


class Listener(Protocol):
    """Who serves a watcher: sends to a client what it collects. All are called in the midst of a
    delivery to many."""

    def pass_on(self, kind: str, change: Change) -> bool:
        """Send one event at once, before which nothing is pending, or say that this cannot be."""

    def wake(self) -> None:
        """Something is pending now."""

    def closed(self) -> None:
        """There will be no more."""


@mypyc_attr(allow_interpreted_subclasses=True)
class Watcher:
    """Collects events as commits happen; `take` gives them to the listener, which encodes them.

    It hears of changes after the revision `after`. A watcher that lets too many events or bytes
    pile up is closed, never waited for. One whose listener raises is closed with that `failure`;
    the other watchers hear of the change all the same.
    """

    __slots__ = (
        "after",
        "closed",
        "failure",
        "lagging",
        "listener",
        "pending",
        "scope",
        "selection",
        "size",
    )

    def __init__(self, scope: str, selection: Selection, after: int) -> None:
        self.scope = scope
        self.selection = selection
        self.after = after
        self.pending: list[Event] = []
        self.closed = False
        self.lagging = False
        self.failure: Exception | None = None
        self.listener: Listener | None = None
        self.size = 0  # bytes of what is pending

    def deliver(self, kind: str, change: Change, alone: bool = False) -> None:
        """Hear of a change. One that comes `alone` need not wait for its turn in the queue."""
        if change.revision <= self.after or self.closed:
            return
        pending = self.pending
        if pending:
            self.size += change.size
            if len(pending) >= MOST_PENDING or self.size > MOST_PENDING_BYTES:
                self.lagging = True
                WATCHERS_ENDED.add(of=("lagging",))
                self.close()
            else:
                pending.append((kind, change))
            return
        listener = self.listener
        try:
            if alone and listener is not None and listener.pass_on(kind, change):
                return
            pending.append((kind, change))
            self.size = change.size
            if listener is not None:
                listener.wake()
        except Exception as error:
            self.fail(error)

    def close(self) -> None:
        """End the stream: what is pending is still given out."""
        self.closed = True
        if self.lagging:
            self.pending.clear()
        if self.listener is not None:
            try:
                self.listener.closed()
            except Exception:  # others are told in the same delivery
                logger.exception("a watch cannot be ended")

    def fail(self, error: Exception) -> None:
        """End the stream because a change cannot be told."""
        if not self.closed:
            self.failure = error
            WATCHERS_ENDED.add(of=("failure",))
            self.close()

    def expire(self, failure: Exception) -> None:
        """End the stream because what comes next can no longer be told."""
        self.failure = failure
        WATCHERS_ENDED.add(of=("expired",))
        self.close()

    def take(self) -> list[Event]:
        """What is pending, which is no longer then."""
        taken, self.pending = self.pending, []
        return taken
