"""Empties namespaces that are being deleted, and finalizes them when they are empty."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from time import monotonic
from typing import Any

from fairlead.base.errors import StatusError, store_unavailable
from fairlead.controllers.framework import Follow, Keys, Unfollow, with_fewer
from fairlead.controllers.namespace_remains import API_SERVICES, Remains
from fairlead.controllers.versions import (
    is_going,
    may_be_terminating,
    may_have_finalizers,
)
from fairlead.operations.api import Api, Object
from fairlead.operations.client import Client
from fairlead.operations.options import DeleteOptions
from fairlead.resources.core.namespaces import CONTENT_FINALIZER
from fairlead.resources.custom.definition import DEFINITIONS
from fairlead.resources.registry import Resource
from fairlead.storage.backend import StorageError
from fairlead.storage.version import Change

PODS = "core/v1/pods"
_BACKGROUND = DeleteOptions(propagation="Background")
# Seconds between two counts of the remaining content while objects disappear one by one.
_RECOUNT_INTERVAL = 1.0

# Deletes the content of a namespace on aggregated servers and records what remains.
EmptyElsewhere = Callable[[str, Remains], Awaitable[None]]


@dataclass(slots=True)
class _RemainingContent:
    """Content that remained at the last count: the resources, the keys not deleted since, and the
    time (monotonic) before which it is not counted again."""

    resources: list[Resource]
    keys: set[tuple[str, str]]
    rest: float


class NamespaceDeletion:
    """Keys are names of namespaces. Objects that finalizers or grace periods hold back are watched
    until they are gone."""

    name = "namespace-controller"
    workers = 10  # their deletes share commits

    def __init__(self, api: Api, client: Client, empty_remote: EmptyElsewhere) -> None:
        self._api = api
        self._client = client
        self._empty_remote = empty_remote
        self._undiscovered: set[str] = set()  # namespaces with failed discovery
        self._remaining: dict[str, _RemainingContent] = {}
        self._followed: dict[Resource, Unfollow] = {}
        self._follow: Follow

    def grow_by(self, follow: Follow) -> None:
        self._follow = follow

    def follows(self) -> Mapping[str, Keys]:
        return {
            NAMESPACES: self._going,
            DEFINITIONS: lambda change: list(self._remaining),
            API_SERVICES: lambda change: list(self._undiscovered),
        }

    def _going(self, change: Change) -> Iterable[str]:
        if change.after is None:
            return (change.name,) if change.name in self._remaining else ()
        return (change.name,) if may_be_terminating(change.after) else ()

    def _content_changed(self, change: Change) -> Iterable[str]:
        """The namespace of an object that was created, deleted, or changed while it had
        finalizers."""
        waiting = self._remaining.get(change.namespace)
        if waiting is None:
            return ()
        before = change.before
        if change.after is None:
            waiting.keys.discard((change.resource, change.key))
        elif before is not None and not may_have_finalizers(before):
            return ()
        return (change.namespace,)

    async def sync(self, key: str) -> float | None:
        namespace = self._client.find(NAMESPACES, "", key)
        if namespace is None or not _is_to_be_emptied(namespace):
            self._release(key)
            self._undiscovered.discard(key)
            return None
        waiting = self._remaining.get(key)
        if waiting is not None and waiting.keys and waiting.rest > monotonic():
            return waiting.rest - monotonic()
        remains = await self._empty(key)
        if remains.with_conditions(namespace) != namespace:
            change = _if_same_uid(namespace, remains.with_conditions)
            await self._client.change(NAMESPACES, "", key, change, "status")
        failure = remains.failure()
        if failure is not None:
            raise failure
        if not remains.objects:
            finalized = _if_same_uid(namespace, _finalized)
            await self._client.change(NAMESPACES, "", key, finalized, "finalize")
        return (
            _RECOUNT_INTERVAL if remains.elsewhere else None
        )  # polled: aggregated servers send no events

    async def _empty(self, namespace: str) -> Remains:
        """Delete all content that is not being deleted yet; returns what remains and watches it."""
        remains = Remains()
        contents = self._contents()
        if self._api.gates["OrderedNamespaceDeletion"]:
            # Pods end before the objects that protect or restrict them are deleted.
            pods = [resource for resource in contents if resource.key == PODS]
            for resource in pods:
                failure = await self._delete_all(resource, namespace)
                remains.failures += [failure] if failure is not None else []
                if self._api.collection(resource).newest(namespace):
                    self._wait_for(namespace, pods, remains)
                    return remains
        # A resource that two groups serve is stored once; delete it once.
        collections = {self._api.collection(resource): resource for resource in reversed(contents)}
        outcomes = await asyncio.gather(
            *(self._delete_all(resource, namespace) for resource in collections.values())
        )
        remains.failures += [error for error in outcomes if error is not None]
        await self._empty_remote(namespace, remains)
        note = self._undiscovered.add if remains.undiscovered else self._undiscovered.discard
        note(namespace)
        self._wait_for(namespace, contents, remains)
        return remains

    def _wait_for(self, namespace: str, contents: list[Resource], remains: Remains) -> None:
        """Watch the objects of these resources, and note how many remain."""
        # After a failure the back-off of the queue decides.
        rest = monotonic() + (0.0 if remains.failure() is not None else _RECOUNT_INTERVAL)
        waiting = _RemainingContent([], set(), rest)
        for resource in contents:
            collection = self._api.collection(resource)
            versions = collection.newest(namespace)
            if versions:
                waiting.resources.append(resource)
                waiting.keys.update((collection.resource, version.key) for version in versions)
                remains.objects[f"{resource.name}.{resource.group}"] = len(versions)
            for version in versions:
                remains.finalizers.update(version.finalizers())
        self._watch(namespace, waiting)

    def _contents(self) -> list[Resource]:
        """All namespaced resources with deletes, each in the preferred version of its group."""
        resources: dict[tuple[str, str], Resource] = {}
        for group_version in self._api.resources.group_versions():
            for resource in group_version.resources.values():
                if resource.namespaced and "delete" in resource.verbs:
                    resources.setdefault((resource.group, resource.name), resource)
        return list(resources.values())

    async def _delete_all(self, resource: Resource, namespace: str) -> StatusError | None:
        collection = self._api.collection(resource)
        store = self._api.store_of(collection.resource)
        if store is not self._api.store:  # the namespace's own revision says nothing about it
            try:
                await store.catch_up()
            except StorageError:
                return store_unavailable()
        if all(map(is_going, collection.newest(namespace))):
            return None
        try:
            await self._client.delete_collection(resource.key, namespace, _BACKGROUND)
        except StatusError as error:
            return error
        return None

    def _watch(self, namespace: str, waiting: _RemainingContent) -> None:
        """Watch the resources of the remaining content."""
        if waiting.keys:
            self._remaining[namespace] = waiting
            self._follow_held()
        else:
            self._release(namespace)

    def _release(self, namespace: str) -> None:
        if self._remaining.pop(namespace, None) is not None:
            self._follow_held()

    def _follow_held(self) -> None:
        resources = {
            resource for waiting in self._remaining.values() for resource in waiting.resources
        }
        for resource in self._followed.keys() - resources:
            self._followed.pop(resource)()
        for resource in resources - self._followed.keys():
            self._followed[resource] = self._follow(
                resource.key, self._content_changed, replay=False
            )


def _is_to_be_emptied(namespace: Object) -> bool:
    """Whether a namespace is being deleted and still has the content finalizer."""
    if namespace["metadata"].get("deletionTimestamp") is None:
        return False
    return CONTENT_FINALIZER in ((namespace.get("spec") or {}).get("finalizers") or ())


def _if_same_uid(
    namespace: Object, change: Callable[[Object], Object]
) -> Callable[[Object], Object]:
    """A change that applies only to the namespace with the same uid: a new one of that name may
    have been created meanwhile."""
    uid = namespace["metadata"]["uid"]
    return lambda current: change(current) if current["metadata"]["uid"] == uid else current


def _finalized(namespace: Object) -> Object:
    spec = namespace.get("spec") or {}
    left = with_fewer(spec, "finalizers", lambda name: name != CONTENT_FINALIZER)
    return {**namespace, "spec": left}


# Helpers for controllers that handle namespaces.

NAMESPACES = "core/v1/namespaces"


def name_of(change: Change) -> Iterable[str]:
    """The key of an existing namespace."""
    return () if change.deleted else (change.name,)


def is_alive(namespace: dict[str, Any] | None) -> bool:
    """Whether a namespace exists and is not being deleted."""
    return namespace is not None and not namespace["metadata"].get("deletionTimestamp")


def is_refused_by_terminating_namespace(error: StatusError) -> bool:
    """Whether a create failed because its namespace is being deleted or does not exist."""
    details = error.details or {}
    causes = details.get("causes") or ()
    if any(cause.get("reason") == "NamespaceTerminating" for cause in causes):
        return True
    return error.code == 404 and details.get("kind") == "namespaces"
