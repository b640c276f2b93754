"""The journal of a backup: the changes after it, in batches that are appended as they arrive.

fairlead journal 1⏎                               the format
{"dialect":…,"after":…,"store":…,"base":…}⏎       the header; `base` is the checksum of the backup
[revision,"time",length,"sha256"]⏎                a batch: how far it reaches, its time,
…⏎                                                and its rows, compressed

The checksum of a batch covers that of the batch before it. A batch that is not whole at the end of
the file was cut off by a crash and never counts; anything else that does not fit is damage.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import orjson

from fairlead.base import clock
from fairlead.base.dialect import DIALECTS
from fairlead.process.backup.archive import ArchiveError, BackupError
from fairlead.process.backup.rows import encode_row, read_row
from fairlead.storage.backend import Row

FORMAT = 1
_FIRST_LINE = b"fairlead journal %d\n" % FORMAT
_MAX_HEAD_BYTES = 1024
_MAX_BATCH_BYTES = 1 << 30
_LEVEL = 3

NAMESPACES = "core/namespaces"
IDLE_SECONDS = 5.0  # after which a stream of changes says that there were none


class Batch(NamedTuple):
    """All changes after the previous batch, up to a revision. A batch without rows records that
    there were no changes until its time."""

    revision: int
    time: str
    rows: Sequence[Row]


def timestamp() -> str:
    """Return the current time as batches state it; such texts sort like the times."""
    return clock.now().strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def encode_rows(rows: Sequence[Row]) -> bytes:
    return b"".join(map(encode_row, rows))


def decode_rows(content: bytes) -> list[Row]:
    """Raises ValueError."""
    stream = BytesIO(content)
    rows: list[Row] = []
    while (row := read_row(stream)) is not None:
        rows.append(row)
    return rows


@dataclass(frozen=True, slots=True)
class JournalHeader:
    """Describes a journal: it continues the backup with the checksum `base`, which is at revision
    `after`. `store` identifies the store that the changes come from."""

    dialect: str
    after: int
    store: str
    base: str

    def encode(self) -> bytes:
        fields = {
            "dialect": self.dialect,
            "after": self.after,
            "store": self.store,
            "base": self.base,
        }
        return b"%b%b\n" % (_FIRST_LINE, orjson.dumps(fields))


def identity_of(
    dialect: str, namespaces: Iterable[Row], apart: Iterable[Sequence[str]] = ()
) -> str:
    """Return the identity of a store: the uid of its system namespace ("" without one), and the
    resources that other clusters keep `apart`."""
    name = DIALECTS[dialect].system_namespace
    layout = "".join(f" {','.join(resources)}" for resources in apart)
    for row in namespaces:
        if row.key == name and row.is_plain:
            return str(orjson.loads(row.value or b"{}")["metadata"].get("uid", "")) + layout
    return layout


class Journal:
    """Reads a journal. After `batches` has ended, `end` is where the last whole batch ends."""

    def __init__(self, path: Path, file: BinaryIO) -> None:
        self._path = path
        self._file = file
        file.seek(0)
        first = file.readline(len(_FIRST_LINE))
        if first != _FIRST_LINE:
            raise ArchiveError(f"{path} is not a journal of format {FORMAT} that Fairlead made")
        second = file.readline(_MAX_HEAD_BYTES)
        try:
            self.header = JournalHeader(**orjson.loads(second))
        except (ValueError, TypeError):
            raise ArchiveError(f"{path} is damaged: its second line cannot be read") from None
        self.end = self._start = file.tell()
        self.digest = sha256(first + second).hexdigest()
        self._first_digest = self.digest

    def batches(self) -> Iterator[Batch]:
        """Yield the batches in order. Raises ArchiveError at the first one that is damaged."""
        self.end, self.digest = self._start, self._first_digest
        revision = self.header.after
        self._file.seek(self._start)
        while line := self._file.readline(_MAX_HEAD_BYTES):
            if not line.endswith(b"\n") and len(line) < _MAX_HEAD_BYTES:
                return
            try:
                reached, time, length, digest = _head(line)
            except ValueError:
                raise self._damaged(revision) from None
            content = self._file.read(length + 1)
            if len(content) <= length:
                return
            if content[-1:] != b"\n" or digest != _digest(self.digest, reached, time, content[:-1]):
                raise self._damaged(revision)
            if reached < revision:
                raise self._damaged(revision)
            rows = _unpacked(content[:-1])
            if rows is None:
                raise self._damaged(revision)
            revision, self.digest, self.end = reached, digest, self._file.tell()
            yield Batch(reached, time, rows)

    def _damaged(self, revision: int) -> ArchiveError:
        return ArchiveError(
            f"{self._path} is damaged after revision {revision}, which is the last that can be"
            " restored from it"
        )


def _head(line: bytes) -> tuple[int, str, int, str]:
    fields: Any = orjson.loads(line)
    if not isinstance(fields, list) or [type(field) for field in fields] != [int, str, int, str]:
        raise ValueError("no head of a batch")
    revision, time, length, digest = fields
    if not 0 <= length <= _MAX_BATCH_BYTES:
        raise ValueError(f"a batch of {length} bytes")
    return revision, time, length, digest


def _digest(before: str, revision: int, time: str, packed: bytes) -> str:
    head = orjson.dumps([before, revision, time])
    return sha256(head + packed).hexdigest()


def _unpacked(packed: bytes) -> list[Row] | None:
    try:
        return decode_rows(zlib.decompress(packed)) if packed else []
    except (zlib.error, ValueError):
        return None


class JournalWriter:
    """Appends to a journal; every batch is synced. `revision` is how far it reaches."""

    def __init__(self, path: Path, file: BinaryIO, header: JournalHeader) -> None:
        self._path = path
        self._file = file
        self.header = header
        self.revision = header.after
        self._digest = sha256(header.encode()).hexdigest()
        self._end = len(header.encode())

    @classmethod
    def create(cls, path: Path, header: JournalHeader) -> JournalWriter:
        """Begin a journal, which appears with its header or not at all. Raises BackupError."""
        partial = path.with_name(f".{path.name}.partial")
        try:
            descriptor = os.open(partial, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
            file = os.fdopen(descriptor, "r+b")
            writer = cls(path, file, header)
            writer._write(0, header.encode())
            os.replace(partial, path)
        except OSError as error:
            raise BackupError(f"cannot write {path}: {error.strerror}") from None
        return writer

    @classmethod
    def resume(cls, path: Path) -> JournalWriter:
        """Continue after the last whole batch. Raises ArchiveError if the journal is damaged."""
        try:
            file = path.open("r+b")
        except OSError as error:
            raise BackupError(f"cannot write {path}: {error.strerror}") from None
        try:
            journal = Journal(path, file)
            writer = cls(path, file, journal.header)
            for batch in journal.batches():
                writer.revision = batch.revision
        except BaseException:
            file.close()
            raise
        writer._end, writer._digest = journal.end, journal.digest
        return writer

    def append(self, batch: Batch) -> None:
        """Raises BackupError, after which the same batch may be appended again."""
        packed = zlib.compress(encode_rows(batch.rows), _LEVEL) if batch.rows else b""
        digest = _digest(self._digest, batch.revision, batch.time, packed)
        head = orjson.dumps([batch.revision, batch.time, len(packed), digest])
        content = b"%b\n%b\n" % (head, packed)
        self._write(self._end, content)
        self._end += len(content)
        self._digest = digest
        self.revision = batch.revision

    def _write(self, position: int, content: bytes) -> None:
        """Write at a position where nothing counts: a write that failed may have left a part."""
        descriptor = self._file.fileno()
        try:
            os.ftruncate(descriptor, position)
            while content:
                written = os.pwrite(descriptor, content, position)
                content, position = content[written:], position + written
            os.fsync(descriptor)
        except OSError as error:
            raise BackupError(f"cannot write {self._path}: {error.strerror}") from None

    def close(self) -> None:
        self._file.close()
