"""Cells of workloads and their scalers, one row a behaviour; `...` is any cell."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from fairlead.base.dialect import KUBERNETES
from fairlead.resources.columns.registry import printer_for

NOW = datetime(2024, 5, 1, 12, 0, 0, tzinfo=UTC)
AT = "2024-05-01T11:55:00Z"
META = {"name": "a", "creationTimestamp": AT}
TEMPLATE = {"spec": {"containers": [{"name": "c", "image": "i"}]}}
SELECTOR = {"matchLabels": {"a": "1"}}
Obj = dict[str, Any]


def _check(key: str, obj: Obj, cells: list[Any]) -> None:
    items = printer_for(key, KUBERNETES).cells({"metadata": META, **obj}, NOW)
    rows = [want if want is ... else cell for cell, want in zip(items, cells, strict=True)]
    assert rows == cells
    assert [type(cell) for cell in rows] == [type(cell) for cell in cells]


INVALID = {"matchExpressions": [{"key": "k", "operator": "In"}]}
APPS: list[tuple[str, Obj, list[Any]]] = [
    (
        "deployments",
        {
            "spec": {"replicas": 3, "template": TEMPLATE, "selector": SELECTOR},
            "status": {"readyReplicas": 1, "updatedReplicas": 2},
        },
        ["a", "1/3", 2, 0, "5m", "c", "i", "a=1"],
    ),
    ("deployments", {}, ["a", "0/0", 0, 0, "5m", "", "", ""]),
    (
        "deployments",
        {"spec": {"selector": INVALID}},
        [..., ..., ..., ..., ..., "", "", "<invalid>"],
    ),
    ("replicasets", {"spec": {"replicas": 1}}, ["a", 1, 0, 0, "5m", "", "", "<none>"]),
    ("replicasets", {"spec": {"selector": INVALID}}, ["a", 0, 0, 0, "5m", "", "", "<error>"]),
    (
        "statefulsets",
        {"spec": {"replicas": 2, "template": TEMPLATE}, "status": {"readyReplicas": 2}},
        ["a", "2/2", "5m", "c", "i"],
    ),
    (
        "daemonsets",
        {
            "spec": {"template": {"spec": {"nodeSelector": {"x": "y"}}}, "selector": SELECTOR},
            "status": {"desiredNumberScheduled": 5, "numberReady": 4},
        },
        ["a", 5, 0, 4, 0, 0, "x=y", "5m", "", "", "a=1"],
    ),
    ("controllerrevisions", {"revision": 3}, ["a", "<none>", 3, "5m"]),
    (
        "controllerrevisions",
        {
            "metadata": {
                "ownerReferences": [
                    {"apiVersion": "v1", "kind": "Pod", "name": "p"},
                    {
                        "apiVersion": "apps/v1",
                        "kind": "StatefulSet",
                        "name": "s",
                        "controller": True,
                    },
                ]
            }
        },
        [..., "statefulset.apps/s", 0, ...],
    ),
]


@pytest.mark.parametrize(("resource", "obj", "cells"), APPS)
def test_apps(resource: str, obj: Obj, cells: list[Any]) -> None:
    _check(f"apps/v1/{resource}", obj, cells)


def test_scale() -> None:
    obj = {"spec": {"replicas": 3}, "status": {"replicas": 2}}
    _check("apps/v1/deployments/scale", obj, ["a", 3, 2, "5m"])


@pytest.mark.parametrize(
    ("spec", "status", "completions", "duration"),
    [
        ({"completions": 4}, {"succeeded": 1}, "1/4", ""),
        ({}, {}, "0/1", ""),
        ({"parallelism": 3}, {"succeeded": 1}, "1/1 of 3", ""),
        ({}, {"startTime": AT}, "0/1", "5m"),
        ({}, {"startTime": AT, "completionTime": "2024-05-01T11:55:09Z"}, "0/1", "9s"),
    ],
)
def test_jobs(spec: Obj, status: Obj, completions: str, duration: str) -> None:
    obj = {"spec": {**spec, "template": TEMPLATE, "selector": SELECTOR}, "status": status}
    _check("batch/v1/jobs", obj, ["a", completions, duration, "5m", "c", "i", "a=1"])


@pytest.mark.parametrize(
    ("spec", "status", "suspend", "active", "last"),
    [
        ({}, {}, "<unset>", 0, "<none>"),
        ({"suspend": False}, {"active": [{}]}, "False", 1, "<none>"),
        ({"suspend": True}, {"lastScheduleTime": AT}, "True", 0, "5m"),
    ],
)
def test_cron_jobs(spec: Obj, status: Obj, suspend: str, active: int, last: str) -> None:
    job = {"spec": {"template": TEMPLATE}}
    obj = {"spec": {"schedule": "* * * * *", "jobTemplate": job, **spec}, "status": status}
    cells = ["a", "* * * * *", suspend, active, last, "5m", "c", "i", "<none>"]
    _check("batch/v1/cronjobs", obj, cells)


def _metric(kind: str, target: Obj, current: Obj | None = None) -> tuple[Obj, Obj]:
    key = kind[0].lower() + kind[1:]
    status = {} if current is None else {"type": kind, key: {"current": current}}
    return {"type": kind, key: {"target": target}}, status


CPU = {"averageUtilization": 80}


@pytest.mark.parametrize(
    ("metrics", "words"),
    [
        ([], "<none>"),
        ([_metric("Resource", CPU)], "<unknown>/80%"),
        ([_metric("Resource", CPU, {"averageUtilization": 50, "averageValue": "5m"})], "50%/80%"),
        ([_metric("Resource", CPU, {"averageValue": "5m"})], "<unknown>/80%"),
        ([_metric("Resource", {})], "<unknown>/<auto>"),
        ([_metric("Resource", {"averageValue": "1Gi"})], "<unknown>/1Gi"),
        ([_metric("Resource", {"averageValue": "1Gi"}, {"averageValue": "5Mi"})], "5Mi/1Gi"),
        ([_metric("Resource", {"averageValue": "1Gi"}, {})], "<nil>/1Gi"),
        ([_metric("ContainerResource", CPU, {"averageUtilization": 9})], "9%/80%"),
        ([_metric("ContainerResource", {"averageValue": "1"}, {"averageValue": "2"})], "2/1"),
        ([_metric("Pods", {"averageValue": "10"})], "<unknown>/10"),
        ([_metric("Pods", {"averageValue": "10"}, {"averageValue": "9"})], "9/10"),
        ([_metric("Object", {"value": "10"})], "<unknown>/10"),
        ([_metric("Object", {"value": "10"}, {"value": "9"})], "9/10"),
        ([_metric("Object", {"averageValue": "10"}, {"value": "9"})], "<unknown>/10 (avg)"),
        ([_metric("External", {"averageValue": "10"}, {"averageValue": "9"})], "9/10 (avg)"),
        ([_metric("External", {"value": "10"}, {"value": "9"})], "9/10"),
        ([_metric("Else", {})], "<unknown type>"),
        ([_metric("Resource", CPU)] * 2, "<unknown>/80%, <unknown>/80%"),
        ([_metric("Resource", CPU)] * 4, "<unknown>/80%, <unknown>/80% + 2 more..."),
    ],
)
@pytest.mark.parametrize("version", ["v2", "v2beta2"])
def test_autoscaler_targets(version: str, metrics: list[tuple[Obj, Obj]], words: str) -> None:
    spec = {"metrics": [item for item, _ in metrics]}
    status = {"currentMetrics": [item for _, item in metrics if item]}
    obj = {"spec": spec, "status": status}
    cells = ["a", "/", words, "<unset>", 0, 0, "5m"]
    _check(f"autoscaling/{version}/horizontalpodautoscalers", obj, cells)


def _annotated(metrics: Any, current: Any = None) -> Obj:
    annotations = {"autoscaling.alpha.kubernetes.io/metrics": json.dumps(metrics)}
    if current is not None:
        annotations["autoscaling.alpha.kubernetes.io/current-metrics"] = json.dumps(current)
    return {"metadata": {**META, "annotations": annotations}}


PODS_1 = {"type": "Pods", "pods": {"metricName": "m", "targetAverageValue": "10"}}
PODS_1_NOW = {"type": "Pods", "pods": {"metricName": "m", "currentAverageValue": "4"}}
OBJECT_1 = {"type": "Object", "object": {"metricName": "m", "targetValue": "7"}}


@pytest.mark.parametrize(
    ("obj", "words"),
    [
        ({}, "<unknown>/80%"),
        ({"spec": {"targetCPUUtilizationPercentage": 50}}, "<unknown>/50%"),
        (
            {
                "spec": {"targetCPUUtilizationPercentage": 50},
                "status": {"currentCPUUtilizationPercentage": 20},
            },
            "20%/50%",
        ),
        (_annotated([PODS_1], [PODS_1_NOW]), "4/10"),
        (_annotated([OBJECT_1]), "<unknown>/7"),
        (
            {**_annotated([PODS_1]), "spec": {"targetCPUUtilizationPercentage": 50}},
            "<unknown>/10, <unknown>/50%",
        ),
        (
            {"metadata": {**META, "annotations": {"autoscaling.alpha.kubernetes.io/metrics": "{"}}},
            "<unknown>/80%",
        ),
    ],
)
def test_autoscaler_targets_in_version_1(obj: Obj, words: str) -> None:
    cells = ["a", ..., words, ..., ..., ..., ...]
    _check("autoscaling/v1/horizontalpodautoscalers", obj, cells)


def test_autoscaler() -> None:
    target = {"kind": "Deployment", "name": "d"}
    spec = {"scaleTargetRef": target, "minReplicas": 2, "maxReplicas": 9}
    obj = {"spec": spec, "status": {"currentReplicas": 3}}
    cells = ["a", "Deployment/d", "<none>", "2", 9, 3, "5m"]
    _check("autoscaling/v2/horizontalpodautoscalers", obj, cells)
