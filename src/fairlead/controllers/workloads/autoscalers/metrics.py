"""Error messages for the metrics of an autoscaler: no metrics API is served here."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from fairlead.base.dialect import Dialect
from fairlead.operations.api import Object
from fairlead.resources.causes import quote

_MISSING = "the server could not find the requested resource"


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a metric has no value. `summary` is the text for the aggregated event."""

    reason: str
    text: str
    summary: str


class Metrics:
    """Returns the error for each metric."""

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

    def failures(self, specs: Iterable[Object], namespace: str) -> list[Failure]:
        return [self._failure(spec, namespace) for spec in specs]

    def _failure(self, spec: Object, namespace: str) -> Failure:
        kind = spec["type"]
        # The field is named after the type.
        source = spec.get(f"{kind[:1].lower()}{kind[1:]}") or {}
        if kind in ("Resource", "ContainerResource"):
            return self._of_resource(kind, source)
        if kind == "Pods":
            text = f"unable to get metric {source['metric']['name']}: {self._no_custom}"
            return Failure("FailedGetPodsMetric", text, f"failed to get pods metric value: {text}")
        if kind == "Object":
            return self._of_object(source, namespace)
        if kind == "External":
            return self._of_external(source, namespace)
        text = f"unknown metric source type {quote(kind)}"
        return Failure("InvalidMetricSourceType", text, text)

    def _of_resource(self, kind: str, source: Object) -> Failure:
        name = source["name"]
        text = (
            f"failed to get {name} utilization: unable to get metrics for resource {name}:"
            f" {self._no_resource}"
        )
        what = f"{name} resource" if kind == "Resource" else f"{source['container']} container"
        return Failure(f"FailedGet{kind}Metric", text, f"failed to get {what} metric value: {text}")

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
