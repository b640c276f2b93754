"""What is copied from and into: a data directory, or a storage that several servers share."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from typing import Protocol

from fairlead.backup.archive import Header
from fairlead.backup.progress import Progress
from fairlead.backup.shared import Raising, fill
from fairlead.backup.stopped import stopped_store
from fairlead.storage.backend import Row
from fairlead.storage.source import Snapshot, Source
from fairlead.storage.sqlite_loading import load


class Contents(Protocol):
    """All objects of a store at a revision."""

    @property
    def header(self) -> Header: ...

    def rows(self) -> Iterator[Row]:
        """Every object, as often as they are asked for."""


class Storage(Protocol):
    """`usual_gap` is how many revisions a restored one leaves out, for those that were given out
    after the backup was made."""

    usual_gap: int

    def reading(self) -> AbstractContextManager[Contents]:
        """What there is, to be used in the block. Raises StorageError."""

    def fill(self, contents: Contents, raising: Raising, progress: Progress) -> int:
        """Take in everything, if there is nothing yet, or nothing; gives the revision. Raises
        BackupError, StorageError."""


class DirectoryStorage:
    """The data directory of a server that does not run."""

    usual_gap = 1_000_000_000

    def __init__(self, path: Path) -> None:
        self._path = path

    def reading(self) -> AbstractContextManager[Contents]:
        return stopped_store(self._path)

    def fill(self, contents: Contents, raising: Raising, progress: Progress) -> int:
        header, rows = contents.header, progress.counted(contents.rows())
        return load(self._path, header.dialect, rows, header.revision, raising.gap)


@dataclass(frozen=True, slots=True)
class _Read:
    header: Header
    found: list[Row]

    def rows(self) -> Iterator[Row]:
        return iter(self.found)


class SharedStorage:
    """What a `Source` leads to; `connect` makes one for a dialect, `dialect` is what is there."""

    usual_gap = 10_000

    def __init__(self, connect: Callable[[str], Source], dialect: str) -> None:
        self._connect = connect
        self._dialect = dialect

    @contextmanager
    def reading(self) -> Iterator[Contents]:
        revision, rows = asyncio.run(self._snapshot())
        rows.sort(key=attrgetter("resource", "key"))
        yield _Read(Header.of(self._dialect, revision), rows)

    async def _snapshot(self) -> Snapshot:
        source = self._connect(self._dialect)
        try:
            await source.open()
            return await source.snapshot()
        finally:
            await source.close()

    def fill(self, contents: Contents, raising: Raising, progress: Progress) -> int:
        return asyncio.run(self._fill(contents, raising, progress))

    async def _fill(self, contents: Contents, raising: Raising, progress: Progress) -> int:
        source = self._connect(contents.header.dialect)
        try:
            await source.open()
            return await fill(source, contents.header, contents.rows, raising, progress)
        finally:
            await source.close()
