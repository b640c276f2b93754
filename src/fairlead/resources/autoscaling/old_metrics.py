"""Converts metrics between the flat form of autoscaling/v1 annotations and the form of v2."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from fairlead.resources.behaviour import Object


@dataclass(frozen=True, slots=True)
class Row:
    """A field of the flat form and its path in v2; `zero` replaces an unset value."""

    flat: str
    place: tuple[str, ...]
    zero: Any = None


def _row(flat: str, path: str, zero: Any = None) -> Row:
    return Row(flat, tuple(path.split(".")), zero)


Rows = dict[str, tuple[Row, ...]]

_NAME = _row("metricName", "metric.name", "")
_SELECTOR = _row("selector", "metric.selector")
_RESOURCE = _row("name", "name", "")
_CONTAINER = _row("container", "container", "")
_TARGETS = (
    _row("targetAverageUtilization", "target.averageUtilization"),
    _row("targetAverageValue", "target.averageValue"),
)
_CURRENTS = (
    _row("currentAverageUtilization", "current.averageUtilization"),
    _row("currentAverageValue", "current.averageValue", "0"),
)

# The sources of metrics, in the order and with the fields of the flat form.
SPECS: Rows = {
    "object": (
        _row("target", "describedObject"),
        _NAME,
        _row("targetValue", "target.value", "0"),
        _SELECTOR,
        _row("averageValue", "target.averageValue"),
    ),
    "pods": (_NAME, _row("targetAverageValue", "target.averageValue", "0"), _SELECTOR),
    "resource": (_RESOURCE, *_TARGETS),
    "containerResource": (_RESOURCE, *_TARGETS, _CONTAINER),
    "external": (
        _NAME,
        _row("metricSelector", "metric.selector"),
        _row("targetValue", "target.value"),
        _row("targetAverageValue", "target.averageValue"),
    ),
}
STATUSES: Rows = {
    "object": (
        _row("target", "describedObject"),
        _NAME,
        _row("currentValue", "current.value", "0"),
        _SELECTOR,
        _row("averageValue", "current.averageValue"),
    ),
    "pods": (_NAME, _row("currentAverageValue", "current.averageValue", "0"), _SELECTOR),
    "resource": (_RESOURCE, *_CURRENTS),
    "containerResource": (_RESOURCE, *_CURRENTS, _CONTAINER),
    "external": (
        _NAME,
        _row("metricSelector", "metric.selector"),
        _row("currentValue", "current.value", "0"),
        _row("currentAverageValue", "current.averageValue"),
    ),
}


def flat(metrics: Iterable[Object], sources: Rows) -> list[Object]:
    """Metrics of v2 in the flat form."""
    result = []
    for metric in metrics:
        flat_metric: Object = {"type": metric.get("type", "")}
        for name, rows in sources.items():
            if metric.get(name) is not None:
                flat_metric[name] = _flat_source(metric[name], rows)
        result.append(flat_metric)
    return result


def _flat_source(source: Object, rows: tuple[Row, ...]) -> Object:
    pairs = ((row, _read(source, row.place)) for row in rows)
    return {
        row.flat: row.zero if value is None else value
        for row, value in pairs
        if value is not None or row.zero is not None
    }


def _read(value: Any, path: tuple[str, ...]) -> Any:
    for step in path:
        value = value.get(step) if isinstance(value, dict) else None
    return value


def full(metrics: Iterable[Object], sources: Rows) -> list[Object]:
    """Metrics of the flat form in the form of v2."""
    result = []
    for metric in map(_folded, metrics):
        full_metric: Object = {"type": metric.get("type", "")}
        for name, rows in sources.items():
            source = _folded(metric.get(name.lower()))
            if source is not None:
                full_metric[name] = (
                    _full_source(name, source, rows) if isinstance(source, dict) else source
                )
        result.append(full_metric)
    return result


def _folded(value: Any) -> Any:
    """An object with lower-case names: names in an annotation may have any capitalization."""
    if not isinstance(value, dict):
        return value
    return {name.lower(): item for name, item in value.items() if item is not None}


def _full_source(name: str, source: Object, rows: tuple[Row, ...]) -> Object:
    result: Object = {}
    for row in rows:
        value = source.get(row.flat.lower())
        value = row.zero if value is None else value
        if value is not None:
            _write(result, row.place, value)
    if rows in SPECS.values():
        target = result.setdefault("target", {})
        target["type"] = _target_type(name, target)
    return result


def _write(value: Object, path: tuple[str, ...], item: Any) -> None:
    for step in path[:-1]:
        value = value.setdefault(step, {})
    value[path[-1]] = item


def _target_type(source: str, target: Object) -> str:
    """The type of a target. The flat form has no type; it follows from the fields that are set."""
    match source:
        case "object":
            return "Value" if target.get("averageValue") is None else "AverageValue"
        case "external":
            return "AverageValue" if target.get("value") is None else "Value"
        case "pods":
            return "AverageValue"
    return "AverageValue" if target.get("averageUtilization") is None else "Utilization"
