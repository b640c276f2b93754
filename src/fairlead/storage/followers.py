"""Callbacks that receive every change of a resource, and the handling of their exceptions."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from fairlead.storage.change import Change
from fairlead.storage.metrics import FOLLOWER_FAILURES

logger = logging.getLogger("fairlead.storage")

Follower = Callable[[Change], None]
_RESYNC_PAUSE = 1.0


class FollowerFailed(Exception):
    """An essential follower raised on a change."""


class _Registration:
    __slots__ = ("after", "listener", "lost", "resting", "resync")

    def __init__(self, listener: Follower, after: int, resync: Callable[[], None] | None) -> None:
        self.listener = listener
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
        self._others: list[_Registration] = []
        self._failed_before = False

    def add(
        self,
        listener: Follower,
        after: int,
        *,
        essential: bool,
        resync: Callable[[], None] | None = None,
    ) -> None:
        """Register a listener for changes after a revision."""
        follower = _Registration(listener, after, resync)
        (self._essential if essential else self._others).append(follower)

    def remove(self, listener: Follower) -> None:
        self._essential = [found for found in self._essential if found.listener != listener]
        self._others = [found for found in self._others if found.listener != listener]

    def clear(self) -> None:
        self._essential, self._others = [], []

    def tell_essential(self, change: Change) -> None:
        """Call the essential followers; raises FollowerFailed."""
        for follower in self._essential:
            try:
                follower.listener(change)
            except Exception as error:
                FOLLOWER_FAILURES.add(of=(self._resource,))
                name = getattr(follower.listener, "__qualname__", repr(follower.listener))
                raise FollowerFailed(
                    f"{name} could not take in {self._resource} {change.key} at revision"
                    f" {change.revision}: {type(error).__name__}: {error}"
                ) from error

    def tell(self, change: Change) -> None:
        for follower in self._others:
            if change.revision <= follower.after:
                continue  # it saw this object in the replay when it was added
            try:
                follower.listener(change)
            except Exception as error:
                self._isolate(follower, change, error)

    def _isolate(self, follower: _Registration, change: Change, error: Exception) -> None:
        FOLLOWER_FAILURES.add(of=(self._resource,))
        logger.error(
            "a follower of %s failed at %s, revision %d: %s: %s",
            self._resource,
            change.key,
            change.revision,
            type(error).__name__,
            error,
            exc_info=None if self._failed_before else error,
        )
        self._failed_before = True
        follower.lost = True
        if follower.resync is not None and not follower.resting:
            follower.resting = True
            asyncio.get_running_loop().call_soon(self._resync, follower)

    def _resync(self, follower: _Registration) -> None:
        """Call `resync` of a follower that lost a change, at most once per second."""
        follower.resting = follower.lost
        if not follower.lost:
            return
        follower.lost = False
        assert follower.resync is not None
        try:
            follower.resync()
        except Exception as error:
            follower.lost = True
            logger.error("a follower of %s cannot resync: %s", self._resource, error)
        asyncio.get_running_loop().call_later(_RESYNC_PAUSE, self._resync, follower)
