"""Watches for kinds that are defined while the command runs."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

from fairlead.cli.feed.changes import Feed
from fairlead.client import ApiError, Client, ResourceType, UnknownResource, has_condition
from fairlead.client.watch import DELETED

_DEFINITIONS = "customresourcedefinitions"
_TRIES = 10  # attempts until discovery lists the new kind
_PAUSE = 0.3


async def follow_new_kinds(
    client: Client, feed: Feed, types: Iterable[ResourceType], namespace: str
) -> None:
    """Add kinds to the feed when they become established; with a namespace, only namespaced
    kinds."""
    known = {f"{type.name}.{type.group}" for type in types}
    try:
        definitions = await client.resource(_DEFINITIONS)
        async for event in definitions.watch():
            name = str(event.object["metadata"]["name"])
            if event.type == DELETED:
                known.discard(name)
            elif name not in known and has_condition("Established")(event.object):
                known.add(name)
                type = await _served(client, event.object)
                if type is not None and (type.namespaced or not namespace):
                    feed.add(client.of(type), namespace)
    except (ApiError, UnknownResource):
        return  # without access to definitions, only the initial kinds are watched


async def _served(client: Client, definition: dict[str, Any]) -> ResourceType | None:
    name = definition["metadata"]["name"]
    for _ in range(_TRIES):
        client.discovery.forget()
        try:
            return await client.discovery.find(name)
        except UnknownResource:
            await asyncio.sleep(_PAUSE)
    return None
