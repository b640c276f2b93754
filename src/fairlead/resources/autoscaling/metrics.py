"""Validation of the metrics of a HorizontalPodAutoscaler."""

from __future__ import annotations

from collections.abc import Callable

from fairlead.codec.types.names import dns_label, path_segment, qualified_name
from fairlead.codec.types.quantity import quantity
from fairlead.resources.behaviour import Object
from fairlead.resources.causes import Causes
from fairlead.resources.context import Context
from fairlead.resources.core.shared import go_quantity
from fairlead.resources.rules import POSITIVE

# Metric types and the field that holds the source of each.
SOURCES = {
    "ContainerResource": "containerResource",
    "External": "external",
    "Object": "object",
    "Pods": "pods",
    "Resource": "resource",
}
TARGET_TYPES = ("Utilization", "Value", "AverageValue")
ONE_TARGET = "must set either a target raw value or a target utilization"
NOT_BOTH_TARGETS = "may not set both a target raw value and a target utilization"


def check_metrics(
    metrics: list[Object], min_replicas: int | None, causes: Causes, context: Context
) -> None:
    for index, metric in enumerate(metrics):
        _check_metric(metric, f"spec.metrics[{index}]", causes, context)
    if min_replicas == 0 and not any(m["type"] in ("Object", "External") for m in metrics):
        causes.forbidden(
            "spec.metrics",
            "must specify at least one Object or External metric to support scaling to zero"
            " replicas",
        )


def _check_metric(metric: Object, path: str, causes: Causes, context: Context) -> None:
    kind = metric["type"]
    if not kind:
        causes.required(f"{path}.type", "must specify a metric source type")
    if kind not in SOURCES:
        causes.unsupported(f"{path}.type", kind, list(SOURCES))
    present = [name for name in _CHECKS if metric.get(name) is not None]
    if present:
        _CHECKS[present[0]](metric[present[0]], f"{path}.{present[0]}", causes)
    expected = SOURCES.get(kind)
    if expected is None:
        causes.unsupported(f"{path}.type", kind, list(SOURCES))
    elif expected not in present:
        detail = "must populate information for the given metric source"
        if kind == "ContainerResource" and not context.gates["HPAContainerMetrics"]:
            detail += " (only allowed when HPAContainerMetrics feature is enabled)"
        causes.required(f"{path}.{expected}", detail)
    if len(present) != 1:
        for name in present:
            if name != expected:
                detail = "must populate the given metric source only"
                causes.forbidden(f"{path}.{name}", detail)


def check_reference(reference: Object, path: str, causes: Causes) -> None:
    """Check a reference to an object by kind and name."""
    for name in ("kind", "name"):
        _check_segment(reference[name], f"{path}.{name}", "", causes)


def _check_segment(value: str, path: str, missing: str, causes: Causes) -> None:
    if not value:
        causes.required(path, missing)
    else:
        causes.invalid_each(path, value, path_segment(value))


def _check_identifier(metric: Object, path: str, causes: Causes) -> None:
    _check_segment(metric["name"], f"{path}.name", "must specify a metric name", causes)


def _check_target(target: Object, path: str, causes: Causes) -> None:
    kind = target["type"]
    if not kind:
        causes.required(f"{path}.type", "must specify a metric target type")
    if kind not in TARGET_TYPES:
        detail = "must be either Utilization, Value, or AverageValue"
        causes.invalid(f"{path}.type", kind, detail)
    for name in ("value", "averageValue"):
        value = target.get(name)
        if value is not None and quantity(value) <= 0:
            causes.invalid(f"{path}.{name}", go_quantity(value), "must be positive")
    utilization = target.get("averageUtilization")
    if utilization is not None and utilization < 1:
        causes.invalid(f"{path}.averageUtilization", utilization, POSITIVE)


def _has(target: Object, name: str) -> bool:
    return target.get(name) is not None


def _check_object(source: Object, path: str, causes: Causes) -> None:
    check_reference(source["describedObject"], f"{path}.describedObject", causes)
    _check_identifier(source["metric"], f"{path}.metric", causes)
    target = source["target"]
    _check_target(target, f"{path}.target", causes)
    if not _has(target, "value") and not _has(target, "averageValue"):
        detail = "must set either a target value or averageValue"
        causes.required(f"{path}.target.averageValue", detail)


def _check_external(source: Object, path: str, causes: Causes) -> None:
    _check_identifier(source["metric"], f"{path}.metric", causes)
    target = source["target"]
    _check_target(target, f"{path}.target", causes)
    if not _has(target, "value") and not _has(target, "averageValue"):
        detail = "must set either a target value for metric or a per-pod target"
        causes.required(f"{path}.target.averageValue", detail)
    if _has(target, "value") and _has(target, "averageValue"):
        detail = "may not set both a target value for metric and a per-pod target"
        causes.forbidden(f"{path}.target.value", detail)


def _check_pods(source: Object, path: str, causes: Causes) -> None:
    _check_identifier(source["metric"], f"{path}.metric", causes)
    _check_target(source["target"], f"{path}.target", causes)
    if not _has(source["target"], "averageValue"):
        detail = "must specify a positive target averageValue"
        causes.required(f"{path}.target.averageValue", detail)


def _check_resource(source: Object, path: str, causes: Causes) -> None:
    if not source["name"]:
        causes.required(f"{path}.name", "must specify a resource name")
    _check_resource_target(source["target"], f"{path}.target", causes)


def _check_resource_target(target: Object, path: str, causes: Causes) -> None:
    _check_target(target, path, causes)
    if not _has(target, "averageUtilization") and not _has(target, "averageValue"):
        causes.required(f"{path}.averageUtilization", ONE_TARGET)
    if _has(target, "averageUtilization") and _has(target, "averageValue"):
        causes.forbidden(f"{path}.averageValue", NOT_BOTH_TARGETS)


def _check_container_resource(source: Object, path: str, causes: Causes) -> None:
    name, container = source["name"], source["container"]
    if not name:
        causes.required(f"{path}.name", "must specify a resource name")
    else:
        _check_resource_name(name, f"{path}.name", causes)
    if not container:
        causes.required(f"{path}.container", "must specify a container")
    else:
        causes.invalid_each(f"{path}.container", container, dns_label(container))
    _check_resource_target(source["target"], f"{path}.target", causes)


def _check_resource_name(name: str, path: str, causes: Causes) -> None:
    errors = qualified_name(name)
    causes.invalid_each(path, name, errors)
    if errors or "/" in name:
        return
    if name not in ("cpu", "memory", "ephemeral-storage") and not name.startswith("hugepages-"):
        causes.invalid(path, name, "must be a standard resource for containers")


# The checks of the sources, in the order of lookup.
_CHECKS: dict[str, Callable[[Object, str, Causes], None]] = {
    "object": _check_object,
    "external": _check_external,
    "pods": _check_pods,
    "resource": _check_resource,
    "containerResource": _check_container_resource,
}
