"""The endpoint that serves a backup of a running server, and the changes after one."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Iterator, Sequence
from operator import itemgetter

from fairlead.api.answers import Answer
from fairlead.api.chain import Handler
from fairlead.api.methods import check_reading
from fairlead.api.parameters import integer
from fairlead.api.request import Request
from fairlead.api.streamed_answers import StreamedAnswer
from fairlead.base.errors import bad_request, expired, store_unavailable, too_many_requests
from fairlead.operations.api import Api
from fairlead.process.backup import MEDIA_TYPE, PATH, archive, live
from fairlead.storage.backend import Compacted, Row, StorageError
from fairlead.storage.store import Store
from fairlead.storage.version import Version, encoded_of

_MAX_CONCURRENT = 2
_MAX_FOLLOWERS = 4


def add_backup_page(handler: Handler) -> None:
    """Serve backups at PATH to users who are authorized to read that path. Call it after the other
    pages are added."""
    handler.pages[PATH] = BackupPage(handler.api).answer


class BackupPage:
    """Every response is a snapshot at one revision, taken when it begins. Versions are immutable,
    so references to them suffice, whatever is written or compacted meanwhile. A thread compresses
    one piece at a time, as the client reads. With `after`, the response has the changes after a
    revision instead, and does not end: those of the main cluster, or with `resource` those of the
    other cluster that keeps this resource."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._under_way = 0
        self._followers: Counter[Store] = Counter()

    async def answer(self, request: Request) -> Answer:
        check_reading(request)
        after = integer(request, "after")
        if after is not None:
            return await self._changes(request, after)
        if self._under_way >= _MAX_CONCURRENT:
            raise too_many_requests("other backups are being read, please try again later")
        await self._api.store.catch_up()
        for store, resources in self._api.kept_apart().items():
            await _catch_up(store, resources)
        request.exchange.no_deadline()
        return StreamedAnswer(self._pieces(), media_type=MEDIA_TYPE)

    async def _changes(self, request: Request, after: int) -> Answer:
        if after < 0:
            raise bad_request("after: must be a revision")
        store, resources = self._store_of(request.parameter("resource"))
        if self._followers[store] >= _MAX_FOLLOWERS:
            raise too_many_requests("others follow the changes, please try again later")
        await _catch_up(store, resources)
        if not store.floor <= after <= store.revision:
            raise expired(
                f"the changes after revision {after} are not kept: the server has those from"
                f" {store.floor} to {store.revision}"
            )
        request.exchange.no_deadline()
        api = self._api
        identity = live.identity(api.store, api.dialect.name, api.kept_apart().values())
        changes = live.LiveChanges(store, after, identity, resources)
        return StreamedAnswer(self._followed(store, changes), media_type=MEDIA_TYPE)

    def _store_of(self, resource: str) -> tuple[Store, Sequence[str]]:
        """Return the main store, or that of another cluster which keeps a resource, with all
        resources that it keeps."""
        if not resource:
            return self._api.store, ()
        for store, resources in self._api.kept_apart().items():
            if resource in resources:
                return store, resources
        raise expired(f"{resource} is not kept in another cluster")

    async def _followed(self, store: Store, changes: live.LiveChanges) -> AsyncGenerator[bytes]:
        self._followers[store] += 1
        try:
            with changes:
                async for piece in changes.pieces():
                    yield piece
        except Compacted:
            return  # the next request of the client gets the error
        finally:
            self._followers[store] -= 1

    async def _pieces(self) -> AsyncGenerator[bytes]:
        self._under_way += 1
        try:
            header, rows = self._snapshot()
            chunks = archive.pieces(header, rows)
            # Not closed at the end: the thread may still be running it after the client
            # disconnected.
            while piece := await asyncio.to_thread(next, chunks, b""):
                yield piece
        finally:
            self._under_way -= 1

    def _snapshot(self) -> tuple[archive.Header, Iterator[Row]]:
        store, kept_apart = self._api.store, self._api.kept_apart()
        others = [
            archive.ClusterState(tuple(resources), other.revision)
            for other, resources in kept_apart.items()
        ]
        header = archive.Header.of(self._api.dialect.name, store.revision, others)
        states = [
            _rows(_state(other)) for other in kept_apart
        ]  # at these revisions, although read later
        return header, archive.joined(_rows(_state(store)), states)


async def _catch_up(store: Store, resources: Sequence[str]) -> None:
    """Catch up with a cluster; the error names another one than the main cluster by the resources
    that it keeps."""
    try:
        await store.catch_up()
    except StorageError:
        named = f"the cluster of {' and '.join(resources)}" if resources else "the store"
        raise store_unavailable(named) from None


def _state(store: Store) -> list[tuple[str, list[Version]]]:
    state = [(collection.resource, collection.current("")) for collection in store.collections()]
    return sorted(state, key=itemgetter(0))


def _rows(state: list[tuple[str, list[Version]]]) -> Iterator[Row]:
    for resource, versions in state:
        for version in versions:
            assert version.body is not None
            value = encoded_of(version.body)
            yield Row(version.revision, resource, version.key, 0, version.api_version, value)
