"""Calls change handlers, each at its own pace."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

from fairlead.base.logs import Logger
from fairlead.client.informer.cache import Cache, Object

_LOG = Logger(__name__)

Told = Callable[[Object], Awaitable[None] | None]
ToldOfBoth = Callable[[Object, Object], Awaitable[None] | None]


class Functions(NamedTuple):
    """The callbacks of a handler, each optional: with an object, or with its old and new state."""

    added: Told | None = None
    updated: ToldOfBoth | None = None
    deleted: Told | None = None


class Handler:
    """Reports the difference between the cache and the state reported before. Pending changes are a
    set of keys, so a slow handler skips intermediate states and never delays other handlers."""

    def __init__(self, functions: Functions, cache: Cache) -> None:
        self._functions = functions
        self._cache = cache
        self._delivered: dict[str, Object] = {}
        self._pending: dict[str, bool] = dict.fromkeys(cache.keys(), False)
        self._woken = asyncio.Event()
        self._woken.set()

    def changed(self, key: str) -> None:
        self._pending.setdefault(key, False)
        self._woken.set()

    def again(self) -> None:
        """Report all objects, changed or not (resync)."""
        self._pending.update(dict.fromkeys(self._delivered, True))
        self._woken.set()

    async def run(self) -> None:
        """Report changes until cancelled."""
        while True:
            await self._woken.wait()
            self._woken.clear()
            while self._pending:
                key = next(iter(self._pending))
                await self._notify(key, self._pending.pop(key))

    async def _notify(self, key: str, also_unchanged: bool) -> None:
        before, now = self._delivered.get(key), self._cache.get(key)
        if now is None:
            self._delivered.pop(key, None)
        else:
            self._delivered[key] = now
        added, updated, deleted = self._functions
        if before is not None and now is not None and _uid(before) == _uid(now):
            if before is not now or also_unchanged:
                await _call(updated, before, now)
            return
        if before is not None:
            await _call(deleted, before)
        if now is not None:
            await _call(added, now)


async def _call(function: Callable[..., Any] | None, *values: Object) -> None:
    if function is None:
        return
    try:
        result = function(*values)
        if inspect.isawaitable(result):
            await result
    except Exception:
        _LOG.exception("a handler failed")


def _uid(value: Object) -> Any:
    return value["metadata"].get("uid")
