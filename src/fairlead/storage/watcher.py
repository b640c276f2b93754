"""One watcher's queue between the commit and its connection."""

from __future__ import annotations

import logging
from typing import Protocol

from fairlead.base.compiled import mypyc_attr
from fairlead.storage.change import ADDED, DELETED, MODIFIED, Change
from fairlead.storage.metrics import WATCHERS_ENDED
from fairlead.storage.selection import Selection

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
