"""When a write starts again from the newest version of its object, and how often it may."""

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

MOST_ATTEMPTS = 1000  # a contended object costs a writer one attempt for each writer before it


async def retried(ref: ResourceRef, attempt: Callable[[], Awaitable[Result | None]]) -> Result:
    """Call `attempt` until it gives a result. It gives None if the object moved and it has to start
    again. Other tasks run in between, and after too many attempts the client gets a Conflict."""
    for _ in range(MOST_ATTEMPTS):
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
    """Call `write` with the newest version of a key, one that is still being committed included.
    Starts again if the object, or what the write rests on, moved meanwhile. A refusal reaches the
    client only when the version that it is about is committed."""

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
        if await is_certain(collection, key):
            raise refusal
        return None

    return await retried(ref, attempt)


async def is_certain(collection: Collection, key: str) -> bool:
    """Wait for the newest version of a key, or its deletion, to be committed. False if that commit
    fails: then a refusal because of that version would be wrong, and the write starts again."""
    newest = collection.pending.get(key)
    if newest is None or newest.commit is None:
        return True
    try:
        await newest.commit.settled()
    except (Conflict, ConditionFailed, StorageError):
        return False
    return True
