"""The controller of StatefulSets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial

from fairlead.base.errors import StatusError
from fairlead.controllers.events import Recorder
from fairlead.controllers.framework import Keys
from fairlead.controllers.workloads.adoption import Claims
from fairlead.controllers.workloads.history import History, template_data, with_template_of
from fairlead.controllers.workloads.index import Owned, Selectors, owners_concerned
from fairlead.controllers.workloads.pod_control import is_namespace_terminating
from fairlead.controllers.workloads.pods import PODS, Pod, next_available
from fairlead.controllers.workloads.replicas import selector_of
from fairlead.controllers.workloads.stateful_sets.identity import (
    REVISION_LABEL,
    Identities,
    Retention,
    ordinal_of,
    split_name,
)
from fairlead.controllers.workloads.stateful_sets.members import CLAIMS, Members
from fairlead.controllers.workloads.stateful_sets.sync import Revisions, SetSync, status
from fairlead.controllers.workloads.statuses import update_status
from fairlead.operations.api import Api, Object
from fairlead.operations.client import Client
from fairlead.storage.version import Change

STATEFUL_SETS = "apps/v1/statefulsets"


class StatefulSets:
    """Keys are `namespace/name` of StatefulSets."""

    workers = 5

    def __init__(self, api: Api, objects: Client, events: Recorder, pods: Owned[Pod]) -> None:
        self._resource = api.resources.named(STATEFUL_SETS)
        self._objects = objects
        self._pods = pods
        self._sets = objects.collection(STATEFUL_SETS)
        self._selectors = Selectors(self._sets, selector_of)
        self._claims = Claims(objects, self._resource, PODS)
        self._history = History(objects, self._resource, api.dialect.label("controller.@/hash"))
        gates = api.gates
        self._several = gates["MaxUnavailableStatefulSet"]
        self._waits = gates["StatefulSetMinReadySeconds"]
        name_label = api.dialect.label("statefulset.@/pod-name")
        index_label = api.dialect.label("apps.@/pod-index") if gates["PodIndexLabel"] else ""
        identities = Identities(self._resource, name_label, index_label)
        retention = None
        if gates["StatefulSetAutoDeletePVC"]:
            retention = Retention(
                self._resource,
                api.resources.named(PODS),
                controls=api.gates["ClaimsControlledByStatefulSets"],
            )
        self._members = Members(objects, events, self._resource, identities, retention)

    def follows(self) -> Mapping[str, Keys]:
        return {
            STATEFUL_SETS: lambda change: () if change.deleted else (change.key,),
            PODS: self._owners_of_pod,
            CLAIMS: self._waiting_for_claim,
        }

    def _owners_of_pod(self, change: Change) -> Iterable[str]:
        return owners_concerned(change, self._resource.kind, self._selectors)

    def _waiting_for_claim(self, change: Change) -> Iterable[str]:
        """The sets that may wait for this deleted claim before they create a pod: claim names end
        with the name of the set and an ordinal."""
        parts = split_name(change.name) if change.deleted else None
        words = parts[0].split("-") if parts else []
        keys = (f"{change.namespace}/{'-'.join(words[index:])}" for index in range(1, len(words)))
        return [key for key in keys if self._sets.get(key) is not None]

    async def sync(self, key: str) -> float | None:
        namespace, _, name = key.partition("/")
        owner = self._objects.find(STATEFUL_SETS, namespace, name)
        if owner is None:
            return None
        pods = await self._claims.claim(
            owner,
            selector_of(owner),
            self._pods,
            fits=lambda pod: ordinal_of(owner, pod) is not None,
        )
        min_ready: int = (owner["spec"].get("minReadySeconds") or 0) if self._waits else 0
        if owner["metadata"].get("deletionTimestamp") is not None:
            await self._write_status(
                owner, status(owner, pods, _recorded_revisions(owner), min_ready)
            )
            return None
        await self._scale_and_update(owner, pods, min_ready)
        return next_available(self._members_of(owner), min_ready)

    def _members_of(self, owner: Object) -> list[Pod]:
        return [pod for pod in self._pods.of(owner) if ordinal_of(owner, pod) is not None]

    async def _scale_and_update(self, owner: Object, pods: Sequence[Pod], min_ready: int) -> None:
        stored_revisions = await self._history.of(owner)
        recorded = _recorded_revisions(owner)
        newest = await self._history.current(
            owner, stored_revisions, template_data(owner), recorded.collisions
        )
        by_name = {revision["metadata"]["name"]: revision for revision in stored_revisions}
        current = by_name.get(recorded.current, newest.revision)
        current_name, updated_name = (
            revision["metadata"]["name"] for revision in (current, newest.revision)
        )
        revisions = Revisions(current_name, updated_name, newest.collisions)
        set_sync = SetSync(
            owner,
            partial(with_template_of, current, owner, self._resource),
            revisions,
            pods,
            self._members,
            min_ready=min_ready,
            several=self._several,
        )
        failure: StatusError | None = None
        try:
            await set_sync.take_steps()
        except StatusError as error:
            failure = None if is_namespace_terminating(error) else error
        pods = self._members_of(owner)
        await self._write_status(owner, status(owner, pods, revisions, min_ready))
        live = {pod.labels.get(REVISION_LABEL, "") for pod in pods}
        live |= {revisions.current, revisions.updated}
        await self._history.truncate(
            stored_revisions, live, owner["spec"].get("revisionHistoryLimit") or 0
        )
        if failure is not None:
            raise failure

    async def _write_status(self, owner: Object, new_status: Object) -> None:
        await update_status(self._objects, self._resource, owner, new_status)


def _recorded_revisions(owner: Object) -> Revisions:
    """The revisions in the status of a set."""
    old_status = owner.get("status") or {}
    count = old_status.get("collisionCount") or 0
    return Revisions(
        old_status.get("currentRevision", ""), old_status.get("updateRevision", ""), count
    )
