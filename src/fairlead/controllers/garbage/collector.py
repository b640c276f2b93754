"""The garbage collector: deletes objects without owners, and finalizes owners that are being
deleted."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from enum import Enum, auto
from functools import partial

from fairlead.base.errors import StatusError
from fairlead.controllers.events import WARNING, Recorder
from fairlead.controllers.framework import Follow, Keys, Unfollow, with_fewer
from fairlead.controllers.garbage.graph import Graph
from fairlead.controllers.garbage.references import (
    Reference,
    blocks,
    collector_finalizers,
    owners_of,
    references_of,
)
from fairlead.controllers.namespace_deletion import NAMESPACES
from fairlead.controllers.namespace_remains import API_SERVICES, RemoteResources
from fairlead.controllers.versions import may_be_terminating
from fairlead.controllers.workloads import batches
from fairlead.operations.api import Api, Object
from fairlead.operations.client import Client
from fairlead.operations.delete import FOREGROUND, ORPHAN
from fairlead.operations.options import DeleteOptions
from fairlead.resources.custom.definition import DEFINITIONS
from fairlead.resources.registry import Resource
from fairlead.storage.version import Change, Version

# States of owners.

_NEEDED_VERBS = frozenset({"delete", "get", "list", "watch"})


class State(Enum):
    """The state of a referenced owner. SOLID: exists. WAITING: being deleted, waits for its
    dependents. DANGLING: does not exist, or its name belongs to another uid. UNKNOWN: its kind is
    not served. MISPLACED: namespaced, but referenced by a cluster-scoped object."""

    SOLID = auto()
    WAITING = auto()
    DANGLING = auto()
    UNKNOWN = auto()
    MISPLACED = auto()


def is_collected(resource: Resource) -> bool:
    """Whether objects of a resource can be owners and dependents. Events cannot: they only refer to
    objects."""
    return _NEEDED_VERBS.issubset(resource.verbs) and resource.kind != "Event"


class Owners:
    """Looks up owners in their newest versions, uncommitted writes included. Kinds of aggregated
    servers are unknown."""

    def __init__(self, api: Api, graph: Graph, remote: RemoteResources) -> None:
        self._api = api
        self._graph = graph
        self._remote = remote
        self._resolved: dict[tuple[str, str], Resource] = {}
        self._generation = -1

    def resource(self, api_version: str, kind: str) -> Resource | None:
        """The local resource that serves a kind, or None."""
        group, _, version = api_version.rpartition("/")
        if self._remote.serves(group, version):
            return None
        resources = self._api.resources
        if self._generation != resources.generation:
            self._generation = resources.generation
            self._resolved.clear()
        resolved = self._resolved.get((api_version, kind))
        if resolved is not None:
            return resolved
        for resource in filter(is_collected, resources.of_kind(api_version, kind)):
            self._resolved[api_version, kind] = resource
            return resource
        return None

    def state(self, reference: Reference, namespace: str) -> State:
        """The state of an owner that an object in this namespace references."""
        resource = self.resource(reference.api_version, reference.kind)
        if resource is None:
            # An owner known to be deleted stays deleted when its definition goes as well.
            return State.DANGLING if self._graph.is_absent(reference.uid) else State.UNKNOWN
        if resource.namespaced and not namespace:
            return State.MISPLACED
        key = resource.storage_key(namespace, reference.name)
        owner = self._api.collection(resource).latest(key)
        if owner is None or owner.uid != reference.uid:
            return State.DANGLING
        return State.WAITING if FOREGROUND in collector_finalizers(owner) else State.SOLID

    def is_elsewhere(self, reference: Reference, namespace: str) -> bool:
        """Whether a missing owner exists in another namespace."""
        resource = self.resource(reference.api_version, reference.kind)
        if resource is None or not resource.namespaced or self._graph.is_absent(reference.uid):
            return False
        collection = self._api.collection(resource)
        namespaces = self._api.collection(self._api.resources.named(NAMESPACES))
        others = (version.key for version in namespaces.current("") if version.key != namespace)
        versions = (collection.get(f"{other}/{reference.name}") for other in others)
        return any(version is not None and version.uid == reference.uid for version in versions)


_MAX_REPORTED = 25  # missing owners per object that are searched in other namespaces
_NOWHERE = (State.DANGLING, State.MISPLACED)


class GarbageCollector:
    """Keys are the stored name of a resource and the storage key of an object, separated by a
    space. Owners are looked up when an object is written, and only objects that need action are
    queued."""

    name = "garbage-collector-controller"
    workers = 50  # their deletes share commits

    def __init__(
        self, api: Api, client: Client, recorder: Recorder, remote: RemoteResources
    ) -> None:
        self._api = api
        self._client = client
        self._recorder = recorder
        self.graph = Graph()
        self._owners = Owners(api, self.graph, remote)
        self._followed: dict[str, tuple[Resource, Unfollow]] = {}
        self._follow: Follow

    def grow_by(self, follow: Follow) -> None:
        self._follow = follow
        resources = self._api.resources
        for resource in filter(is_collected, resources.stored()):
            self._follow_only(resources.stored_as(resource), resource)

    def follows(self) -> Mapping[str, Keys]:
        return {DEFINITIONS: self._definition_changed, API_SERVICES: self._registration_changed}

    def _follow_only(self, name: str, resource: Resource | None) -> None:
        """Subscribe to the resource under a stored name and drop an earlier subscription. A
        definition that was deleted and created again has a new resource object."""
        followed, unfollow = self._followed.get(name, (None, None))
        if followed is resource:
            return
        if unfollow is not None:
            unfollow()
            del self._followed[name]
        if resource is not None:
            self._followed[name] = resource, self._follow(resource.key, self._changed)

    def _definition_changed(self, change: Change) -> Iterator[str]:
        """Dependents whose owner kind is served now."""
        plural, _, group = change.name.partition(".")
        served = (
            group_version.resources.get(plural)
            for group_version in self._api.resources.of_group(group)
        )
        resources = [
            resource for resource in served if resource is not None and not resource.is_repeated
        ]
        if all(resource.custom is not None for resource in resources):
            self._follow_only(f"{group}/{plural}", next(filter(is_collected, resources), None))
        yield from self._resolved(group)

    def _registration_changed(self, change: Change) -> Iterator[str]:
        """Dependents whose owner kind is served here now: an APIService may have returned a group
        version to this server."""
        return self._resolved(change.name.partition(".")[2])

    def _resolved(self, group: str) -> Iterator[str]:
        for kind in self.graph.unresolved_kinds(group):
            if self._owners.resource(*kind) is not None:
                yield from self.graph.take_resolved(kind)

    def _changed(self, change: Change) -> Iterable[str]:
        """Keys to check after a commit. Most commits change no owners and delete nothing."""
        before, after = change.before, change.after
        owners_before, owners_after = owners_of(before), owners_of(after)
        if owners_before == owners_after and after is not None and not may_be_terminating(after):
            return ()
        key = f"{change.resource} {change.key}"
        keys: set[str] = set()
        if owners_before != owners_after:
            namespace = change.namespace
            keys.update(self._owners_changed(key, namespace, set(owners_before), set(owners_after)))
        if after is not None:
            keys.update(self._deletion_began(key, after))
        elif before is not None:
            keys.update(self.graph.record_deleted(before.uid))
        return keys

    def _owners_changed(
        self, key: str, namespace: str, before: set[Reference], after: set[Reference]
    ) -> Iterator[str]:
        """Update the edges; yields owners that may have waited for this dependent, and the
        dependent itself if a new owner does not exist or waits."""
        uids, kinds = (
            {reference.uid for reference in after},
            {reference.owner_kind for reference in after},
        )
        for reference in before - after:
            if reference.owner_kind not in kinds:
                self.graph.forget_unresolved(reference.owner_kind, key)
            if reference.uid not in uids:
                self.graph.remove(reference.uid, key)
            owner = self.graph.waiting_owner(reference.uid)
            if owner is not None:
                yield owner
        for reference in after - before:
            self.graph.add(reference.uid, key)
            if self._owners.state(reference, namespace) is not State.SOLID:
                yield key

    def _deletion_began(self, key: str, version: Version) -> Iterator[str]:
        """Yields the key of an object in deletion if the collector has to process its finalizers,
        and those of its dependents if they are to be deleted first."""
        steps = collector_finalizers(version)
        if steps:
            yield key
        uid = version.uid
        if FOREGROUND not in steps:
            self.graph.end_waiting(uid)
        elif self.graph.record_waiting(uid, key):
            yield from self.graph.dependents(uid)

    async def sync(self, key: str) -> float | None:
        entry = self._find(key)
        if entry is None:
            return None
        resource, version = entry
        metadata = version.object()["metadata"]
        if metadata.get("deletionTimestamp") is None:
            await self._collect(key, resource, metadata)
            return None
        steps = collector_finalizers(version)
        if ORPHAN in steps:
            await self._orphan(metadata["uid"])
            await self._change(resource, metadata, _without_finalizer(ORPHAN))
        elif FOREGROUND in steps and not self._is_blocked(version):
            await self._change(resource, metadata, _without_finalizer(FOREGROUND))
        return None

    def _find(self, key: str) -> tuple[Resource, Version] | None:
        name, _, path = key.partition(" ")
        resource, _ = self._followed.get(name, (None, None))
        if resource is None:
            return None
        version = self._api.collection(resource).latest(path)
        return (resource, version) if version is not None else None

    async def _collect(self, key: str, resource: Resource, metadata: Object) -> None:
        """Delete an object without live owners; remove references to lost owners if it has
        others."""
        namespace = metadata.get("namespace", "")
        references = references_of(metadata.get("ownerReferences"))
        states = {reference: self._owners.state(reference, namespace) for reference in references}
        self._report(resource, metadata, states)
        distinct = set(states.values())
        for owner, state in states.items():
            if state is State.UNKNOWN:
                self.graph.record_unresolved(owner.owner_kind, key)
        if not distinct or distinct & {State.UNKNOWN, State.MISPLACED}:
            return
        if State.SOLID in distinct:
            lost = {
                reference.uid for reference, state in states.items() if state is not State.SOLID
            }
            if lost:
                await self._change(resource, metadata, _without_owners(lost))
            return
        await self._delete(resource, metadata, waited_for=State.WAITING in distinct)

    async def _delete(self, resource: Resource, metadata: Object, *, waited_for: bool) -> None:
        """Delete a dependent. If an owner waits for it and it has dependents itself it is deleted
        in the foreground as well; in a cycle it stops blocking its owners first."""
        uid = metadata["uid"]
        finalizers = metadata.get("finalizers") or ()
        propagation = "Background"
        if waited_for and self.graph.dependents(uid):
            if self.graph.has_waiting_dependent(uid):
                metadata = await self._change(resource, metadata, _without_blocking) or metadata
            propagation = "Foreground"
        elif ORPHAN in finalizers:
            propagation = "Orphan"
        elif FOREGROUND in finalizers:
            propagation = "Foreground"
        options = DeleteOptions(
            propagation=propagation, uid=uid, revision=metadata["resourceVersion"]
        )
        namespace_and_name = metadata.get("namespace", ""), metadata["name"]
        await self._client.delete(resource.key, *namespace_and_name, options)

    def _report(
        self, resource: Resource, metadata: Object, states: Mapping[Reference, State]
    ) -> None:
        """Record events about owners that exist only in another namespace."""
        namespace = metadata.get("namespace", "")
        about = {name: metadata[name] for name in ("name", "namespace", "uid") if name in metadata}
        nowhere = [reference for reference, state in states.items() if state in _NOWHERE]
        for reference in nowhere[:_MAX_REPORTED]:
            if self._owners.is_elsewhere(reference, namespace):
                owner = (
                    f"[{reference.api_version}/{reference.kind}, namespace: {namespace},"
                    f" name: {reference.name}, uid: {reference.uid}]"
                )
                text = f'ownerRef {owner} does not exist in namespace "{namespace}"'
                self._recorder.record(
                    resource, {"metadata": about}, WARNING, "OwnerRefInvalidNamespace", text
                )

    def _is_blocked(self, version: Version) -> bool:
        """Whether an owner must wait for its dependents. Excludes dependents that wait for it,
        which would deadlock in a cycle."""
        uid, waiting = version.uid, self._waiting_for(version)
        entries = map(self._find, self.graph.dependents(uid))
        others = (
            entry[1] for entry in entries if entry is not None and entry[1].uid not in waiting
        )
        return any(blocks(version, uid) for version in others)

    def _waiting_for(self, version: Version) -> set[str]:
        """The uids of the object and of all owners that transitively wait for it."""
        uids, left = {version.uid}, [version]
        while left:
            for reference in owners_of(left.pop()):
                if not reference.blocks or reference.uid in uids:
                    continue
                owner = self._find(self.graph.waiting_owner(reference.uid) or "")
                if owner is not None:
                    uids.add(reference.uid)
                    left.append(owner[1])
        return uids

    async def _orphan(self, uid: str) -> None:
        """Orphan: remove an owner from all of its dependents."""
        dependents = list(self.graph.dependents(uid))
        failures = await batches.run_all([partial(self._disown, key, uid) for key in dependents])
        if failures:
            raise failures[0]

    async def _disown(self, key: str, uid: str) -> None:
        entry = self._find(key)
        if entry is not None and any(owner.uid == uid for owner in owners_of(entry[1])):
            resource, version = entry
            await self._change(resource, version.object()["metadata"], _without_owners({uid}))

    async def _change(
        self, resource: Resource, metadata: Object, change: Callable[[Object], Object]
    ) -> Object | None:
        """Change the metadata of an object if its uid is unchanged; returns the new metadata, or
        None if it is gone."""

        def changed(old: Object) -> Object:
            if old["metadata"]["uid"] != metadata["uid"]:
                return old
            return {**old, "metadata": change(old["metadata"])}

        namespace_and_name = metadata.get("namespace", ""), metadata["name"]
        try:
            written = await self._client.change(resource.key, *namespace_and_name, changed)
        except StatusError as error:
            if error.code != 404:
                raise
            return None
        new_metadata: Object = written["metadata"]
        return new_metadata


def _without_finalizer(name: str) -> Callable[[Object], Object]:
    return lambda metadata: with_fewer(metadata, "finalizers", lambda finalizer: finalizer != name)


def _without_owners(uids: Collection[str]) -> Callable[[Object], Object]:
    return lambda metadata: with_fewer(
        metadata, "ownerReferences", lambda reference: reference["uid"] not in uids
    )


def _without_blocking(metadata: Object) -> Object:
    owners = [
        {**reference, "blockOwnerDeletion": False}
        if reference.get("blockOwnerDeletion")
        else reference
        for reference in metadata["ownerReferences"]
    ]
    return {**metadata, "ownerReferences": owners}
