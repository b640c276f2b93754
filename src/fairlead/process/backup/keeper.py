"""Keeps a series of backups: makes bases on a schedule, follows the changes after them, deletes
what is too old."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from time import monotonic

from fairlead.base import clock
from fairlead.process.backup.archive import (
    Archive,
    ArchiveError,
    BackupError,
    ClusterState,
    Gap,
    new_file,
)
from fairlead.process.backup.journal import JournalHeader, JournalWriter
from fairlead.process.backup.origins import Changes, Origin
from fairlead.process.backup.progress import Progress, size
from fairlead.process.backup.series import Base, Series, moment
from fairlead.storage.backend import StorageError

_FIRST_PAUSE, _LONGEST_PAUSE = 0.5, 5.0


@dataclass(frozen=True, slots=True)
class Plan:
    """Which backups are kept. `follows`: journals record the changes after a base. `every`: seconds
    between bases (0: only if needed). `keep`: the number of newest bases that stay (0: all)."""

    follows: bool = False
    every: float = 0.0
    keep: int = 0

    @property
    def is_lasting(self) -> bool:
        return self.follows or self.every > 0


class Keeper:
    """Carries out a plan. `report_failure` tells the user of a failure that is retried."""

    def __init__(
        self,
        series: Series,
        origin: Origin,
        plan: Plan,
        progress: Progress,
        report_failure: Callable[[str], None],
    ) -> None:
        self._series = series
        self._origin = origin
        self._plan = plan
        self._progress = progress
        self._report_failure = report_failure
        self._due = 0.0  # time of the next base (monotonic)
        self._needs_base = False  # the journal of the newest base cannot be continued
        self._next_base: asyncio.Task[Base] | None = None
        self._reported_failure = ""
        self._pause = _FIRST_PAUSE

    async def run(self) -> None:
        """Run until the plan is carried out; a lasting plan over a live origin runs for ever.
        Raises BackupError, StorageError if the plan is not lasting."""
        with self._series.writing():
            try:
                await self._run()
            finally:
                if self._next_base is not None:
                    self._next_base.cancel()
                    with suppress(asyncio.CancelledError, Exception):
                        await self._next_base

    async def _run(self) -> None:
        self._schedule()
        while True:
            try:
                if await self._step():
                    return
                continue
            except Gap as gap:
                self._needs_base = True
                self._progress.say(f"a new backup begins: {gap}")
            except (BackupError, StorageError) as error:
                if not self._plan.is_lasting:
                    raise
                if str(error) != self._reported_failure:  # once, not for every attempt
                    self._reported_failure = str(error)
                    self._report_failure(str(error))
            await asyncio.sleep(self._pause)
            self._pause = min(self._pause * 2, _LONGEST_PAUSE)

    def _schedule(self) -> None:
        """Set when the next base is due, by the age of the newest one."""
        newest = self._series.newest()
        if newest is None:
            return
        try:
            age = clock.time() - moment(newest.header().created).timestamp()
        except BackupError:
            return
        if self._plan.every and age >= 0:
            self._due = monotonic() + self._plan.every - age

    async def _step(self) -> bool:
        """Make a base if one is due, then follow or wait. Returns whether all is done."""
        newest = self._series.newest()
        if not self._plan.follows:
            if newest is None or not self._plan.every or monotonic() >= self._due:
                await self._make_base()
                self._report_recovery()
                if not self._plan.every:
                    return True
            await asyncio.sleep(max(self._due - monotonic(), 0.01))
            return False
        if newest is None or self._needs_base:
            newest = await self._make_base()
            self._needs_base = False
        return await self._follow(newest)

    async def _make_base(self) -> Base:
        """Add a base to the series, and delete the oldest ones that the plan does not keep."""
        path = self._series.next_path()
        self._progress.bytes = 0
        with new_file(path) as file:
            await self._origin.copy(file, self._progress)
            file.flush()
            archive = Archive(path, file)
            count = await asyncio.to_thread(archive.verify)
        self._due = monotonic() + self._plan.every
        revision = archive.header.revision
        self._progress.say(
            f"{path}: {count:,} objects at revision {revision}, {size(self._progress.bytes)}"
        )
        if self._plan.keep:
            self._prune()
        newest = self._series.newest()
        assert newest is not None
        return newest

    def _prune(self) -> None:
        try:
            for deleted in self._series.prune(self._plan.keep):
                self._progress.say(f"{deleted} deleted: {self._plan.keep} backups are kept")
        except OSError as error:
            raise BackupError(
                f"cannot delete old backups in {self._series.directory}: {error.strerror}"
            ) from None

    async def _follow(self, base: Base) -> bool:
        """Append changes to the journals of a base. Returns True when the changes end, False when a
        newer base replaces this one."""
        header = base.header()
        following = [
            asyncio.create_task(self._follow_cluster(base, number, cluster))
            for number, cluster in enumerate(header.clusters)
        ]
        try:
            done, _ = await asyncio.wait(following, return_when=asyncio.FIRST_EXCEPTION)
        finally:
            for task in following:
                task.cancel()
            await asyncio.gather(*following, return_exceptions=True)
        are_over = [task.result() for task in done]
        if all(are_over):
            return True
        self._next_base = None
        return False

    async def _follow_cluster(self, base: Base, number: int, cluster: ClusterState) -> bool:
        """Append the changes of one cluster; returns the same as `_follow`."""
        journal: JournalWriter | None = None
        path = base.journal_of(number)
        if path.exists():
            try:
                journal = JournalWriter.resume(path)
            except ArchiveError as error:
                raise Gap(str(error)) from None
            cluster = cluster._replace(revision=journal.revision)
        try:
            async with self._origin.changes(cluster) as changes:
                if journal is None:
                    journal = _new_journal(base, path, cluster, changes)
                elif journal.header.store != changes.store:
                    raise Gap("this is another store than that of the backups")
                return await self._append(changes, journal, cluster)
        finally:
            if journal is not None:
                journal.close()

    async def _append(
        self, changes: Changes, journal: JournalWriter, cluster: ClusterState
    ) -> bool:
        async for batch in changes.batches:
            await asyncio.to_thread(journal.append, batch)
            self._report_recovery()
            if self._plan.every and self._next_base is None and monotonic() >= self._due:
                self._next_base = asyncio.create_task(self._make_base())
            if self._is_replaced(cluster._replace(revision=journal.revision)):
                return False
        if self._origin.is_live:
            raise BackupError("the server ended the stream of changes")
        return True

    def _is_replaced(self, reached: ClusterState) -> bool:
        """Whether a newer base is complete and the journal of a cluster reaches it, so that nothing
        is missing between the two."""
        next_base = self._next_base
        if next_base is None or not next_base.done():
            return False
        error = next_base.exception()
        if error is not None:
            self._next_base = None
            self._due = monotonic() + _LONGEST_PAUSE
            if not isinstance(error, BackupError | StorageError):
                raise error
            self._report_failure(str(error))
            return False
        return all(
            reached.revision >= newer.revision
            for newer in next_base.result().header().clusters
            if newer.resources == reached.resources
        )

    def _report_recovery(self) -> None:
        if self._reported_failure:
            self._progress.say("the store is followed again")
        self._reported_failure, self._pause = "", _FIRST_PAUSE


def _new_journal(base: Base, path: Path, cluster: ClusterState, changes: Changes) -> JournalWriter:
    with base.opened() as archive:
        fields = (archive.header.dialect, cluster.revision, changes.store, archive.digest())
    return JournalWriter.create(path, JournalHeader(*fields))
