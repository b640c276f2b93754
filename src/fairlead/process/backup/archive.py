"""The file format of a backup: a stream, written in one pass and verified before it is restored.

fairlead backup 1⏎                        the format
{"dialect":…,"revision":…,"created":…}⏎   the header, also with "others" if there are other clusters
…                                         zlib: for each object a line
                                          ["core/pods","default/a",17,"v1",312]⏎
                                          (resource, key, revision, apiVersion, length)
                                          and that many bytes and ⏎
⏎rows 00000000000000000042 sha256 …⏎      the number of objects, and the digest of all before
"""

from __future__ import annotations

import io
import json
import os
import re
import tempfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from hashlib import sha256
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import orjson

from fairlead.base import clock
from fairlead.base.dialect import DIALECTS
from fairlead.process.backup.rows import read_row
from fairlead.storage.backend import Row


class BackupError(Exception):
    """A copy cannot be made or used; the message is for the user."""


class Gap(BackupError):
    """The changes after a backup cannot be continued: they are no longer in the store, or it is
    another store."""


FORMAT = 1
_FIRST_LINE = re.compile(rb"fairlead backup ([0-9]{1,9})\n")
_TRAILER = re.compile(rb"(\nrows ([0-9]{20}) sha256 )([0-9a-f]{64})\n")
_TRAILER_BYTES = len("\nrows  sha256 \n") + 20 + 64
_MAX_LINE_BYTES = 64 * 1024
_HIGHEST_REVISION = 1 << 62
_PIECE = 256 * 1024
_LEVEL = 3


class ArchiveError(BackupError):
    """The file is not a backup, is damaged, or was written by a newer release."""


class ClusterState(NamedTuple):
    """The resources that a cluster keeps apart from the main one (`--etcd-servers-overrides`), and
    its revision in a backup. Revisions of two clusters cannot be compared."""

    resources: tuple[str, ...]
    revision: int


@dataclass(frozen=True, slots=True)
class Header:
    """Describes a backup: all objects of a store at a revision."""

    dialect: str
    revision: int
    created: str
    others: tuple[ClusterState, ...] = ()

    @classmethod
    def of(cls, dialect: str, revision: int, others: Iterable[ClusterState] = ()) -> Header:
        """Make a header with the current time."""
        return cls(dialect, revision, clock.now().strftime("%Y-%m-%dT%H:%M:%SZ"), tuple(others))

    @property
    def highest(self) -> int:
        """The highest revision of all clusters."""
        return max(cluster.revision for cluster in self.clusters)

    @property
    def clusters(self) -> tuple[ClusterState, ...]:
        """The main cluster, which has all resources that no other keeps, and the others."""
        return ClusterState((), self.revision), *self.others

    def encode(self) -> bytes:
        fields: dict[str, Any] = {
            "dialect": self.dialect,
            "revision": self.revision,
            "created": self.created,
        }
        if self.others:
            fields["others"] = [other._asdict() for other in self.others]
        return b"fairlead backup %d\n%b\n" % (FORMAT, orjson.dumps(fields))


def joined(main: Iterable[Row], others: Iterable[Iterable[Row]]) -> Iterator[Row]:
    """Yield the rows of the main cluster, then those of the others. Revisions of different clusters
    cannot be compared, so all rows of the others get the revision of an earlier row; a restore
    assigns new ones."""
    shared = 0
    for row in main:
        shared = shared or row.revision
        yield row
    for row in chain.from_iterable(others):
        yield row._replace(revision=shared or 1)


def pieces(header: Header, rows: Iterable[Row]) -> Iterator[bytes]:
    """Yield the bytes of a backup in pieces, consuming the rows lazily."""
    compressor = zlib.compressobj(_LEVEL)
    total = sha256()
    count = 0
    packed = [header.encode()]
    for part in _parts(rows):
        count += part.rows
        packed.append(compressor.compress(part.content))
        if sum(map(len, packed)) >= _PIECE:
            piece = b"".join(packed)
            total.update(piece)
            yield piece
            packed = []
    packed += (compressor.flush(), b"\nrows %020d sha256 " % count)
    piece = b"".join(packed)
    total.update(piece)
    yield b"%b%b\n" % (piece, total.hexdigest().encode())


@dataclass(frozen=True, slots=True)
class _Part:
    rows: int
    content: bytes


def _parts(rows: Iterable[Row]) -> Iterator[_Part]:
    """Yield encoded rows in parts of bounded size."""
    content: list[bytes] = []
    count = size = 0
    for revision, resource, key, _, api_version, value in rows:
        assert value is not None, "a backup must not have deleted objects"
        head = orjson.dumps([resource, key, revision, api_version, len(value)])
        content += (head, b"\n", value, b"\n")
        count += 1
        size += len(head) + len(value)
        if size >= _PIECE:
            yield _Part(count, b"".join(content))
            content, count, size = [], 0, 0
    if content:
        yield _Part(count, b"".join(content))


