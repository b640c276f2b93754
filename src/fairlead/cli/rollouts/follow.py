"""Follows one object."""

from __future__ import annotations

from collections.abc import AsyncIterator

from fairlead.client import Resource
from fairlead.client.resources import Object
from fairlead.client.watch import DELETED


async def versions(resource: Resource, name: str, namespace: str) -> AsyncIterator[Object | None]:
    """Yield the object now and after each change; None when it is deleted, then end. Raises
    ApiError and Unreachable."""
    value = await resource.get(name, namespace)
    yield value
    known = {"metadata": value["metadata"], "items": [value]}
    async for kind, changed in resource.watch(namespace, name=name, since=known):
        yield changed if kind != DELETED else None
        if kind == DELETED:
            return
