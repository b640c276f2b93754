"""Converts HorizontalPodAutoscalers between versions. v1 keeps the fields that it lacks in
annotations.

Any part of an object may be missing: apply converts partial objects to compute released fields.
"""

from __future__ import annotations

from collections.abc import Iterable
from copy import deepcopy
from functools import cache
from typing import Any

import orjson

from fairlead.base.dialect import CLUSTER, Dialect
from fairlead.base.release import V1_25, Release
from fairlead.codec.types.builtin import BuiltinTypes
from fairlead.codec.types.decode import decoder
from fairlead.codec.types.mismatch import DecodeError
from fairlead.codec.types.model import Struct
from fairlead.resources.autoscaling.old_metrics import SPECS, STATUSES, Rows, flat, full
from fairlead.resources.behaviour import Object
from fairlead.resources.registry import register_conversion

METRICS = "autoscaling.alpha.@/metrics"
BEHAVIOR = "autoscaling.alpha.@/behavior"
CURRENT_METRICS = "autoscaling.alpha.@/current-metrics"
CONDITIONS = "autoscaling.alpha.@/conditions"
ROUND_TRIP_ANNOTATIONS = (METRICS, BEHAVIOR, CURRENT_METRICS, CONDITIONS)

DEFAULT_METRICS = [
    {
        "type": "Resource",
        "resource": {
            "name": "cpu",
            "target": {"type": "Utilization", "averageUtilization": 80},
        },
    }
]

_PLURAL = "horizontalpodautoscalers"
_CONDITION_FIELDS = ("type", "status", "lastTransitionTime", "reason", "message")
_SPEC_FIELDS = ("scaleTargetRef", "minReplicas", "maxReplicas")
_STATUS_FIELDS = ("observedGeneration", "lastScaleTime", "currentReplicas", "desiredReplicas")
_POLICY_FIELDS = ("type", "value", "periodSeconds")


def drop_annotations(metadata: Object, names: Iterable[str]) -> None:
    """Remove the annotations that only have a meaning in v1."""
    annotations, dropped = metadata.get("annotations") or {}, set(names)
    remaining = {key: text for key, text in annotations.items() if key not in dropped}
    if remaining:
        metadata["annotations"] = remaining
    else:
        metadata.pop("annotations", None)


def from_v2beta2(value: Object, dialect: Dialect = CLUSTER, release: Release = V1_25) -> Object:
    """v2 omits empty status fields that v2beta2 always has."""
    if value.get("status") is None:
        return value
    empty = {name for name in ("currentReplicas", "conditions") if not value["status"].get(name)}
    status = {name: part for name, part in value["status"].items() if name not in empty}
    return {**value, "status": status}


def to_v2beta2(value: Object, dialect: Dialect = CLUSTER, release: Release = V1_25) -> Object:
    if value.get("status") is None:
        return value
    return {**value, "status": {"currentReplicas": 0, "conditions": None, **value["status"]}}


def is_cpu(metric: Object) -> bool:
    resource = metric.get("resource") or {}
    return metric.get("type") == "Resource" and resource.get("name") == "cpu"


def is_cpu_target(metric: Object) -> bool:
    """Whether v1 has a field of its own for a metric: average CPU utilization."""
    target: Object = (metric.get("resource") or {}).get("target") or {}
    return is_cpu(metric) and target.get("averageUtilization") is not None


def _cpu_target(percentage: int) -> Object:
    return _cpu_metric("target", {"type": "Utilization", "averageUtilization": percentage})


def _utilization(metric: Object) -> int:
    percentage: int = metric["resource"]["target"]["averageUtilization"]
    return percentage


def _cpu_metric(part: str, value: Object) -> Object:
    return {"type": "Resource", "resource": {"name": "cpu", part: value}}


def to_v1(value: Object, dialect: Dialect, release: Release = V1_25) -> Object:
    metadata, spec, status = _parts(value)
    drop_annotations(metadata, map(dialect.label, ROUND_TRIP_ANNOTATIONS))
    carried = _annotation_fields(spec or {}, status or {}, release)
    if carried:
        named = {dialect.label(name): _encoded(item) for name, item in carried.items()}
        metadata["annotations"] = {**(metadata.get("annotations") or {}), **named}
    return _object(
        metadata,
        _spec_to_v1(spec) if spec is not None else None,
        _status_to_v1(status) if status is not None else None,
    )


