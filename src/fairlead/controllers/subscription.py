"""Subscriptions of controllers: changes of a collection become keys in a queue.

Called on every commit, so it is compiled and does not wait.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

from fairlead.base.backlog import Backlog
from fairlead.base.logs import Logger
from fairlead.storage.collection import Collection
from fairlead.storage.version import Change, existing

logger: Final = Logger("fairlead.controllers")

# Maps an event to the keys that need work. Called on every commit, so it must be fast. A list or
# tuple is short. The framework may stop iterating over others and continue in a later iteration of
# the event loop; a None is not a key, only a point where iteration may be interrupted.
Keys = Callable[[Change], Iterable[str | None]]

_REMAPPING_DELAY: Final = 1.0  # seconds until all objects are replayed after a mapping failed


class Subscription:
    """Maps the changes of a collection to keys of a `WorkQueue`. What takes long goes on in the
    backlog, in later iterations of the event loop."""

    def __init__(self, collection: Collection, keys: Keys, queue: Any, backlog: Backlog) -> None:
        self._collection = collection
        self._keys = keys
        self._queue = queue
        self._backlog = backlog

    def deliver(self, change: Change) -> None:
        if not self._backlog.has_time():
            self._queue.unmapped += 1
            self._backlog.add(self._queue_keys(change))
            return
        try:
            keys = self._keys(change)
            if isinstance(keys, (list, tuple)):
                for key in keys:
                    self._queue.add(key)
                return
        except Exception:
            self._deliver_again(change)
            return
        self._queue.unmapped += 1
        self._backlog.add(self._queue_keys(change, keys))

    def deliver_all(self) -> None:
        """Deliver all current objects."""
        for version in self._collection.current(""):
            self.deliver(existing(self._collection.resource, version))

    def _queue_keys(
        self, change: Change, keys: Iterable[str | None] | None = None
    ) -> Iterator[None]:
        """Each step queues one key."""
        try:
            for key in self._keys(change) if keys is None else keys:
                if key is not None:
                    self._queue.add(key)
                yield
        except Exception:
            self._deliver_again(change)
        finally:
            self._queue.unmapped -= 1

    def _deliver_again(self, change: Change) -> None:
        """The mapping has raised: deliver all objects of the collection after a pause."""
        logger.exception(
            "cannot process a change",
            controller=self._queue.name,
            resource=change.resource,
            key=change.key,
        )
        asyncio.get_running_loop().call_later(_REMAPPING_DELAY, self.deliver_all)


class Replay:
    """Delivers the objects of a collection one by one. Changes that arrive meanwhile are buffered
    and delivered afterwards, so the listener sees every object in order."""

    def __init__(self, collection: Collection, deliver: Callable[[Change], None]) -> None:
        self._collection = collection
        self._deliver = deliver
        self._versions = collection.current("")
        self._buffered: list[Change] | None = []  # None once all objects are delivered

    def listen(self, change: Change) -> None:
        if self._buffered is None:
            self._deliver(change)
        else:
            self._buffered.append(change)

    def restart(self) -> None:
        """Changes were lost: deliver all current objects again."""
        self._versions = self._collection.current("")
        if self._buffered is not None:
            self._buffered.clear()
            return
        for version in self._versions:
            self._deliver(existing(self._collection.resource, version))

    def end(self) -> None:
        """Stop delivering."""
        self._versions = []
        self._buffered = []

    def steps(self) -> Iterator[None]:
        """Each step delivers an object; the last one delivers all changes that were buffered."""
        versions = None
        while versions is not self._versions:
            versions = self._versions
            for version in versions:
                yield
                if versions is not self._versions:
                    break
                self._deliver(existing(self._collection.resource, version))
        changes, self._buffered, self._versions = self._buffered or [], None, []
        for change in changes:
            self._deliver(change)
