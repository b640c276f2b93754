"""One watcher's queue between the commit and its connection."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from fairlead.storage.change import ADDED, DELETED, MODIFIED, Change
from fairlead.storage.counts import WATCHERS_ENDED
from fairlead.storage.selection import Selection

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


class Watcher:
    """Collects events as commits happen; `take` gives them to the connection, which encodes them.

    It hears of changes after the revision `after`. A watcher that lets too many events or bytes
    pile up is closed, never waited for, and one whose `pass_on` raises is closed with that
    `failure`.
    """

    __slots__ = (
        "_bytes",
        "_waiter",
        "after",
        "closed",
        "failure",
        "lagging",
        "on_close",
        "pass_on",
        "pending",
        "scope",
        "selection",
    )

    def __init__(self, scope: str, selection: Selection, after: int) -> None:
        self.scope = scope
        self.selection = selection
        self.after = after
        self.pending: list[Event] = []
        self.closed = False
        self.lagging = False
        self.failure: Exception | None = None
        self.on_close: Callable[[], None] | None = None  # told when someone else closes it
        # Sends one event at once, or says that it cannot; asked only while `take` waits.
        self.pass_on: Callable[[str, Change], bool] | None = None
        self._bytes = 0
        self._waiter: asyncio.Future[None] | None = None

    def deliver(self, kind: str, change: Change, alone: bool = False) -> None:
        """Hear of a change. One that comes `alone` need not wait for its turn in the queue."""
        if change.revision <= self.after or self.closed:
            return
        pending = self.pending
        if alone and not pending and self._waiter is not None:
            pass_on = self.pass_on
            try:
                if pass_on is not None and pass_on(kind, change):
                    return
            except Exception as error:
                self.fail(error)
                return
        if not pending:
            pending.append((kind, change))
            self._bytes = change.size
            self.wake()
            return
        self._bytes += change.size
        if len(pending) >= MOST_PENDING or self._bytes > MOST_PENDING_BYTES:
            self.lagging = True
            WATCHERS_ENDED.add(of=("lagging",))
            self.close()
            return
        pending.append((kind, change))

    def close(self) -> None:
        """End the stream: what is pending is still given out, then `take` gives nothing."""
        self.closed = True
        if self.lagging:
            self.pending.clear()
        if self.on_close is not None:
            self.on_close()
        self.wake()

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

    def wake(self) -> None:
        """Let `take` return, with what there is."""
        waiter = self._waiter
        if waiter is not None and not waiter.done():
            waiter.set_result(None)

    async def take(self) -> list[Event]:
        """The next events; none when it was woken or closed without any."""
        if not self.pending and not self.closed:
            self._waiter = asyncio.get_running_loop().create_future()
            try:
                await self._waiter
            finally:
                self._waiter = None
        taken, self.pending = self.pending, []
        return taken
