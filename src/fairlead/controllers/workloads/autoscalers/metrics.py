"""The metrics of an autoscaler: the replicas that each asks for, or why it has no value. Resource
metrics have values if this server has metrics of pods; no other metrics are served here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fairlead.base.dialect import Dialect
from fairlead.base.slices import TimeSlices
from fairlead.controllers.workloads.autoscalers.replica_counts import (
    NoCountError,
    Tolerances,
    UsageOfPods,
    goal_of,
    replica_count,
)
from fairlead.controllers.workloads.autoscalers.target_pods import TargetPod
from fairlead.operations.api import Object
from fairlead.resources.causes import quote

_MISSING = "the server could not find the requested resource"
_RESOURCES = ("Resource", "ContainerResource")


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a metric has no value. `summary` is the text for the aggregated event."""

    reason: str
    text: str
    summary: str


@dataclass(frozen=True, slots=True)
class Proposal:
    """The replicas that a metric asks for; `status` is its entry in the autoscaler's status."""

    replicas: int
    metric: str
    status: Object


class NoMetricsError(Exception):
    """No pod of the target has metrics."""


class Metrics:
    """Evaluates metrics."""

    def __init__(self, dialect: Dialect) -> None:
        resource, self._external = (
            dialect.group_name(group) for group in ("metrics.@", "external.metrics.@")
        )
        custom = dialect.group_name("custom.metrics.@")
        self._no_resource = (
            f"unable to fetch metrics from resource metrics API: {_MISSING} (get pods.{resource})"
        )
        self._no_custom = (
            "unable to fetch metrics from custom metrics API: no custom metrics API"
            f" ({custom}) registered"
        )
        self._slices = TimeSlices()

    async def evaluate(
        self,
        metric: Object,
        namespace: str,
        pods: Sequence[TargetPod] | None,
        current: int,
        tolerated: Tolerances,
    ) -> Proposal | Failure:
        """`pods` are those of the target, None if there are no metrics of pods."""
        kind = metric["type"]
        # The field is named after the type.
        source = metric.get(f"{kind[:1].lower()}{kind[1:]}") or {}
        if kind not in _RESOURCES:
            return self._failure(kind, source, namespace)
        if pods is None:
            return self._of_resource(kind, source, self._no_resource)
        try:
            return await self._proposal(kind, source, pods, current, tolerated)
        except NoMetricsError as error:
            return self._of_resource(kind, source, str(error))
        except NoCountError as error:
            return self._of_resource(kind, source, "", str(error))

    async def _proposal(
        self,
        kind: str,
        source: Object,
        pods: Sequence[TargetPod],
        current: int,
        tolerated: Tolerances,
    ) -> Proposal:
        name, container, target = source["name"], source.get("container") or "", source["target"]
        if not any(pod.measurement for pod in pods):
            raise NoMetricsError("no metrics returned from resource metrics API")
        usage = UsageOfPods()
        for pod in pods:
            await self._slices.pause()
            usage.add(pod, name, container)
        if not usage.ready:
            why = "did not receive metrics for targeted pods (pods might be unready)"
            raise NoCountError(why)
        goal = goal_of(name, container, target, pods)
        status = {"name": name, "current": goal.current(usage.ready)}
        if container:
            status["container"] = container
        field = f"{kind[:1].lower()}{kind[1:]}"
        return Proposal(
            replica_count(goal, usage, current, tolerated),
            _shown_metric(kind, name, target),
            {"type": kind, field: status},
        )

    def _failure(self, kind: str, source: Object, namespace: str) -> Failure:
        if kind == "Pods":
            text = f"unable to get metric {source['metric']['name']}: {self._no_custom}"
            return Failure("FailedGetPodsMetric", text, f"failed to get pods metric value: {text}")
        if kind == "Object":
            return self._of_object(source, namespace)
        if kind == "External":
            return self._of_external(source, namespace)
        text = f"unknown metric source type {quote(kind)}"
        return Failure("InvalidMetricSourceType", text, text)

    def _of_resource(
        self, kind: str, source: Object, no_metrics: str, no_count: str = ""
    ) -> Failure:
        name = source["name"]
        measure = "usage" if source["target"].get("averageValue") is not None else "utilization"
        why = no_count or f"unable to get metrics for resource {name}: {no_metrics}"
        text = f"failed to get {name} {measure}: {why}"
        measure = f"{name} resource" if kind == "Resource" else f"{source['container']} container"
        return Failure(
            f"FailedGet{kind}Metric", text, f"failed to get {measure} metric value: {text}"
        )

    def _of_object(self, source: Object, namespace: str) -> Failure:
        name, described = source["metric"]["name"], source["describedObject"]
        where = f"{described['kind']} on {namespace} {described['name']}"
        text = message = f"unable to get metric {name}: {where}/{self._no_custom}"
        if source["target"]["type"] == "AverageValue":
            message = f"failed to get {name} object metric: {text}"
        return Failure(
            "FailedGetObjectMetric", text, f"failed to get object metric value: {message}"
        )

    def _of_external(self, source: Object, namespace: str) -> Failure:
        name = source["metric"]["name"]
        which = f"{namespace}/{name}/{_text(source['metric'].get('selector'))}"
        text = (
            f"unable to get external metric {which}: unable to fetch metrics from"
            f" external metrics API: {_MISSING} (get {name}.{self._external})"
        )
        if source["target"].get("averageValue") is not None:
            message = f"failed to get {name} external metric: {text}"
        else:
            message = f"failed to get external metric {name}: {text}"
        summary = f"failed to get {name} external metric value: {message}"
        return Failure("FailedGetExternalMetric", text, summary)


def _shown_metric(kind: str, resource: str, target: Object) -> str:
    """A metric as conditions and events call it."""
    if target.get("averageValue") is not None:
        return f"{resource} resource"
    noun = "container resource" if kind == "ContainerResource" else "resource"
    return f"{resource} {noun} utilization (percentage of request)"


def _text(selector: Object | None) -> str:
    """A label selector in the reference's debug format."""
    if selector is None:
        return "nil"
    labels = sorted((selector.get("matchLabels") or {}).items())
    pairs = "".join(f"{key}: {value}," for key, value in labels)
    rules = "".join(
        f"LabelSelectorRequirement{{Key:{rule['key']},Operator:{rule['operator']},"
        f"Values:[{' '.join(rule.get('values') or ())}],}},"
        for rule in selector.get("matchExpressions") or ()
    )
    return (
        f"&LabelSelector{{MatchLabels:map[string]string{{{pairs}}},"
        f"MatchExpressions:[]LabelSelectorRequirement{{{rules}}},}}"
    )
