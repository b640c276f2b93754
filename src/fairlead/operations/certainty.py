"""Refusals rest on what is certain: nobody is told of a version that may never be."""

from __future__ import annotations

from fairlead.storage.backend import ConditionFailed, Conflict, StorageError
from fairlead.storage.collection import Collection


async def is_certain(collection: Collection, key: str) -> bool:
    """Wait for the newest version of a key, or its deletion, to be committed. False if it never
    is: what was refused because of it is to be looked at again."""
    newest = collection.pending.get(key)
    if newest is None or newest.commit is None:
        return True
    try:
        await newest.commit.settled()
    except (Conflict, ConditionFailed, StorageError):
        return False
    return True
