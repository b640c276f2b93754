"""The end of a write: the commit, and retries from the newest version of the object."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TypeVar

from fairlead.base.errors import ResourceRef, StatusError, modified
from fairlead.base.tracing import step
from fairlead.codec.bodies import TooDeep, TooLarge
from fairlead.operations.api import Api, Object
from fairlead.operations.operation import Operation
from fairlead.operations.write_pipeline import check_fence, note_written, send
from fairlead.resources.causes import absent
from fairlead.resources.context import Context
from fairlead.storage.backend import ConditionFailed, Conflict, Precondition, StorageError
from fairlead.storage.collection import Collection
from fairlead.storage.version import Version
from fairlead.storage.writes import Pending

Result = TypeVar("Result")

MAX_ATTEMPTS = 1000  # under contention, a writer may need one attempt per writer ahead of it


class MarkedOnly(Conflict):
    """An object was marked for deletion, and then changed by another before it was removed."""


async def write_over(
    api: Api,
    collection: Collection,
    key: str,
    ref: ResourceRef,
    write: Callable[[Version], Awaitable[Result]],
) -> Result:
    """Call `write` with the newest version of a key, which may be uncommitted. Retries if the
    object or a precondition of the write changed meanwhile. An error is raised only after the
    version that caused it is committed. Raises Conflict after MAX_ATTEMPTS."""
    for _ in range(MAX_ATTEMPTS):
        current = collection.latest(key)
        try:
            if current is None:
                raise absent(ref)
            return await write(current)
        except (Conflict, ConditionFailed):
            pass
        except StatusError:
            if await wait_committed(collection, key):
                raise
        await asyncio.sleep(0)
    raise modified(ref)


def pending(collection: Collection, key: str) -> Pending | None:
    """The newest write to a key if it is not committed yet."""
    newest = collection.pending.get(key)
    return None if newest is None else newest.commit


async def wait_committed(collection: Collection, key: str) -> bool:
    """Wait until the newest version of a key, or its deletion, is committed. Returns False if that
    commit fails: then an error based on that version would be wrong, and the write has to be
    retried."""
    newest = pending(collection, key)
    if newest is None:
        return True
    try:
        await newest.outcome()
    except (Conflict, ConditionFailed, StorageError):
        return False
    return True


async def put(
    api: Api,
    operation: Operation,
    collection: Collection,
    key: str,
    value: Object,
    over: Version,
) -> Version:
    """Write a prepared object over a version. Raises Conflict."""
    pending = send(api, operation, collection, key, value, over)
    written = await traced(pending, operation)
    note_written(api, operation, collection, written, value)
    if api.releases_addresses(operation.resource):
        await release_addresses(api, operation, over, value)
    return written


async def traced(pending: Pending, operation: Operation) -> Version:
    """Wait for a commit, which is a step of the trace."""
    with step("Commit") as span:
        if span is not None:
            span.note({"resource": operation.resource.key, "key": pending.version.key})
        return await pending


async def commit_companions(api: Api, operation: Operation, context: Context) -> None:
    """Check the preconditions of a write to another cluster, and commit its companion writes, such
    as the charge of a quota. If the write itself fails then, the controllers correct the
    companions. Raises ConditionFailed."""
    api.store.check_conditions(context.requires)
    companions = context.companions
    if not companions:
        return
    first, *others = companions
    collection, key = first.collection, first.key
    try:
        first.version = await api.store.put(
            collection, key, first.value, first.over, context.requires, others
        )
    except Conflict:
        raise ConditionFailed(Precondition(collection.resource, key)) from None
    for companion in companions:
        assert companion.version is not None
        api.actors.note(companion.version.revision, operation)


def roll_back_later(pending: Pending, context: Context) -> None:
    """Release the reservations of a cancelled write once its commit is resolved, because the write
    may still happen. Reservations that a committed object holds are kept."""
    undo, context.undo = context.undo, []

    def give_back(outcome: asyncio.Future[None] | None = None) -> None:
        if outcome is not None and not outcome.cancelled():
            outcome.exception()
        while undo:
            undo.pop()()

    if pending.version.commit is None:
        give_back()
    elif undo:
        pending.outcome().add_done_callback(give_back)


async def remove(
    api: Api,
    operation: Operation,
    collection: Collection,
    current: Version,
    marked: Object | None = None,
) -> None:
    """Delete an object from the store; raises Conflict. If `marked`, it is first written so, in the
    same commit if this process owns the store."""
    check_fence()
    store, key, last, writes = api.store_of(collection.resource), current.key, current, []
    if marked is not None:
        with suppress(TooLarge, TooDeep):  # then it is deleted as it is
            writes.append(store.put(collection, key, marked, current))
            last = collection.pending[key]
    writes.append(store.delete(collection, key, last))
    with step("Commit") as span:
        if span is not None:
            span.note({"resource": operation.resource.key, "key": key})
        outcomes = await asyncio.gather(*writes, return_exceptions=True)
    for outcome in outcomes:
        if isinstance(outcome, Conflict) and outcome is not outcomes[0]:
            raise MarkedOnly from outcome
        if isinstance(outcome, BaseException):
            raise outcome
        if store is api.store:
            api.actors.note(outcome.revision, operation)
    if api.releases_addresses(operation.resource):
        await release_addresses(api, operation, current, None)


async def release_addresses(
    api: Api, operation: Operation, before: Version, after: Object | None
) -> None:
    """Delete the IPAddress objects of the addresses that a service no longer has. If the process
    ends before that, the repair controller deletes them."""
    assert api.allocators is not None
    assert api.allocators.objects is not None
    addresses = api.allocators.objects.collection
    for name in api.allocators.released(before.object(), after):
        current = addresses.latest(name)
        if current is not None:
            try:
                deletion = await api.store.delete(addresses, name, current)
            except (Conflict, ConditionFailed):  # changed meanwhile
                continue
            api.actors.note(deletion.revision, operation)
