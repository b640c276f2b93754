"""Checks that watchers received every event, once and in order, and that lists show their result.

Watchers list, watch from there, resume from the last revision that they received when a stream
breaks, and list again when that is too old. The union of all received events is what happened. Each
watcher must have received all of it between its list and its last revision, and it must equal the
writes of clients.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from support.operations import Operation, Outcome, Verb

ADDED, MODIFIED, DELETED = "ADDED", "MODIFIED", "DELETED"


class Shown(NamedTuple):
    """An object as a list or an event shows it."""

    value: str
    revision: int


@dataclass(frozen=True, slots=True)
class Listing:
    """A list of everything; unless `recent`, it may show an older state."""

    who: str
    called: float
    returned: float
    revision: int
    items: dict[str, Shown]
    recent: bool = True


class WatchedEvent(NamedTuple):
    """An event; a deletion shows the deleted object."""

    kind: str
    key: str
    value: str
    revision: int
    at: float = 0.0


class Bookmark(NamedTuple):
    revision: int


class Cut(NamedTuple):
    """The stream ended and was resumed from the last revision."""


Entry = Listing | WatchedEvent | Bookmark | Cut


@dataclass(slots=True)
class WatchLog:
    """The entries of one watcher, in order. The first is a list."""

    name: str
    entries: list[Entry] = field(default_factory=list)

    @property
    def position(self) -> int:
        """The last revision it received."""
        revisions = (
            entry.revision for entry in reversed(self.entries) if not isinstance(entry, Cut)
        )
        return next(revisions, 0)


@dataclass(slots=True)
class Segment:
    """The events of one watcher after one list, up to `end`."""

    start: int
    end: int
    events: list[WatchedEvent] = field(default_factory=list)
    complete: bool = True  # whether all events of the revision `end` were received


def check_watches(
    logs: Sequence[WatchLog],
    operations: Sequence[Operation],
    listings: Iterable[Listing] = (),
    base: int = 0,
) -> list[str]:
    """Return the problems found, as texts. `base` is a revision at which the collection was
    empty."""
    texts: list[str] = []
    segments: list[tuple[str, Segment]] = []
    for log in logs:
        reader = Reader(log.name)
        for entry in log.entries:
            reader.take(entry)
        texts += reader.problems
        segments += [(log.name, segment) for segment in reader.segments]
    happened = Happened(segments)
    texts += happened.problems
    texts += happened.gaps(segments)
    texts += compare_with_writes(happened, operations)
    texts += compare_deletions(happened, operations, happened.covers(base, happened.end))
    lists = [entry for log in logs for entry in log.entries if isinstance(entry, Listing)]
    texts += check_lists(happened, [*lists, *listings], operations, base)
    return texts


class Reader:
    """Reads one watcher's log, and checks what it can without the others."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.segments: list[Segment] = []
        self.problems: list[str] = []
        self._state: dict[str, str] = {}
        # Keys received at the last revision; None: all of them.
        self._keys_now: set[str] | None = None

    def _wrong(self, what: str) -> None:
        self.problems.append(f"{self.name}: {what}")

    def take(self, entry: Entry) -> None:
        if isinstance(entry, Listing):
            if self.segments and entry.revision < self.segments[-1].end:
                self._wrong(f"a list at {entry.revision} after {self.segments[-1].end}")
            self.segments.append(Segment(entry.revision, entry.revision))
            self._state = {key: item.value for key, item in entry.items.items()}
            self._keys_now = None
        elif isinstance(entry, Bookmark):
            segment = self.segments[-1]
            if entry.revision < segment.end:
                self._wrong(f"a bookmark at {entry.revision} after {segment.end}")
            segment.end, segment.complete, self._keys_now = entry.revision, True, None
        elif isinstance(entry, WatchedEvent):
            self._take_event(entry)

    def _take_event(self, event: WatchedEvent) -> None:
        segment = self.segments[-1]
        if event.revision > segment.end:
            self._keys_now = {event.key}
        elif (
            event.revision == segment.end
            and self._keys_now is not None
            and event.key not in self._keys_now
        ):
            self._keys_now.add(event.key)  # a commit of several objects
        else:
            self._wrong(f"{event} after {segment.end}: told before, or late")
            return
        segment.end, segment.complete = event.revision, False
        segment.events.append(event)
        held = self._state.get(event.key)
        if (event.kind == ADDED) != (held is None):
            self._wrong(f"{event} while it held {held}")
        if event.kind == DELETED:
            if held is not None and held != event.value:
                self._wrong(f"{event} shows another one than {held}")
            self._state.pop(event.key, None)
        else:
            self._state[event.key] = event.value


