"""Making writes over what is newest, committed or not, and sending them to the log."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from fairlead.storage.backend import ConditionFailed, Conflict, EpochMoved, Precondition, Write
from fairlead.storage.basis import Outdated, basis
from fairlead.storage.collection import Collection
from fairlead.storage.companion import Companion
from fairlead.storage.log import Log
from fairlead.storage.metrics import REFUSED
from fairlead.storage.pending import Pending
from fairlead.storage.state import State
from fairlead.storage.version import Version, body_of, encode


class Writes:
    """A write is checked against the newest version of its key, committed or still on its way to
    the log, and is acknowledged after its commit."""

    def __init__(self, state: State, log: Log) -> None:
        self._state = state
        self._log = log

    async def put(
        self,
        collection: Collection,
        key: str,
        value: dict[str, Any],
        over: Version | None,
        requires: Sequence[Precondition],
        alongside: Sequence[Companion],
    ) -> Version:
        """As `Store.put`."""
        expected = self._expected(collection, key, over, requires)
        if requires and not self._state.foresees:
            requires = self._resolved(requires)
        encoded = encode(value)
        if not alongside:
            version = self._next_version(collection, key, value, encoded)
            pending = _pending(collection, version, encoded, expected, requires)
            self._send(pending)
            return await _done(pending)
        group = [(collection, key, value, encoded, expected)]
        for one in alongside:
            content, over_write = encode(one.value), self._companion(one)
            group.append((one.collection, one.key, one.value, content, over_write))
        written = self._write_together(group, requires)
        for one, pending in zip(alongside, written[1:], strict=True):
            one.version = pending.version
        return await _done(written[0])

    def _write_together(
        self,
        group: list[tuple[Collection, str, dict[str, Any], bytes, int | Write]],
        requires: Sequence[Precondition],
    ) -> list[Pending]:
        """Put writes into the queue that are to happen together; the conditions are the first
        one's."""
        written: list[Pending] = []
        for collection, key, value, encoded, expected in group:
            version = self._next_version(collection, key, value, encoded)
            wanted = requires if not written else ()
            written.append(_pending(collection, version, encoded, expected, wanted))
        self._send_together(written)
        return written

    def _companion(self, one: Companion) -> int | Write:
        try:
            return self._expected(one.collection, one.key, one.over, ())
        except Conflict:
            revision = one.over.revision if one.over is not None else 0
            condition = Precondition(one.collection.resource, one.key, revision)
            raise ConditionFailed(condition) from None

    def _next_version(
        self, collection: Collection, key: str, value: dict[str, Any], encoded: bytes
    ) -> Version:
        revision = self._state.foresee()
        body = body_of(encoded, revision)
        version = Version(key, revision, collection.api_version, body, collection.fields_of)
        version.know(value)
        return version

    async def delete(
        self, collection: Collection, key: str, over: Version, requires: Sequence[Precondition]
    ) -> Version:
        """As `Store.delete`."""
        expected = self._expected(collection, key, over, requires)
        version = Version(key, self._state.foresee(), collection.api_version, None)
        if requires and not self._state.foresees:
            requires = self._resolved(requires)
        pending = _pending(collection, version, None, expected, requires)
        self._send(pending)
        return await _done(pending)

    async def append(self, group: Sequence[Write]) -> list[int]:
        """As `Store.append`."""
        for write in group:
            under_way = self._state.collection(write.resource).pending.get(write.key)
            if under_way is not None and under_way.commit is not None:
                with suppress(Exception):
                    await under_way.commit.settled()
        taken = [self._prepared(write) for write in group]
        self._send_together(taken)
        await asyncio.gather(*(pending.outcome() for pending in taken))
        return [write.revision or 0 for write in group]

    async def append_unopposed(self, writes: Sequence[Write]) -> list[Version]:
        """As `Store.append_unopposed`."""
        taken = [self._prepared(write) for write in writes]
        for pending in taken:
            self._send(pending)
        if taken:
            await taken[-1].outcome()
        return [pending.version for pending in taken]

    def _prepared(self, write: Write) -> Pending:
        collection, revision = self._state.collection(write.resource), self._state.foresee()
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
        """What the backend has to find; raises where it is known already that it will not."""
        current = collection.latest(key)
        if current is not over and (
            current is None or over is None or current.revision != over.revision
        ):
            REFUSED.add(of=("conflict",))
            raise Conflict(key)
        for condition in requires:
            found = self._state.collection(condition.resource).latest(condition.key)
            if not condition.holds(found.revision if found is not None else 0):
                REFUSED.add(of=("condition",))
                raise ConditionFailed(condition)
        if current is None:
            return 0
        return current.commit.write if current.commit is not None else current.revision

    def _resolved(self, requires: Sequence[Precondition]) -> list[Precondition]:
        """The same conditions, of the writes where revisions cannot be foreseen."""
        found = []
        for condition in requires:
            version = self._state.collection(condition.resource).latest(condition.key)
            if version is not None and version.commit is not None and condition.revision:
                condition = condition._replace(revision=version.commit.write)
            found.append(condition)
        return found

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
    rests_on = basis()
    if rests_on is not None:
        write.since = rests_on.revision
    return Pending(collection, version, write)


def _await_commit(pending: Pending) -> None:
    """What builds on a version that is under way builds on its write."""
    version = pending.version
    version.commit = pending
    pending.collection.pending[version.key] = version


async def _done(pending: Pending) -> Version:
    """Wait for a write of one's own; gives what was written. Who waits for another one's is told
    that it lost."""
    try:
        await pending.settled()
    except EpochMoved:
        raise Outdated from None
    rests_on = basis()
    if rests_on is not None:
        rests_on.wrote = True
    return pending.version
