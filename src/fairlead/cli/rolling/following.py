"""One object as it changes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

import orjson

from fairlead.client import ApiError, Resource, Unreachable
from fairlead.client.errors import error_of_status
from fairlead.client.session import Request

Object = dict[str, Any]
_PAUSE = 0.5  # seconds before another try after a watch that told nothing


async def versions(resource: Resource, name: str, namespace: str) -> AsyncIterator[Object | None]:
    """The object as it is now and after each change, until it is None: deleted. A watch that
    ends is begun anew from what is there then. Raises ApiError, Unreachable."""
    latest = ""
    while True:
        try:
            value = await resource.get(name, namespace)
        except ApiError as error:
            if error.code != 404 or not latest:
                raise
            yield None
            return
        if value["metadata"]["resourceVersion"] != latest:
            yield value
        elif latest:
            await asyncio.sleep(_PAUSE)
        latest = value["metadata"]["resourceVersion"]
        with suppress(Unreachable):
            async for event in _events(resource, name, namespace, latest):
                if event["type"] == "DELETED":
                    yield None
                    return
                latest = event["object"]["metadata"]["resourceVersion"]
                yield event["object"]


async def _events(
    resource: Resource, name: str, namespace: str, since: str
) -> AsyncIterator[Object]:
    query = {"watch": "true", "fieldSelector": f"metadata.name={name}", "resourceVersion": since}
    asked = Request("GET", resource.path("", namespace), query)
    async with resource.session.open(asked) as answer:
        async for line in answer.lines():
            event: Object = orjson.loads(line)
            if event["type"] == "ERROR":
                error = error_of_status(event["object"])
                if error.code == 410:
                    return
                raise error
            yield event
