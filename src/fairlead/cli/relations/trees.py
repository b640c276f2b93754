"""Builds trees of owners or dependents. Each object is expanded once, so that cycles end."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from fairlead.cli.relations.items import Item, ItemListing, Owner, get_item
from fairlead.client import Client, ResourceType, UnknownKind
from fairlead.client.errors import Forbidden, NotFound

_MAX_DEPTH = 100  # levels


@dataclass(slots=True)
class Branch:
    """An object and its children; `is_repeated` if it is expanded elsewhere."""

    item: Item
    below: list[Branch] = field(default_factory=list)
    is_repeated: bool = False
    note: str = ""


def owned_by(item: Item, result: ItemListing) -> Branch:
    """The tree of dependents of an object."""
    owned = result.by_owner()
    root = Branch(item)
    opened = {item.uid}
    level = [root]
    for _ in range(_MAX_DEPTH):
        following: list[Branch] = []
        for branch in level:
            for dependent in sorted(owned.get(branch.item.uid, ()), key=_order):
                child = Branch(dependent, is_repeated=dependent.uid in opened)
                branch.below.append(child)
                if not child.is_repeated:
                    opened.add(dependent.uid)
                    following.append(child)
        level = following
    for branch in level:
        if branch.item.uid in owned:
            branch.note = "owns more, which is not shown"
    return root


async def owners_of(client: Client, item: Item) -> Branch:
    """The tree of owners of an object."""
    root = Branch(item)
    opened = {item.uid}
    level = [root]
    for _ in range(_MAX_DEPTH):
        following: list[Branch] = []
        for branch in level:
            for owner in branch.item.owners:
                child = await _owner(client, owner, branch.item.namespace)
                child.is_repeated = child.item.uid in opened
                branch.below.append(child)
                if not child.is_repeated:
                    opened.add(child.item.uid)
                    following.append(child)
        level = following
    return root


async def _owner(client: Client, owner: Owner, namespace: str) -> Branch:
    """The owner, or a missing item. An object with the same name but another uid is not the
    owner."""
    try:
        type = await client.discovery.of_kind(owner.api_version, owner.kind)
    except UnknownKind:
        group, _, version = owner.api_version.rpartition("/")
        unknown = ResourceType(group, version, "", owner.kind, False)
        return Branch(_absent(unknown, "", owner), note="is of a kind that is not served")
    owner_namespace = namespace if type.namespaced else ""
    try:
        item = await get_item(client.of(type), owner.name, owner_namespace)
    except NotFound:
        return Branch(_absent(type, owner_namespace, owner))
    except Forbidden:
        missing = Item(type, owner_namespace, owner.name, owner.uid)
        return Branch(missing, note="may not be read")
    if item.uid != owner.uid:
        return Branch(_absent(type, owner_namespace, owner), note="another one has its name now")
    return Branch(item)


def _absent(type: ResourceType, namespace: str, owner: Owner) -> Item:
    return Item(type, namespace, owner.name, owner.uid, is_missing=True)


def _order(item: Item) -> tuple[str, str, str]:
    return item.type.kind, item.namespace, item.name


def branches(root: Branch, lead: str = "", rest: str = "") -> Iterator[tuple[str, Branch]]:
    """All branches with their line-drawing prefix."""
    yield lead, root
    for index, branch in enumerate(root.below):
        last = index == len(root.below) - 1
        lines = ("└─", "  ") if last else ("├─", "│ ")
        yield from branches(branch, rest + lines[0], rest + lines[1])
