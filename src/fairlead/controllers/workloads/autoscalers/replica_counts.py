"""The number of replicas at which the pods of a target meet the goal of a metric."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from math import ceil
from typing import NamedTuple, Protocol

from fairlead.base import clock
from fairlead.codec.types.quantity import format_quantity, quantity
from fairlead.controllers.workloads.autoscalers.target_pods import (
    Measurement,
    TargetPod,
    thousandths,
)
from fairlead.operations.api import Object

_STARTING_SECONDS = 300.0  # in which the processor use of a pod counts only while it is ready
_FIRST_READY_SECONDS = 30.0  # a pod that is unready since these first seconds was never ready
_TOLERANCE = 0.1
_MAX_PERCENT = 2**31 - 1
Usage = Mapping[str, int]  # in thousandths, by the name of the pod


class NoCountError(Exception):
    """The metric gives no replica count."""


class Tolerances(NamedTuple):
    """How far the usage may be from the target without a change."""

    down: float = _TOLERANCE
    up: float = _TOLERANCE

    def cover(self, ratio: float) -> bool:
        return 1.0 - self.down <= ratio <= 1.0 + self.up


def tolerances(behavior: Object | None) -> Tolerances:
    down, up = (
        ((behavior or {}).get(direction) or {}).get("tolerance")
        for direction in ("scaleDown", "scaleUp")
    )
    return Tolerances(
        _TOLERANCE if down is None else float(quantity(down)),
        _TOLERANCE if up is None else float(quantity(up)),
    )


class Goal(Protocol):
    """The goal of a metric."""

    def ratio(self, usage: Usage) -> float:
        """The usage in relation to the target. Raises NoCountError."""

    def assumed(self, name: str) -> int:
        """The assumed usage of a pod without metrics if the others use less than the target."""

    def current(self, usage: Usage) -> Object:
        """The usage, as the status shows it."""


class _AverageValue(NamedTuple):
    resource: str
    target: int

    def ratio(self, usage: Usage) -> float:
        return _average(usage) / self.target

    def assumed(self, name: str) -> int:
        return self.target

    def current(self, usage: Usage) -> Object:
        return {"averageValue": _shown(self.resource, _average(usage))}


class _Utilization(NamedTuple):
    """`requests` are those of all pods of the target."""

    resource: str
    percent: int
    requests: Usage

    def _used_percent(self, usage: Usage) -> int:
        requested = sum(self.requests[name] for name in usage)
        if requested == 0:
            raise NoCountError("no metrics returned matched known pods")
        return min(sum(usage.values()) * 100 // requested, _MAX_PERCENT)

    def ratio(self, usage: Usage) -> float:
        return self._used_percent(usage) / self.percent

    def assumed(self, name: str) -> int:
        return self.requests[name] * max(100, self.percent) // 100

    def current(self, usage: Usage) -> Object:
        return {
            "averageValue": _shown(self.resource, _average(usage)),
            "averageUtilization": self._used_percent(usage),
        }


def _average(usage: Usage) -> int:
    return sum(usage.values()) // len(usage)


def _shown(resource: str, amount: int) -> str:
    return format_quantity(Decimal(amount) / 1000, "binary" if resource == "memory" else "decimal")


def goal_of(resource: str, container: str, target: Object, pods: Iterable[TargetPod]) -> Goal:
    """The goal of a resource metric; `container` is empty for whole pods. Raises NoCountError."""
    if target.get("averageValue") is not None:
        return _AverageValue(resource, thousandths(target["averageValue"]))
    requests = {pod.name: _request(pod, resource, container) for pod in pods}
    return _Utilization(resource, target["averageUtilization"], requests)


def _request(pod: TargetPod, resource: str, container: str) -> int:
    if not container and pod.own_requests is not None:
        if resource not in pod.own_requests:
            raise NoCountError(f"missing pod-level request for {resource} in Pod {pod.name}")
        return pod.own_requests[resource]
    if container and container not in pod.requests:
        raise NoCountError(f"container {container} not found in Pod {pod.name}")
    total = 0
    for name, requests in pod.requests.items():
        if container in ("", name):
            if resource not in requests:
                where = f"container {name} of Pod {pod.name}"
                raise NoCountError(f"missing request for {resource} in {where}")
            total += requests[resource]
    return total


@dataclass(slots=True)
class UsageOfPods:
    """The pods of a target by what is known of their usage."""

    ready: dict[str, int] = field(default_factory=dict)
    unready: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)

    def add(self, pod: TargetPod, resource: str, container: str) -> None:
        if pod.is_deleted or pod.phase == "Failed":
            return
        if pod.phase == "Pending":
            self.unready.append(pod.name)
            return
        used = None if pod.measurement is None else _used(pod.measurement, resource, container)
        if pod.measurement is None or used is None:
            self.missing.append(pod.name)
        elif resource == "cpu" and not _is_past_startup(pod, pod.measurement):
            self.unready.append(pod.name)
        else:
            self.ready[pod.name] = used


def _used(measurement: Measurement, resource: str, container: str) -> int | None:
    """The usage of a pod or of one of its containers; None if it is not known."""
    usage = measurement.usage
    parts = [usage.get(container, {})] if container else list(usage.values())
    if not parts or any(resource not in part for part in parts):
        return None
    return sum(part[resource] for part in parts)


def _is_past_startup(pod: TargetPod, measurement: Measurement) -> bool:
    """Whether the processor use of a pod is that of its usual work, not of its start."""
    readiness = pod.readiness
    if readiness is None:
        return False
    started, is_ready, since = readiness
    if started + _STARTING_SECONDS > clock.time():
        return is_ready and measurement.time >= since + measurement.seconds
    return is_ready or started + _FIRST_READY_SECONDS <= since


def replica_count(goal: Goal, pods: UsageOfPods, current: int, tolerated: Tolerances) -> int:
    """The replicas that a metric asks for. Pods whose usage is unknown make the change smaller, and
    never reverse it. Raises NoCountError."""
    ratio = goal.ratio(pods.ready)
    grows_unready = bool(pods.unready) and ratio > 1
    if not grows_unready and not pods.missing:
        return current if tolerated.cover(ratio) else ceil(ratio * len(pods.ready))
    usage = dict(pods.ready)
    if ratio < 1:
        usage.update({name: goal.assumed(name) for name in pods.missing})
    elif ratio > 1:
        usage.update(dict.fromkeys(pods.missing, 0))
    if grows_unready:
        usage.update(dict.fromkeys(pods.unready, 0))
    careful = goal.ratio(usage)
    if tolerated.cover(careful) or (ratio - 1) * (careful - 1) < 0:
        return current
    count = ceil(careful * len(usage))
    return max(count, current) if careful > 1 else min(count, current)
