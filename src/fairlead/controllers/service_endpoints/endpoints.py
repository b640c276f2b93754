"""Maintains Endpoints with the pod addresses of every service with a selector."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from fairlead.base import budget
from fairlead.base.dialect import Dialect
from fairlead.base.errors import StatusError
from fairlead.controllers.events import WARNING, Recorder
from fairlead.controllers.framework import Keys
from fairlead.controllers.namespace_deletion import is_refused_by_terminating_namespace
from fairlead.controllers.pod_members import PODS
from fairlead.controllers.service_endpoints.pods import (
    SERVICES,
    PodFacts,
    ServicePods,
    TriggerTimes,
    selector_of,
    weight,
)
from fairlead.controllers.service_endpoints.subsets import is_headless, offers_of, packed, truncated
from fairlead.operations.api import Api, Object
from fairlead.operations.client import Client
from fairlead.resources.core.endpoints import LAST_CHANGE
from fairlead.storage.version import Change

ENDPOINTS = "core/v1/endpoints"
TRUNCATED = "truncated"


class EndpointNames:
    """Names of labels and annotations in a dialect."""

    def __init__(self, dialect: Dialect) -> None:
        self.last_change = dialect.label(LAST_CHANGE)
        self.over_capacity = dialect.label("endpoints.@/over-capacity")
        self.headless = dialect.label("service.@/headless")
        self.leader = dialect.label("control-plane.alpha.@/leader")


class EndpointsController:
    """Keys are `namespace/name` of services. Edited Endpoints are overwritten at the next change of
    the service or its pods; deleted ones are created again immediately. At start, Endpoints without
    a service are deleted."""

    name = "endpoint-controller"
    workers = 5

    def __init__(self, api: Api, objects: Client, members: ServicePods, recorder: Recorder) -> None:
        self._objects = objects
        self._members = members
        self._recorder = recorder
        self._resource = api.resources.named(ENDPOINTS)
        self._names = EndpointNames(api.dialect)
        self._own_labels: Mapping[str, str] = {}
        if api.gates["EndpointsManagedByLabel"]:
            self._own_labels = {api.dialect.label("endpoints.@/managed-by"): self.name}
        self._triggers = TriggerTimes()
        self._endpoints = objects.collection(ENDPOINTS)
        self._store = api.store
        self._start = 0  # revision at which it subscribed

    def follows(self) -> Mapping[str, Keys]:
        self._start = self._store.revision
        return {
            SERVICES: self._members.owner_changed,
            PODS: self._members.pod_changed,
            ENDPOINTS: self._lost_or_left,
        }

    def _lost_or_left(self, change: Change) -> Iterable[str]:
        if change.after is None:
            return (change.key,)
        is_new = change.revision > self._start
        if is_new or change.after.mentions(self._names.leader):
            return ()
        return (change.key,)

    async def sync(self, key: str) -> float | None:
        namespace, _, name = key.partition("/")
        service = self._objects.find(SERVICES, namespace, name)
        if service is None:
            self._triggers.forget(key)
            if self._endpoints.get(key) is not None:
                await self._objects.delete(ENDPOINTS, namespace, name)
            return None
        if selector_of(service) is None:
            return None
        await self._publish(key, service, await self._members.of(key))
        return None

    async def _publish(self, key: str, service: Object, pods: list[PodFacts]) -> None:
        moment = self._triggers.look(key, service, pods)
        subsets, fewer = await budget.run(weight(service, pods), _subsets, service, pods)
        content = self._labels(service), subsets if fewer is None else fewer, fewer is not None
        version = self._endpoints.get(key)
        current = version.object() if version is not None else None
        if current is not None and self._is_so(current, *content):
            return
        value = self._written(current, service, moment, *content)
        try:
            if current is None:
                await self._objects.create(ENDPOINTS, value)
            else:
                where = service["metadata"]["namespace"], service["metadata"]["name"]
                # Shallow copy: `value` is not shared, and may hold thousands of addresses.
                await self._objects.change(
                    ENDPOINTS, *where, lambda _: {**value, "metadata": {**value["metadata"]}}
                )
        except StatusError as error:
            if current is None and is_refused_by_terminating_namespace(error):
                return
            self._report(value, current is None, error)
            raise

    def _labels(self, service: Object) -> Mapping[str, str]:
        labels = dict(service["metadata"].get("labels") or {})
        labels.pop(self._names.headless, None)
        labels.update(self._own_labels)
        return {**labels, self._names.headless: ""} if is_headless(service) else labels

    def _is_so(
        self, current: Object, labels: Mapping[str, str], subsets: list[Object], cut: bool
    ) -> bool:
        metadata = current["metadata"]
        if (self._names.over_capacity in (metadata.get("annotations") or {})) is not cut:
            return False
        same_labels = (metadata.get("labels") or {}) == labels
        return same_labels and (current.get("subsets") or []) == subsets

    def _written(
        self,
        current: Object | None,
        service: Object,
        moment: str,
        labels: Mapping[str, str],
        subsets: list[Object],
        cut: bool,
    ) -> Object:
        identity = {name: service["metadata"][name] for name in ("name", "namespace")}
        metadata = current["metadata"] if current is not None else identity
        annotations = dict(metadata.get("annotations") or {})
        for name, text in (
            (self._names.last_change, moment),
            (self._names.over_capacity, TRUNCATED if cut else ""),
        ):
            annotations.pop(name, None)
            if text:
                annotations[name] = text
        metadata = {**metadata, "labels": labels, "annotations": annotations}
        value = {**(current or {}), "metadata": metadata, "subsets": subsets}
        if not subsets:
            del value["subsets"]  # the API omits empty lists
        return value

    def _report(self, value: Object, new: bool, error: StatusError) -> None:
        metadata = value["metadata"]
        reason, text = ("FailedToUpdateEndpoint", "Failed to update endpoint {}: {}")
        if new:
            reason = "FailedToCreateEndpoint"
            text = "Failed to create endpoint for service {}: {}"
        key = f"{metadata['namespace']}/{metadata['name']}"
        message = text.format(key, error)
        self._recorder.record(self._resource, value, WARNING, reason, message)


def _subsets(service: Object, pods: list[PodFacts]) -> tuple[list[Object], list[Object] | None]:
    """The subsets of a service, and their truncated form if there are too many addresses."""
    subsets = packed(offers_of(service, pods))
    return subsets, truncated(subsets)
