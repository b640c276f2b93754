"""HorizontalPodAutoscaler: rules, defaults and versions."""

from __future__ import annotations

import json
from copy import deepcopy
from typing import Any

import pytest
from support.group_rules import (
    Found,
    Kind,
    changed,
    forbidden,
    invalid,
    required,
    unsupported,
)

from fairlead.base.dialect import CLUSTER, KUBERNETES
from fairlead.base.release import V1_36
from fairlead.resources.autoscaling.conversion import from_v1, from_v2beta2, to_v1, to_v2beta2
from fairlead.resources.rules import NON_NEGATIVE

Object = dict[str, Any]
Changes = dict[str, Any]

KEY = "autoscaling/v2/horizontalpodautoscalers"
SCALER: Object = {"spec": {"scaleTargetRef": {"kind": "Deployment", "name": "d"}, "maxReplicas": 3}}
CPU: Object = {
    "type": "Resource",
    "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}},
}
MEMORY = {
    "type": "Resource",
    "resource": {"name": "memory", "target": {"type": "AverageValue", "averageValue": "1Gi"}},
}
SOURCES = ("ContainerResource", "External", "Object", "Pods", "Resource")
METRIC = "spec.metrics[0]"
TO_ZERO = forbidden(
    "spec.metrics",
    "must specify at least one Object or External metric to support scaling to zero replicas",
)


def scaler(**gates: bool) -> Kind:
    return Kind(KEY, KUBERNETES, **gates)


@pytest.mark.parametrize(
    ("changes", "causes"),
    [
        ({}, []),
        (
            {"spec.minReplicas": 0},
            [
                invalid("spec.minReplicas", "0", "must be greater than or equal to 1"),
                TO_ZERO,
            ],
        ),
        (
            {"spec.maxReplicas": 0},
            [
                invalid("spec.maxReplicas", "0", "must be greater than 0"),
                invalid("spec.maxReplicas", "0", "must be greater than or equal to `minReplicas`"),
            ],
        ),
        (
            {"spec.scaleTargetRef": {"kind": "", "name": "a/b"}},
            [
                required("spec.scaleTargetRef.kind"),
                invalid("spec.scaleTargetRef.name", '"a/b"', "may not contain '/'"),
            ],
        ),
    ],
)
def test_replicas_and_target(changes: Changes, causes: Found) -> None:
    assert scaler().wrong(changed(SCALER, changes)) == causes


def test_scaling_to_zero() -> None:
    value = changed(SCALER, {"spec.minReplicas": 0})
    assert scaler(HPAScaleToZero=True).wrong(value) == [TO_ZERO]


QUANTITY = (
    "resource.Quantity{i:resource.int64Amount{value:-1, scale:0},"
    ' d:resource.infDecAmount{Dec:(*inf.Dec)(nil)}, s:"-1", Format:"DecimalSI"}'
)


@pytest.mark.parametrize(
    ("metric", "causes"),
    [
        (CPU, []),
        (MEMORY, []),
        (
            {"type": ""},
            [
                required(f"{METRIC}.type", "must specify a metric source type"),
                unsupported(f"{METRIC}.type", '""', *SOURCES),
                unsupported(f"{METRIC}.type", '""', *SOURCES),
            ],
        ),
        (
            {"type": "Pods"},
            [required(f"{METRIC}.pods", "must populate information for the given metric source")],
        ),
        (
            {**CPU, "pods": {"metric": {"name": "m"}, "target": {"type": "AverageValue"}}},
            [
                required(
                    f"{METRIC}.pods.target.averageValue",
                    "must specify a positive target averageValue",
                ),
                forbidden(f"{METRIC}.pods", "must populate the given metric source only"),
            ],
        ),
        (
            {"type": "Resource", "resource": {"name": "", "target": {"type": "X"}}},
            [
                required(f"{METRIC}.resource.name", "must specify a resource name"),
                invalid(
                    f"{METRIC}.resource.target.type",
                    '"X"',
                    "must be either Utilization, Value, or AverageValue",
                ),
                required(
                    f"{METRIC}.resource.target.averageUtilization",
                    "must set either a target raw value or a target utilization",
                ),
            ],
        ),
        (
            {
                "type": "Resource",
                "resource": {
                    "name": "cpu",
                    "target": {
                        "type": "Utilization",
                        "averageUtilization": 0,
                        "averageValue": "-1",
                    },
                },
            },
            [
                invalid(f"{METRIC}.resource.target.averageValue", QUANTITY, "must be positive"),
                invalid(
                    f"{METRIC}.resource.target.averageUtilization", "0", "must be greater than 0"
                ),
                forbidden(
                    f"{METRIC}.resource.target.averageValue",
                    "may not set both a target raw value and a target utilization",
                ),
            ],
        ),
        (
            {
                "type": "External",
                "external": {
                    "metric": {"name": "a/b"},
                    "target": {"type": "Value", "value": "1", "averageValue": "1"},
                },
            },
            [
                invalid(f"{METRIC}.external.metric.name", '"a/b"', "may not contain '/'"),
                forbidden(
                    f"{METRIC}.external.target.value",
                    "may not set both a target value for metric and a per-pod target",
                ),
            ],
        ),
        (
            {
                "type": "Object",
                "object": {
                    "describedObject": {"kind": "K", "name": ""},
                    "metric": {"name": ""},
                    "target": {"type": "Value"},
                },
            },
            [
                required(f"{METRIC}.object.describedObject.name"),
                required(f"{METRIC}.object.metric.name", "must specify a metric name"),
                required(
                    f"{METRIC}.object.target.averageValue",
                    "must set either a target value or averageValue",
                ),
            ],
        ),
    ],
)
def test_metric(metric: Object, causes: Found) -> None:
    assert scaler().wrong(changed(SCALER, {"spec.metrics": [metric]})) == causes


