"""One watcher's queue between the commit and its connection."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from fairlead.storage.entry import Entry
from fairlead.storage.selection import Selection

ADDED, MODIFIED, DELETED = "ADDED", "MODIFIED", "DELETED"

# Turns an event into the bytes that are sent; asked once an event and kind of watcher.
Frame = Callable[[str, Entry], bytes]

MOST_PENDING = 10_000


def event_type(entry: Entry, selection: Selection) -> str | None:
    """What the change means to someone who sees only the selection, or None if nothing."""
    if not selection:
        if entry.body is None:
            return DELETED
        return MODIFIED if entry.existed_before else ADDED
    before = entry.previous is not None and selection.matches(entry.previous)
    if selection.matches(entry):
        return MODIFIED if before else ADDED
    return DELETED if before else None


class Watcher:
    """Collects frames as commits happen; `take` gives them to the connection.

    A watcher that lets more than MOST_PENDING frames pile up is closed, never waited for.
    """

    __slots__ = (
        "_waiter",
        "after",
        "closed",
        "frame",
        "lagging",
        "on_close",
        "pending",
        "scope",
        "selection",
    )

    def __init__(self, scope: str, selection: Selection, after: int, frame: Frame) -> None:
        self.scope = scope
        self.selection = selection
        self.after = after
        self.frame = frame
        self.pending: list[bytes] = []
        self.closed = False
        self.lagging = False
        self.on_close: Callable[[], None] | None = None  # told when someone else closes it
        self._waiter: asyncio.Future[None] | None = None

    def deliver(self, entry: Entry) -> None:
        if entry.revision <= self.after or self.closed:
            return
        kind = event_type(entry, self.selection)
        if kind is None:
            return
        if len(self.pending) >= MOST_PENDING:
            self.lagging = True
            self.close()
            return
        self.pending.append(self.frame(kind, entry))
        self.wake()

    def close(self) -> None:
        """End the stream: what is pending is still given out, then `take` gives nothing."""
        self.closed = True
        if self.lagging:
            self.pending.clear()
        if self.on_close is not None:
            self.on_close()
        self.wake()

    def wake(self) -> None:
        """Let `take` return, with what there is."""
        waiter = self._waiter
        if waiter is not None and not waiter.done():
            waiter.set_result(None)

    async def take(self) -> list[bytes]:
        """The next frames; none when it was woken or closed without any."""
        if not self.pending and not self.closed:
            self._waiter = asyncio.get_running_loop().create_future()
            try:
                await self._waiter
            finally:
                self._waiter = None
        taken, self.pending = self.pending, []
        return taken
