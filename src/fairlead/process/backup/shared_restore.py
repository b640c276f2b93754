"""Restores into etcd, and other storages that several servers share.

Such a storage assigns revisions itself, one per commit, and limits the number of keys in a commit.
So the restore first raises the storage's revision, by commits that write marks only, until it is
above every revision that clients may know; then it writes the objects, and deletes the marks last.
Marks that are left over show that a restore did not finish.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from fairlead.process.backup import UNFINISHED
from fairlead.process.backup.archive import BackupError, Header
from fairlead.process.backup.progress import Progress
from fairlead.storage.backend import ConditionFailed, Conflict, Row, StorageError, Write
from fairlead.storage.etcd.rows import Codec
from fairlead.storage.log import Snapshot, Source

MAX_RAISED = 1_000_000  # revisions: takes some minutes of commits
_DEFINITIONS = "/customresourcedefinitions"
_LANES = 64  # concurrent commits while the revision is raised
_MAX_CONCURRENT = 8
_ROWS_A_GROUP = 64  # etcd accepts 128 operations and 1.5 MiB per transaction
_BYTES_A_GROUP = 512 * 1024


@dataclass(frozen=True, slots=True)
class RevisionGap:
    """How far the revisions of the copy must lie above those of the original."""

    gap: int = 0
    accept_older: bool = False


class Cluster(NamedTuple):
    """A cluster of a storage, with the resources that it keeps; none for the main cluster, which
    has all others."""

    source: Source
    resources: tuple[str, ...] = ()


async def fill(
    clusters: Sequence[Cluster],
    header: Header,
    rows: Callable[[], Iterable[Row]],
    gap: RevisionGap,
    progress: Progress,
) -> int:
    """Write all rows into an empty storage, or none; return the revision of its main cluster, the
    first one, at which its history begins. Calls `rows` twice for each cluster: definitions are
    written before the custom objects, whose encoding depends on them. Raises BackupError,
    StorageError, and any exception of `rows`."""
    targets = [await _target_revision(cluster.source, header, gap) for cluster in clusters]
    apart = {name for cluster in clusters for name in cluster.resources}
    fillings = [_Restore(cluster.source, progress) for cluster in clusters]
    try:
        for cluster, filling, target in zip(clusters, fillings, targets, strict=True):
            await filling.raise_to(target)
            for of_definitions in (True, False):
                await filling.write(
                    row
                    for row in rows()
                    if _is_definition(row) is of_definitions
                    and (row.resource in cluster.resources or not cluster.resources)
                    and (row.resource not in apart or cluster.resources)
                )
        for filling in reversed(fillings):  # while the main cluster has a mark, no server starts
            await filling.remove_marks()
        revisions = [await cluster.source.fetch_newest() for cluster in clusters]
        for cluster, revision in zip(clusters, revisions, strict=True):
            await cluster.source.compact(revision)
    except BaseException as error:
        undoing = (filling.undo(error) for filling in reversed(fillings))
        for failure in await asyncio.gather(*undoing, return_exceptions=True):
            if failure is not None:
                raise failure from error
        raise
    return revisions[0]


async def _target_revision(source: Source, header: Header, gap: RevisionGap) -> int:
    """Return the revision above which a cluster gets its objects. Raises BackupError if it is too
    far away."""
    newest = await source.fetch_newest()
    target_revision = newest if gap.accept_older else header.highest + gap.gap
    if target_revision - newest > MAX_RAISED:
        raise BackupError(
            f"the storage is at revision {newest}, clients may have seen revisions up to"
            f" {target_revision}, and at most {MAX_RAISED} revisions can be skipped. Restart all"
            " clients and use"
            " --accept-older-revisions, or restore into a data directory"
        )
    return target_revision


def check_empty(snapshot: Snapshot) -> None:
    """Raise BackupError if the storage holds any object."""
    if any(row.resource == UNFINISHED for row in snapshot.rows):
        raise BackupError(
            "the storage has a part of an interrupted restore: delete all keys under the prefix"
            " and try again"
        )
    if snapshot.rows:
        raise BackupError(f"the storage holds {len(snapshot.rows)} objects already")


class _Restore:
    """Writes to a storage, and records the written keys for `undo`."""

    def __init__(self, source: Source, progress: Progress) -> None:
        self._source = source
        self._progress = progress
        self._marks: dict[str, int] = {}  # revisions of marks, by name
        self._ours: set[tuple[str, str]] = set()  # keys that this restore may have written

    async def raise_to(self, revision: int) -> None:
        """Commit until the storage's revision is at least `revision`. Leaves at least one mark."""
        reached = await self._mark("0")
        if reached >= revision:
            return
        self._progress.say(f"raising the revision of the storage from {reached} to {revision}")

        async def lane(name: str) -> None:
            nonlocal reached
            while reached < revision:
                reached = max(reached, await self._mark(name))
                self._progress.reach(reached)

        await _all(lane(str(number)) for number in range(_LANES))

    async def _mark(self, name: str) -> int:
        """Write or overwrite a mark; return its revision."""
        self._ours.add((UNFINISHED, name))
        value = b'{"metadata":{"name":"%b"}}' % name.encode()
        write = Write(UNFINISHED, name, "", value, self._marks.get(name, 0))
        (self._marks[name],) = await self._write([write])
        return self._marks[name]

    async def write(self, rows: Iterable[Row]) -> None:
        groups = _groups(self._progress.counted(rows))

        async def lane() -> None:
            for group in groups:
                await self._write_group(group)

        await _all(lane() for _ in range(_MAX_CONCURRENT))

    async def _write_group(self, group: list[Write]) -> None:
        places = {(write.resource, write.key) for write in group}
        if len(places) < len(group) or places & self._ours:
            raise BackupError("an object occurs twice")
        self._ours |= places
        try:
            await self._write(group)
        except (Conflict, ConditionFailed):
            self._ours -= places
            raise BackupError("another program writes to the storage") from None
        except ValueError as error:  # the value cannot be encoded in the reference's format
            raise BackupError(str(error)) from None

    async def _write(self, group: list[Write]) -> list[int]:
        """Write a group. When cancelled, wait for the write to finish: otherwise it could be
        committed after `undo` has deleted the keys."""
        writing = asyncio.ensure_future(self._source.write(group))
        try:
            return await asyncio.shield(writing)
        except asyncio.CancelledError:
            await asyncio.gather(writing, return_exceptions=True)
            raise

    async def remove_marks(self) -> None:
        await self._delete([(UNFINISHED, name, revision) for name, revision in self._marks.items()])

    async def _delete(self, rows: list[tuple[str, str, int]]) -> None:
        """Delete keys at the given revisions."""
        writes = [Write(resource, key, "", None, revision) for resource, key, revision in rows]
        for start in range(0, len(writes), _ROWS_A_GROUP):
            await self._write(writes[start : start + _ROWS_A_GROUP])

    async def undo(self, why: BaseException) -> None:
        """Delete everything that was written, the marks last."""
        try:
            while rows := await self._left():
                rows.sort(key=lambda row: row.resource == UNFINISHED)
                await self._delete([(row.resource, row.key, row.revision) for row in rows])
        except (StorageError, Conflict, ConditionFailed) as error:
            raise BackupError(
                f"{str(why) or type(why).__name__}; the keys that were written could not be deleted"
                f" ({error}): delete all keys under the prefix before you try again"
            ) from why

    async def _left(self) -> list[Row]:
        rows = (await self._source.snapshot()).rows
        return [row for row in rows if (row.resource, row.key) in self._ours]


