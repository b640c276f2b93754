"""What a write seldom waits for: conversions, threads, another attempt, another outcome than a
commit."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from fairlead.auth.authorization.attributes import creation_refusal, refusal
from fairlead.base import budget
from fairlead.base.deferred import Outcome
from fairlead.base.errors import StatusError, already_exists, modified
from fairlead.base.waiting import result_of
from fairlead.codec.types.decode import known_part, unknown_paths
from fairlead.codec.types.model import Struct
from fairlead.fields.values import copied
from fairlead.operations.api import Api, Object
from fairlead.operations.commits import MAX_ATTEMPTS, remove, wait_committed
from fairlead.operations.operation import Operation
from fairlead.operations.options import WriteOptions
from fairlead.operations.stored_versions import as_read_back, to_requested, to_storage_version
from fairlead.operations.write_pipeline import GENERATE_TRIES, strict_errors, warn_of
from fairlead.resources.behaviour import Permission
from fairlead.resources.causes import absent
from fairlead.resources.core.services.claims import is_claimed
from fairlead.resources.custom.ownership import Unconverted
from fairlead.storage.backend import ConditionFailed, Conflict
from fairlead.storage.collection import Collection
from fairlead.storage.version import Version

if TYPE_CHECKING:
    from fairlead.operations.create import Create
    from fairlead.operations.update import Update
    from fairlead.operations.write import Write

_MAX_CLAIMS, _CLAIM_PAUSE = 200, 0.05  # attempts, and seconds between the later ones


# Costly work, and conversions between versions


async def go_on(needs: object, size: int, work: Callable[[], None]) -> None:
    """Do work that could not be done on the event loop now, see `Write.offload`."""
    try:
        await budget.go_on(needs, size, work)
    except Unconverted as error:
        needed = error
    else:
        return
    await convert_first(needed, size, work)


async def convert_first(needed: Unconverted, size: int, work: Callable[[], None]) -> None:
    """Convert objects to other versions by a webhook until the work does not need any more."""
    while True:
        await needed.convert()
        try:
            await budget.run(size, work)
        except Unconverted as error:
            needed = error
        else:
            return


async def read_requested(update: Update) -> None:
    version = await to_requested(update.resource, update.current)
    update.old = version.object()


async def to_stored(write: Create | Update) -> None:
    write.stored = await to_storage_version(write.resource, write.value)


async def read_back(create: Create) -> None:
    """Let a dry run show what reading the object back from the store would return."""
    create.stored = await as_read_back(create.resource, create.stored)


async def show_requested(write: Write) -> None:
    write.operation.result = write.result = await to_requested(write.resource, write.result)


# Creates


async def create_claiming(
    create: Callable[[Object], Outcome[Version]], operation: Operation, value: Object
) -> Version:
    """Create an object that claims values, such as a cluster address, which other servers claim,
    too. Retries if the value was taken meanwhile."""
    for attempt in range(_MAX_CLAIMS):
        try:
            return await result_of(create(copied(value)))
        except ConditionFailed as failed:
            if not is_claimed(failed):
                raise
        # Until this server sees the write of the other one, it would choose the same value again.
        await asyncio.sleep(min(0.001 * attempt, _CLAIM_PAUSE))
    raise modified(operation.resource.ref(value["metadata"].get("name", "")))


async def authorize_create(api: Api, operation: Operation) -> None:
    """Raise Forbidden if an update or apply turns into a create that the user may not perform."""
    attributes = operation.attributes("create")
    decision = await api.authorizer.authorize(attributes)
    if not decision.allowed:
        refuse = refusal if api.gates["LaterWording"] else creation_refusal
        raise refuse(attributes, decision)


async def store_again(create: Create, error: Exception) -> None:
    """Store a new object although another one has its name (under another generated name), or
    although a precondition of its admission changed (after another admission)."""
    collection, context = create.collection, create.context
    names = GENERATE_TRIES if create.is_generated else 1
    for _ in range(MAX_ATTEMPTS):
        if isinstance(error, ConditionFailed):
            context.reset_admission()
            await result_of(create.admit())
            await result_of(create.validate())
        elif context.dry_run or await wait_committed(collection, create.key):
            names -= 1
            if not names:
                raise _exists(create, collection.latest(create.key))
            create.rename()
        await asyncio.sleep(0)
        try:
            for step in (create.convert, create.commit_companions, create.store):
                waiting = step()
                if waiting is not None:
                    await waiting
            return
        except (Conflict, ConditionFailed) as again:
            if isinstance(again, ConditionFailed) and is_claimed(again):
                raise
            error = again
    raise modified(create.resource.ref(create.value["metadata"]["name"]))


def _exists(create: Create, existing: Version | None) -> StatusError:
    metadata = create.value["metadata"]
    ref = create.resource.ref(metadata["name"])
    error = already_exists(ref)
    if metadata.get("generateName"):
        error.message += ", the server was not able to generate a unique name for the object"
        error.details, error.retry_after = {**ref.details(), "retryAfterSeconds": 1}, 1
    if existing is not None and existing.object()["metadata"].get("deletionTimestamp"):
        error.message = f"object is being deleted: {error.message}"
    return error


# Changes


async def refuse_missing(api: Api, operation: Operation) -> None:
    """Raise NotFound if the deletion of an object is committed."""
    if await wait_committed(api.collection(operation.resource), operation.key):
        raise absent(operation.ref)


async def create_or_change(
    api: Api,
    operation: Operation,
    create: Callable[[], Outcome[Version]],
    change: Callable[[], Outcome[Version]],
) -> Version:
    """Create an object by an update or apply, or change it if another client creates it first."""
    if await wait_committed(api.collection(operation.resource), operation.key):
        try:
            version = await result_of(create())
        except StatusError as error:
            if error.reason != "AlreadyExists":
                raise
        else:
            operation.creates = True
            return version
    return await result_of(change())


async def apply_known_fields(
    operation: Operation,
    struct: Struct,
    config: Object,
    options: WriteOptions,
    apply: Callable[[Object], Outcome[Version]],
) -> Version:
    """Apply a configuration; if it is refused and has unknown fields, warn and apply it without
    them."""
    try:
        return await result_of(apply(config))
    except StatusError as error:
        if error.code != 400:
            raise
        refusal = error
    unknown = await budget.run(operation.size, unknown_paths, struct, config)
    if not unknown or options.validation == "Strict":
        raise refusal
    operation.has_unknown_fields = True
    warn_of(operation, strict_errors(unknown, []), options.validation)
    return await result_of(apply(await budget.run(operation.size, known_part, struct, config)))


async def raise_if_committed(collection: Collection, key: str, error: BaseException) -> None:
    """Raise the refusal of a change once the version is committed that it depends on."""
    if await wait_committed(collection, key):
        raise error
    await asyncio.sleep(0)


async def find_lacking(update: Update, permissions: Sequence[Permission]) -> None:
    """Set `context.lacking` to the fields whose permissions the user does not have, with the
    reasons."""
    api, operation = update.api, update.operation
    lacking = []
    for path, reason, verbs, subresource, namespace, name in permissions:
        refusals = []
        for verb in verbs:
            attributes = operation.attributes(verb)._replace(
                subresource=subresource, namespace=namespace, name=name
            )
            decision = await api.decide(attributes)
            if decision.allowed:
                break
            refusals.append(refusal(attributes, decision).message)
        else:
            lacking.append((path, f"{reason}: {refusals[0]}"))
    update.context.lacking = lacking


async def keep_or_store(update: Update) -> None:
    """Keep an object that did not change, unless storing it again would encrypt it with another
    key."""
    api, collection, current = update.api, update.collection, update.current
    if await api.store_of(collection.resource).is_stale(collection, current):
        await update.store_anyway()
        return
    update.context.roll_back()
    await api.store.wait_committed(current)
    update.operation.result = update.result = await to_requested(update.resource, current)


async def show_unstored(update: Update) -> None:
    """Answer a dry run."""
    update.context.roll_back()
    await update.api.store.wait_committed(update.current)
    if update.is_changed:
        update.show(await as_read_back(update.resource, update.stored))
    else:
        version = await to_requested(update.resource, update.current)
        update.operation.result = update.result = version


async def remove_finished(update: Update) -> None:
    """Remove an object in deletion that lost its last finalizer."""
    await remove(update.api, update.operation, update.collection, update.current)
    update.show(update.value)
