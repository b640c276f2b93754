"""Pods as the controllers of workloads see them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from fairlead import clock
from fairlead.controllers.workloads.dependents import Dependent
from fairlead.operations.api import Object
from fairlead.schema.times import parse_time
from fairlead.storage.version import Version

PODS = "core/v1/pods"
FINISHED = ("Succeeded", "Failed")


class Pod(Dependent):
    """What counts about a pod. `ready_since` is empty while it is not ready, or does not say."""

    __slots__ = ("annotations", "node", "phase", "ready", "ready_since", "restarts")

    def __init__(self, version: Version, value: Object) -> None:
        super().__init__(version, value)
        status = value.get("status") or {}
        ready = _true_condition(status, "Ready")
        self.annotations: Mapping[str, str] = value["metadata"].get("annotations") or {}
        self.node: str = value["spec"].get("nodeName", "")
        self.phase: str = status.get("phase", "")
        self.ready = ready is not None
        self.ready_since: str = (ready or {}).get("lastTransitionTime") or ""
        self.restarts = max(_restarts(status), default=0)

    @property
    def active(self) -> bool:
        """Whether it is there to stay."""
        return not self.deleting and self.phase not in FINISHED

    def time_to_available(self, min_ready: int) -> float | None:
        """The seconds for which it still has to be ready until it counts as available; none of them
        if it does, None if it is not even ready."""
        if not self.ready:
            return None
        if not min_ready:
            return 0.0
        if not self.ready_since:
            return None
        return max(0.0, parse_time(self.ready_since).timestamp() + min_ready - clock.time())

    def available(self, min_ready: int) -> bool:
        return self.time_to_available(min_ready) == 0.0


def read_pod(version: Version) -> Pod:
    return Pod(version, version.object())


def _true_condition(status: Object, kind: str) -> Object | None:
    for condition in status.get("conditions") or ():
        if condition["type"] == kind:
            return condition if condition["status"] == "True" else None
    return None


def _restarts(status: Object) -> Iterable[int]:
    for container in status.get("containerStatuses") or ():
        yield container.get("restartCount", 0)
