"""The state of a store at a revision or a time, from the backups of a series and their journals."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from datetime import datetime, timedelta

from fairlead.process.backup.archive import BackupError, Header, joined
from fairlead.process.backup.series import Base, Reach, Series, moment, reach, shown
from fairlead.storage.backend import Row

ObjectKey = tuple[str, str]  # resource and key

_TIME_PRECISION = timedelta(seconds=1)  # of the time in the header of a base


class PointInTime:
    """`Contents` of a restore: a base with the changes of its journal up to `revision`, and of
    those of other clusters up to the time `until`, which is None for all.

    The revision of `header` is the newest one in the series: clients may have seen it. Objects that
    changed after the restored state get revisions above that, so that no client sees one go back.
    """

    def __init__(
        self,
        base: Base,
        header: Header,
        revision: int,
        until: datetime | None,
        known: _NewestRevisions,
    ) -> None:
        self.base = base
        self.revision = revision
        self._apart = {name for cluster in header.clusters for name in cluster.resources}
        self._changed = dict(_changes_until(base, revision))
        self._changed_apart = {
            (row.resource, row.key): row
            for cluster in range(1, len(header.clusters))
            for row in _changes_by(base, cluster, until)
        }
        self._changed_later = known.changed_after(revision)
        newest = known.revision + len(self._changed_later)
        self.header = Header.of(header.dialect, newest)
        self._first_new = known.revision + 1

    def rows(self) -> Iterator[Row]:
        others = [self._rows(self._changed_apart, is_apart=True)] if self._apart else []
        return joined(self._main_rows(), others)

    def _main_rows(self) -> Iterator[Row]:
        number = self._first_new
        for row in self._rows(self._changed, is_apart=False):
            if (row.resource, row.key) in self._changed_later:
                row = row._replace(revision=number)
                number += 1
            yield row

    def _rows(self, changed: Mapping[ObjectKey, Row], *, is_apart: bool) -> Iterator[Row]:
        with self.base.opened() as archive:
            for row in archive.rows():
                is_here = (row.resource in self._apart) is is_apart
                if is_here and (row.resource, row.key) not in changed:
                    yield row
        for row in changed.values():
            if row.value is not None:
                yield row


def _changes_until(base: Base, revision: int) -> Iterator[tuple[ObjectKey, Row]]:
    """Yield the changes of the journal up to a revision, with resource and key. Later parts of the
    journal are not read."""
    for batch in base.batches():
        for row in batch.rows:
            if row.revision <= revision:
                yield (row.resource, row.key), row
        if batch.revision >= revision:
            return


def _changes_by(base: Base, cluster: int, until: datetime | None) -> Iterator[Row]:
    """Yield the changes that the journal of another cluster had at a time."""
    for batch in base.batches(cluster):
        if until is not None and moment(batch.time) > until:
            return
        yield from batch.rows


class _NewestRevisions:
    """The newest revisions in a series: of the store, and of each object."""

    def __init__(self, bases: list[Base]) -> None:
        self.revision = 0
        self._latest: dict[ObjectKey, int] = {}  # newest revisions of the main cluster's objects
        for base in bases:
            for number, cluster in enumerate(base.header().clusters):
                self.revision = max(self.revision, cluster.revision)
                with suppress(BackupError):  # the revisions after the damage are unknown
                    self._read(base, number)

    def _read(self, base: Base, cluster: int) -> None:
        for batch in base.batches(cluster):
            self.revision = max(self.revision, batch.revision)
            if not cluster:
                for row in batch.rows:
                    self._latest[row.resource, row.key] = row.revision

    def changed_after(self, revision: int) -> set[ObjectKey]:
        return {place for place, latest in self._latest.items() if latest > revision}


def state_of(series: Series, revision: int | None, time: datetime | None) -> PointInTime:
    """Return the state at a revision or a time, by default the newest state of the series. Raises
    BackupError if the series does not cover it; the message says what it covers."""
    bases = series.bases()
    if not bases:
        raise BackupError(f"{series.directory} holds no backups")
    if revision is not None:
        base, target = _at_revision(bases, revision), revision
        time = _time_of(base, revision)
    elif time is not None:
        base, target = _at_time(bases, time)
    else:
        base = bases[-1]
        target = reach(base).revision
    with base.opened() as archive:
        archive.verify()
        return PointInTime(base, archive.header, target, time, _NewestRevisions(bases))


def _time_of(base: Base, revision: int) -> datetime:
    """Return when a base or its journal had a revision."""
    header = base.header()
    if header.revision >= revision:
        return moment(header.created)
    return next(moment(batch.time) for batch in base.batches() if batch.revision >= revision)


def _at_revision(bases: list[Base], revision: int) -> Base:
    index = _last(bases, lambda base: base.header().revision <= revision)
    if index is None:
        oldest = bases[0].header()
        raise BackupError(f"the oldest backup is of revision {oldest.revision}, {oldest.created}")
    if _reaches(bases[index], lambda reached: reached.revision >= revision):
        return bases[index]
    end = reach(bases[index])
    if index + 1 == len(bases):
        raise BackupError(f"the backups end at revision {end.revision}, {shown(end.time)}")
    start = bases[index + 1].header().revision
    raise BackupError(f"the backups have nothing between the revisions {end.revision} and {start}")


def _at_time(bases: list[Base], time: datetime) -> tuple[Base, int]:
    index = _last(bases, lambda base: moment(base.header().created) + _TIME_PRECISION <= time)
    if index is None:
        oldest = bases[0].header()
        raise BackupError(
            f"the oldest backup was made within the second of {oldest.created}, at revision"
            f" {oldest.revision}"
        )
    base = bases[index]
    revision = base.header().revision
    for batch in base.batches():
        if moment(batch.time) > time:
            return base, revision
        revision = batch.revision
        if moment(batch.time) == time:
            return base, revision
    end = reach(base)
    if index + 1 == len(bases):
        raise BackupError(f"the backups end at {shown(end.time)}, revision {end.revision}")
    start = bases[index + 1].header().created
    raise BackupError(f"the backups have nothing between {shown(end.time)} and {start}")


def _last(bases: list[Base], fits: Callable[[Base], bool]) -> int | None:
    """Return the index of the last base that fits; None if there is none."""
    return next((index for index in reversed(range(len(bases))) if fits(bases[index])), None)


def _reaches(base: Base, fits: Callable[[Reach], bool]) -> bool:
    """Whether a base and its journal, up to where it is damaged, reach a point."""
    header = base.header()
    if fits(Reach(header.revision, moment(header.created))):
        return True
    return any(fits(Reach(batch.revision, moment(batch.time))) for batch in base.batches())
