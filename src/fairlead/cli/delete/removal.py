"""Deletes objects one by one, and waits for all of them."""

from __future__ import annotations

import asyncio

from fairlead.cli.delete.departures import DeletedObject, DeletionWait
from fairlead.cli.delete.options import Deletion
from fairlead.cli.delete.view import watching
from fairlead.cli.errors import CommandFailed
from fairlead.cli.invocation import Invocation
from fairlead.client import Resource


async def remove(
    resource: Resource, name: str, namespace: str, deletion: Deletion, dry_run: bool = False
) -> DeletedObject:
    """Delete one object; raises ApiError. The uid of the result is empty if there is nothing to
    wait for."""
    answer = await resource.delete(name, namespace, deletion.options(dry_run))
    status = answer.get("kind") == "Status"
    holder = answer.get("details") if status else answer.get("metadata")
    return DeletedObject(resource, namespace, name, str((holder or {}).get("uid") or ""))


async def wait_until_gone(
    at: Invocation, doomed: list[DeletedObject], timeout: float | None
) -> None:
    """Wait until all objects are gone; after the timeout, raises CommandFailed that lists the
    remaining objects."""
    departures = DeletionWait(one for one in doomed if one.uid)
    if not departures.left:
        return
    at.screen.flush()
    try:
        async with asyncio.timeout(timeout), watching(at, departures):
            await departures.wait()
    except TimeoutError:
        late = "\n".join(
            f"error: {one.resource.type.name}/{one.name} is not gone in time"
            for one, _ in departures.remaining()
        )
        raise CommandFailed(late) from None
    except asyncio.CancelledError:
        left = len(departures.left)
        at.screen.warn(f"\nNot waiting any longer; the server continues to delete ({left} left).")
        raise
