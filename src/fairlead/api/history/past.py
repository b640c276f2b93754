"""The stored past of an object, a collection or everything."""

from __future__ import annotations

from dataclasses import dataclass

from fairlead.api.history.items import HistoryItems
from fairlead.api.history.rights import Rights, Served
from fairlead.api.history.walk import Item, MakeItem, Walk
from fairlead.api.parameters import flag, integer
from fairlead.api.request import Request
from fairlead.base.errors import bad_request
from fairlead.operations.api import Api, Object
from fairlead.operations.options import revision_of
from fairlead.resources.registry import Resource
from fairlead.storage.version import Change, Version

_MAX_EXAMINED = 20_000  # changes that a request examines; the client continues from there


class ObjectsPast:
    """Builds the `metadata` and `items` of a History. Pages go backwards: the client passes
    `before` of the metadata in its next request."""

    def __init__(self, api: Api, served: Served, items: HistoryItems) -> None:
        self._api = api
        self._store = api.store
        self._served = served
        self._items = items

    async def of_object(
        self, resource: Resource, key: str, options: HistoryOptions
    ) -> Object | None:
        """The history of an object, None if there is none; raises Compacted."""
        oldest: Change | None = None

        async def make_item(change: Change) -> Object:
            nonlocal oldest
            if oldest is None or change.revision < oldest.revision:
                oldest = change
            return await self._items.item(change)

        history = await self._newest(self._walk(resource, key), options, make_item)
        if "before" in history["metadata"] or options.since:
            return history
        first_version = None
        if oldest is not None:
            first_version = oldest.before
        elif not options.begins:
            upto = options.before - 1 if options.before else self._store.revision
            first_version = await self.version_at(resource, key, upto)
        if first_version is not None and first_version.revision >= options.begins:
            history["items"].insert(0, await self._items.existing(first_version))
        return history if history["items"] or options.before else None

    async def of_collection(
        self, resource: Resource, namespace: str, options: HistoryOptions
    ) -> Object:
        prefix = f"{namespace}/" if namespace and resource.namespaced else ""

        async def make_item(change: Change) -> Object | None:
            if not change.key.startswith(prefix):
                return None
            return await self._items.item(change)

        return await self._newest(self._walk(resource), options, make_item)

    async def everything(self, rights: Rights, options: HistoryOptions) -> Object:
        collections = self._served.select(options.namespace, noisy=options.include_noisy)
        prefix = f"{options.namespace}/" if options.namespace else ""

        async def make_item(change: Change) -> Object | None:
            collection = collections[change.resource]
            if not change.key.startswith(prefix):
                return None
            if not await rights.allows_change(collection.resource, change):
                return None
            return {**await self._items.item(change), **collection.names}

        walk = Walk(
            self._store, {name: collection.collection for name, collection in collections.items()}
        )
        return await self._newest(walk, options, make_item)

    async def version_at(self, resource: Resource, key: str, revision: int) -> Version | None:
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

    async def _newest(self, walk: Walk, options: HistoryOptions, make_item: MakeItem) -> Object:
        """The newest matching items, oldest first, and the revision before which there may be
        more."""
        now = self._store.revision
        upto = options.before - 1 if options.before else now
        items: list[Item] = []  # newest first
        examined = next_before = 0
        async for batch in walk.backwards(upto, options.after, make_item):
            items += reversed(batch.items)
            examined += batch.examined
            if len(items) > options.limit:
                break
            if examined >= _MAX_EXAMINED and batch.after > max(options.after, self._store.floor):
                next_before = batch.after + 1
                break
        selected = _whole_revisions(items, options.limit)
        if len(selected) < len(items):
            next_before = selected[-1].revision
        begins = max(self._store.floor, min(options.begins, now))
        metadata = {"resourceVersion": str(now), "oldest": str(begins)}
        if next_before:
            metadata["before"] = str(next_before)
        return {"metadata": metadata, "items": [item.document for item in reversed(selected)]}


def _whole_revisions(items: list[Item], limit: int) -> list[Item]:
    """The first `limit` items, and those that share the last one's revision."""
    end = limit
    while end < len(items) and items[end].revision == items[end - 1].revision:
        end += 1
    return items[:end]


# Query parameters of history requests

_DEFAULT_LIMIT, _MAX_LIMIT = 500, 5_000


@dataclass(frozen=True, slots=True)
class HistoryOptions:
    """The newest `limit` changes before a revision (0: now) and after `since`. `namespace` and
    `include_noisy` apply to requests for everything. The user may not read changes before
    `begins`."""

    limit: int
    before: int
    since: int
    namespace: str = ""
    include_noisy: bool = False
    begins: int = 0

    @property
    def after(self) -> int:
        return max(self.since, self.begins - 1)


def history_options(request: Request, begins: int = 0) -> HistoryOptions:
    for name in ("fieldSelector", "labelSelector"):
        if name in request.query:
            raise bad_request(f"{name}: the history of objects cannot be selected by it")
    limit = integer(request, "limit")
    if limit is not None and limit < 0:
        raise bad_request("limit: it must not be negative")
    return HistoryOptions(
        min(limit or _DEFAULT_LIMIT, _MAX_LIMIT),
        revision_of(request.parameter("before"), "before"),
        revision_of(request.parameter("since"), "since"),
        request.parameter("namespace"),
        flag(request, "all"),
        begins,
    )
