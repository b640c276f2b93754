"""The Scale of a workload."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.operations.views import check_scale, read_scale, write_scale
from fairlead.resources.causes import Causes

DEPLOYMENTS = "apps/v1/deployments"
METADATA = {
    "name": "a",
    "namespace": "ns",
    "uid": "u",
    "resourceVersion": "7",
    "creationTimestamp": "2024-01-01T00:00:00Z",
}


def stored(selector: Any, replicas: int = 2) -> dict[str, Any]:
    return {
        "metadata": {**METADATA, "generation": 3, "labels": {"l": "1"}},
        "spec": {"replicas": replicas, "selector": selector, "paused": True},
        "status": {"replicas": 1, "readyReplicas": 1},
    }


@pytest.mark.parametrize(
    ("key", "selector", "text"),
    [
        (DEPLOYMENTS, {"matchLabels": {"b": "2", "a": "1"}}, "a=1,b=2"),
        (
            DEPLOYMENTS,
            {
                "matchLabels": {"b": "2"},
                "matchExpressions": [
                    {"key": "c", "operator": "In", "values": ["y", "x"]},
                    {"key": "a", "operator": "DoesNotExist"},
                ],
            },
            "!a,b=2,c in (x,y)",
        ),
        ("core/v1/replicationcontrollers", {"b": "2", "a": "1"}, "a=1,b=2"),
    ],
)
def test_read(key: str, selector: Any, text: str) -> None:
    assert read_scale(key, stored(selector)) == {
        "metadata": METADATA,
        "spec": {"replicas": 2},
        "status": {"replicas": 1, "selector": text},
    }


def test_read_of_nothing() -> None:
    scale = read_scale(DEPLOYMENTS, stored(None, 0))
    assert (scale["spec"], scale["status"]) == ({}, {"replicas": 1})


@pytest.mark.parametrize("version", ["", "7"])
def test_write(version: str) -> None:
    old = stored({"matchLabels": {"a": "b"}})
    metadata = {"name": "a", **({"resourceVersion": version} if version else {})}
    new = write_scale(old, {"metadata": metadata, "spec": {"replicas": 5}})
    assert new["spec"] == {**old["spec"], "replicas": 5}
    assert new["metadata"].get("resourceVersion", "") == version
    assert new["status"] == old["status"]
    assert old == stored({"matchLabels": {"a": "b"}})


def test_rules() -> None:
    causes = Causes()
    check_scale({"metadata": {"name": "a", "namespace": "ns"}, "spec": {"replicas": -1}}, causes)
    assert [(cause.field, cause.message) for cause in causes] == [
        ("spec.replicas", "Invalid value: -1: must be greater than or equal to 0")
    ]
