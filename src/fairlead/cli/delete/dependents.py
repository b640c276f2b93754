"""Finds the dependents that block a foreground deletion."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from time import monotonic

from fairlead.cli.output.formats import named
from fairlead.client import ApiError, Client, ResourceType
from fairlead.client.resources import METADATA_LIST, PAGE

_BETWEEN = 3.0  # seconds between refreshes, since each one lists all kinds
_AT_ONCE = 8


class Dependents:
    """Finds objects that block the deletion of their owners."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._found: dict[str, list[str]] = {}
        self._asked = float("-inf")

    def of(self, uid: str) -> list[str]:
        return self._found.get(uid, [])

    async def refresh(self, owners: Mapping[str, str]) -> None:
        """Find the dependents of the owners (uid to namespace), at most every 3 seconds to limit
        the load on the server."""
        if not owners or monotonic() < self._asked + _BETWEEN:
            return
        found: dict[str, list[str]] = {}
        types = [
            type
            for type in await self._client.discovery.all_resources()
            if {"list", "delete"} <= {*type.verbs} and type.name != "events"
        ]
        limit = asyncio.Semaphore(_AT_ONCE)
        spaces = set(owners.values())

        async def look(type: ResourceType) -> None:
            async with limit:
                for space in spaces if type.namespaced else {""} & spaces:
                    await self._look(type, space, owners, found)

        await asyncio.gather(*(look(type) for type in types))
        self._found, self._asked = found, monotonic()

    async def _look(
        self,
        type: ResourceType,
        namespace: str,
        owners: Mapping[str, str],
        found: dict[str, list[str]],
    ) -> None:
        resource = self._client.of(type)
        try:
            async for page in resource.pages(namespace, limit=PAGE, accept=METADATA_LIST):
                for item in page.get("items") or ():
                    for owner in item["metadata"].get("ownerReferences") or ():
                        if owner["uid"] in owners and owner.get("blockOwnerDeletion"):
                            name = named(type, item["metadata"]["name"])
                            found.setdefault(owner["uid"], []).append(name)
        except ApiError:
            return  # resources that may not be listed are skipped
