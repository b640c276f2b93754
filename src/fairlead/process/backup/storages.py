"""Sources and targets of a copy: a data directory, or a storage that several servers share."""

from __future__ import annotations

import asyncio
import shlex
import sqlite3
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from contextlib import (
    AbstractAsyncContextManager,
    AbstractContextManager,
    AsyncExitStack,
    asynccontextmanager,
    contextmanager,
)
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from typing import Protocol

from fairlead.base.dialect import DIALECTS
from fairlead.process.backup.archive import BackupError, ClusterState, Gap, Header, joined
from fairlead.process.backup.journal import IDLE_SECONDS, NAMESPACES, identity_of
from fairlead.process.backup.progress import Progress
from fairlead.process.backup.shared_restore import Cluster, RevisionGap, check_empty, fill
from fairlead.storage.backend import Compacted, Row, StorageError
from fairlead.storage.log import Snapshot, Source
from fairlead.storage.sqlite import format as file_format
from fairlead.storage.sqlite.backend import SqliteBackend
from fairlead.storage.sqlite.directory import Directory
from fairlead.storage.sqlite.format import connect
from fairlead.storage.sqlite.loader import load
from fairlead.storage.sqlite.log import Sealing


class Contents(Protocol):
    """All objects of a store at a revision."""

    @property
    def header(self) -> Header: ...

    def rows(self) -> Iterator[Row]:
        """Yield every object. May be called repeatedly."""


# Changes of a store in order, in parts: the revision that each part reaches, and its rows.
ChangedRows = AsyncIterator[tuple[int, Sequence[Row]]]


class Storage(Protocol):
    """A source or target of a copy. `usual_gap` is the number of revisions that a restore skips by
    default: clients may have seen revisions from after the backup. `is_live`: others may write to
    it while it is read."""

    usual_gap: int
    is_live: bool

    def changes(
        self, cluster: ClusterState
    ) -> AbstractAsyncContextManager[tuple[str, ChangedRows]]:
        """Open the changes of a cluster after a revision for the block, with what identifies the
        store. Raises Gap if they are no longer kept, or the cluster does not keep exactly these
        resources, StorageError."""

    def reading(self) -> AbstractContextManager[Contents]:
        """Open the contents for the block. Raises StorageError."""

    def fill(self, contents: Contents, gap: RevisionGap, progress: Progress) -> int:
        """Write everything to an empty storage, or nothing; return the revision. Raises
        BackupError, StorageError."""


class DirectoryStorage:
    """The data directory of a stopped server. `seals` returns the encryption for a dialect; without
    it, encrypted values are copied unchanged."""

    usual_gap = 1_000_000_000
    is_live = False

    def __init__(
        self, path: Path, seals: Callable[[str], Sealing | None] = lambda dialect: None
    ) -> None:
        self._path = path
        self._seals = seals

    @contextmanager
    def reading(self) -> Iterator[Contents]:
        with stopped_store(self._path) as store:
            sealing = self._seals(store.header.dialect)
            yield store if sealing is None else _Unsealed(store, sealing)

    def fill(self, contents: Contents, gap: RevisionGap, progress: Progress) -> int:
        header, rows = contents.header, progress.counted(contents.rows())
        sealing = self._seals(header.dialect)
        if sealing is not None:
            rows = _sealed(rows, sealing)
        return load(self._path, header.dialect, rows, header.highest, gap.gap)

    @asynccontextmanager
    async def changes(self, cluster: ClusterState) -> AsyncIterator[tuple[str, ChangedRows]]:
        after = cluster.revision
        with stopped_store(self._path) as store:
            if cluster.resources:
                raise kept_elsewhere()
            backend, sealing = store.backend, self._seals(store.header.dialect)
            if not backend.floor <= after <= backend.revision:
                raise _not_kept(after)
            revision = backend.revision
            namespaces = backend.state(NAMESPACES, revision, "", None, 0).rows

            async def parts() -> ChangedRows:
                reached = after
                while rows := backend.feed(reached, revision):
                    reached = rows[-1].revision
                    yield reached, [_unsealed(row, sealing) for row in rows]
                yield revision, ()

            yield (
                identity_of(store.header.dialect, (_unsealed(row, sealing) for row in namespaces)),
                parts(),
            )


def _unsealed(row: Row, sealing: Sealing | None) -> Row:
    if sealing is None or row.value is None:
        return row
    return row._replace(value=sealing.unseal(row.resource, row.key, row.value))


def kept_elsewhere() -> Gap:
    return Gap("other clusters keep other resources than before")


def _not_kept(after: int) -> Gap:
    return Gap(f"the store does not have the changes after revision {after}")


class _Unsealed:
    def __init__(self, contents: Contents, sealing: Sealing) -> None:
        self.header = contents.header
        self._contents = contents
        self._sealing = sealing

    def rows(self) -> Iterator[Row]:
        for row in self._contents.rows():
            yield _unsealed(row, self._sealing)


def _sealed(rows: Iterable[Row], sealing: Sealing) -> Iterator[Row]:
    for row in rows:
        if row.value is not None and row.is_plain:
            row = row._replace(value=sealing.seal(row.resource, row.key, row.value))
        yield row


@dataclass(frozen=True, slots=True)
class _Read:
    header: Header
    all_rows: list[Row]

    def rows(self) -> Iterator[Row]:
        return iter(self.all_rows)


