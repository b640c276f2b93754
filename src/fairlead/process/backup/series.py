"""A directory of backups: bases, which are whole backups, each with the journal that continues it.

000012-20260102T030405Z.backup     a base; the number counts them, whatever the clock says
000012-20260102T030405Z.journal    the changes after it, if they are followed
000012-20260102T030405Z.1.journal  those of the first other cluster, if there are any
lock                               locked by the command that writes here
"""

from __future__ import annotations

import fcntl
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from fairlead.base import clock
from fairlead.process.backup.archive import Archive, ArchiveError, BackupError, Header
from fairlead.process.backup.journal import Batch, Journal

_NAME = re.compile(r"([0-9]{6,12})-[0-9]{8}T[0-9]{6}Z")
_BASE, _JOURNAL, _LOCK = ".backup", ".journal", "lock"


class Base(NamedTuple):
    """A backup of a series, and the path of its journal. If it has the objects of other clusters,
    each of them has a journal of its own: `cluster` is an index of `Header.clusters`."""

    number: int
    path: Path
    journal: Path

    def header(self) -> Header:
        with self.opened() as archive:
            return archive.header

    @contextmanager
    def opened(self) -> Iterator[Archive]:
        """Raises BackupError."""
        try:
            file = self.path.open("rb")
        except OSError as error:
            raise BackupError(f"cannot read {self.path}: {error.strerror}") from None
        with file:
            yield Archive(self.path, file)

    def journal_of(self, cluster: int) -> Path:
        """Return the path of the journal of a cluster."""
        return self.path.with_suffix(f".{cluster}{_JOURNAL}") if cluster else self.journal

    def batches(self, cluster: int = 0) -> Iterator[Batch]:
        """Yield the batches of the journal of a cluster, if there is one. Raises ArchiveError, also
        if the journal continues another backup."""
        path = self.journal_of(cluster)
        if not path.exists():
            return
        with self.opened() as archive, path.open("rb") as file:
            journal = Journal(path, file)
            if journal.header.base != archive.digest():
                raise ArchiveError(f"{path} continues another backup than {self.path}")
            yield from journal.batches()


class Reach(NamedTuple):
    """How far a backup and its journal reach: the newest revision, and the time of the last
    batch."""

    revision: int
    time: datetime


class Series:
    """The backups in a directory."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def bases(self) -> list[Base]:
        """Return all bases, oldest first. Raises BackupError."""
        found: list[Base] = []
        try:
            for path in self.directory.iterdir():
                match = _NAME.fullmatch(path.stem)
                if match is not None and path.suffix == _BASE:
                    found.append(Base(int(match[1]), path, path.with_suffix(_JOURNAL)))
        except OSError as error:
            raise BackupError(f"cannot read {self.directory}: {error.strerror}") from None
        return sorted(found)

    def newest(self) -> Base | None:
        return max(self.bases(), default=None)

    def next_path(self) -> Path:
        """Return the path of a new base."""
        newest = self.newest()
        number = newest.number + 1 if newest is not None else 1
        return self.directory / f"{number:06}-{clock.now():%Y%m%dT%H%M%SZ}{_BASE}"

    def prune(self, keep: int) -> list[Path]:
        """Delete all but the newest `keep` bases, with their journals; return what was deleted."""
        deleted: list[Path] = []
        for base in self.bases()[:-keep]:
            others = sorted(self.directory.glob(f"{base.path.stem}.*{_JOURNAL}"))
            for path in (base.path, base.journal, *others):
                with suppress(FileNotFoundError):
                    path.unlink()
                    deleted.append(path)
        return deleted

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Create the directory and keep other commands from writing to it. Raises BackupError."""
        try:
            self.directory.mkdir(mode=0o700, exist_ok=True)
            lock = os.open(self.directory / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise BackupError(f"cannot write {self.directory}: {error.strerror}") from None
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self._clean_up()
            yield
        except BlockingIOError:
            raise BackupError(f"another command writes backups to {self.directory}") from None
        finally:
            os.close(lock)

    def _clean_up(self) -> None:
        """Delete the leftovers of killed commands: unfinished files, and journals without a
        base."""
        for pattern in (f".*{_BASE}.*.partial", f".*{_JOURNAL}.partial"):
            for path in self.directory.glob(pattern):
                path.unlink()
        for path in self.directory.glob(f"*{_JOURNAL}"):
            stem = path.name.partition(".")[0]
            if _NAME.fullmatch(stem) and not path.with_name(stem + _BASE).exists():
                path.unlink()


def is_series(path: Path) -> bool:
    return path.is_dir()


def reach(base: Base, cluster: int = 0) -> Reach:
    """Return how far a base and the journal of a cluster reach; raises ArchiveError."""
    header = base.header()
    revision, time = header.clusters[cluster].revision, moment(header.created)
    for batch in base.batches(cluster):
        revision, time = batch.revision, moment(batch.time)
    return Reach(revision, time)


def moment(text: str) -> datetime:
    return datetime.fromisoformat(text)


def shown(time: datetime) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