def _parts(value: Object) -> tuple[Object, Object | None, Object | None]:
    return dict(value.get("metadata") or {}), value.get("spec"), value.get("status")


def _object(metadata: Object, spec: Object | None, status: Object | None) -> Object:
    parts = {"metadata": metadata, "spec": spec, "status": status}
    return {name: part for name, part in parts.items() if part is not None}


def _annotation_fields(spec: Object, status: Object, release: Release) -> dict[str, Any]:
    """The fields that go into annotations."""
    metrics = [metric for metric in spec.get("metrics") or () if not is_cpu_target(metric)]
    behavior = spec.get("behavior")
    conditions = [
        {name: item.get(name) for name in _CONDITION_FIELDS if name in item}
        for item in status.get("conditions") or ()
    ]
    carried = {
        METRICS: flat(metrics, SPECS),
        BEHAVIOR: _titled_behavior(behavior, release) if behavior is not None else None,
        CURRENT_METRICS: flat(status.get("currentMetrics") or (), STATUSES),
        CONDITIONS: conditions,
    }
    return {name: item for name, item in carried.items() if item}


def _encoded(value: Any) -> str:
    return orjson.dumps(value).decode()


def _spec_to_v1(spec: Object) -> Object:
    converted = {name: spec[name] for name in _SPEC_FIELDS if name in spec}
    for metric in filter(is_cpu_target, spec.get("metrics") or ()):
        converted["targetCPUUtilizationPercentage"] = _utilization(metric)
        break
    return converted


def _status_to_v1(status: Object) -> Object:
    converted: Object = {"currentReplicas": 0, "desiredReplicas": 0}
    converted.update((name, status[name]) for name in _STATUS_FIELDS if name in status)
    for metric in filter(is_cpu, status.get("currentMetrics") or ()):
        utilization = (metric["resource"].get("current") or {}).get("averageUtilization")
        if utilization is not None:
            converted["currentCPUUtilizationPercentage"] = utilization
    return converted


def from_v1(value: Object, dialect: Dialect, release: Release = V1_25) -> Object:
    metadata, spec, status = _parts(value)
    annotations = metadata.get("annotations") or {}
    carried = {name: annotations.get(dialect.label(name)) for name in ROUND_TRIP_ANNOTATIONS}
    drop_annotations(metadata, map(dialect.label, ROUND_TRIP_ANNOTATIONS))
    converted = _spec_from_v1(spec, carried, release)
    return _object(metadata, converted, _status_from_v1(status, carried))


Carried = dict[str, str | None]


def _spec_from_v1(spec: Object | None, carried: Carried, release: Release) -> Object:
    converted = {name: spec[name] for name in _SPEC_FIELDS if name in spec} if spec else {}
    metrics = _metrics("MetricSpec", carried[METRICS], SPECS) or []
    percentage = spec.get("targetCPUUtilizationPercentage") if spec else None
    if percentage is not None:
        metrics.append(_cpu_target(percentage))
    converted["metrics"] = metrics or deepcopy(DEFAULT_METRICS)
    behavior = _plain_behavior(_parse_json(carried[BEHAVIOR]), release)
    if behavior:
        converted["behavior"] = behavior
    return converted


def _status_from_v1(status: Object | None, carried: Carried) -> Object | None:
    current = _metrics("MetricStatus", carried[CURRENT_METRICS], STATUSES)
    conditions = _decode_items(
        "HorizontalPodAutoscalerCondition", _decoded_list(carried[CONDITIONS])
    )
    if status is None and not current and not conditions:
        return None
    converted = {name: status[name] for name in _STATUS_FIELDS if name in status} if status else {}
    if not converted.get("currentReplicas"):
        converted.pop("currentReplicas", None)
    percentage = status.get("currentCPUUtilizationPercentage") if status else None
    if percentage is not None and current is None:
        current = [_cpu_metric("current", {"averageUtilization": percentage})]
    converted["currentMetrics"] = current or None
    if conditions:
        converted["conditions"] = conditions
    return converted