CONTAINER = {
    "type": "ContainerResource",
    "containerResource": {"name": "cpu", "container": "", "target": CPU["resource"]["target"]},
}


@pytest.mark.parametrize(
    ("on", "causes"),
    [
        (
            False,
            [
                required(
                    f"{METRIC}.containerResource",
                    "must populate information for the given metric source (only allowed when"
                    " HPAContainerMetrics feature is enabled)",
                )
            ],
        ),
        (True, [required(f"{METRIC}.containerResource.container", "must specify a container")]),
    ],
)
def test_container_metrics(on: bool, causes: Found) -> None:
    value = changed(SCALER, {"spec.metrics": [CONTAINER]})
    assert scaler(HPAContainerMetrics=on).wrong(value) == causes


UP = "spec.behavior.scaleUp"


@pytest.mark.parametrize(
    ("rules", "causes"),
    [
        ({}, []),
        (
            {"stabilizationWindowSeconds": -1, "selectPolicy": "X"},
            [
                invalid(
                    f"{UP}.stabilizationWindowSeconds",
                    "-1",
                    "must be greater than or equal to zero",
                ),
                unsupported(f"{UP}.selectPolicy", '"X"', "Disabled", "Max", "Min"),
            ],
        ),
        (
            {"stabilizationWindowSeconds": 3601},
            [
                invalid(
                    f"{UP}.stabilizationWindowSeconds",
                    "3601",
                    "must be less than or equal to 3600",
                )
            ],
        ),
        (
            {"policies": [{"type": "X", "value": 0, "periodSeconds": 1801}]},
            [
                unsupported(f"{UP}.policies[0].type", '"X"', "Percent", "Pods"),
                invalid(f"{UP}.policies[0].value", "0", "must be greater than zero"),
                invalid(
                    f"{UP}.policies[0].periodSeconds",
                    "1801",
                    "must be less than or equal to 1800",
                ),
            ],
        ),
    ],
)
def test_behavior(rules: Object, causes: Found) -> None:
    assert scaler().wrong(changed(SCALER, {"spec.behavior": {"scaleUp": rules}})) == causes


def test_defaults() -> None:
    spec = scaler().existing(changed(SCALER, {"spec.behavior": {}}))["spec"]
    assert (spec["minReplicas"], spec["metrics"]) == (1, [CPU])
    percent = {"type": "Percent", "value": 100, "periodSeconds": 15}
    assert spec["behavior"] == {
        "scaleUp": {
            "stabilizationWindowSeconds": 0,
            "selectPolicy": "Max",
            "policies": [{"type": "Pods", "value": 4, "periodSeconds": 15}, percent],
        },
        "scaleDown": {"selectPolicy": "Max", "policies": [percent]},
    }


def test_status() -> None:
    kind = scaler()
    value = {**SCALER, "status": {"currentReplicas": -1, "desiredReplicas": -1}}
    assert kind.update(kind.existing(SCALER), value, "status")[1] == [
        invalid("status.currentReplicas", "-1", NON_NEGATIVE),
        invalid("status.desiredReplicas", "-1", NON_NEGATIVE),
    ]


OBJECT: Object = {
    "type": "Object",
    "object": {
        "describedObject": {"kind": "K", "name": "n"},
        "metric": {"name": "m", "selector": {"matchLabels": {"a": "b"}}},
        "target": {"type": "AverageValue", "averageValue": "5"},
    },
}


