"""Retrying a write from the newest version of its object."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from fairlead.base.errors import ResourceRef, StatusError, modified
from fairlead.operations.api import Api
from fairlead.resources.causes import absent
from fairlead.storage.backend import ConditionFailed, Conflict, StorageError
from fairlead.storage.collection import Collection
from fairlead.storage.version import Version

Result = TypeVar("Result")

MAX_ATTEMPTS = 1000  # under contention, a writer may need one attempt per writer ahead of it


async def retried(ref: ResourceRef, attempt: Callable[[], Awaitable[Result | None]]) -> Result:
    """Call `attempt` until it returns a result; it returns None if the object changed and it
    has to be called again. Yields to the event loop between attempts. Raises Conflict after
    MAX_ATTEMPTS."""
    for _ in range(MAX_ATTEMPTS):
        result = await attempt()
        if result is not None:
            return result
        await asyncio.sleep(0)
    raise modified(ref)


async def write_over(
    api: Api,
    collection: Collection,
    key: str,
    ref: ResourceRef,
    write: Callable[[Version], Awaitable[Result]],
) -> Result:
    """Call `write` with the newest version of a key, which may be uncommitted. Retries if the
    object or a precondition of the write changed meanwhile. An error is raised only after the
    version that caused it is committed."""

    async def attempt() -> Result | None:
        current = api.store.latest(collection, key)
        refusal: StatusError
        if current is None:
            refusal = absent(ref)
        else:
            try:
                return await write(current)
            except (Conflict, ConditionFailed):
                return None
            except StatusError as error:
                refusal = error
        if await wait_committed(collection, key):
            raise refusal
        return None

    return await retried(ref, attempt)


async def wait_committed(collection: Collection, key: str) -> bool:
    """Wait until the newest version of a key, or its deletion, is committed. Returns False if that
    commit fails: then an error based on that version would be wrong, and the write has to be
    retried."""
    newest = collection.pending.get(key)
    if newest is None or newest.commit is None:
        return True
    try:
        await newest.commit.settled()
    except (Conflict, ConditionFailed, StorageError):
        return False
    return True