class Archive:
    """Reads a backup. The constructor reads the header, `rows` the rest.

    `file` must be seekable; the caller closes it.
    """

    def __init__(self, path: Path, file: BinaryIO) -> None:
        self._path = path
        self._file = file
        self._end = file.seek(0, io.SEEK_END) - _TRAILER_BYTES
        file.seek(0)
        first = file.readline(64)
        match = _FIRST_LINE.fullmatch(first)
        if match is None:
            raise ArchiveError(f"{path} is not a backup that Fairlead made")
        if int(match[1]) != FORMAT:
            raise ArchiveError(
                f"{path} has format {int(match[1])}, written by a newer release; this one reads"
                f" format {FORMAT}"
            )
        second = file.readline(_MAX_LINE_BYTES)
        self._start = file.tell()
        if self._start > self._end:
            raise self._cut_short()
        self._head = first + second
        self.header = self._header(second)

    def _damaged(self, why: str) -> ArchiveError:
        return ArchiveError(f"{self._path} is damaged: {why}")

    def _cut_short(self) -> ArchiveError:
        return self._damaged("it is truncated, or its end is damaged")

    def _header(self, line: bytes) -> Header:
        try:
            fields = json.loads(line)
            others = tuple(
                ClusterState(tuple(map(str, other["resources"])), other["revision"])
                for other in fields.get("others", ())
            )
            header = Header(fields["dialect"], fields["revision"], fields["created"], others)
        except (AttributeError, ValueError, KeyError, TypeError):
            raise self._damaged("its second line cannot be read") from None
        if header.dialect not in list(DIALECTS):
            raise self._damaged(f"there is no dialect {header.dialect!r}")
        for _, revision in header.clusters:
            if type(revision) is not int or not 0 <= revision < _HIGHEST_REVISION:
                raise self._damaged(f"{revision!r} is no revision")
        return header

    def digest(self) -> str:
        """Return the checksum that the file states for itself."""
        self._file.seek(self._end)
        trailer = _TRAILER.fullmatch(self._file.read(_TRAILER_BYTES))
        if trailer is None:
            raise self._cut_short()
        return trailer[3].decode()

    def verify(self, on_read: Callable[[int], None] = lambda count: None) -> int:
        """Read the whole file and return the number of rows. Raises ArchiveError if a single byte
        differs from what was written. Calls `on_read` with the number of bytes of each read."""
        count = 0
        for _ in self.rows(on_read):
            count += 1
        return count

    def rows(self, on_read: Callable[[int], None] = lambda count: None) -> Iterator[Row]:
        """Yield every object. The rows are verified only when the iteration ends without
        ArchiveError."""
        self._file.seek(self._end)
        trailer = _TRAILER.fullmatch(self._file.read(_TRAILER_BYTES))
        if trailer is None:
            raise self._cut_short()
        self._file.seek(self._start)
        packed = _DecompressingReader(self._file, self._end - self._start, self._head, on_read)
        count = 0
        try:
            stream = io.BufferedReader(packed, _PIECE)
            while row := self._row(stream):
                count += 1
                yield row
        except zlib.error:
            raise self._damaged("it cannot be unpacked") from None
        if packed.digest(trailer[1]) != trailer[3].decode():
            raise self._damaged("its checksum is wrong")
        if count != int(trailer[2]):
            raise self._damaged(f"it has {count} objects and should have {int(trailer[2])}")

    def _row(self, stream: io.BufferedReader[_DecompressingReader]) -> Row | None:
        try:
            row = read_row(stream)
        except ValueError:
            raise self._damaged("an object in it cannot be read") from None
        if row is None:
            return None
        if row.value is None:
            raise self._damaged("an object in it cannot be read")
        if not 0 < row.revision <= self.header.revision:
            raise self._damaged(f"{row.resource} {row.key} has the revision {row.revision}")
        return row


class _DecompressingReader(io.RawIOBase):
    """Decompresses the next `left` bytes of a file, and computes the digest of the compressed
    bytes."""

    def __init__(
        self, file: BinaryIO, left: int, before: bytes, on_read: Callable[[int], None]
    ) -> None:
        self._file = file
        self._left = left
        self._on_read = on_read
        self._total = sha256(before)
        self._unpacker = zlib.decompressobj()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        unpacker = self._unpacker
        while not unpacker.eof:
            packed = unpacker.unconsumed_tail or self._more()
            if not packed:
                raise zlib.error("the end is missing")
            unpacked = unpacker.decompress(packed, len(buffer))
            if unpacked:
                buffer[: len(unpacked)] = unpacked
                return len(unpacked)
        if unpacker.unused_data or self._left:
            raise zlib.error("there is something behind the end")
        return 0

    def _more(self) -> bytes:
        piece = self._file.read(min(self._left, _PIECE))
        self._left -= len(piece)
        self._total.update(piece)
        self._on_read(len(piece))
        return piece

    def digest(self, last: bytes) -> str:
        self._total.update(last)
        return self._total.hexdigest()


# The file of a new backup: it appears under its name when complete, or not at all.


@contextmanager
def new_file(path: Path) -> Iterator[BinaryIO]:
    """Open a temporary file beside `path` for writing and reading. It is renamed to `path` when the
    block ends without an exception and deleted otherwise. Never overwrites a file. Raises
    BackupError."""
    if path.is_symlink() or path.exists():
        raise _exists(path)
    try:
        descriptor, name = tempfile.mkstemp(".partial", f".{path.name[:100]}.", path.parent)
    except OSError as error:
        raise BackupError(f"cannot write {path}: {error.strerror}") from None
    partial = Path(name)
    try:
        with os.fdopen(descriptor, "w+b") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        _rename(partial, path)
    except OSError as error:
        raise BackupError(f"cannot write {path}: {error.strerror or error}") from None
    finally:
        with suppress(OSError):
            partial.unlink(missing_ok=True)


def _rename(partial: Path, path: Path) -> None:
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except FileExistsError:
        raise _exists(path) from None
    try:
        os.replace(partial, path)
    except BaseException:
        path.unlink()
        raise
    directory = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)


def _exists(path: Path) -> BackupError:
    return BackupError(f"{path} exists; a backup overwrites nothing")
