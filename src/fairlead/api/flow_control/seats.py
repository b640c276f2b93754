"""Estimates how many seats a request takes."""

from __future__ import annotations

from math import ceil

from fairlead.api.flow_control.configuration import Flow
from fairlead.api.flow_control.metrics import WATCHERS
from fairlead.api.flow_control.queue_set import Work
from fairlead.api.request import Request
from fairlead.api.routing import Target
from fairlead.base.compiled import mypyc_attr
from fairlead.operations.api import Api
from fairlead.resources.registry import Resource

_MAX_SEATS = 10
_OBJECTS_A_SEAT = 100
_LARGE = 25  # objects; reading that many takes about as long as two single reads
_WATCHERS_A_SEAT = 10
_EVENT_SECONDS = 0.005  # seconds that a seat is held for the watchers of one seat

ONE = Work()
_READS = [Work(seats, large=True) for seats in range(_MAX_SEATS + 1)]
_WRITES = ("create", "update", "patch", "delete")


@mypyc_attr(allow_interpreted_subclasses=True)
class Estimator:
    """Estimates work by the number of objects to read or watchers to notify."""

    def __init__(self, api: Api) -> None:
        self._api = api

    def work_of(self, request: Request, flow: Flow) -> Work:
        target = request.target
        verb, resource = target.verb, target.resource
        if resource is None or "watch" not in resource.main.verbs:
            return ONE
        if verb == "list":
            return _reading(self._listed(request, resource))
        if verb == "watch":
            return _reading(self._first_events(request, resource))
        if verb in _WRITES:
            return self._writing(target, resource, flow)
        return ONE

    def _listed(self, request: Request, resource: Resource) -> int:
        found = self._stored(request, resource)
        query = request.query
        if found <= _LARGE or "labelSelector" in query or "fieldSelector" in query:
            return found  # selectors examine all objects
        limit = request.parameter("limit") if query else ""
        if limit.isascii() and limit.isdigit() and len(limit) < 10:
            return min(found, int(limit) or found)
        return found

    def _first_events(self, request: Request, resource: Resource) -> int:
        """The number of initial events. A watch that resumes from a version has few."""
        if request.target.name or request.parameter("resourceVersion") not in ("", "0"):
            return 0
        return self._stored(request, resource)

    def _stored(self, request: Request, resource: Resource) -> int:
        collection = self._api.collection(resource)
        total = len(collection)
        if total > _LARGE and resource.namespaced and request.target.namespace:
            return collection.count_in(request.target.namespace)
        return total

    def _writing(self, target: Target, resource: Resource, flow: Flow) -> Work:
        collection = self._api.collection(resource)
        if not collection.audience:
            return ONE
        key = resource.main.storage_key(target.namespace, target.name)
        watchers = collection.audience.count(key)
        WATCHERS.observe(watchers, flow.counts.labels)
        if watchers < _WATCHERS_A_SEAT:
            return ONE
        wanted = ceil(watchers / _WATCHERS_A_SEAT)
        final = min(wanted, _MAX_SEATS)
        return Work(1, final, wanted * _EVENT_SECONDS / final)


def _reading(objects: int) -> Work:
    if objects <= _LARGE:
        return ONE
    return _READS[min(ceil(objects / _OBJECTS_A_SEAT), _MAX_SEATS)]
