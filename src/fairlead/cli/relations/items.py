"""Objects as far as relations need them: what they are, what they are called, who owns them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from typing import Any

from fairlead.base.records import dataclass, field
from fairlead.client import Client, Resource, ResourceType
from fairlead.client.errors import ApiError, Forbidden
from fairlead.client.resources import METADATA, METADATA_LIST
from fairlead.client.session import Request

_AT_ONCE = 16  # lists under way
_NEVER_OWNED = ("events", "componentstatuses", "bindings")
_PASSED_OVER = (404, 405, 406)  # listed by discovery, and still not to be had


@dataclass(frozen=True, slots=True)
class Owner:
    """A reference to an owner."""

    api_version: str
    kind: str
    name: str
    uid: str


@dataclass(frozen=True, slots=True)
class Item:
    """An object; `is_missing` for one that is referred to and not there."""

    type: ResourceType
    namespace: str
    name: str
    uid: str
    created: str = ""
    owners: tuple[Owner, ...] = ()
    is_deleting: bool = False
    is_missing: bool = False


@dataclass(slots=True)
class Found:
    """All objects of a namespace, or of all of them, and what could not be asked for."""

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
                str(one.get("apiVersion") or ""),
                str(one.get("kind") or ""),
                str(one.get("name") or ""),
                str(one.get("uid") or ""),
            )
            for one in references
        ),
        bool(metadata.get("deletionTimestamp")),
    )


async def get_item(resource: Resource, name: str, namespace: str) -> Item:
    """One object by its metadata; raises NotFound."""
    path = resource.path(name, namespace)
    value = await resource.session.json(Request("GET", path, accept=METADATA))
    return item_of(resource.type, value)


async def all_items(client: Client, namespace: str) -> Found:
    """Everything that can be owned by an object of a namespace; with none, by one that is in none.
    All kinds are asked for at once."""
    found = Found()
    limit = asyncio.Semaphore(_AT_ONCE)

    async def collect(resource: Resource) -> None:
        try:
            async with limit:
                async for page in resource.pages(namespace, accept=METADATA_LIST):
                    for value in page.get("items") or ():
                        item = item_of(resource.type, value)
                        found.items.setdefault(item.uid, item)
        except ApiError as error:
            if error.code not in _PASSED_OVER:
                found.notes.append(_note(resource.type, error))

    types = _ownable(await client.discovery.all_resources(), bool(namespace))
    await asyncio.gather(*(collect(client.of(type)) for type in types))
    found.notes.sort()
    return found


def _ownable(types: Iterable[ResourceType], namespaced_only: bool) -> list[ResourceType]:
    """The same objects may be served by several groups: the first one is asked."""
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
