"""The log over a file of this process, and its recovery after failures; other processes may write
through it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol, TypeVar

from fairlead.base.logs import Logger
from fairlead.storage.backend import (
    Backend,
    Compacted,
    Fault,
    Outcome,
    Precondition,
    Row,
    Slice,
    Step,
    StorageError,
)
from fairlead.storage.log import Cache, log_fatal
from fairlead.storage.writes import Pending, Writer

logger = Logger("fairlead.storage")

Result = TypeVar("Result")

PROBE_EVERY = 1.0


class Health:
    """Tracks whether the store can be written; recovers it after a failure, or stops the process.

    A PASSING failure ends when an ordinary write or a probe succeeds. After a DOUBTFUL failure the
    writer is held until `Backend.recover` succeeds; a recovery that fails is retried after a
    PASSING failure, else the failure is FATAL.
    """

    def __init__(self, backend: Backend, writer: Writer) -> None:
        self.on_fatal: Callable[[str], None] = log_fatal
        self.healthy = True
        self._backend = backend
        self._writer = writer
        self._doubtful = False
        self._gave_up = False
        self._last_logged = ""
        self._recovery: asyncio.Task[None] | None = None

    async def begin(self) -> None:
        """Probe the store; a PASSING failure only marks it unhealthy, others raise StorageError."""
        try:
            await self._writer.run(self._backend.probe)
        except StorageError as error:
            if error.fault is not Fault.PASSING:
                await self._writer.drain().wait()
                await self._writer.stop()
                raise
            self.failed(error)

    def stop(self) -> None:
        if self._recovery is not None:
            self._recovery.cancel()

    def write_succeeded(self) -> None:
        """A write reached the disk."""
        if not self.healthy and not self._doubtful and not self._gave_up:
            self.healthy = True
            self._last_logged = ""
            logger.warning("the store can be written again")

    def failed(self, error: StorageError) -> None:
        if str(error) != self._last_logged:  # log it once, not for every refused write
            self._last_logged = str(error)
            logger.error("the store cannot be written", err=error)
        self.healthy = False
        if error.fault is Fault.FATAL:
            self.give_up(str(error))
        if self._gave_up:
            return
        if error.fault is Fault.DOUBTFUL and not self._doubtful:
            self._doubtful = True
            self._writer.hold()
        if self._recovery is None or self._recovery.done():
            self._recovery = asyncio.get_running_loop().create_task(self._recover())

    def give_up(self, message: str) -> None:
        """Refuse all writes and report the failure as fatal."""
        self.healthy = False
        if not self._gave_up:
            self._gave_up = True
            self._writer.refuse(StorageError(message, Fault.FATAL))
            self.on_fatal(message)

    async def _recover(self) -> None:
        while not self.healthy and not self._gave_up:
            if not self._doubtful:
                await asyncio.sleep(PROBE_EVERY)
                if self.healthy:
                    return
            try:
                await self._writer.run(
                    self._backend.recover if self._doubtful else self._backend.probe
                )
            except StorageError as error:
                await self._retry_failed(error)
            else:
                self._doubtful = False
                self.write_succeeded()
                self._writer.release()

    async def _retry_failed(self, error: StorageError) -> None:
        if error.fault is Fault.FATAL or (self._doubtful and error.fault is Fault.DOUBTFUL):
            self.give_up(str(error))
        elif error.fault is Fault.DOUBTFUL:
            self.failed(error)
        elif self._doubtful:
            self._writer.refuse(error)
            await asyncio.sleep(PROBE_EVERY)


class Sealing(Protocol):
    """Encrypts values at rest."""

    def seal(self, resource: str, key: str, value: bytes) -> bytes: ...

    def unseal(self, resource: str, key: str, stored: bytes) -> bytes: ...

    def form(self, resource: str, stored: bytes) -> bytes | None:
        """Return what identifies the key of a value; None for resources that are not encrypted."""

    def current_form(self, resource: str) -> bytes | None:
        """Return the form of a value that is encrypted now."""

    async def prepare(self, resource: str, stored: Sequence[bytes]) -> None:
        """Get what `unseal` needs from others for these values. Raises StorageError."""


class Sharing(Protocol):
    """Receives every commit before its writers are acknowledged."""

    def committed(self, rows: Sequence[Row]) -> None: ...

    def compacted(self, floor: int) -> None:
        """History before a revision is being compacted."""


class EmbeddedLog:
    """Commits in batches from one thread, reads history in another, and recovers from failures with
    `Health`."""

    predicts_revisions = True
    has_epoch = False

    def __init__(self, backend: Backend, sealing: Sealing | None = None) -> None:
        self._backend = backend
        self._sealing = sealing
        self._writer = Writer(backend, self)
        self._health = Health(backend, self._writer)
        self._reader = ThreadPoolExecutor(1, "fairlead-reader")
        self._checking: asyncio.Task[None] | None = None
        self._cache: Cache
        # Revisions and forms of the newest values, for resources that are encrypted.
        self._forms: dict[tuple[str, str], tuple[int, bytes]] = {}
        self.sharing: Sharing | None = None

    @property
    def is_sole_writer(self) -> bool:
        return self.sharing is None

    @property
    def floor(self) -> int:
        return self._backend.floor

    @property
    def healthy(self) -> bool:
        return self._health.healthy

    @property
    def on_fatal(self) -> Callable[[str], None]:
        return self._health.on_fatal

    @on_fatal.setter
    def on_fatal(self, call: Callable[[str], None]) -> None:
        self._health.on_fatal = call

    async def open(self, cache: Cache) -> None:
        self._cache = cache
        backend = self._backend
        backend.open()
        try:
            cache.load(self._readable(backend.heads()), backend.revision, backend.floor)
            self._writer.start()
            await self._health.begin()
        except BaseException:
            backend.close()
            raise
        self._checking = asyncio.create_task(self._check())

    async def _check(self) -> None:
        """Check the file for damage in the background: it would delay the start of a large
        store."""
        try:
            await self._read(self._backend.check)
        except StorageError as error:
            if error.fault is Fault.PASSING:
                logger.error("the store cannot be written", err=error)
            else:
                self._health.give_up(str(error))

    def write(self, pending: Pending) -> None:
        if self._sealing is not None:
            self._seal(pending, self._sealing)
        self._writer.write(pending)

    def write_together(self, group: Sequence[Pending]) -> None:
        first, *companions = (pending.write for pending in group)
        requires = list(first.requires)
        for write in companions:
            requires += (Precondition(write.resource, write.key, write.expected), *write.requires)
            write.requires = (Precondition(first.resource, first.key, first),)
        first.requires = requires
        for pending in group:  # writes queued in one iteration are committed together
            self.write(pending)

    def committed(self, batch: Sequence[Pending], outcomes: Sequence[Outcome]) -> None:
        """A batch is on disk."""
        self._health.write_succeeded()
        if self._sealing is not None:
            for row in _rows(batch, outcomes):
                self._record_form(row, self._sealing)
        if self.sharing is not None:
            rows = _rows(batch, outcomes)
            if self._sealing is not None:
                rows = [self._unsealed(row) for row in rows]
            self.sharing.committed(rows)
        self._cache.apply_batch(batch, outcomes)

    def failed(self, batch: Sequence[Pending], error: StorageError) -> None:
        """A batch failed, and with it all writes queued behind it."""
        self._cache.fail(batch, error)
        self._health.failed(error)

    def is_current(self) -> bool:
        return True

    async def catch_up(self) -> None:
        """Nothing to do: the cache is updated on commit."""

    async def changes(self, resource: str, after: int, upto: int, key: str = "") -> list[Step]:
        steps = await self._read(lambda: self._backend.changes(resource, after, upto, key))
        if self._sealing is None:
            return steps
        rows = iter(
            await self._readable_history(
                (row for step in steps for row in step if row is not None), after
            )
        )
        return [Step(next(rows), next(rows) if before is not None else None) for _, before in steps]

    async def feed(self, after: int, upto: int) -> list[Row]:
        """As `Backend.feed`, for the processes that share this log."""
        return await self._readable_history(
            await self._read(lambda: self._backend.feed(after, upto)), after
        )

    async def state(
        self, resource: str, revision: int, after: str, below: str | None, limit: int
    ) -> Slice:
        rows, more = await self._read(
            lambda: self._backend.state(resource, revision, after, below, limit)
        )
        return Slice(await self._readable_history(rows, revision), more)

    async def _readable_history(self, rows: Iterable[Row], revision: int) -> list[Row]:
        """Decrypt rows that may be superseded; raises Compacted if some are encrypted with a key
        that has been removed since."""
        rows = list(rows)
        if self._sealing is not None:
            await _prepare(self._sealing, rows)
        try:
            return list(self._readable(rows))
        except StorageError:
            raise Compacted(revision) from None

    async def _read(self, call: Callable[[], Result]) -> Result:
        return await asyncio.get_running_loop().run_in_executor(self._reader, call)

    async def compact(self, floor: int) -> None:
        """Compact in small steps between commits."""
        if self.sharing is not None:
            self.sharing.compacted(floor)
        try:
            while await self._writer.run(lambda: self._backend.compact(floor)):
                pass
        except StorageError as error:
            self._health.failed(error)
            raise

    def give_up(self, message: str) -> None:
        self._health.give_up(message)

    def size(self) -> int:
        return self._backend.size()

    async def flush(self) -> None:
        self._health.stop()
        await self._writer.drain().wait()
        await self._writer.stop()

    async def close(self) -> None:
        """Close the file in a thread: a running check has to end, and SQLite checkpoints its
        WAL."""
        if self._checking is not None:
            self._checking.cancel()
        await asyncio.get_running_loop().run_in_executor(None, self._close_files)

    def _close_files(self) -> None:
        self._backend.stop_check()
        self._reader.shutdown(cancel_futures=True)
        self._backend.close()

    @staticmethod
    def _seal(pending: Pending, sealing: Sealing) -> None:
        write = pending.write
        if write.value is not None:
            write.value = sealing.seal(write.resource, write.key, write.value)

    def _readable(self, rows: Iterable[Row]) -> Iterator[Row]:
        return map(_checked if self._sealing is None else self._unsealed, rows)

    def _unsealed(self, row: Row) -> Row:
        if row.value is None or self._sealing is None:
            return row
        self._record_form(row, self._sealing)
        return row._replace(value=self._sealing.unseal(row.resource, row.key, row.value))

    @property
    def seals(self) -> bool:
        return self._sealing is not None

    async def is_stale(self, resource: str, key: str, revision: int) -> bool:
        form = self._forms.get((resource, key))
        if self._sealing is None or form is None or form[0] != revision:
            return False
        return form[1] != self._sealing.current_form(resource)

    def _record_form(self, row: Row, sealing: Sealing) -> None:
        location = row.resource, row.key
        if row.value is None:
            self._forms.pop(location, None)
            return
        form = sealing.form(row.resource, row.value)
        if form is not None and row.revision >= self._forms.get(location, (0, b""))[0]:
            self._forms[location] = row.revision, form


async def _prepare(sealing: Sealing, rows: Iterable[Row]) -> None:
    values: dict[str, list[bytes]] = {}
    for row in rows:
        if row.value is not None and not row.is_plain:
            values.setdefault(row.resource, []).append(row.value)
    for resource, stored in values.items():
        await sealing.prepare(resource, stored)


def _checked(row: Row) -> Row:
    """Raise StorageError for an encrypted value: no key is configured."""
    if row.value is not None and not row.is_plain:
        raise StorageError(
            f"{row.resource} {row.key} is encrypted: start with"
            " --encryption-provider-config and the key that it was written with"
        )
    return row


def _rows(batch: Sequence[Pending], outcomes: Sequence[Outcome]) -> list[Row]:
    return [
        Row(outcome, write.resource, write.key, 0, write.api_version, write.value)
        for write, outcome in zip((pending.write for pending in batch), outcomes, strict=True)
        if isinstance(outcome, int)
    ]