class Happened:
    """Every event that any watcher received, by revision and key."""

    def __init__(self, segments: Iterable[tuple[str, Segment]]) -> None:
        self.events: dict[tuple[int, str], WatchedEvent] = {}
        self.problems: list[str] = []
        spans: list[tuple[int, int]] = []
        for name, segment in segments:
            spans.append((segment.start, segment.end))
            for event in segment.events:
                first = self.events.setdefault((event.revision, event.key), event)
                if (first.kind, first.value) != (event.kind, event.value):
                    self.problems.append(f"{name}: {event} is {first} elsewhere")
        self.order = sorted(self.events)
        self._spans = list(merged(spans))
        self.end = max((high for _, high in spans), default=0)

    def covers(self, start: int, end: int) -> bool:
        """Return whether some watcher received everything after one revision up to another."""
        return start >= end or any(low <= start and end <= high for low, high in self._spans)

    def between(self, start: int, end: int) -> list[WatchedEvent]:
        """Return the events after a revision up to another, in order."""
        low = bisect_right(self.order, (start, "\U0010ffff"))
        high = bisect_right(self.order, (end, "\U0010ffff"))
        return [self.events[at] for at in self.order[low:high]]

    def gaps(self, segments: Iterable[tuple[str, Segment]]) -> list[str]:
        texts: list[str] = []
        for name, segment in segments:
            heard = {(event.revision, event.key) for event in segment.events}
            for event in self.between(segment.start, segment.end):
                due = event.revision < segment.end or segment.complete
                if due and (event.revision, event.key) not in heard:
                    texts.append(f"{name}: never heard of {event}, came to {segment.end}")
        return texts


def merged(spans: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Merge overlapping spans."""
    current: tuple[int, int] | None = None
    for low, high in sorted(spans):
        if current is not None and low <= current[1]:
            current = current[0], max(current[1], high)
        else:
            if current is not None:
                yield current
            current = low, high
    if current is not None:
        yield current


def compare_with_writes(happened: Happened, operations: Iterable[Operation]) -> list[str]:
    """Check that every event is a write that a client made and that was not refused, and that every
    acknowledged write became an event."""
    writes = {
        operation.value: operation
        for operation in operations
        if operation.writes and operation.value is not None
    }
    texts: list[str] = []
    for event in happened.events.values():
        write = writes.get(event.value)
        if write is None or write.key != event.key:
            texts.append(f"{event}: nobody wrote that")
        elif write.outcome not in (Outcome.DONE, Outcome.UNKNOWN):
            texts.append(f"{event}: was refused: {write}")
        elif event.kind != DELETED:
            if (event.kind == ADDED) != (write.verb is Verb.CREATE):
                texts.append(f"{event}: was no such write: {write}")
            if write.revision not in (None, event.revision):
                texts.append(f"{event}: has another revision: {write}")
    for write in writes.values():
        revision = write.revision
        if write.is_acknowledged and revision is not None:
            event_of = happened.events.get((revision, write.key))
            if event_of is None and happened.covers(revision - 1, revision):
                texts.append(f"nobody heard of an acknowledged write: {write}")
    return texts


def compare_deletions(
    happened: Happened, operations: Iterable[Operation], whole: bool
) -> list[str]:
    """Check the deletions, whose answers have no revision: at least one event for each, if
    everything was received, and no more events than attempts."""
    counter = Counter(event.key for event in happened.events.values() if event.kind == DELETED)
    done: Counter[str] = Counter()
    possible: Counter[str] = Counter()
    for operation in operations:
        if operation.verb is Verb.DELETE and operation.outcome in (Outcome.DONE, Outcome.UNKNOWN):
            possible[operation.key] += 1
            done[operation.key] += operation.outcome is Outcome.DONE
    return [
        f"{key}: {counter[key]} deletions told, {done[key]} acknowledged, {possible[key]} possible"
        for key in counter.keys() | done.keys()
        if counter[key] > possible[key] or (whole and counter[key] < done[key])
    ]


def check_lists(
    happened: Happened,
    listings: Iterable[Listing],
    operations: Iterable[Operation],
    base: int,
) -> list[str]:
    """Check that a list shows the result of the events up to its revision, and is not older than
    the writes that were acknowledged before its request."""
    texts: list[str] = []
    ordered = sorted(listings, key=lambda item: item.revision)
    state: dict[str, Shown] = {}
    position = base
    for listing in ordered:
        if not happened.covers(position, listing.revision):
            # No watcher received what led there.
            state, position = dict(listing.items), listing.revision
            continue
        for event in happened.between(position, listing.revision):
            if event.kind == DELETED:
                state.pop(event.key, None)
            else:
                state[event.key] = Shown(event.value, event.revision)
        position = listing.revision
        if state != listing.items:
            differing = dict(set(state.items()) ^ set(listing.items.items()))
            output = {key: (state.get(key), listing.items.get(key)) for key in differing}
            texts.append(f"{listing.who}: a list at {position} shows otherwise: {output}")
    return texts + stale_lists(ordered, operations)


def stale_lists(listings: Iterable[Listing], operations: Iterable[Operation]) -> list[str]:
    writes = sorted(
        (operation.returned, operation.revision or 0)
        for operation in operations
        if operation.is_acknowledged
    )
    newest: list[int] = []
    for _, revision in writes:
        newest.append(max(revision, newest[-1] if newest else 0))
    texts: list[str] = []
    for listing in listings:
        at = bisect_right(writes, (listing.called, 0))
        if listing.recent and at and newest[at - 1] > listing.revision:
            texts.append(
                f"{listing.who}: a list at {listing.revision}, asked for when"
                f" {newest[at - 1]} was acknowledged"
            )
    return texts


def times_seen(logs: Iterable[WatchLog]) -> dict[str, float]:
    """Return when each value was first received by a watch."""
    seen: dict[str, float] = {}
    for log in logs:
        for entry in log.entries:
            if isinstance(entry, WatchedEvent):
                seen[entry.value] = min(entry.at, seen.get(entry.value, entry.at))
    return seen
