"""The log over a source with several writers: the cache follows the writes of all of them."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from heapq import heappop, heappush

from fairlead.base.logs import Logger
from fairlead.storage.backend import (
    Compacted,
    ConditionFailed,
    Conflict,
    Fault,
    Precondition,
    Slice,
    Step,
    StorageError,
    Unanswered,
    Write,
)
from fairlead.storage.log import Cache, Source, log_fatal, storage_error
from fairlead.storage.metrics import FEED_RESTARTS
from fairlead.storage.writes import Pending

logger = Logger("fairlead.storage")

_UNFOLLOWED = "the store is not followed at present"
_FIRST_PAUSE, _LONGEST_PAUSE = 0.05, 2.0
_LONGEST_WAIT = 30.0  # for the feed to reach a revision that the source has assigned
_LONGEST_GATHERING = 0.002
_SIZE_EVERY = 30.0


class _Group:
    """The writes of one commit. `dependents` are the groups that are sent only after it."""

    __slots__ = ("dependencies", "dependents", "failed", "pending")

    def __init__(self, pending: Sequence[Pending]) -> None:
        self.pending = pending
        self.dependents: list[_Group] = []
        self.dependencies = 0  # groups that must be committed before this one is sent
        self.failed = False


class FollowedLog:
    """Keeps a cache current from a source's feed.

    Writers are acknowledged once the cache has their write, so later reads see it, in the order of
    commits.
    """

    is_sole_writer = False
    predicts_revisions = False

    def __init__(self, source: Source) -> None:
        self.on_fatal: Callable[[str], None] = log_fatal
        self.healthy = False
        self._source = source
        self._cache: Cache
        self._following: asyncio.Task[None] | None = None
        self._measuring: asyncio.Task[None] | None = None
        self._groups: dict[Write, _Group] = {}  # by write, while its outcome is unknown
        self._writing: set[asyncio.Task[None]] = set()
        self._fetching: asyncio.Task[None] | None = None
        self._readers: list[asyncio.Future[int]] = []  # wait for the answer to the next request
        self._unseen = Unseen(_LONGEST_WAIT, self._fail_unseen)
        self._closed = False
        self._size = 0

    @property
    def has_epoch(self) -> bool:
        return self._source.has_epoch

    @property
    def floor(self) -> int:
        return self._source.floor

    async def open(self, cache: Cache) -> None:
        self._cache = cache
        await self._source.open()
        try:
            revision, rows = await self._source.snapshot()
        except BaseException:
            await self._source.close()
            raise
        cache.load(rows, revision, max(self._source.floor, 0))
        self.healthy = True
        self._following = asyncio.create_task(self._follow())
        self._measuring = asyncio.create_task(self._measure())

    async def _follow(self) -> None:
        pause = _FIRST_PAUSE
        while True:
            start = self._cache.revision
            try:
                await self._read_feed()
            except Compacted:
                await self._rebuild()
            except Exception as raised:
                self._feed_failed(storage_error(raised))
            FEED_RESTARTS.add()
            pause = _FIRST_PAUSE if self._cache.revision > start else min(pause * 2, _LONGEST_PAUSE)
            await asyncio.sleep(pause * (0.5 + random.random()))

    async def _read_feed(self) -> None:
        async for revision, rows in self._source.feed(self._cache.revision):
            if not self.healthy:
                logger.warning("the feed of the store works again", revision=revision)
                self.healthy = True
            self._cache.apply_feed(rows, revision)
            if self._unseen:
                self._answer_seen()

    def _feed_failed(self, error: StorageError) -> None:
        if error.fault is Fault.FATAL:
            self.give_up(str(error))
        if self.healthy:
            logger.error("the feed of the store is interrupted", err=error)
        self.healthy = False

    async def _rebuild(self) -> None:
        try:
            revision, rows = await self._source.snapshot()
        except Exception as raised:
            self._feed_failed(storage_error(raised))
            return
        logger.warning("changes were missed; caches are read again", revision=revision)
        self._cache.rebuild(rows, revision)
        self._answer_seen()

    def write(self, pending: Pending) -> None:
        self.write_together((pending,))

    def write_together(self, group: Sequence[Pending]) -> None:
        if self._closed:
            raise StorageError("the server is shutting down", Fault.PASSING)
        new_group = _Group(group)
        for earlier in _dependencies_of([pending.write for pending in group]):
            earlier_group = self._groups.get(earlier)
            if earlier_group is not None:
                earlier_group.dependents.append(new_group)
                new_group.dependencies += 1
        for pending in group:
            self._groups[pending.write] = new_group
        if not new_group.dependencies:
            self._send(new_group)

    def _send(self, group: _Group) -> None:
        task = asyncio.get_running_loop().create_task(self._write(group))
        self._writing.add(task)
        task.add_done_callback(self._writing.discard)

    async def _write(self, group: _Group) -> None:
        writes = [pending.write for pending in group.pending]
        try:
            if None in map(Write.expected_revision, writes):
                raise _refusal(
                    writes, {write for write in _dependencies_of(writes) if write.revision is None}
                )
            revisions = await self._source.write(writes)
        except (Conflict, ConditionFailed) as refusal:
            await self._refuse(group, refusal)
        except Exception as raised:
            self._end(group, storage_error(raised))
        else:
            self._record_revisions(group, revisions)
            self._unseen.add(group.pending, revisions)
            self._answer_seen()

    def _answer_seen(self) -> None:
        """Acknowledge writers whose writes the cache has."""
        for group, revisions in self._unseen.take(self._cache.revision):
            self._cache.acknowledge(group, revisions)

    def _fail_unseen(self, group: Sequence[Pending]) -> None:
        self._cache.fail(group, Unanswered(_UNFOLLOWED, Fault.PASSING))

    def _record_revisions(self, group: _Group, revisions: Sequence[int]) -> None:
        """Record the revisions of a group and send the groups that build on it."""
        for pending, revision in zip(group.pending, revisions, strict=True):
            pending.write.revision = revision
            del self._groups[pending.write]
        dependents, group.dependents = group.dependents, []
        for dependent in dependents:
            dependent.dependencies -= 1
            if not dependent.dependencies and not dependent.failed:
                self._send(dependent)

    async def _refuse(self, group: _Group, refusal: Conflict | ConditionFailed) -> None:
        """Fail a group once the cache shows the reason: a retry must see it."""
        try:
            await self._reach(refusal.visible_at)
        except StorageError as error:
            self._end(group, error)
        else:
            self._end(group, refusal)

    def _end(self, group: _Group, error: Exception) -> None:
        """Fail a group and all groups that build on it in one step: a retry in between would build
        on lost writes."""
        failed = [group]
        for failed_group in failed:
            failed_group.failed = True
            failed += (
                dependent for dependent in failed_group.dependents if dependent not in failed
            )
            for pending in failed_group.pending:
                self._groups.pop(pending.write, None)
        lost_writes = {pending.write for failed_group in failed for pending in failed_group.pending}
        errors = [error]
        if isinstance(error, Unanswered):  # its dependents were never sent
            error = StorageError(str(error), error.fault)
        for failed_group in failed[1:]:
            writes = [pending.write for pending in failed_group.pending]
            errors.append(
                error if isinstance(error, StorageError) else _refusal(writes, lost_writes)
            )
        for failed_group, reason in reversed(list(zip(failed, errors, strict=True))):
            self._cache.fail(failed_group.pending, reason)

    async def _reach(self, revision: int) -> None:
        if revision > self._cache.revision and not await self._cache.wait_for(
            revision, _LONGEST_WAIT
        ):
            raise _not_followed()

    def is_current(self) -> bool:
        newest = self._source.newest()
        return newest is not None and newest <= self._cache.revision

    async def catch_up(self) -> None:
        newest = self._source.newest()
        if newest is None:
            loop = asyncio.get_running_loop()
            answer: asyncio.Future[int] = loop.create_future()
            self._readers.append(answer)
            if self._fetching is None:
                self._fetching = loop.create_task(self._fetch_newest())
            newest = await answer
        if newest > self._cache.revision:
            await self._reach(newest)

    async def _fetch_newest(self) -> None:
        """Request the newest revision for all waiting readers. A reader that arrives during a
        request waits for the next one, since the running answer may be older than its call."""
        while self._readers:
            await self._await_more_readers()
            waiting, self._readers = self._readers, []
            try:
                newest = await self._source.fetch_newest()
            except Exception as raised:
                for answer in waiting:
                    if not answer.done():
                        answer.set_exception(storage_error(raised))
            else:
                for answer in waiting:
                    if not answer.done():
                        answer.set_result(newest)
        self._fetching = None

    async def _await_more_readers(self) -> None:
        """Let more readers join, for up to 2 ms, as long as each iteration of the event loop brings
        some: the request costs about as much as the rest of a read."""
        loop = asyncio.get_running_loop()
        deadline, count = loop.time() + _LONGEST_GATHERING, 0
        while count < len(self._readers) and loop.time() < deadline:
            count = len(self._readers)
            await asyncio.sleep(0)

    async def changes(self, resource: str, after: int, upto: int, key: str = "") -> list[Step]:
        return await self._source.changes(resource, after, upto, key)

    async def state(
        self, resource: str, revision: int, after: str, below: str | None, limit: int
    ) -> Slice:
        return await self._source.state(resource, revision, after, below, limit)

    async def is_stale(self, resource: str, key: str, revision: int) -> bool:
        return await self._source.is_stale(resource, key, revision)

    async def compact(self, floor: int) -> None:
        await self._source.compact(floor)

    def give_up(self, message: str) -> None:
        self.healthy = False
        self.on_fatal(message)

    def size(self) -> int:
        return self._size

    async def _measure(self) -> None:
        while True:
            try:
                self._size = await self._source.size()
            except StorageError as error:
                logger.debug("the size of the store is not known", err=error)
            await asyncio.sleep(_SIZE_EVERY)

    async def flush(self) -> None:
        self._closed = True
        while self._writing:
            await asyncio.wait(set(self._writing))
        if self._unseen:
            await self._cache.wait_for(self._unseen.last, _LONGEST_WAIT)

    async def close(self) -> None:
        for task in (self._following, self._measuring):
            if task is not None:
                task.cancel()
        self._unseen.close()
        await self._source.close()


def _not_followed() -> StorageError:
    return StorageError(_UNFOLLOWED, Fault.PASSING)


def _dependencies_of(writes: Sequence[Write]) -> Iterator[Write]:
    """Yield the pending writes whose revisions these writes need."""
    for write in writes:
        for expected in (write.expected, *(condition.revision for condition in write.requires)):
            if isinstance(expected, Write):
                yield expected


def _refusal(
    writes: Sequence[Write], lost_writes: AbstractSet[object]
) -> Conflict | ConditionFailed:
    """Return the reason why writes that build on lost ones fail: Conflict for the first write's
    key, ConditionFailed for the others."""
    first, *companions = writes
    if first.expected in lost_writes:
        return Conflict(first.key)
    for write in companions:
        if write.expected in lost_writes:
            return ConditionFailed(Precondition(write.resource, write.key, write.expected))
    for condition in first.requires:
        if condition.revision in lost_writes:
            return ConditionFailed(condition)
    return Conflict(first.key)


# Committed writes that the feed has not delivered yet.

Group = Sequence[Pending]


class Unseen:
    """Groups by revision. `on_late` gets the groups that the feed does not deliver within `timeout`
    seconds; all share one timer."""

    def __init__(self, timeout: float, on_late: Callable[[Group], None]) -> None:
        self._timeout = timeout
        self._on_late = on_late
        self._waiting: list[tuple[int, int, float, Group, Sequence[int]]] = []  # a heap
        self._count = 0  # tie-breaker for equal revisions
        self._timer: asyncio.TimerHandle | None = None

    def __bool__(self) -> bool:
        return bool(self._waiting)

    @property
    def last(self) -> int:
        """The newest revision that a writer waits for; 0 if none waits."""
        return max((entry[0] for entry in self._waiting), default=0)

    def add(self, group: Group, revisions: Sequence[int]) -> None:
        loop = asyncio.get_running_loop()
        self._count += 1
        heappush(self._waiting, (max(revisions), self._count, loop.time(), group, revisions))
        if self._timer is None:
            self._timer = loop.call_later(self._timeout, self._expire)

    def take(self, revision: int) -> Iterator[tuple[Group, Sequence[int]]]:
        """Remove and yield the groups up to a revision, in order."""
        while self._waiting and self._waiting[0][0] <= revision:
            *_, group, revisions = heappop(self._waiting)
            yield group, revisions

    def _expire(self) -> None:
        loop = asyncio.get_running_loop()
        self._timer = None
        oldest = loop.time() - self._timeout
        late = [entry for entry in self._waiting if entry[2] <= oldest]
        self._waiting = sorted(entry for entry in self._waiting if entry[2] > oldest)
        if self._waiting:
            oldest_left = min(entry[2] for entry in self._waiting)
            self._timer = loop.call_at(oldest_left + self._timeout, self._expire)
        for entry in late:
            self._on_late(entry[3])

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
