"""Maintains the condition Available of APIServices."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping

from fairlead.base.metrics import REGISTRY
from fairlead.controllers.aggregation.extension import extension_of
from fairlead.controllers.aggregation.probe import ENDPOINTS, SERVICES, Prober, ProbeResult
from fairlead.controllers.aggregation.registry import API_SERVICES, Extensions
from fairlead.controllers.framework import Keys
from fairlead.operations.api import Object
from fairlead.operations.client import Client
from fairlead.resources.apiregistration.api_services import LOCAL, availability
from fairlead.storage.version import Change

_RESYNC = 30.0  # seconds between two probes of a server
_FIRST_PAUSE = 0.125  # seconds after a failed probe; doubled each time


class Availability:
    """Keys are names of APIServices. Each is checked when it changes, when its Service or Endpoints
    change, and periodically."""

    name = "available-controller"
    workers = 5
    is_steady = True

    def __init__(self, client: Client, extensions: Extensions, prober: Prober) -> None:
        self._client = client
        self._extensions = extensions
        self._prober = prober
        self._written: dict[str, Object] = {}  # the condition last written, by key
        self._failures: dict[str, int] = {}  # consecutive failed probes, by key

    def follows(self) -> Mapping[str, Keys]:
        return {
            API_SERVICES: self._changed,
            SERVICES: self._service_changed,
            ENDPOINTS: self._service_changed,
        }

    def _changed(self, change: Change) -> Iterable[str]:
        """The key of an APIService, unless the event is a status write of this controller."""
        if change.before is not None and change.after is not None:
            before, after = change.before.object(), change.after.object()
            written = _condition(after)
            if before.get("spec") == after.get("spec") and written == self._written.get(
                change.key, {}
            ):
                return ()
        return (change.key,)

    def _service_changed(self, change: Change) -> Iterable[str]:
        if not self._extensions:
            return ()
        return self._extensions.of_service(change.namespace, change.name)

    async def sync(self, key: str) -> float | None:
        # Yield to the event loop: there may be thousands, and most need no work.
        await asyncio.sleep(0)
        service = self._client.find(API_SERVICES, "", key)
        if service is None:
            self._forget(key)
            return None
        extension = extension_of(service)
        result = ProbeResult(*LOCAL) if extension is None else await self._prober.probe(extension)
        written = await self._write_condition(key, service, result)
        UNAVAILABLE.set(0 if result.is_available else 1, of=(key,))
        if not written or extension is None:
            return None
        return self._pause(key, result)

    def _pause(self, key: str, result: ProbeResult) -> float:
        """Seconds until the next probe; shorter after a failure."""
        if result.is_available or not result.is_probed:
            self._failures.pop(key, None)
            return _RESYNC
        count = self._failures.get(key, 0)
        self._failures[key] = count + 1
        return min(_FIRST_PAUSE * float(1 << min(count, 16)), _RESYNC)

    async def _write_condition(self, key: str, service: Object, result: ProbeResult) -> bool:
        """Write the condition if it changed; returns False if the spec changed meanwhile."""
        before = _condition(service)
        new = self._written[key] = _next_condition(before, result)
        if new != before:
            written = await self._client.change(
                API_SERVICES, "", key, _writing(service, new), "status"
            )
            if written.get("spec") != service.get("spec"):
                return False  # its event queues the key again
            if before.get("status") == "True" and not result.is_available:
                TURNED_UNAVAILABLE.add(of=(key, result.reason))
        return True

    def _forget(self, key: str) -> None:
        self._written.pop(key, None)
        self._failures.pop(key, None)
        UNAVAILABLE.values.pop((key,), None)


def _condition(value: Object) -> Object:
    """The condition Available, or an empty dict."""
    listed = (value.get("status") or {}).get("conditions") or ()
    return next((condition for condition in listed if condition["type"] == "Available"), {})


def _next_condition(before: Object, result: ProbeResult) -> Object:
    """The new condition; keeps the transition time if the status is unchanged."""
    new = availability(result.status, result.reason, result.message)
    if before.get("status") == result.status and before.get("lastTransitionTime"):
        new["lastTransitionTime"] = before["lastTransitionTime"]
    return new


def _writing(judged: Object, new: Object) -> Callable[[Object], Object]:
    def change(current: Object) -> Object:
        if current.get("spec") != judged.get("spec"):
            return current
        status = current.get("status") or {}
        others = [
            condition
            for condition in status.get("conditions") or ()
            if condition["type"] != new["type"]
        ]
        return {**current, "status": {**status, "conditions": [*others, new]}}

    return change


# Metrics of aggregation, under the reference's names so that existing dashboards work.

UNAVAILABLE = REGISTRY.gauge(
    "aggregator_unavailable_apiservice", "1 for an APIService that cannot be used.", ("name",)
)
TURNED_UNAVAILABLE = REGISTRY.counter(
    "aggregator_unavailable_apiservice_total",
    "How often an APIService became unavailable, by reason.",
    ("name", "reason"),
    bare=True,  # without the suffix it would have the name of the gauge
)