class SharedStorage:
    """The storage behind a `Source`, or several if other clusters keep some resources. `connect`
    makes the clusters for a dialect, the main one first; they skip values that they cannot decode
    and report each of them. `dialect` is that of the stored objects."""

    usual_gap = 10_000
    is_live = True

    def __init__(
        self, connect: Callable[[str, Callable[[str], None]], Sequence[Cluster]], dialect: str
    ):
        self._connect = connect
        self._dialect = dialect

    @asynccontextmanager
    async def _opened(self, dialect: str) -> AsyncIterator[list[tuple[Cluster, Snapshot]]]:
        """Open all clusters and read their snapshots; raises BackupError if a value cannot be
        decoded."""
        unread: list[str] = []
        opened: list[tuple[Cluster, Snapshot]] = []
        async with AsyncExitStack() as closing:
            for cluster in self._connect(dialect, unread.append):
                closing.push_async_callback(cluster.source.close)
                await cluster.source.open()
                opened.append((cluster, await cluster.source.snapshot()))
            if unread:
                raise BackupError(
                    f"{len(unread)} values in the storage cannot be read, such as {unread[0]}"
                )
            yield opened

    @contextmanager
    def reading(self) -> Iterator[Contents]:
        yield asyncio.run(self._read())

    async def _read(self) -> _Read:
        async with self._opened(self._dialect) as opened:
            for _, snapshot in opened:
                snapshot.rows.sort(key=attrgetter("resource", "key"))
            (_, main), *apart = opened
            others = [
                ClusterState(cluster.resources, snapshot.revision) for cluster, snapshot in apart
            ]
            rows = joined(main.rows, (snapshot.rows for _, snapshot in apart))
            return _Read(Header.of(self._dialect, main.revision, others), list(rows))

    def fill(self, contents: Contents, gap: RevisionGap, progress: Progress) -> int:
        return asyncio.run(self._fill(contents, gap, progress))

    async def _fill(self, contents: Contents, gap: RevisionGap, progress: Progress) -> int:
        async with self._opened(contents.header.dialect) as opened:
            for _, snapshot in opened:
                check_empty(snapshot)
            clusters = [cluster for cluster, _ in opened]
            return await fill(clusters, contents.header, contents.rows, gap, progress)

    @asynccontextmanager
    async def changes(self, cluster: ClusterState) -> AsyncIterator[tuple[str, ChangedRows]]:
        unread: list[str] = []
        main, *others = self._connect(self._dialect, unread.append)
        apart = [other for other in others if other.resources == cluster.resources]
        if cluster.resources and not apart:
            raise kept_elsewhere()
        async with AsyncExitStack() as closing:
            for source, _ in (main, *apart):
                closing.push_async_callback(source.close)
                await source.open()
            state = await main.source.state(
                NAMESPACES, await main.source.fetch_newest(), "", None, 0
            )
            followed = apart[0].source if apart else main.source
            if cluster.revision > await followed.fetch_newest():
                raise _not_kept(cluster.revision)
            layout = [other.resources for other in others]
            identity = identity_of(self._dialect, state.rows, layout)
            yield identity, _fed(followed, cluster.revision, unread)


async def _fed(source: Source, after: int, unread: list[str]) -> ChangedRows:
    """Yield what a source feeds. Now and then, and if nothing happens, the newest revision."""
    feed = aiter(source.feed(after))
    part = asyncio.ensure_future(anext(feed))
    reached = after
    try:
        while True:
            await asyncio.wait({part}, timeout=IDLE_SECONDS)
            if not part.done():
                yield reached, ()
                continue
            reached, rows = part.result()
            if unread:
                raise BackupError(f"a value in the storage cannot be read: {unread[0]}")
            yield reached, rows
            part = asyncio.ensure_future(anext(feed))
    except Compacted:
        raise _not_kept(after) from None
    finally:
        part.cancel()
        await asyncio.gather(part, return_exceptions=True)


# Reads the data directory of a stopped server.


@dataclass(frozen=True, slots=True)
class StoppedStore:
    """The store of a data directory."""

    header: Header
    backend: SqliteBackend

    def rows(self) -> Iterator[Row]:
        return self.backend.heads()


@contextmanager
def stopped_store(directory: Path) -> Iterator[StoppedStore]:
    """Open the store of a directory and hold its lock during the block. Changes nothing. Raises
    StorageError, also if a server is running on it."""
    database = Directory(directory).database
    if not database.is_file():
        raise StorageError(f"{directory} holds no store")
    backend = SqliteBackend(directory)
    backend.lock()
    try:
        _check_format(database)
        backend.open()
        if backend.dialect not in DIALECTS:
            raise StorageError(f"{database} is damaged: {backend.dialect!r} is no dialect")
        yield StoppedStore(Header.of(backend.dialect, backend.revision), backend)
    finally:
        backend.close()


def _check_format(database: Path) -> None:
    """Refuse older formats: opening the file would migrate it."""
    try:
        db = connect(database)
        try:
            old_format = file_format.check_kind(db, database)
        finally:
            db.close()
    except sqlite3.Error as error:
        raise StorageError(f"{database} is damaged or not a Fairlead store: {error}") from None
    if old_format < file_format.FORMAT:
        directory = shlex.quote(str(database.parent))
        raise StorageError(
            f"{database} has format {old_format} of an older release: start a server on it once,"
            f" or run `fairlead migrate --data-dir {directory}`, which brings it up to date"
        )
