"""Columns of horizontal pod autoscalers, and of the Scale subresource."""

from __future__ import annotations

import json
from typing import Any

from fairlead.base.dialect import Dialect
from fairlead.base.release import Release
from fairlead.resources.columns.cell_text import (
    NONE,
    UNKNOWN,
    UNSET,
    field,
    items,
    mapping,
    shortened,
)
from fairlead.resources.columns.model import AGE, NAME, Object, Printer, Value, number, table, text

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


def _targets_text(specs: list[Object], statuses: list[Object]) -> str:
    if not specs:
        return NONE
    statuses = statuses + [{}] * (len(specs) - len(statuses))
    return shortened(
        [_metric(*pair) for pair in zip(specs, statuses, strict=False)], _MAX_SHOWN, ", "
    )


def _targets(scaler: Object) -> str:
    return _targets_text(items(scaler, "spec.metrics"), items(scaler, "status.currentMetrics"))


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
            later[name] = {part: {keys[key]: source[key] for key in keys if key in source}}
    return later


def _cpu(part: str, percent: Any) -> list[Object]:
    if percent is None:
        return []
    return [{"type": "Resource", "resource": {part: {"averageUtilization": percent}}}]


def _targets_of_version_1(dialect: Dialect) -> Value:
    spec_key = dialect.label("autoscaling.alpha.@/metrics")
    status_key = dialect.label("autoscaling.alpha.@/current-metrics")

    def cell(scaler: Object) -> str:
        specs = _old_metrics(scaler, spec_key, "target", _OLD_SPEC)
        specs += _cpu("target", field(scaler, "spec.targetCPUUtilizationPercentage"))
        statuses = _old_metrics(scaler, status_key, "current", _OLD_STATUS)
        percent = field(scaler, "status.currentCPUUtilizationPercentage")
        statuses = statuses or _cpu("current", percent)
        return _targets_text(specs or _cpu("target", _DEFAULT_UTILIZATION), statuses)

    return cell


def _reference(scaler: Object) -> str:
    target = mapping(scaler, "spec.scaleTargetRef")
    return f"{target.get('kind') or ''}/{target.get('name') or ''}"


def _minimum(scaler: Object) -> str:
    minimum = field(scaler, "spec.minReplicas")
    return UNSET if minimum is None else str(minimum)


def _printer(targets: Value) -> Printer:
    return table(
        NAME,
        text("Reference", _reference, "What is scaled"),
        text("Targets", targets, "Each metric now and as it should be"),
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


def printers(dialect: Dialect, release: Release) -> dict[str, Printer]:
    """The printers of every version; v1 keeps most metrics in annotations."""
    later = _printer(_targets)
    return {
        "autoscaling/v1/horizontalpodautoscalers": _printer(_targets_of_version_1(dialect)),
        "autoscaling/v2/horizontalpodautoscalers": later,
        "autoscaling/v2beta2/horizontalpodautoscalers": later,
    }
