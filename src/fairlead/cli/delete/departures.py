"""Waits until deleted objects are gone."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from contextlib import aclosing
from typing import Any, NamedTuple

from fairlead.client import Resource
from fairlead.client.errors import Forbidden, MethodNotAllowed, NotFound
from fairlead.client.resources import Object
from fairlead.client.watch import DELETED

_MAX_WATCHES = 8  # per resource, one for each namespace


class DeletedObject(NamedTuple):
    """A deleted object that may still exist."""

    resource: Resource
    namespace: str
    name: str
    uid: str


class DeletionWait:
    """Tracks deleted objects. `left` maps the uids of objects that still exist to their last seen
    state."""

    def __init__(self, doomed: Iterable[DeletedObject]) -> None:
        self._doomed = {one.uid: one for one in doomed}
        self.left: dict[str, Object] = {uid: {} for uid in self._doomed}

    def remaining(self) -> list[tuple[DeletedObject, Object]]:
        return [(self._doomed[uid], value) for uid, value in self.left.items()]

    async def wait(self) -> None:
        """Wait until no object is left, with one watch for each resource and namespace."""
        tasks = [
            asyncio.create_task(self._follow(space, group))
            for (_, space), group in _grouped(list(self._doomed.values())).items()
        ]
        try:
            await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _follow(self, namespace: str, group: list[DeletedObject]) -> None:
        resource = group[0].resource
        uids = {one.uid for one in group}
        name = group[0].name if len(group) == 1 else ""
        only: dict[str, Any] = {"fieldSelector": f"metadata.name={name}"} if name else {}
        try:
            listed = await resource.list(namespace, **only)
            there = {item["metadata"]["uid"]: item for item in listed["items"]}
            for uid in uids & self.left.keys():
                self._saw(uid, there.get(uid))
            if not uids & self.left.keys():
                return
            watch = resource.watch(namespace, name=name, since=listed)
            async with aclosing(aiter(watch)) as events:
                async for kind, value in events:
                    uid = value["metadata"].get("uid")
                    if uid in uids & self.left.keys():
                        self._saw(uid, None if kind == DELETED else value)
                    if not uids & self.left.keys():
                        return
        except (Forbidden, MethodNotAllowed, NotFound):
            # The user may be allowed to delete but not to list or watch; and a kind may disappear
            # with its definition.
            for uid in uids:
                self.left.pop(uid, None)

    def _saw(self, uid: str, value: Object | None) -> None:
        if value is None:
            self.left.pop(uid, None)
        else:
            self.left[uid] = value


def _grouped(doomed: list[DeletedObject]) -> dict[tuple[str, str], list[DeletedObject]]:
    """Group objects by watch: one for each namespace, or one for all namespaces if there are more
    than 8."""
    spaces: dict[str, set[str]] = {}
    for one in doomed:
        spaces.setdefault(one.resource.type.qualified, set()).add(one.namespace)
    groups: dict[tuple[str, str], list[DeletedObject]] = {}
    for one in doomed:
        kind = one.resource.type.qualified
        space = one.namespace if len(spaces[kind]) <= _MAX_WATCHES else ""
        groups.setdefault((kind, space), []).append(one)
    return groups
