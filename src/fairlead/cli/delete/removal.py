"""Deletes objects one by one, and waits for all of them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from contextlib import aclosing, asynccontextmanager
from datetime import UTC, datetime
from time import monotonic
from typing import Any, NamedTuple

from fairlead.base.dialect import Dialect
from fairlead.base.terminal import printable, unguarded
from fairlead.cli.delete.options import Deletion
from fairlead.cli.errors import CommandFailed
from fairlead.cli.invocation import Invocation
from fairlead.cli.output import live
from fairlead.cli.output.formats import named
from fairlead.client import ApiError, Client, Resource, ResourceType
from fairlead.client.errors import Forbidden, MethodNotAllowed, NotFound
from fairlead.client.resources import METADATA_LIST, PAGE, Object
from fairlead.client.watch import DELETED

FOREGROUND = "foregroundDeletion"
_FIRST = 1.0  # seconds until the view appears: most objects are gone by then
_VIEW_INTERVAL = 0.5
_MAX_ROWS = 20
_COLUMNS = (("STILL THERE", "cyan"), ("SINCE", ""), ("HELD BY", "yellow"))
_MAX_NAMED = 3
_MAX_WATCHES = 8  # per resource, one for each namespace
_DEPENDENTS_INTERVAL = 3.0  # seconds between refreshes, since each one lists all kinds
_MAX_CONCURRENT = 8


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
    invocation: Invocation, deleted_objects: list[DeletedObject], timeout: float | None
) -> None:
    """Wait until all objects are gone; after the timeout, raises CommandFailed that lists the
    remaining objects."""
    deletion_wait = DeletionWait(deleted for deleted in deleted_objects if deleted.uid)
    if not deletion_wait.left:
        return
    invocation.screen.flush()
    try:
        async with asyncio.timeout(timeout), watching(invocation, deletion_wait):
            await deletion_wait.wait()
    except TimeoutError:
        late = "\n".join(
            f"error: {deleted.resource.type.name}/{deleted.name} is not gone in time"
            for deleted, _ in deletion_wait.remaining()
        )
        raise CommandFailed(late) from None
    except asyncio.CancelledError:
        left = len(deletion_wait.left)
        invocation.screen.warn(
            f"\nNot waiting any longer; the server continues to delete ({left} left)."
        )
        raise


# Live view of objects in deletion: since when, and what blocks them.


@asynccontextmanager
async def watching(invocation: Invocation, deletion_wait: DeletionWait) -> AsyncIterator[None]:
    """Show the remaining objects while the block runs, if the output is a terminal."""
    if not invocation.screen.is_terminal:
        yield
        return
    task = asyncio.create_task(_show(invocation, deletion_wait))
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def _show(invocation: Invocation, deletion_wait: DeletionWait) -> None:
    await asyncio.sleep(_FIRST)
    dependents = Dependents(invocation.client)
    dialect = await invocation.client.discovery.dialect()
    screen = invocation.screen
    with live.LiveTable(unguarded(screen.out), _COLUMNS, has_colour=screen.has_colour) as table:
        while True:
            remaining = deletion_wait.remaining()
            await dependents.refresh(
                {
                    deleted.uid: deleted.namespace
                    for deleted, value in remaining
                    if FOREGROUND in _finalizers(value)
                }
            )
            table.show(_rows(remaining, dependents, dialect))
            await asyncio.sleep(_VIEW_INTERVAL)


def _rows(
    remaining: list[tuple[DeletedObject, Object]], dependents: Dependents, dialect: Dialect
) -> Iterator[tuple[str, ...]]:
    for deleted, value in remaining[:_MAX_ROWS]:
        blocker = blocker_text(deleted.resource.type.kind, value, dependents.of(deleted.uid))
        name = named(deleted.resource.type, deleted.name)
        yield name, _since(value, dialect), printable(blocker)
    if len(remaining) > _MAX_ROWS:
        yield (f"and {len(remaining) - _MAX_ROWS} more",)


def _finalizers(value: Object) -> list[str]:
    return list((value.get("metadata") or {}).get("finalizers") or ())


def _since(value: Object, dialect: Dialect) -> str:
    """Time since the deletion was requested."""
    metadata = value.get("metadata") or {}
    try:
        moment = datetime.fromisoformat(str(metadata.get("deletionTimestamp")))
    except ValueError:
        return "-"
    passed = (datetime.now(UTC) - moment).total_seconds()
    if not dialect.deletion_starts_now:  # deletionTimestamp is the end of the grace period
        passed += metadata.get("deletionGracePeriodSeconds") or 0
    return f"{max(0, int(passed))}s"


def blocker_text(kind: str, value: Object, dependents: list[str]) -> str:
    """Why a deleted object still exists."""
    reasons = [f"finalizer {name}" for name in _finalizers(value) if name != FOREGROUND]
    if FOREGROUND in _finalizers(value):
        reasons.append(_waiting_for(dependents))
    if kind == "Namespace":
        reasons += _left_in_namespace(value)
    grace = (value.get("metadata") or {}).get("deletionGracePeriodSeconds")
    if not reasons and grace:
        reasons.append(f"it has {grace}s to end")
    return "; ".join(reasons) or "-"


def _left_in_namespace(value: Object) -> list[str]:
    """The remaining content from the conditions of a terminating namespace, or else its
    finalizers."""
    conditions: list[dict[str, Any]] = (value.get("status") or {}).get("conditions") or []
    left = [
        str(condition.get("message"))
        for condition in conditions
        if condition.get("status") == "True" and str(condition.get("type")).endswith("Remaining")
    ]
    own = (value.get("spec") or {}).get("finalizers") or ()
    return left or [f"finalizer {name}" for name in own]


def _waiting_for(dependents: list[str]) -> str:
    if not dependents:
        return "what it owns"
    more = len(dependents) - _MAX_NAMED
    listed = ", ".join(dependents[:_MAX_NAMED])
    return f"what it owns: {listed}" + (f" and {more} more" if more > 0 else "")


# Waits until deleted objects are gone.


class DeletedObject(NamedTuple):
    """A deleted object that may still exist."""

    resource: Resource
    namespace: str
    name: str
    uid: str


class DeletionWait:
    """Tracks deleted objects. `left` maps the uids of objects that still exist to their last seen
    state."""

    def __init__(self, deleted_objects: Iterable[DeletedObject]) -> None:
        self._deleted = {deleted.uid: deleted for deleted in deleted_objects}
        self.left: dict[str, Object] = {uid: {} for uid in self._deleted}

    def remaining(self) -> list[tuple[DeletedObject, Object]]:
        return [(self._deleted[uid], value) for uid, value in self.left.items()]

    async def wait(self) -> None:
        """Wait until no object is left, with one watch for each resource and namespace."""
        tasks = [
            asyncio.create_task(self._follow(namespace, group))
            for (_, namespace), group in _grouped(list(self._deleted.values())).items()
        ]
        try:
            await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _follow(self, namespace: str, group: list[DeletedObject]) -> None:
        resource = group[0].resource
        uids = {deleted.uid for deleted in group}
        name = group[0].name if len(group) == 1 else ""
        only: dict[str, Any] = {"fieldSelector": f"metadata.name={name}"} if name else {}
        try:
            listed = await resource.list(namespace, **only)
            remaining = {item["metadata"]["uid"]: item for item in listed["items"]}
            for uid in uids & self.left.keys():
                self._saw(uid, remaining.get(uid))
            if not uids & self.left.keys():
                return
            watch = resource.watch(namespace, name=name, since=listed)
            async with aclosing(aiter(watch)) as events:
                async for kind, value in events:
                    uid = value["metadata"].get("uid")
                    if uid in uids & self.left.keys():
                        self._saw(uid, None if kind == DELETED else value)
                    if not uids & self.left.keys():
                        return
        except (Forbidden, MethodNotAllowed, NotFound):
            # The user may be allowed to delete but not to list or watch; and a kind may disappear
            # with its definition.
            for uid in uids:
                self.left.pop(uid, None)

    def _saw(self, uid: str, value: Object | None) -> None:
        if value is None:
            self.left.pop(uid, None)
        else:
            self.left[uid] = value


def _grouped(deleted_objects: list[DeletedObject]) -> dict[tuple[str, str], list[DeletedObject]]:
    """Group objects by watch: one for each namespace, or one for all namespaces if there are more
    than 8."""
    spaces: dict[str, set[str]] = {}
    for deleted in deleted_objects:
        spaces.setdefault(deleted.resource.type.qualified, set()).add(deleted.namespace)
    groups: dict[tuple[str, str], list[DeletedObject]] = {}
    for deleted in deleted_objects:
        kind = deleted.resource.type.qualified
        namespace = deleted.namespace if len(spaces[kind]) <= _MAX_WATCHES else ""
        groups.setdefault((kind, namespace), []).append(deleted)
    return groups


# Finds the dependents that block a foreground deletion.


class Dependents:
    """Finds objects that block the deletion of their owners."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._by_owner: dict[str, list[str]] = {}
        self._refreshed = float("-inf")

    def of(self, uid: str) -> list[str]:
        return self._by_owner.get(uid, [])

    async def refresh(self, owners: Mapping[str, str]) -> None:
        """Find the dependents of the owners (uid to namespace), at most every 3 seconds to limit
        the load on the server."""
        if not owners or monotonic() < self._refreshed + _DEPENDENTS_INTERVAL:
            return
        by_owner: dict[str, list[str]] = {}
        types = [
            type
            for type in await self._client.discovery.all_resources()
            if {"list", "delete"} <= {*type.verbs} and type.name != "events"
        ]
        limit = asyncio.Semaphore(_MAX_CONCURRENT)
        spaces = set(owners.values())

        async def look(type: ResourceType) -> None:
            async with limit:
                for namespace in spaces if type.namespaced else {""} & spaces:
                    await self._look(type, namespace, owners, by_owner)

        await asyncio.gather(*(look(type) for type in types))
        self._by_owner, self._refreshed = by_owner, monotonic()

    async def _look(
        self,
        type: ResourceType,
        namespace: str,
        owners: Mapping[str, str],
        by_owner: dict[str, list[str]],
    ) -> None:
        resource = self._client.of(type)
        try:
            async for page in resource.pages(namespace, limit=PAGE, accept=METADATA_LIST):
                for item in page.get("items") or ():
                    for owner in item["metadata"].get("ownerReferences") or ():
                        if owner["uid"] in owners and owner.get("blockOwnerDeletion"):
                            name = named(type, item["metadata"]["name"])
                            by_owner.setdefault(owner["uid"], []).append(name)
        except ApiError:
            return  # resources that may not be listed are skipped
