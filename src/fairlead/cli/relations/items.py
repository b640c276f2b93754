"""Reads objects by their metadata: type, name and owner references."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from fairlead.client import Client, Resource, ResourceType
from fairlead.client.errors import ApiError, Forbidden
from fairlead.client.resources import METADATA, METADATA_LIST
from fairlead.client.session import Request

_MAX_CONCURRENT = 16  # concurrent lists
_NEVER_OWNED = ("events", "componentstatuses", "bindings")
_PASSED_OVER = (404, 405, 406)  # errors of resources that discovery lists but that cannot be listed


@dataclass(frozen=True, slots=True)
class Owner:
    """An owner reference."""

    api_version: str
    kind: str
    name: str
    uid: str


@dataclass(frozen=True, slots=True)
class Item:
    """An object; `is_missing` if it is referenced but does not exist."""

    type: ResourceType
    namespace: str
    name: str
    uid: str
    created: str = ""
    owners: tuple[Owner, ...] = ()
    is_deleting: bool = False
    is_missing: bool = False


@dataclass(slots=True)
class ItemListing:
    """All objects of a namespace or of the cluster, and notes on resources that could not be
    listed."""

    items: dict[str, Item] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def by_owner(self) -> dict[str, list[Item]]:
        owned: dict[str, list[Item]] = {}
        for item in self.items.values():
            for uid in dict.fromkeys(owner.uid for owner in item.owners):
                owned.setdefault(uid, []).append(item)
        return owned


def item_of(type: ResourceType, value: Mapping[str, Any]) -> Item:
    metadata = value["metadata"]
    references = metadata.get("ownerReferences") or ()
    return Item(
        type,
        metadata.get("namespace") or "",
        metadata.get("name") or "",
        metadata.get("uid") or "",
        metadata.get("creationTimestamp") or "",
        tuple(
            Owner(
                str(reference.get("apiVersion") or ""),
                str(reference.get("kind") or ""),
                str(reference.get("name") or ""),
                str(reference.get("uid") or ""),
            )
            for reference in references
        ),
        bool(metadata.get("deletionTimestamp")),
    )


async def get_item(resource: Resource, name: str, namespace: str) -> Item:
    """Read the metadata of one object; raises NotFound."""
    path = resource.path(name, namespace)
    value = await resource.session.json(Request("GET", path, accept=METADATA))
    return item_of(resource.type, value)


async def all_items(client: Client, namespace: str) -> ItemListing:
    """All objects that an object in the namespace can own; with an empty namespace, all objects of
    the cluster. Lists up to 16 kinds concurrently."""
    listing = ItemListing()
    limit = asyncio.Semaphore(_MAX_CONCURRENT)

    async def collect(resource: Resource) -> None:
        try:
            async with limit:
                async for page in resource.pages(namespace, accept=METADATA_LIST):
                    for value in page.get("items") or ():
                        item = item_of(resource.type, value)
                        listing.items.setdefault(item.uid, item)
        except ApiError as error:
            if error.code not in _PASSED_OVER:
                listing.notes.append(_note(resource.type, error))

    types = _ownable(await client.discovery.all_resources(), bool(namespace))
    await asyncio.gather(*(collect(client.of(type)) for type in types))
    listing.notes.sort()
    return listing


def _ownable(types: Iterable[ResourceType], namespaced_only: bool) -> list[ResourceType]:
    """The types to list. If several groups serve the same object, `all_items` keeps the first one
    by uid."""
    return [
        type
        for type in types
        if "list" in type.verbs
        and type.name not in _NEVER_OWNED
        and (type.namespaced or not namespaced_only)
    ]


def _note(type: ResourceType, error: ApiError) -> str:
    why = "may not be listed" if isinstance(error, Forbidden) else error.message
    return f"{type.qualified} left out: {why}"
