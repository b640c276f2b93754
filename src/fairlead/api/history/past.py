"""The stored past of an object, a collection or everything."""

from __future__ import annotations

from fairlead.api.history.items import Telling
from fairlead.api.history.parameters import Wanted
from fairlead.api.history.rights import Rights, Served
from fairlead.api.history.walk import Item, Tell, Walk
from fairlead.operations.api import Api, Object
from fairlead.resources.registry import Resource
from fairlead.storage.change import Change
from fairlead.storage.version import Version

_MAX_EXAMINED = 20_000  # changes that a request examines; the client continues from there


class ObjectsPast:
    """Builds the `metadata` and `items` of a History. Pages go backwards: the client passes
    `before` of the metadata in its next request."""

    def __init__(self, api: Api, served: Served, telling: Telling) -> None:
        self._api = api
        self._store = api.store
        self._served = served
        self._telling = telling

    async def of_object(self, resource: Resource, key: str, wanted: Wanted) -> Object | None:
        """The history of an object, None if there is none; raises Compacted."""
        oldest: Change | None = None

        async def tell(change: Change) -> Object:
            nonlocal oldest
            if oldest is None or change.revision < oldest.revision:
                oldest = change
            return await self._telling.item(change)

        told = await self._newest(self._walk(resource, key), wanted, tell)
        if "before" in told["metadata"] or wanted.since:
            return told
        first = None
        if oldest is not None:
            first = oldest.before
        elif not wanted.begins:
            upto = wanted.before - 1 if wanted.before else self._store.revision
            first = await self.at(resource, key, upto)
        if first is not None and first.revision >= wanted.begins:
            told["items"].insert(0, await self._telling.existing(first))
        return told if told["items"] or wanted.before else None

    async def of_collection(self, resource: Resource, namespace: str, wanted: Wanted) -> Object:
        inside = f"{namespace}/" if namespace and resource.namespaced else ""

        async def tell(change: Change) -> Object | None:
            if not change.key.startswith(inside):
                return None
            return await self._telling.item(change)

        return await self._newest(self._walk(resource), wanted, tell)

    async def everything(self, rights: Rights, wanted: Wanted) -> Object:
        told = self._served.chosen(wanted.namespace, noisy=wanted.all)
        inside = f"{wanted.namespace}/" if wanted.namespace else ""

        async def tell(change: Change) -> Object | None:
            one = told[change.resource]
            if not change.key.startswith(inside):
                return None
            if not await rights.hold_for(one.resource, change):
                return None
            return {**await self._telling.item(change), **one.names}

        walk = Walk(self._store, {name: one.collection for name, one in told.items()})
        return await self._newest(walk, wanted, tell)

    async def at(self, resource: Resource, key: str, revision: int) -> Version | None:
        """The version of a key at a revision; raises Compacted."""
        self._store.check_kept(revision)
        collection = self._api.collection(resource)
        if revision < collection.floor:
            following = await self._walk(resource, key).first_stored(revision)
            if following is not None:
                return following.before
        return collection.version_at(key, max(revision, collection.floor))

    def _walk(self, resource: Resource, key: str = "") -> Walk:
        collection = self._api.collection(resource)
        return Walk(self._store, {collection.resource: collection}, key)

    async def _newest(self, walk: Walk, wanted: Wanted, tell: Tell) -> Object:
        """The newest matching items, oldest first, and the revision before which there may be
        more."""
        now = self._store.revision
        upto = wanted.before - 1 if wanted.before else now
        found: list[Item] = []  # newest first
        examined = before = 0
        async for batch in walk.back(upto, wanted.after, tell):
            found += reversed(batch.items)
            examined += batch.examined
            if len(found) > wanted.limit:
                break
            if examined >= _MAX_EXAMINED and batch.after > max(wanted.after, self._store.floor):
                before = batch.after + 1
                break
        kept = _whole(found, wanted.limit)
        if len(kept) < len(found):
            before = kept[-1].revision
        begins = max(self._store.floor, min(wanted.begins, now))
        metadata = {"resourceVersion": str(now), "oldest": str(begins)}
        if before:
            metadata["before"] = str(before)
        return {"metadata": metadata, "items": [item.shown for item in reversed(kept)]}


def _whole(found: list[Item], limit: int) -> list[Item]:
    """The first `limit` items, and those that share the last one's revision."""
    end = limit
    while end < len(found) and found[end].revision == found[end - 1].revision:
        end += 1
    return found[:end]
