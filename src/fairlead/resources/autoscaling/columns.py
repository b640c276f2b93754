"""Columns of horizontal pod autoscalers, and of the Scale subresource."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import zip_longest
from typing import Any

from fairlead.base.dialect import Dialect
from fairlead.resources.columns.cell_text import (
    NONE,
    UNKNOWN,
    UNSET,
    field,
    items,
    mapping,
    shortened,
)
from fairlead.resources.columns.model import (
    AGE,
    NAME,
    Object,
    Printer,
    Value,
    changed,
    number,
    table,
    text,
)

# Returns the metrics of an autoscaler: those of its spec and those of its status.
ReadMetrics = Callable[[Object], tuple[list[Object], list[Object]]]
WriteMetric = Callable[[Object, Object], str]

_MAX_SHOWN = 2
_DEFAULT_UTILIZATION = 80

# Metric types with the field that holds the metric: measured by utilization, or by value.
_BY_UTILIZATION = {"Resource": "resource", "ContainerResource": "containerResource"}
_BY_VALUE = {"External": "external", "Object": "object"}

# Keys of a metric in the annotations of v1, and the fields of v2.
_OLD_SPEC = {
    "targetAverageUtilization": "averageUtilization",
    "targetAverageValue": "averageValue",
    "averageValue": "averageValue",
    "targetValue": "value",
}
_OLD_STATUS = {
    "currentAverageUtilization": "averageUtilization",
    "currentAverageValue": "averageValue",
    "averageValue": "averageValue",
    "currentValue": "value",
}


def _percent(value: Any, missing: str) -> str:
    return missing if value is None else f"{value}%"


def _quantity(value: Any) -> str:
    return "<nil>" if value is None else str(value)


def _utilization(target: Object, current: Object | None) -> str:
    """A metric measured against the pods' requests, or by its average value."""
    if target.get("averageValue") is not None:
        now = UNKNOWN if current is None else _quantity(current.get("averageValue"))
        return f"{now}/{target['averageValue']}"
    now = _percent((current or {}).get("averageUtilization"), UNKNOWN)
    return f"{now}/{_percent(target.get('averageUtilization'), '<auto>')}"


def _value(target: Object, current: Object | None) -> str:
    """A metric of one object: its value, or its average over the pods."""
    if target.get("averageValue") is not None:
        now = (current or {}).get("averageValue")
        return f"{UNKNOWN if now is None else now}/{target['averageValue']} (avg)"
    now = UNKNOWN if current is None else _quantity(current.get("value"))
    return f"{now}/{_quantity(target.get('value'))}"


def _average(target: Object, current: Object | None) -> str:
    now = UNKNOWN if current is None else _quantity(current.get("averageValue"))
    return f"{now}/{_quantity(target.get('averageValue'))}"


def _named_metric(spec: Object, status: Object) -> str:
    """A metric as later releases show it: resources have their names."""
    shown = _metric(spec, status)
    key = _BY_UTILIZATION.get(str(spec.get("type") or ""))
    return shown if key is None else f"{field(spec, f'{key}.name') or ''}: {shown}"


def _metric(spec: Object, status: Object) -> str:
    kind = str(spec.get("type") or "")
    if kind in _BY_UTILIZATION:
        key, write = _BY_UTILIZATION[kind], _utilization
    elif kind in _BY_VALUE:
        key, write = _BY_VALUE[kind], _value
    elif kind == "Pods":
        key, write = "pods", _average
    else:
        return "<unknown type>"
    current = None if status.get(key) is None else mapping(status, f"{key}.current")
    return write(mapping(spec, f"{key}.target"), current)


def _targets(read_metrics: ReadMetrics, write_metric: WriteMetric) -> Value:
    """A cell with the metrics of an autoscaler, the present value before the target."""

    def cell(scaler: Object) -> str:
        specs, statuses = read_metrics(scaler)
        if not specs:
            return NONE
        nothing: Object = {}
        pairs = zip_longest(specs, statuses[: len(specs)], fillvalue=nothing)
        return shortened([write_metric(*pair) for pair in pairs], _MAX_SHOWN, ", ")

    return cell


def _metrics(scaler: Object) -> tuple[list[Object], list[Object]]:
    return items(scaler, "spec.metrics"), items(scaler, "status.currentMetrics")


def _old_metrics(scaler: Object, annotation: str, part: str, keys: dict[str, str]) -> list[Object]:
    """The metrics in the annotations of v1, in the form of v2."""
    try:
        parsed = json.loads(mapping(scaler, "metadata.annotations").get(annotation) or "[]")
    except ValueError:
        return []
    if not isinstance(parsed, list):
        return []
    return [_later_metric(metric, part, keys) for metric in parsed if isinstance(metric, dict)]


def _later_metric(metric: Object, part: str, keys: dict[str, str]) -> Object:
    later: Object = {"type": metric.get("type")}
    for name, source in metric.items():
        if isinstance(source, dict):
            amounts = {keys[key]: source[key] for key in keys if key in source}
            later[name] = {"name": source.get("name"), part: amounts}
    return later


def _cpu(part: str, percent: Any) -> list[Object]:
    if percent is None:
        return []
    resource = {"name": "cpu", part: {"averageUtilization": percent}}
    return [{"type": "Resource", "resource": resource}]


def _metrics_of_version_1(dialect: Dialect) -> ReadMetrics:
    spec_key = dialect.label("autoscaling.alpha.@/metrics")
    status_key = dialect.label("autoscaling.alpha.@/current-metrics")

    def read(scaler: Object) -> tuple[list[Object], list[Object]]:
        specs = _old_metrics(scaler, spec_key, "target", _OLD_SPEC)
        specs += _cpu("target", field(scaler, "spec.targetCPUUtilizationPercentage"))
        statuses = _old_metrics(scaler, status_key, "current", _OLD_STATUS)
        percent = field(scaler, "status.currentCPUUtilizationPercentage")
        statuses = statuses or _cpu("current", percent)
        return specs or _cpu("target", _DEFAULT_UTILIZATION), statuses

    return read


def _reference(scaler: Object) -> str:
    target = mapping(scaler, "spec.scaleTargetRef")
    return f"{target.get('kind') or ''}/{target.get('name') or ''}"


def _minimum(scaler: Object) -> str:
    minimum = field(scaler, "spec.minReplicas")
    return UNSET if minimum is None else str(minimum)


def _printer(metrics: ReadMetrics) -> Printer:
    before, later = _targets(metrics, _metric), _targets(metrics, _named_metric)
    return table(
        NAME,
        text("Reference", _reference, "What is scaled"),
        *changed(36, "Targets", before, later, "Each metric now and as it should be"),
        text("MinPods", _minimum, "Fewest pods allowed"),
        text("MaxPods", "spec.maxReplicas", "Most pods allowed", missing=0),
        text("Replicas", "status.currentReplicas", "Pods at present", missing=0),
        AGE,
    )


SCALE = table(
    NAME,
    number("Desired", "spec.replicas", "Replicas asked for"),
    number("Available", "status.replicas", "Replicas that exist"),
    AGE,
)


def printers(dialect: Dialect) -> dict[str, Printer]:
    """The printers of every version; v1 keeps most metrics in annotations."""
    later = _printer(_metrics)
    return {
        "autoscaling/v1/horizontalpodautoscalers": _printer(_metrics_of_version_1(dialect)),
        "autoscaling/v2/horizontalpodautoscalers": later,
        "autoscaling/v2beta2/horizontalpodautoscalers": later,
    }
