"""Layout of autoscalers."""

from __future__ import annotations

import json

from fairlead.cli.describe.fields import Fields
from fairlead.cli.describe.layout import Layout, Subject
from fairlead.cli.describe.page import Page
from fairlead.cli.describe.parts.metadata import draw_conditions_with_message, draw_head
from fairlead.cli.describe.parts.quantities import quantity_text
from fairlead.cli.describe.parts.values import UNSET, in_full
from fairlead.codec.types.times import UNKNOWN

# The field of each metric type.
_PLACES = {
    "External": "external",
    "Pods": "pods",
    "Object": "object",
    "Resource": "resource",
    "ContainerResource": "containerResource",
}


def _draw(page: Page, scaler: Subject) -> None:
    draw_head(page, scaler)
    target = scaler.part("spec.scaleTargetRef")
    page.pairs(
        ("CreationTimestamp", in_full(scaler.at("metadata.creationTimestamp"))),
        ("Reference", f"{target.text('kind')}/{target.text('name')}"),
    )
    if scaler.text("apiVersion").endswith("/v1"):
        _draw_utilization(page, scaler)
    else:
        page.pair("Metrics", "( current / target )")
        currents = scaler.items("status.currentMetrics")
        for index, metric in enumerate(scaler.items("spec.metrics")):
            _draw_metric(page, metric, currents[index] if index < len(currents) else Fields(None))
    page.pair("Min replicas", scaler.text("spec.minReplicas", UNSET))
    page.pair("Max replicas", scaler.number("spec.maxReplicas"))
    if scaler.has("spec.behavior"):
        page.write("Behavior:")
        for name, path in (("Scale Up", "scaleUp"), ("Scale Down", "scaleDown")):
            _draw_rules(page, name, scaler.part(f"spec.behavior.{path}"))
    current, desired = (scaler.number(f"status.{name}Replicas") for name in ("current", "desired"))
    page.pair(f"{target.text('kind')} pods", f"{current} current / {desired} desired")
    draw_conditions_with_message(page, scaler)


def _draw_utilization(page: Page, scaler: Subject) -> None:
    """The CPU target of autoscaling/v1, for servers without v2."""
    path = "CPUUtilizationPercentage"
    if scaler.has(f"spec.target{path}"):
        page.pair("Target CPU utilization", f"{scaler.number(f'spec.target{path}')}%")
        current = scaler.text(f"status.current{path}", UNKNOWN)
        page.pair("Current CPU utilization", f"{current}%")


def _draw_metric(page: Page, metric: Fields, current: Fields) -> None:
    kind = metric.text("type")
    if kind not in _PLACES:
        page.write(f"<unknown metric type {json.dumps(kind)}>", 1)
        return
    source = metric.part(_PLACES[kind])
    target, now = source.part("target"), current.part(f"{_PLACES[kind]}.current")
    page.write(_metric_line(kind, source, target, now), 1)


def _metric_line(kind: str, source: Fields, target: Fields, now: Fields) -> str:
    name = json.dumps(source.text("metric.name"), ensure_ascii=False)
    if kind in ("Resource", "ContainerResource"):
        return f"{_resource(kind, source)}{_share(target, now)}"
    if kind == "Pods":
        return f"{name} on pods:\t{_pair(target, now, 'averageValue')}"
    if kind == "Object":
        described = source.part("describedObject")
        name += f" on {described.text('kind')}/{described.text('name')}"
        averaged = target.text("type") == "AverageValue"
    else:
        averaged = target.has("averageValue")
    if averaged:
        return f"{name} (target average value):\t{_pair(target, now, 'averageValue')}"
    return f"{name} (target value):\t{_pair(target, now, 'value')}"


def _resource(kind: str, source: Fields) -> str:
    text = f"resource {source.text('name')}"
    if kind == "ContainerResource":
        text += f' of container "{source.text("container")}"'
    return f"{text} on pods"


def _share(target: Fields, now: Fields) -> str:
    if target.has("averageValue"):
        return f":\t{_pair(target, now, 'averageValue')}"
    current, desired = UNKNOWN, "<auto>"
    if now.has("averageUtilization"):
        value = quantity_text(now.part("averageValue"))
        current = f"{now.number('averageUtilization')}% ({value})"
    if target.has("averageUtilization"):
        desired = f"{target.number('averageUtilization')}%"
    return f"  (as a percentage of request):\t{current} / {desired}"


def _pair(target: Fields, now: Fields, path: str) -> str:
    current = quantity_text(now.part(path)) if now.has(path) else UNKNOWN
    return f"{current} / {quantity_text(target.part(path))}"


def _draw_rules(page: Page, name: str, rules: Fields) -> None:
    if not rules.has():
        return
    page.write(f"{name}:", 1)
    if rules.has("stabilizationWindowSeconds"):
        seconds = rules.number("stabilizationWindowSeconds")
        page.write(f"Stabilization Window: {seconds} seconds", 2)
    policies = rules.items("policies")
    if policies:
        page.write(f"Select Policy: {rules.text('selectPolicy', 'Max')}", 2)
        page.write("Policies:", 2)
    for policy in policies:
        cells = (
            f"- Type: {policy.text('type')}",
            f"Value: {policy.number('value')}",
            f"Period: {policy.number('periodSeconds')} seconds",
        )
        page.row(*cells, level=3)


HORIZONTAL_POD_AUTOSCALER = Layout(_draw, version="v2")