def _parse_json(text: str | None) -> Any:
    """The value in an annotation; None if it is not valid JSON: any client can write the
    annotation."""
    try:
        return orjson.loads(text) if text else None
    except orjson.JSONDecodeError:
        return None


def _decoded_list(text: str | None) -> list[Object] | None:
    """The objects of a list, null items as empty objects; None if the text is not such a list."""
    value = _parse_json(text)
    if text and text.strip() == "null":
        return []
    if not isinstance(value, list):
        return None
    items = [{} if item is None else item for item in value]
    return items if all(isinstance(item, dict) for item in items) else None


def _metrics(name: str, text: str | None, sources: Rows) -> list[Object] | None:
    items = _decoded_list(text)
    return None if items is None else _decode_items(name, full(items, sources))


@cache
def _struct(name: str, release: Release) -> Struct:
    return BuiltinTypes(CLUSTER, release).struct(f"autoscaling/v2.{name}")


def _rule_fields(release: Release) -> Iterable[str]:
    return _struct("HPAScalingRules", release).fields


def _decode_items(
    name: str, items: list[Object] | None, release: Release = V1_25
) -> list[Object] | None:
    """Values from an annotation, decoded by their type; None if one does not fit it."""
    decode = decoder(_struct(name, release))
    try:
        return None if items is None else [decode(item, []) for item in items]
    except DecodeError:
        return None


# The annotation of the behavior has capitalized field names: `ScaleUp`, `SelectPolicy`.


def _title(name: str) -> str:
    return name[0].upper() + name[1:]


def _titled(value: Object, names: Iterable[str]) -> Object:
    return {_title(name): value.get(name) for name in names}


def _titled_behavior(behavior: Object, release: Release) -> Object:
    titled: Object = {}
    for name in ("scaleUp", "scaleDown"):
        rules = behavior.get(name)
        titled[_title(name)] = _titled(rules, _rule_fields(release)) if rules is not None else None
        if rules is not None and rules.get("policies") is not None:
            policies = [_titled(policy, _POLICY_FIELDS) for policy in rules["policies"]]
            titled[_title(name)]["Policies"] = policies
    return titled


def _plain(value: Any, names: Iterable[str]) -> Any:
    """The known fields of an object, in any capitalization; null is an empty object."""
    if value is not None and not isinstance(value, dict):
        return value
    spellings = {name.lower(): name for name in names}
    return {
        spellings[key.lower()]: item
        for key, item in (value or {}).items()
        if key.lower() in spellings and item is not None
    }


def _plain_behavior(value: Any, release: Release) -> Object | None:
    fields = _plain(value, ("scaleUp", "scaleDown"))
    for name in fields if isinstance(fields, dict) else ():
        rules = fields[name] = _plain(fields[name], _rule_fields(release))
        if isinstance(rules, dict) and isinstance(rules.get("policies"), list):
            rules["policies"] = [_plain(policy, _POLICY_FIELDS) for policy in rules["policies"]]
    behaviors = [fields] if fields else []
    typed = _decode_items("HorizontalPodAutoscalerBehavior", behaviors, release)
    return typed[0] if typed else None


def round_trip(value: Object) -> None:
    """Change an autoscaler as a conversion to v1 and back does: CPU utilization moves to the end of
    the metrics, and quantities that v1 always has are set."""
    spec, status = value["spec"], value["status"]
    metrics = spec.get("metrics") or []
    others = [metric for metric in metrics if not is_cpu_target(metric)]
    cpu = [_cpu_target(_utilization(metric)) for metric in metrics if is_cpu_target(metric)][:1]
    spec["metrics"] = [*full(flat(others, SPECS), SPECS), *cpu]
    if status.get("currentMetrics"):
        status["currentMetrics"] = full(flat(status["currentMetrics"], STATUSES), STATUSES)


for _name in (_PLURAL, f"{_PLURAL}/status"):
    register_conversion(f"autoscaling/v1/{_name}", inward=from_v1, outward=to_v1)
    register_conversion(f"autoscaling/v2beta2/{_name}", inward=from_v2beta2, outward=to_v2beta2)
