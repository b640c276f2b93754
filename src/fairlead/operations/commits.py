"""The end of a write: the commit, and retries from the newest version of the object."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import ParamSpec, TypeVar

from fairlead.base import budget
from fairlead.base.errors import ResourceRef, StatusError, modified
from fairlead.base.tracing import step
from fairlead.codec.bodies import TooDeep, TooLarge
from fairlead.operations.api import Api, Object
from fairlead.operations.operation import Operation
from fairlead.operations.write_pipeline import check_fence, size_error
from fairlead.resources.causes import absent
from fairlead.resources.context import Context
from fairlead.resources.custom.ownership import Unconverted
from fairlead.storage.backend import ConditionFailed, Conflict, Precondition, StorageError
from fairlead.storage.collection import Collection
from fairlead.storage.version import Version
from fairlead.storage.writes import Companion

P = ParamSpec("P")
T = TypeVar("T")
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


async def wait_committed(collection: Collection, key: str) -> bool:
    """Wait until the newest version of a key, or its deletion, is committed. Returns False if that
    commit fails: then an error based on that version would be wrong, and the write has to be
    retried."""
    newest = collection.pending.get(key)
    if newest is None or newest.commit is None:
        return True
    try:
        await newest.commit.outcome()
    except (Conflict, ConditionFailed, StorageError):
        return False
    return True


async def put(
    api: Api,
    operation: Operation,
    collection: Collection,
    key: str,
    value: Object,
    over: Version | None,
    context: Context | None = None,
) -> Version:
    """Write a prepared object with the preconditions and companion writes of its context. Raises
    Conflict and ConditionFailed."""
    check_fence()
    store = api.store_of(collection.resource)
    requires: Sequence[Precondition] = context.requires if context is not None else ()
    alongside: Sequence[Companion] = ()
    if context is not None:
        alongside = (*context.alongside, *context.claims)
    if store is not api.store:
        await _commit_before(api, operation, requires, alongside)
        requires = alongside = ()
    while True:
        try:
            with step("Commit") as span:
                if span is not None:
                    span.note({"resource": operation.resource.key, "key": key})
                written = await store.put(collection, key, value, over, requires, alongside)
            break
        except asyncio.CancelledError:
            if context is not None and context.undo:
                _roll_back_later(collection, key, context)
            raise
        except (TooLarge, TooDeep) as error:
            if not _drop_managed_fields(operation, value, error):
                raise size_error(error) from None
    operation.note_written(written, value)
    if store is api.store:
        api.actors.note(written.revision, operation)
    for one in alongside:
        if one.version is not None:
            api.actors.note(one.version.revision, operation)
    if over is not None and api.releases_addresses(operation.resource):
        await _release_addresses(api, operation, over, value)
    return written


async def _commit_before(
    api: Api,
    operation: Operation,
    requires: Sequence[Precondition],
    alongside: Sequence[Companion],
) -> None:
    """Check the preconditions of a write to another cluster, and commit its companion writes, such
    as the charge of a quota: no transaction has keys of two clusters. If the write itself fails
    then, the controllers correct the companions. Raises ConditionFailed."""
    api.store.check_conditions(requires)
    if not alongside:
        return
    first, *others = alongside
    collection, key = first.collection, first.key
    try:
        first.version = await api.store.put(
            collection, key, first.value, first.over, requires, others
        )
    except Conflict:
        raise ConditionFailed(Precondition(collection.resource, key)) from None
    for one in alongside:
        assert one.version is not None
        api.actors.note(one.version.revision, operation)


def _drop_managed_fields(operation: Operation, value: Object, error: TooLarge | TooDeep) -> bool:
    """Drop managedFields from an object that is too large. Returns whether to retry the write; an
    apply does not drop them."""
    if operation.applies or isinstance(error, TooDeep):
        return False
    return value["metadata"].pop("managedFields", None) is not None


def _roll_back_later(collection: Collection, key: str, context: Context) -> None:
    """Release the reservations of a cancelled write once its commit is resolved, because the write
    may still happen. Reservations that a committed object holds are kept."""
    undo, context.undo = context.undo, []

    def give_back(outcome: asyncio.Future[None] | None = None) -> None:
        if outcome is not None and not outcome.cancelled():
            outcome.exception()
        while undo:
            undo.pop()()

    newest = collection.pending.get(key)
    if newest is None or newest.commit is None:
        give_back()
    else:
        newest.commit.outcome().add_done_callback(give_back)


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
        await _release_addresses(api, operation, current, None)


async def _release_addresses(
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


async def converting(size: int, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run work that may need an object in another version. If only a webhook can convert it, await
    the webhook and start the work again. Offloads like `budget.run`."""
    while True:
        try:
            return await budget.run(size, work, *args, **kwargs)
        except Unconverted as error:
            needed = error
        await needed.convert()
