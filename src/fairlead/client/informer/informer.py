"""Follows a resource with a watch and keeps its objects in a cache."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping
from typing import Any, Self

from fairlead.base.logs import Logger
from fairlead.client.access.model import AccessError
from fairlead.client.errors import ApiError, Unreachable
from fairlead.client.informer.cache import Cache, Index, Object
from fairlead.client.informer.handlers import Functions, Handler, Told, ToldOfBoth
from fairlead.client.resources import Resource
from fairlead.client.session import Pauses
from fairlead.client.watch import DELETED, Event, key_of

_LOG = Logger(__name__)


class Informer:
    """A cache of the objects of a resource: in a namespace, or in all for "", with selectors in
    `query`. Objects belong to the cache: copy them before changing them. Keys are `namespace/name`,
    or the name alone for cluster-scoped objects.

        by_node = {"node": lambda pod: [pod["spec"].get("nodeName", "")]}
        async with Informer(pods, indexes=by_node) as informer:
            await informer.synced()
            print(informer.by_index("node", "node-1"))
    """

    def __init__(
        self,
        resource: Resource,
        namespace: str | None = "",
        *,
        indexes: Mapping[str, Index] | None = None,
        resync: float | None = None,
        **query: Any,
    ) -> None:
        self.trouble: Exception | None = None  # the current error of the watch, if any
        self._resource = resource
        self._cache = Cache(indexes or {})
        self._watch = resource.watch(namespace, in_stream=True, **query)
        self._resync = resync
        self._handlers: list[Handler] = []
        self._tasks: list[asyncio.Task[None]] = []
        self._is_running = False

    def handle(
        self,
        *,
        added: Told | None = None,
        updated: ToldOfBoth | None = None,
        deleted: Told | None = None,
    ) -> None:
        """Register callbacks, plain or async, for existing objects and for every change. A slow
        callback receives the newest state when it is ready; errors of callbacks are logged."""
        handler = Handler(Functions(added, updated, deleted), self._cache)
        self._handlers.append(handler)
        if self._is_running:
            self._run(handler.run())

    async def start(self) -> None:
        """Start the watch; `synced` waits for the initial list."""
        if self._is_running:
            return
        self._is_running = True
        self._run(self._follow())
        for handler in self._handlers:
            self._run(handler.run())
        if self._resync is not None:
            self._run(self._notify_periodically(self._resync))

    async def synced(self, timeout: float | None = None) -> None:
        """Wait until the cache has all objects of the initial list; raises TimeoutError."""
        async with asyncio.timeout(timeout):
            await self._watch.listed.wait()

    async def stop(self) -> None:
        """Stop the watch and the handlers. The cache keeps its objects."""
        self._is_running = False
        tasks, self._tasks = self._tasks, []
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def get(self, key: str) -> Object | None:
        return self._cache.get(key)

    def items(self) -> list[Object]:
        return self._cache.items()

    def by_index(self, name: str, value: str) -> list[Object]:
        """The objects with this value in the index; raises KeyError for an unknown index."""
        return self._cache.by_index(name, value)

    def _run(self, what: Coroutine[Any, Any, None]) -> None:
        self._tasks.append(asyncio.create_task(what))

    async def _follow(self) -> None:
        pauses = Pauses()
        while True:
            try:
                async for event in self._watch:
                    self.trouble = None
                    self._apply(event)
                    pauses.reset()
            except (AccessError, ApiError, Unreachable) as error:
                self.trouble = error
                _LOG.warning(
                    "cannot follow a resource", resource=self._resource.type.qualified, err=error
                )
            await asyncio.sleep(pauses.next())

    def _apply(self, event: Event) -> None:
        namespace, name = key_of(event.object)
        key = f"{namespace}/{name}" if namespace else name
        if event.type == DELETED:
            self._cache.remove(key)
        else:
            self._cache.put(key, event.object)
        for handler in self._handlers:
            handler.changed(key)

    async def _notify_periodically(self, seconds: float) -> None:
        while True:
            await asyncio.sleep(seconds)
            for handler in self._handlers:
                handler.again()

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *raised: object) -> None:
        await self.stop()
