"""Waiting for what a watcher of the store collects."""

from __future__ import annotations

import asyncio

from fairlead.storage.audience import Event, Watcher
from fairlead.storage.change import Change


class Ear:
    """Listens to a watcher, passes nothing on, and tells that there is something to take."""

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
    """What is pending, or as soon as something is; nothing if it is closed before that."""
    if not watcher.pending and not watcher.closed:
        await Ear(watcher).heard.wait()
        watcher.listener = None
    return watcher.take()
