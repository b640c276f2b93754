"""Filling a storage that several servers share, and reading it: etcd.

Such a storage gives out revisions itself, one a commit, and commits a bounded number of keys at a
time. So its revision is raised first, by commits that leave marks and nothing else, until it is
above all that clients may know; then come the objects; the marks go last. Marks that are still
there tell of a restore that was cut off.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable, Iterator
from dataclasses import dataclass

from fairlead.backup.archive import Header
from fairlead.backup.errors import BackupError
from fairlead.backup.progress import Progress
from fairlead.storage.backend import Conflict, Row, StorageError, Write
from fairlead.storage.source import Snapshot, Source

MOST_RAISED = 1_000_000  # revisions: some minutes of commits
_MARKS = "restore.fairlead/marks"
_MARK_VERSION = "restore.fairlead/v1"
_LANES = 64  # commits at once while the revision is raised
_GROUPS_AT_ONCE = 8
_ROWS_A_GROUP = 64  # etcd takes 128 operations in a transaction, and 1.5 MiB
_BYTES_A_GROUP = 512 * 1024


@dataclass(frozen=True, slots=True)
class Raising:
    """How far the revisions of the copy are to lie above those of what is copied."""

    gap: int = 0
    accept_older: bool = False


async def fill(
    source: Source, header: Header, rows: Iterable[Row], raising: Raising, progress: Progress
) -> int:
    """Write all rows into an empty storage, or nothing; gives its revision, at which its history
    begins. Raises BackupError, StorageError, and what `rows` raises."""
    _check_empty(await source.snapshot())
    newest = await source.ask_newest()
    wanted = newest if raising.accept_older else header.revision + raising.gap
    if wanted - newest > MOST_RAISED:
        raise BackupError(
            f"the storage is at revision {newest} and has to be raised above {wanted}, where"
            f" resourceVersions that clients know end; {MOST_RAISED} can be made up for. Start all"
            " clients anew and go on with --accept-older-revisions, or restore into a data"
            " directory"
        )
    marks: dict[str, int] = {}
    try:
        await _raise(source, wanted, marks, progress)
        await _write(source, rows)
        await _delete(source, [_mark(name, None, at) for name, at in marks.items()])
        revision = await source.ask_newest()
        await source.compact(revision)
    except BaseException as error:
        await _undo(source, error)
        raise
    return revision


def _check_empty(snapshot: Snapshot) -> None:
    if any(row.resource == _MARKS for row in snapshot.rows):
        raise BackupError(
            "the storage has a part of a restore that was cut off: delete what is below the prefix"
            " and try again"
        )
    if snapshot.rows:
        raise BackupError(f"the storage holds {len(snapshot.rows)} objects already")


def _mark(name: str, value: bytes | None, over: int) -> Write:
    return Write(_MARKS, name, _MARK_VERSION, value, over)


async def _raise(source: Source, wanted: int, marks: dict[str, int], progress: Progress) -> None:
    """Commit until the storage's revision is at least as high as wanted. `marks` are what that
    leaves, with their revisions, one at least."""
    reached = 0

    async def lane(name: str) -> None:
        nonlocal reached
        value = b'{"metadata":{"name":"%b"}}' % name.encode()
        while not marks or reached < wanted:
            (reached,) = await source.write([_mark(name, value, marks.get(name, 0))])
            marks[name] = reached

    await lane("0")
    if reached < wanted:
        progress.say(f"raising the revision of the storage from {reached} to {wanted}")
        await _all(lane(str(number)) for number in range(1, _LANES))


async def _write(source: Source, rows: Iterable[Row]) -> None:
    groups = _groups(rows)

    async def lane() -> None:
        for group in groups:
            try:
                await source.write(group)
            except Conflict as error:
                raise BackupError(f"{error} is there already: twice, or by others") from None

    await _all(lane() for _ in range(_GROUPS_AT_ONCE))


def _groups(rows: Iterable[Row]) -> Iterator[list[Write]]:
    group: list[Write] = []
    size = 0
    for row in rows:
        value = row.value or b""
        if not value.startswith(b"{"):
            raise BackupError(
                f"{row.resource} {row.key} is encrypted: make the backup of the running server"
                " instead, which has its objects in the clear"
            )
        if group and (len(group) == _ROWS_A_GROUP or size + len(value) > _BYTES_A_GROUP):
            yield group
            group, size = [], 0
        group.append(Write(row.resource, row.key, row.api_version, value, 0))
        size += len(value)
    if group:
        yield group


async def _all(work: Iterable[Coroutine[None, None, None]]) -> None:
    """Wait for all; when one fails the others are stopped first."""
    try:
        async with asyncio.TaskGroup() as tasks:
            for one in work:
                tasks.create_task(one)
    except BaseExceptionGroup as group:
        raise group.exceptions[0] from None


async def _delete(source: Source, writes: list[Write]) -> None:
    for start in range(0, len(writes), _ROWS_A_GROUP):
        await source.write(writes[start : start + _ROWS_A_GROUP])


async def _undo(source: Source, why: BaseException) -> None:
    """Take away what was written, the marks last. It was empty before, and nobody else uses it."""
    try:
        while rows := (await source.snapshot()).rows:
            rows.sort(key=lambda row: row.resource == _MARKS)
            await _delete(
                source,
                [Write(row.resource, row.key, row.api_version, None, row.revision) for row in rows],
            )
    except (StorageError, Conflict) as error:
        raise BackupError(
            f"{why or type(why).__name__}; nor could what was written be taken away ({error}):"
            " delete what is below the prefix before you try again"
        ) from why