def test_storing_puts_cpu_last_and_fills_quantities() -> None:
    kind = scaler()
    value = kind.existing(changed(SCALER, {"spec.metrics": [CPU, OBJECT, MEMORY]}))
    kind.behaviour.normalize(value, False)
    settled = deepcopy(OBJECT)
    settled["object"]["target"]["value"] = "0"
    assert value["spec"]["metrics"] == [settled, MEMORY, CPU]
    _, causes = kind.update(value, value)
    assert causes == []


def _cpu(**target: Any) -> Object:
    return {"type": "Resource", "resource": {"name": "cpu", "target": target}}


def test_storing_keeps_the_utilization_behind_another_cpu_target() -> None:
    kind = scaler()
    amount = _cpu(type="AverageValue", averageValue="1")
    value = kind.existing(changed(SCALER, {"spec.metrics": [amount, CPU]}))
    kind.behaviour.normalize(value, False)
    assert value["spec"]["metrics"] == [amount, CPU]


def test_storing_keeps_only_the_percentage_of_a_cpu_utilization() -> None:
    kind = scaler()
    both = _cpu(type="Value", value="1", averageUtilization=80)
    item = kind.existing(SCALER)
    item["spec"]["metrics"] = [both]
    kind.behaviour.normalize(item, False)
    assert item["spec"]["metrics"] == [CPU]


def test_v1_annotations_mean_nothing_in_v2() -> None:
    name = "autoscaling.alpha.kubernetes.io/metrics"
    value = scaler().existing({**SCALER, "metadata": {"annotations": {name: "[]", "x": "y"}}})
    assert value["metadata"]["annotations"] == {"x": "y"}


PODS = {
    "type": "Pods",
    "pods": {"metric": {"name": "m"}, "target": {"type": "AverageValue", "averageValue": "1"}},
}
EXTERNAL = {
    "type": "External",
    "external": {"metric": {"name": "m"}, "target": {"type": "Value", "value": "7"}},
}
STATUS = {
    "currentReplicas": 1,
    "desiredReplicas": 2,
    "currentMetrics": [
        {
            "type": "Resource",
            "resource": {
                "name": "cpu",
                "current": {"averageUtilization": 30, "averageValue": "100m"},
            },
        }
    ],
    "conditions": [{"type": "AbleToScale", "status": "True", "lastTransitionTime": None}],
}


def _stored(**spec: Any) -> Object:
    return {
        "metadata": {"name": "a"},
        "spec": {**SCALER["spec"], "minReplicas": 1, **spec},
        "status": deepcopy(STATUS),
    }


def test_v1_carries_in_annotations_what_it_cannot_express() -> None:
    behavior = {"scaleUp": {"selectPolicy": "Max", "policies": []}}
    old = to_v1(_stored(metrics=[MEMORY, CPU], behavior=behavior), KUBERNETES)
    assert old["spec"]["targetCPUUtilizationPercentage"] == 80
    assert old["status"] == {
        "currentReplicas": 1,
        "desiredReplicas": 2,
        "currentCPUUtilizationPercentage": 30,
    }
    prefix = "autoscaling.alpha.kubernetes.io/"
    carried = {
        key.removeprefix(prefix): text for key, text in old["metadata"]["annotations"].items()
    }
    assert carried["metrics"] == (
        '[{"type":"Resource","resource":{"name":"memory","targetAverageValue":"1Gi"}}]'
    )
    assert carried["current-metrics"] == (
        '[{"type":"Resource","resource":{"name":"cpu","currentAverageUtilization":30,'
        '"currentAverageValue":"100m"}}]'
    )
    assert json.loads(carried["conditions"]) == STATUS["conditions"]
    assert json.loads(carried["behavior"])["ScaleUp"] == {
        "StabilizationWindowSeconds": None,
        "SelectPolicy": "Max",
        "Policies": [],
    }


def test_v1_carries_tolerances_in_releases_that_have_them() -> None:
    behavior = {"scaleUp": {"tolerance": "100m"}, "scaleDown": {"selectPolicy": "Max"}}
    value = _stored(metrics=[CPU], behavior=behavior)
    old = to_v1(deepcopy(value), KUBERNETES, V1_36)
    text = old["metadata"]["annotations"]["autoscaling.alpha.kubernetes.io/behavior"]
    assert [rules["Tolerance"] for rules in json.loads(text).values()] == ["100m", None]
    assert from_v1(old, KUBERNETES, V1_36)["spec"]["behavior"] == behavior


