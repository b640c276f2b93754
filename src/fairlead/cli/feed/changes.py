"""Merges the watches of many resources into one stream of changes, and adds kinds that are defined
meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from fairlead.cli.versions.retained import CHANGED, CHANGES, DELETED, Version
from fairlead.client import (
    ApiError,
    Client,
    Resource,
    ResourceType,
    UnknownResource,
    has_condition,
    watch,
)
from fairlead.client.watch import Event, Key, Watch, key_of

Object = dict[str, Any]

_MAX_PENDING = 1000
_DEFINITIONS = "customresourcedefinitions"
_MAX_ATTEMPTS = 10  # attempts until discovery lists the new kind
_PAUSE = 0.3


@dataclass(frozen=True, slots=True)
class Change:
    """A change of an object: the new version and the previous one."""

    time: datetime
    type: ResourceType
    version: Version
    before: Version | None


class Feed:
    """Watches all resources and queues their changes. `refused` is called for each resource that
    cannot be watched, `ready` once when all others have sent their initial list."""

    def __init__(
        self,
        resources: Sequence[tuple[Resource, str]],
        query: Mapping[str, Any],
        refused: Callable[[Resource, ApiError], None],
        ready: Callable[[int], None],
    ) -> None:
        self._first = resources
        self._tasks: set[asyncio.Task[None]] = set()
        self._query = query
        self._refused = refused
        self._ready = ready
        self._open = len(resources)
        self._followed = 0
        self._is_ready = False
        self._changes: asyncio.Queue[Change | BaseException | None] = asyncio.Queue(_MAX_PENDING)

    async def changes(self) -> AsyncGenerator[Change, None]:
        """Yield changes as long as any resource is watched; raises Unreachable and exceptions of
        `refused`."""
        for resource, namespace in self._first:
            self._start(self._follow(resource, namespace, is_new=False))
        try:
            while True:
                change = await self._changes.get()
                if isinstance(change, BaseException):
                    raise change
                if change is None:
                    return
                yield change
        finally:
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

    def add(self, resource: Resource, namespace: str) -> None:
        """Watch a newly defined kind; its existing objects count as changes."""
        self._open += 1
        self._start(self._follow(resource, namespace, is_new=True))

    def _start(self, what: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(what)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _follow(self, resource: Resource, namespace: str, is_new: bool) -> None:
        watch = resource.watch(namespace, **self._query)
        waiting = asyncio.create_task(self._await_list(watch))
        try:
            await self._pass_on(resource.type, watch, is_new)
        except ApiError as error:
            await self._give_up(resource, error, watch.listed.is_set())
        except Exception as error:
            await self._changes.put(error)
        finally:
            waiting.cancel()

    async def _pass_on(self, type: ResourceType, watch: Watch, is_new: bool) -> None:
        objects: dict[Key, Object] = {}
        async for event in watch:
            before = _noted(objects, event)
            if is_new or watch.listed.is_set():  # skip the initial list
                await self._changes.put(_change(type, event, before))

    async def _await_list(self, watch: Watch) -> None:
        await watch.listed.wait()
        self._followed += 1
        self._settle()

    def _settle(self) -> None:
        """Count a resource as listed or rejected; call `ready` when none is left."""
        self._open -= 1
        if not self._open and self._followed and not self._is_ready:
            self._is_ready = True
            self._ready(self._followed)

    async def _give_up(self, resource: Resource, error: ApiError, was_followed: bool) -> None:
        try:
            self._refused(resource, error)
        except Exception as why:
            await self._changes.put(why)
        if was_followed:
            self._followed -= 1
        else:
            self._settle()
        if not self._followed and not self._open:
            await self._changes.put(None)


def _noted(objects: dict[Key, Object], event: Event) -> Object | None:
    """Record the event's object; return the previous one."""
    key = key_of(event.object)
    before = objects.pop(key, None)
    if CHANGES[event.type] != DELETED:
        objects[key] = event.object
    return before


def _change(type: ResourceType, event: Event, before: Object | None) -> Change:
    earlier = None if before is None else Version(0, CHANGED, before)
    version = Version(0, CHANGES[event.type], event.object)
    return Change(datetime.now(UTC), type, version, earlier)


# Watches for kinds that are defined while the command runs.


async def follow_new_kinds(
    client: Client, feed: Feed, types: Iterable[ResourceType], namespace: str
) -> None:
    """Add kinds to the feed when they become established; with a namespace, only namespaced
    kinds."""
    names = {f"{type.name}.{type.group}" for type in types}
    try:
        definitions = await client.resource(_DEFINITIONS)
        async for event in definitions.watch():
            name = str(event.object["metadata"]["name"])
            if event.type == watch.DELETED:
                names.discard(name)
            elif name not in names and has_condition("Established")(event.object):
                names.add(name)
                type = await _served(client, event.object)
                if type is not None and (type.namespaced or not namespace):
                    feed.add(client.of(type), namespace)
    except (ApiError, UnknownResource):
        return  # without access to definitions, only the initial kinds are watched


async def _served(client: Client, definition: dict[str, Any]) -> ResourceType | None:
    name = definition["metadata"]["name"]
    for _ in range(_MAX_ATTEMPTS):
        client.discovery.forget()
        try:
            return await client.discovery.find(name)
        except UnknownResource:
            await asyncio.sleep(_PAUSE)
    return None