def _is_definition(row: Row) -> bool:
    return row.resource.endswith(_DEFINITIONS)


def _groups(rows: Iterable[Row]) -> Iterator[list[Write]]:
    group: list[Write] = []
    size = 0
    for row in rows:
        value = row.value or b""
        if not row.is_plain:
            raise BackupError(
                f"{row.resource} {row.key} is encrypted: make the backup from the running server"
                " instead, which decrypts its objects"
            )
        if group and (len(group) == _ROWS_A_GROUP or size + len(value) > _BYTES_A_GROUP):
            yield group
            group, size = [], 0
        group.append(Write(row.resource, row.key, row.api_version, value, 0))
        size += len(value)
    if group:
        yield group


async def _all(work: Iterable[Coroutine[None, None, None]]) -> None:
    """Run all coroutines; if one fails, cancel the others before raising."""
    try:
        async with asyncio.TaskGroup() as tasks:
            for task in work:
                tasks.create_task(task)
    except BaseExceptionGroup as group:
        raise group.exceptions[0] from None


# Values in etcd that cannot be decoded: a server skips them, a copy must fail.


class ReportingCodec:
    """Wraps a codec and reports each value that it cannot decode to `unread`."""

    def __init__(self, codec: Codec, unread: Callable[[str], None]) -> None:
        self.path = codec.path
        self.location = codec.location
        self.encode = codec.encode
        self.form = codec.form
        self.current_form = codec.current_form
        self.prepare = codec.prepare
        self._codec = codec
        self._unread = unread

    def decode(self, resource: str, key: str, raw: bytes) -> tuple[str, bytes]:
        try:
            return self._codec.decode(resource, key, raw)
        except Exception as error:
            text = str(error)
            self._unread(text if key in text else f"{resource} {key}: {text}")
            raise ValueError(text) from None  # the source skips it and goes on