def test_v1_shows_the_cpu_target_behind_another_cpu_metric() -> None:
    target = {"type": "AverageValue", "averageValue": "1"}
    metrics = [
        {"type": "Resource", "resource": {"name": "cpu", "target": target}},
        {
            "type": "Resource",
            "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 5}},
        },
    ]
    value = to_v1({"metadata": {}, "spec": {"maxReplicas": 1, "metrics": metrics}}, KUBERNETES)
    assert value["spec"]["targetCPUUtilizationPercentage"] == 5


@pytest.mark.parametrize("metrics", [[CPU], [MEMORY, CPU], [PODS], [EXTERNAL, CPU]])
@pytest.mark.parametrize("dialect", [KUBERNETES, CLUSTER])
def test_v1_and_back(metrics: list[Object], dialect: Any) -> None:
    policies = [{"type": "Pods", "value": 4, "periodSeconds": 15}]
    behavior = {"scaleDown": {"selectPolicy": "Min", "policies": policies}}
    value = _stored(metrics=metrics, behavior=behavior)
    assert from_v1(to_v1(deepcopy(value), dialect), dialect) == value


@pytest.mark.parametrize("text", ["", "nonsense", "5", "[5]", '[{"type": 5}]'])
def test_annotations_without_sense_are_ignored(text: str) -> None:
    name = KUBERNETES.label("autoscaling.alpha.@/metrics")
    value = {"metadata": {"annotations": {name: text}}, "spec": SCALER["spec"], "status": {}}
    item = from_v1(value, KUBERNETES)
    assert item["spec"]["metrics"] == [CPU]
    assert "annotations" not in item["metadata"]


def _from_annotations(spec: Object | None = None, **annotations: Any) -> Object:
    """An object of v1 with these annotations, converted."""
    prefix = "autoscaling.alpha.kubernetes.io/"
    texts = {
        prefix + name.replace("_", "-"): json.dumps(item) for name, item in annotations.items()
    }
    status = {"currentReplicas": 1, "desiredReplicas": 1, "currentCPUUtilizationPercentage": 7}
    value = {
        "metadata": {"annotations": texts},
        "spec": {**SCALER["spec"], **(spec or {})},
        "status": status,
    }
    return from_v1(value, KUBERNETES)


def test_names_in_annotations_may_be_capitalised_at_will() -> None:
    metric = {"Type": "Resource", "RESOURCE": {"Name": "cpu", "targetaveragevalue": "5"}}
    value = _from_annotations(metrics=[metric])
    assert value["spec"]["metrics"] == [_cpu(type="AverageValue", averageValue="5")]


def test_null_in_an_annotation_is_an_empty_metric() -> None:
    assert _from_annotations(metrics=[None])["spec"]["metrics"] == [{"type": ""}]


@pytest.mark.parametrize("text", [{}, "x", [5], [{"type": 5}], [{"type": "Pods", "pods": 5}]])
def test_a_percentage_stands_where_an_annotation_makes_no_sense(text: Any) -> None:
    (metric,) = _from_annotations(current_metrics=text)["status"]["currentMetrics"]
    assert metric["resource"]["current"] == {"averageUtilization": 7}


@pytest.mark.parametrize("text", [[], None])
def test_an_annotation_without_metrics_replaces_a_percentage(text: Any) -> None:
    assert _from_annotations(current_metrics=text)["status"]["currentMetrics"] is None


@pytest.mark.parametrize("text", [{"ScaleUp": 5}, {"ScaleUp": {"Policies": [5]}}, [], "x"])
def test_a_behaviour_that_makes_no_sense_is_ignored(text: Any) -> None:
    assert "behavior" not in _from_annotations(behavior=text)["spec"]


def test_v2beta2_always_shows_its_status() -> None:
    value = {"metadata": {}, "spec": {}, "status": {"desiredReplicas": 0, "currentMetrics": None}}
    item = to_v2beta2(deepcopy(value))
    assert item["status"] == {
        "desiredReplicas": 0,
        "currentMetrics": None,
        "currentReplicas": 0,
        "conditions": None,
    }
    assert from_v2beta2(item) == value


@pytest.mark.parametrize("value", [{}, {"metadata": {}}, {"spec": {"maxReplicas": 1}}])
def test_conversion_of_a_part(value: Object) -> None:
    assert "status" not in to_v1(deepcopy(value), KUBERNETES)
    assert "status" not in from_v1(deepcopy(value), KUBERNETES)
    assert to_v2beta2(deepcopy(value)) == value
