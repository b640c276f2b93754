"""Read-only access to stores."""

from __future__ import annotations

import atexit
import shutil
import sqlite3
from collections.abc import AsyncIterator, Sequence
from contextlib import closing, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from fairlead.storage.backend import Fault, Slice, Step, StorageError, Write
from fairlead.storage.log import Reached, Snapshot, Source
from fairlead.storage.sqlite.directory import Directory
from fairlead.storage.sqlite.format import check_kind, connect

_FILES = ("fairlead.db", "fairlead.db-wal", "acknowledged")


class ReadOnlySource:
    """Wraps a source; refuses writes and never compacts."""

    has_epoch = False

    def __init__(self, source: Source) -> None:
        self._source = source

    @property
    def floor(self) -> int:
        return self._source.floor

    async def open(self) -> None:
        await self._source.open()

    async def snapshot(self) -> Snapshot:
        return await self._source.snapshot()

    def feed(self, after: int) -> AsyncIterator[Reached]:
        return self._source.feed(after)

    def newest(self) -> int | None:
        return self._source.newest()

    async def fetch_newest(self) -> int:
        return await self._source.fetch_newest()

    async def write(self, group: Sequence[Write]) -> list[int]:
        raise StorageError("the store is only read", Fault.PASSING)

    async def changes(self, resource: str, after: int, upto: int, key: str = "") -> list[Step]:
        return await self._source.changes(resource, after, upto, key)

    async def state(
        self, resource: str, revision: int, after: str, below: str | None, limit: int
    ) -> Slice:
        return await self._source.state(resource, revision, after, below, limit)

    async def is_stale(self, resource: str, key: str, revision: int) -> bool:
        return False

    async def compact(self, floor: int) -> None:
        pass

    async def size(self) -> int:
        return await self._source.size()

    async def close(self) -> None:
        await self._source.close()


def copy_of_store(directory: Path, scratch: Path | None = None) -> Path:
    """Copy a store that no server uses to a temporary directory (below `scratch` if given) and
    return it. The copy is deleted at exit. SQLite needs the copy because even readers write files
    beside the database. Raises StorageError."""
    original = Directory(directory)
    if not original.holds_database():
        raise StorageError(f"{directory} holds no store that could be read")
    original.lock()
    try:
        copy = TemporaryDirectory(prefix="fairlead-", dir=scratch, ignore_cleanup_errors=True)
        for name in _FILES:
            if (directory / name).exists():
                shutil.copyfile(directory / name, Path(copy.name) / name)
    except OSError as error:
        raise StorageError(f"cannot copy {directory}: {error.strerror}") from None
    finally:
        original.unlock()
    atexit.register(copy.cleanup)
    _check_kind(Path(copy.name) / original.database.name, original.database)
    return Path(copy.name)


def _check_kind(copy: Path, original: Path) -> None:
    """Refuse a newer format under the name of the original; other faults show when the copy is
    opened."""
    with suppress(sqlite3.Error), closing(connect(copy)) as db:
        check_kind(db, original)
