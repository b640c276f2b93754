"""Checks writes against the newest version of their key, committed or pending, and commits them in
batches."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Generator, Sequence
from contextvars import ContextVar, Token
from queue import SimpleQueue
from time import perf_counter
from typing import Any, Final, Protocol, TypeVar

from fairlead.storage.backend import (
    Backend,
    ConditionFailed,
    Conflict,
    EpochMoved,
    Fault,
    Outcome,
    Precondition,
    StorageError,
    Write,
)
from fairlead.storage.collection import Collection
from fairlead.storage.log import Log, storage_error
from fairlead.storage.metrics import BATCH_SIZES, COMMIT_SECONDS, COMMITS, QUEUE_DEPTH, REFUSED
from fairlead.storage.state import State
from fairlead.storage.version import Version, body_of, encode


class Companion:
    """A write to another object that is committed together with the main write, or refused with it.
    `over` is the version it was made from, None for a new object, which needs `key`. `version` is
    set when the write is sent."""

    __slots__ = ("collection", "key", "over", "value", "version")

    def __init__(
        self, collection: Collection, value: dict[str, Any], over: Version | None, key: str = ""
    ) -> None:
        self.collection = collection
        self.value = value
        self.over = over
        self.key = over.key if over is not None else key
        self.version: Version | None = None


class Pending:
    """A version that is not committed yet, and its waiters. Each waiter has its own future, so
    cancelling one leaves the others. The writer awaits it, or listens."""

    __slots__ = ("_callback", "_writer", "collection", "optimistic", "version", "waiters", "write")

    def __init__(
        self,
        collection: Collection,
        version: Version,
        write: Write,
        optimistic: OptimisticWrites | None = None,
    ) -> None:
        self.collection = collection
        self.version = version
        self.write = write
        self.optimistic = optimistic
        self.waiters: list[asyncio.Future[None]] = []
        self._writer: asyncio.Future[Version] | None = None
        self._callback: Callable[[Exception | None], None] | None = None

    def __await__(self) -> Generator[Any, None, Version]:
        return self.written().__await__()

    def listen(self, callback: Callable[[Exception | None], None]) -> None:
        """Call a function with the outcome for the writer: None, or the exception that `written`
        raises. It must not raise."""
        self._callback = callback

    def written(self) -> asyncio.Future[Version]:
        """Return the future of the writer itself: the committed version. It raises Outdated if the
        epoch moved; `outcome` raises the Conflict."""
        self._writer = future = asyncio.get_running_loop().create_future()
        return future

    def outcome(self) -> asyncio.Future[None]:
        """Return a future that completes on commit or raises the reason of failure."""
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.waiters.append(future)
        return future

    def answer(self, error: Exception | None) -> None:
        if error is None and self.optimistic is not None:
            self.optimistic.wrote = True
        writer, callback = self._writer, self._callback
        self._callback = None  # breaks a reference cycle
        own_error = Outdated() if isinstance(error, EpochMoved) else error
        if writer is not None and not writer.done():
            writer.set_exception(own_error) if own_error else writer.set_result(self.version)
        if callback is not None:
            callback(own_error)
        for waiter in self.waiters:
            if not waiter.done():
                waiter.set_result(None) if error is None else waiter.set_exception(error)


class Writes:
    """Checks each write against the newest version of its key, committed or pending, and sends it
    to the log."""

    def __init__(self, state: State, log: Log) -> None:
        self._state = state
        self._log = log

    def put(
        self,
        collection: Collection,
        key: str,
        value: dict[str, Any],
        over: Version | None,
        requires: Sequence[Precondition],
        companions: Sequence[Companion],
    ) -> Pending:
        """Send a write to the log; see `Store.put`."""
        expected = self._expected(collection, key, over, requires)
        if requires and not self._state.predicts_revisions:
            requires = self._resolve(requires)
        encoded = encode(value)
        if not companions:
            version = self._next_version(collection, key, value, encoded)
            pending = _pending(collection, version, encoded, expected, requires)
            self._send(pending)
            return pending
        group = [(collection, key, value, encoded, expected)]
        for companion in companions:
            content, over_write = encode(companion.value), self._expected_of_companion(companion)
            group.append(
                (companion.collection, companion.key, companion.value, content, over_write)
            )
        prepared = self._write_together(group, requires)
        for companion, pending in zip(companions, prepared[1:], strict=True):
            companion.version = pending.version
        return prepared[0]

    def _write_together(
        self,
        group: list[tuple[Collection, str, dict[str, Any], bytes, int | Write]],
        requires: Sequence[Precondition],
    ) -> list[Pending]:
        """Queue writes for one commit; the preconditions are attached to the first."""
        prepared: list[Pending] = []
        for collection, key, value, encoded, expected in group:
            version = self._next_version(collection, key, value, encoded)
            preconditions = requires if not prepared else ()
            prepared.append(_pending(collection, version, encoded, expected, preconditions))
        self._send_together(prepared)
        return prepared

    def _expected_of_companion(self, companion: Companion) -> int | Write:
        try:
            return self._expected(companion.collection, companion.key, companion.over, ())
        except Conflict:
            revision = companion.over.revision if companion.over is not None else 0
            condition = Precondition(companion.collection.resource, companion.key, revision)
            raise ConditionFailed(condition) from None

    def _next_version(
        self, collection: Collection, key: str, value: dict[str, Any], encoded: bytes
    ) -> Version:
        revision = self._state.predict_revision()
        body = body_of(encoded, revision)
        version = Version(key, revision, collection.api_version, body, collection.fields_of)
        version.set_facts(value)
        return version

    def delete(
        self, collection: Collection, key: str, over: Version, requires: Sequence[Precondition]
    ) -> Pending:
        """Send a deletion to the log; see `Store.delete`."""
        expected = self._expected(collection, key, over, requires)
        version = Version(key, self._state.predict_revision(), collection.api_version, None)
        if requires and not self._state.predicts_revisions:
            requires = self._resolve(requires)
        pending = _pending(collection, version, None, expected, requires)
        self._send(pending)
        return pending

    def append(self, group: Sequence[Write]) -> list[Pending]:
        """Send writes to the log that are committed all or none; see `Store.append`."""
        prepared = [self._prepare(write) for write in group]
        self._send_together(prepared)
        return prepared

    def append_unchecked(self, writes: Sequence[Write]) -> list[Pending]:
        """Send writes to the log one after the other; see `Store.append_unchecked`."""
        prepared = [self._prepare(write) for write in writes]
        for pending in prepared:
            self._send(pending)
        return prepared

    def _prepare(self, write: Write) -> Pending:
        collection, revision = (
            self._state.collection(write.resource),
            self._state.predict_revision(),
        )
        body = body_of(write.value, revision) if write.value is not None else None
        version = Version(write.key, revision, write.api_version, body, collection.fields_of)
        return Pending(collection, version, write)

    def _expected(
        self,
        collection: Collection,
        key: str,
        over: Version | None,
        requires: Sequence[Precondition],
    ) -> int | Write:
        """Return the revision, or the pending write, that the backend must find. Raises Conflict or
        ConditionFailed if the cache already shows a mismatch."""
        current = collection.latest(key)
        if current is not over and (
            current is None or over is None or current.revision != over.revision
        ):
            REFUSED.add(of=("conflict",))
            raise Conflict(key)
        if requires:
            self.check_conditions(requires)
        if current is None:
            return 0
        return current.commit.write if current.commit is not None else current.revision

    def check_conditions(self, conditions: Sequence[Precondition]) -> None:
        """As `Store.check_conditions`."""
        for condition in conditions:
            version = self._state.collection(condition.resource).latest(condition.key)
            if not condition.holds(version.revision if version is not None else 0):
                REFUSED.add(of=("condition",))
                raise ConditionFailed(condition)

    def _resolve(self, requires: Sequence[Precondition]) -> list[Precondition]:
        """Replace revisions in preconditions by the pending writes that will get them, for logs
        whose revisions cannot be predicted."""
        resolved = []
        for condition in requires:
            version = self._state.collection(condition.resource).latest(condition.key)
            if version is not None and version.commit is not None and condition.revision:
                condition = condition._replace(revision=version.commit.write)
            resolved.append(condition)
        return resolved

    def _send(self, pending: Pending) -> None:
        self._log.write(pending)
        _await_commit(pending)

    def _send_together(self, group: Sequence[Pending]) -> None:
        self._log.write_together(group)
        for pending in group:
            _await_commit(pending)


def _pending(
    collection: Collection,
    version: Version,
    encoded: bytes | None,
    expected: int | Write,
    requires: Sequence[Precondition],
) -> Pending:
    write = Write(
        collection.resource, version.key, version.api_version, encoded, expected, requires
    )
    optimistic = optimistic_writes()
    if optimistic is not None:
        write.since = optimistic.revision
    return Pending(collection, version, write, optimistic)


def _await_commit(pending: Pending) -> None:
    """Register the version as pending: later writes to its key build on its write."""
    version = pending.version
    version.commit = pending
    pending.collection.pending[version.key] = version


# Optimistic requests write without first fetching the newest state from the log. They decide on the
# cached state; their writes succeed only if no resource that decisions depend on was written since,
# on any server: writes to such resources move the *epoch*, a key in the store.


class Outdated(Exception):
    """The epoch moved after the revision that the request read: nothing was written, and the cache
    has caught up."""


class OptimisticWrites:
    """Context manager: writes inside it, including those of tasks started there, rely on the state
    at `revision` and raise Outdated if the epoch moved since.

    `wrote` is set after a write. Tasks that outlive the block write without the check.
    """

    __slots__ = ("_token", "revision", "wrote")

    _token: Token[OptimisticWrites | None]

    def __init__(self, revision: int) -> None:
        self.revision = revision
        self.wrote = False

    def __enter__(self) -> OptimisticWrites:
        self._token = _current.set(self)
        return self

    def __exit__(self, *raised: object) -> None:
        self.revision = 0
        _current.reset(self._token)


_current: Final[ContextVar[OptimisticWrites | None]] = ContextVar("optimistic_writes", default=None)

optimistic_writes = _current.get


# Group commit: writes that arrive during a commit go into the next one together.

Result = TypeVar("Result")


class Listener(Protocol):
    """Receives the outcome of commits on the event loop."""

    def committed(self, batch: Sequence[Pending], outcomes: Sequence[Outcome]) -> None: ...

    def failed(self, batch: Sequence[Pending], error: StorageError) -> None: ...


class Writer:
    """Commits writes through the backend from one thread, in batches and in order.

    Used on the event loop; only backend calls run in the thread. After a failed commit all queued
    writes fail too, because they may build on the lost ones.
    """

    def __init__(self, backend: Backend, listener: Listener) -> None:
        self._backend = backend
        self._listener = listener
        self._jobs: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._committer = threading.Thread(
            target=self._run_jobs, name="fairlead-writer", daemon=True
        )
        self._waiting: list[Pending] = []
        self._busy = False
        self._scheduled = False
        self._on_hold = False
        self._refusal: StorageError | None = None
        self._idle = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None

    def start(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._committer.start()

    def write(self, pending: Pending) -> None:
        """Queue a write; the listener is called when it is on disk or has failed."""
        if self._refusal is not None:
            raise self._refusal
        self._waiting.append(pending)
        if not self._busy and not self._scheduled:
            assert self._loop is not None
            self._scheduled = True
            self._loop.call_soon(self._start_commit)

    def hold(self) -> None:
        """Stop passing batches to the backend until `release`."""
        self._on_hold = True

    def refuse(self, error: StorageError) -> None:
        """Fail queued and new writes until `release`."""
        self._on_hold, self._refusal = True, error
        if self._waiting:
            self._fail([], error)

    def release(self) -> None:
        self._on_hold, self._refusal = False, None
        self._start_commit()

    def run(self, call: Callable[[], Result]) -> asyncio.Future[Result]:
        """Run a call on the backend in its thread, between two batches. Its exceptions are raised
        as StorageError."""
        assert self._loop is not None
        loop: asyncio.AbstractEventLoop = self._loop
        future: asyncio.Future[Result] = loop.create_future()

        def complete(result: Any, error: StorageError | None) -> None:
            if not future.done():
                future.set_result(result) if error is None else future.set_exception(error)

        def job() -> None:
            result, error = None, None
            try:
                result = call()
            except BaseException as raised:
                error = storage_error(raised)
            loop.call_soon_threadsafe(complete, result, error)

        self._jobs.put(job)
        return future

    def drain(self) -> asyncio.Event:
        """Return an event that is set once all queued writes are committed."""
        if self._on_hold:
            self.refuse(StorageError("the server is shutting down", Fault.PASSING))
        if self._busy or self._waiting:
            self._idle.clear()
        else:
            self._idle.set()
        return self._idle

    def stop(self) -> asyncio.Future[None]:
        """End the thread, after `drain`."""
        self._jobs.put(None)
        return asyncio.get_running_loop().run_in_executor(None, self._committer.join)

    def _start_commit(self) -> None:
        self._scheduled = False
        if self._busy or self._on_hold or not self._waiting:
            self._idle.set()
            return
        batch, self._waiting = self._waiting, []
        self._busy = True
        QUEUE_DEPTH.set(len(batch))
        self._jobs.put(lambda: self._commit(batch))

    def _commit(self, batch: list[Pending]) -> None:
        outcomes: list[Outcome] = []
        error: StorageError | None = None
        start = perf_counter()
        try:
            outcomes = self._backend.append([pending.write for pending in batch])
        except BaseException as raised:
            error = storage_error(raised)
        seconds = perf_counter() - start
        assert self._loop is not None
        self._loop.call_soon_threadsafe(self._committed, batch, outcomes, error, seconds)

    def _committed(
        self,
        batch: list[Pending],
        outcomes: list[Outcome],
        error: StorageError | None,
        seconds: float,
    ) -> None:
        self._busy = False
        if error is not None:
            COMMITS.add(of=("failed",))
            self._fail(batch, error)
        else:
            COMMITS.add(of=("ok",))
            COMMIT_SECONDS.observe(seconds)
            BATCH_SIZES.observe(len(batch))
            self._listener.committed(batch, outcomes)
        self._start_commit()

    def _fail(self, batch: list[Pending], error: StorageError) -> None:
        waiting, self._waiting = self._waiting, []
        self._listener.failed(batch + waiting, error)
        self._idle.set()

    def _run_jobs(self) -> None:
        while (job := self._jobs.get()) is not None:
            job()
