"""Waits for the events of a store's watcher."""

from __future__ import annotations

import asyncio

from fairlead.storage.audience import Event, Watcher
from fairlead.storage.version import Change


class Ear:
    """A watcher's listener that consumes nothing and signals when events are pending."""

    def __init__(self, watcher: Watcher) -> None:
        self.heard = asyncio.Event()
        watcher.listener = self

    def pass_on(self, kind: str, change: Change) -> bool:
        return False

    def wake(self) -> None:
        self.heard.set()

    def closed(self) -> None:
        self.heard.set()


async def next_events(watcher: Watcher) -> list[Event]:
    """Return the pending events; waits for some, or returns none if the watcher is closed."""
    if not watcher.pending and not watcher.closed:
        await Ear(watcher).heard.wait()
        watcher.listener = None
    return watcher.take()
