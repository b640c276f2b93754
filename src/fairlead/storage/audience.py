"""The followers and the watchers of a collection: callbacks in the process that receive every
change, and the queues of clients, which receive the changes that their selectors match."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Iterator
from typing import Final, Protocol

from fairlead.base.compiled import mypyc_attr
from fairlead.base.logs import Logger
from fairlead.storage.metrics import FOLLOWER_FAILURES, WATCHERS_ENDED
from fairlead.storage.selection import Fact, Requirement, Selection
from fairlead.storage.version import ADDED, DELETED, MODIFIED, Change

logger: Final = Logger("fairlead.storage")

Follower = Callable[[Change], None]
_RESYNC_PAUSE = 1.0


class FollowerFailed(Exception):
    """An essential follower raised on a change."""


class _Registration:
    __slots__ = ("after", "callback", "lost", "resting", "resync")

    def __init__(self, callback: Follower, after: int, resync: Callable[[], None] | None) -> None:
        self.callback = callback
        self.after = after
        self.resync = resync
        self.lost = False  # a change since the last resync
        self.resting = False


class Followers:
    """The followers of one resource. Essential ones run before the writer is acknowledged and must
    not raise; exceptions of the others are logged and counted, and the follower stays."""

    def __init__(self, resource: str) -> None:
        self._resource = resource
        self._essential: list[_Registration] = []
        self._deferred: list[_Registration] = []
        self._failed_before = False

    def add(
        self,
        callback: Follower,
        after: int,
        *,
        essential: bool,
        resync: Callable[[], None] | None = None,
    ) -> None:
        """Register a listener for changes after a revision."""
        registration = _Registration(callback, after, resync)
        (self._essential if essential else self._deferred).append(registration)

    def remove(self, callback: Follower) -> None:
        self._essential = [
            registration for registration in self._essential if registration.callback != callback
        ]
        self._deferred = [
            registration for registration in self._deferred if registration.callback != callback
        ]

    def clear(self) -> None:
        self._essential, self._deferred = [], []

    def notify_essential(self, change: Change) -> None:
        """Call the essential followers; raises FollowerFailed."""
        for registration in self._essential:
            try:
                registration.callback(change)
            except Exception as error:
                FOLLOWER_FAILURES.add(of=(self._resource,))
                name = getattr(registration.callback, "__qualname__", repr(registration.callback))
                raise FollowerFailed(
                    f"{name} could not take in {self._resource} {change.key} at revision"
                    f" {change.revision}: {type(error).__name__}: {error}"
                ) from error

    def notify(self, change: Change) -> None:
        for registration in self._deferred:
            if change.revision <= registration.after:
                continue  # it saw this object in the replay when it was added
            try:
                registration.callback(change)
            except Exception as error:
                self._isolate(registration, change, error)

    def _isolate(self, registration: _Registration, change: Change, error: Exception) -> None:
        FOLLOWER_FAILURES.add(of=(self._resource,))
        logger.log(
            logging.ERROR,
            "a follower failed",
            trace=None if self._failed_before else error,
            resource=self._resource,
            key=change.key,
            revision=change.revision,
            err=f"{type(error).__name__}: {error}",
        )
        self._failed_before = True
        registration.lost = True
        if registration.resync is not None and not registration.resting:
            registration.resting = True
            asyncio.get_running_loop().call_soon(self._resync, registration)

    def _resync(self, registration: _Registration) -> None:
        """Call `resync` of a follower that lost a change, at most once per second."""
        registration.resting = registration.lost
        if not registration.lost:
            return
        registration.lost = False
        assert registration.resync is not None
        try:
            registration.resync()
        except Exception as error:
            registration.lost = True
            logger.error("a follower cannot resync", resource=self._resource, err=error)
        asyncio.get_running_loop().call_later(_RESYNC_PAUSE, self._resync, registration)


# Watchers, by scope and selector.

_ANY: Final = "*"  # stands for all values of a fact; never a valid label value or name
_MAX_VALUES: Final = 16  # of a hint used to look up a group; each value costs an entry

Rules = tuple[tuple[Requirement, ...], tuple[Requirement, ...]]


class Group:
    """Watchers with the same selection: a change has the same event type for all of them."""

    __slots__ = ("_selection", "watchers")

    def __init__(self, selection: Selection) -> None:
        self._selection = selection
        self.watchers: dict[int, Watcher] = {}

    def notify(self, change: Change, unbatched: bool) -> None:
        watchers = tuple(self.watchers.values())
        try:
            kind = event_type(change, self._selection)
        except Exception as error:
            for watcher in watchers:
                watcher.fail(error)
            return
        if kind is not None:
            for watcher in watchers:
                watcher.deliver(kind, change, unbatched)


class Scope:
    """The groups of one scope: the collection, a namespace or a key. Groups whose selection
    requires a value of a fact, or its presence, are checked only for changes of objects that have
    it."""

    __slots__ = ("_by_fact", "_groups", "_unindexed")

    def __init__(self) -> None:
        self._groups: dict[Rules, Group] = {}
        self._unindexed: dict[Rules, Group] = {}
        self._by_fact: dict[Fact, dict[str, dict[Rules, Group]]] = {}

    def __bool__(self) -> bool:
        return bool(self._groups)

    def __iter__(self) -> Iterator[Watcher]:
        for group in self._groups.values():
            yield from group.watchers.values()

    @property
    def unindexed_watchers(self) -> int:
        """The number of watchers that check every change, regardless of facts."""
        return sum(len(group.watchers) for group in self._unindexed.values())

    def add(self, watcher: Watcher) -> None:
        rules = watcher.selection.rules
        group = self._groups.get(rules)
        if group is None:
            group = self._groups[rules] = Group(watcher.selection)
            for table in self._tables(watcher.selection):
                table[rules] = group
        group.watchers[id(watcher)] = watcher

    def remove(self, watcher: Watcher) -> None:
        rules = watcher.selection.rules
        group = self._groups.get(rules)
        if group is None:
            return
        group.watchers.pop(id(watcher), None)
        if not group.watchers:
            del self._groups[rules]
            for table in self._tables(watcher.selection):
                del table[rules]
            self._drop_empty_tables(watcher.selection)

    def notify(self, change: Change, unbatched: bool) -> None:
        if self._unindexed:
            for group in tuple(self._unindexed.values()):
                group.notify(change, unbatched)
        if self._by_fact:
            for group in self._matching_groups(change):
                group.notify(change, unbatched)

    def _tables(self, selection: Selection) -> list[dict[Rules, Group]]:
        """Return the lookup tables that hold a group with this selection."""
        for fact, values in selection.hints:
            if values is None or len(values) <= _MAX_VALUES:
                by_value = self._by_fact.setdefault(fact, {})
                return [by_value.setdefault(value, {}) for value in values or (_ANY,)]
        return [self._unindexed]

    def _drop_empty_tables(self, selection: Selection) -> None:
        for hint in selection.hints:
            by_value = self._by_fact.get(hint.fact, {})
            for value in hint.values or (_ANY,):
                if value in by_value and not by_value[value]:
                    del by_value[value]
            if not by_value:
                self._by_fact.pop(hint.fact, None)

    def _matching_groups(self, change: Change) -> Iterable[Group]:
        groups: dict[Rules, Group] = {}
        for fact, by_value in self._by_fact.items():
            try:
                values = {
                    fact.of(version)
                    for version in (change.before, change.after)
                    if version is not None
                }
            except Exception:  # each group hits the exception itself and fails its watchers
                values = set(by_value)
            values.discard(None)
            if values:
                values.add(_ANY)
            for value in values:
                if value in by_value:
                    groups.update(by_value[value])
        return groups.values()


class Audience:
    """The watchers of a collection by scope: all of it, a namespace, or one key."""

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
        """Estimate how many watchers receive a change of a key. Watchers found by facts are not
        counted: they are few for each change."""
        return sum(
            scope.unindexed_watchers
            for name in _scopes_of(key)
            if (scope := self._scopes.get(name)) is not None
        )

    def notify(self, change: Change, unbatched: bool) -> None:
        for name in _scopes_of(change.key):
            scope = self._scopes.get(name)
            if scope is not None:
                scope.notify(change, unbatched)


def _scopes_of(key: str) -> tuple[str, str, str]:
    """Return the names of the scopes that contain a key."""
    return "", key.rpartition("/")[0] + "/", key


# The queue of one watcher, between the commit and its connection.

Event = tuple[str, Change]

MAX_PENDING = 10_000
MAX_PENDING_BYTES = 64 << 20


def event_type(change: Change, selection: Selection) -> str | None:
    """Return the event type of a change as seen through a selection, None if not visible."""
    if not selection:
        return change.kind
    old, new = change.before, change.after
    before = old is not None and selection.matches(old)
    if new is not None and selection.matches(new):
        return MODIFIED if before else ADDED
    return DELETED if before else None


class Listener(Protocol):
    """Sends the events of a watcher to its client. All methods are called during a delivery to many
    watchers, so they must not block."""

    def pass_on(self, kind: str, change: Change) -> bool:
        """Send one event at once, with nothing pending before it; False if that is not possible."""

    def wake(self) -> None:
        """Events are pending now."""

    def closed(self) -> None:
        """No more events will follow."""


@mypyc_attr(allow_interpreted_subclasses=True)
class Watcher:
    """Queues events as commits happen; the listener fetches them with `take` and encodes them.

    Receives changes after the revision `after`. A watcher with too many pending events or bytes is
    closed; delivery never waits for it. If its listener raises, it is closed with that `failure`;
    the other watchers still receive the change.
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
        self.size = 0  # bytes of the pending events

    def deliver(self, kind: str, change: Change, unbatched: bool = False) -> None:
        """Queue a change. With `unbatched`, no other change follows at once, so the listener may
        send it without queueing."""
        if change.revision <= self.after or self.closed:
            return
        pending = self.pending
        if pending:
            self.size += change.size
            if len(pending) >= MAX_PENDING or self.size > MAX_PENDING_BYTES:
                self.lagging = True
                WATCHERS_ENDED.add(of=("lagging",))
                self.close()
            else:
                pending.append((kind, change))
            return
        listener = self.listener
        try:
            if unbatched and listener is not None and listener.pass_on(kind, change):
                return
            pending.append((kind, change))
            self.size = change.size
            if listener is not None:
                listener.wake()
        except Exception as error:
            self.fail(error)

    def close(self) -> None:
        """End the stream; pending events are still sent, except those of a lagging watcher."""
        self.closed = True
        if self.lagging:
            self.pending.clear()
        if self.listener is not None:
            try:
                self.listener.closed()
            except Exception:  # the delivery continues with other watchers
                logger.exception("cannot end a watch")

    def fail(self, error: Exception) -> None:
        """End the stream because a change cannot be delivered."""
        if not self.closed:
            self.failure = error
            WATCHERS_ENDED.add(of=("failure",))
            self.close()

    def expire(self, failure: Exception) -> None:
        """End the stream because the following changes are compacted."""
        self.failure = failure
        WATCHERS_ENDED.add(of=("expired",))
        self.close()

    def take(self) -> list[Event]:
        """Return and clear the pending events."""
        events, self.pending = self.pending, []
        return events
