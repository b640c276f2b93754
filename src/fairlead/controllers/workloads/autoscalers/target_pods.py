"""The pods of an autoscaler's target, with what they request and use."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import ROUND_CEILING
from typing import NamedTuple

from fairlead.base.slices import TimeSlices
from fairlead.codec.types.durations import parse_duration
from fairlead.codec.types.quantity import quantity
from fairlead.codec.types.times import parse_time
from fairlead.operations.api import Api, Object, ResourceMetrics
from fairlead.resources.core.pods.totals import has_own_resources, is_sidecar, pod_totals
from fairlead.resources.metrics import POD_METRICS
from fairlead.storage.reads import prepare_index, select
from fairlead.storage.selection import Selection

_PODS = "core/v1/pods"
Amounts = Mapping[str, int]  # by resource, in thousandths


class Readiness(NamedTuple):
    """When a pod started, and since when it is ready or not."""

    started: float
    is_ready: bool
    since: float


class Measurement(NamedTuple):
    """The usage of the containers of a pod, the time of the measurement and the window that it
    covers."""

    usage: Mapping[str, Amounts]
    time: float
    seconds: float


class TargetPod(NamedTuple):
    """`requests` are those of the containers that run all the time; `own_requests` are those of the
    pod as a whole, None if it has none."""

    name: str
    phase: str
    is_deleted: bool
    readiness: Readiness | None
    requests: Mapping[str, Amounts]
    own_requests: Amounts | None
    measurement: Measurement | None


class TargetPods:
    """Reads the pods of targets, if this server has their metrics. `are_elsewhere`: whether an
    extension server has them."""

    def __init__(self, api: Api, are_elsewhere: Callable[[], bool]) -> None:
        self._api = api
        self._are_elsewhere = are_elsewhere
        self._pods = api.collection(api.resources.named(_PODS))
        self._slices = TimeSlices()

    @property
    def metrics(self) -> ResourceMetrics | None:
        simulated = self._api.simulated
        is_served = simulated is not None and self._api.resources.serves(POD_METRICS)
        return simulated.metrics if simulated and is_served and not self._are_elsewhere() else None

    async def read(
        self, metrics: ResourceMetrics, namespace: str, selection: Selection
    ) -> list[TargetPod]:
        await prepare_index(self._pods, namespace, selection)
        pods = []
        for version in await select(self._pods, namespace, selection):
            await self._slices.pause()
            pods.append(target_pod(version.object(), metrics.of_pod(version)))
        return pods


def target_pod(pod: Object, metrics: Object | None) -> TargetPod:
    metadata, spec, status = pod["metadata"], pod["spec"], pod["status"]
    running = [*spec["containers"], *filter(is_sidecar, spec.get("initContainers") or ())]
    own = pod_totals(spec)[0] if has_own_resources(spec) else None
    return TargetPod(
        metadata["name"],
        status.get("phase", ""),
        "deletionTimestamp" in metadata,
        _readiness(status),
        {
            container["name"]: _thousandths((container.get("resources") or {}).get("requests"))
            for container in running
        },
        None if own is None else _thousandths({name: str(total) for name, total in own.items()}),
        None if metrics is None else _measurement(metrics),
    )


def _readiness(status: Object) -> Readiness | None:
    for condition in status.get("conditions") or ():
        if condition["type"] == "Ready" and status.get("startTime"):
            since = condition.get("lastTransitionTime") or status["startTime"]
            return Readiness(
                parse_time(status["startTime"]).timestamp(),
                condition["status"] != "False",
                parse_time(since).timestamp(),
            )
    return None


def _measurement(metrics: Object) -> Measurement:
    return Measurement(
        {
            container["name"]: _thousandths(container["usage"])
            for container in metrics["containers"]
        },
        parse_time(metrics["timestamp"]).timestamp(),
        parse_duration(metrics["window"]),
    )


def _thousandths(quantities: Mapping[str, str] | None) -> dict[str, int]:
    return {name: thousandths(text) for name, text in (quantities or {}).items()}


def thousandths(text: str) -> int:
    """A quantity in thousandths, rounded up."""
    return int((quantity(text) * 1000).to_integral_value(ROUND_CEILING))
