"""Permission to write a subresource covers only its part of the object, by every kind of write."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest
from support.namespaces import Collection, Space

Object = dict[str, Any]

APPLY = "application/apply-patch+yaml"
JSON = "application/json-patch+json"
MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
WAYS = ("PUT", MERGE, JSON, STRATEGIC, APPLY)

TEMPLATE: Object = {
    "metadata": {"labels": {"app": "a"}},
    "spec": {"containers": [{"name": "c", "image": "good"}]},
}
JOB_TEMPLATE: Object = {
    "spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "good"}]}
}
SELECTED: Object = {"selector": {"matchLabels": {"app": "a"}}, "template": TEMPLATE}

# group, resource, kind, spec, and what an attacker would want of the spec.
STATUS_KINDS: list[tuple[str, str, str, Object, Object]] = [
    ("", "pods", "Pod", TEMPLATE["spec"], {"nodeName": "evil", "hostNetwork": True}),
    ("", "services", "Service", {"ports": [{"port": 80}]}, {"externalIPs": ["10.9.9.9"]}),
    ("", "resourcequotas", "ResourceQuota", {"hard": {"pods": "1"}}, {"hard": {"pods": "999"}}),
    (
        "",
        "persistentvolumeclaims",
        "PersistentVolumeClaim",
        {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
        {"volumeName": "evil"},
    ),
    (
        "",
        "replicationcontrollers",
        "ReplicationController",
        {"selector": {"app": "a"}, "template": TEMPLATE},
        {"replicas": 99},
    ),
    ("apps", "deployments", "Deployment", SELECTED, {"replicas": 99, "paused": True}),
    ("apps", "replicasets", "ReplicaSet", SELECTED, {"replicas": 99}),
    ("apps", "daemonsets", "DaemonSet", SELECTED, {"minReadySeconds": 99}),
    (
        "apps",
        "statefulsets",
        "StatefulSet",
        {**SELECTED, "serviceName": "s"},
        {"replicas": 99},
    ),
    ("batch", "jobs", "Job", {"template": JOB_TEMPLATE}, {"parallelism": 99}),
    (
        "batch",
        "cronjobs",
        "CronJob",
        {"schedule": "@daily", "jobTemplate": {"spec": {"template": JOB_TEMPLATE}}},
        {"schedule": "* * * * *"},
    ),
    (
        "policy",
        "poddisruptionbudgets",
        "PodDisruptionBudget",
        {"minAvailable": 1, "selector": {"matchLabels": {"app": "a"}}},
        {"minAvailable": 0},
    ),
    (
        "networking.@",
        "ingresses",
        "Ingress",
        {"defaultBackend": {"service": {"name": "s", "port": {"number": 80}}}},
        {"ingressClassName": "evil"},
    ),
]
SCALED = ("deployments", "replicasets", "statefulsets", "replicationcontrollers")


def _created(space: Space, group: str, resource: str, spec: Object) -> Collection:
    collection = space.collection(resource, group)
    collection.create("x", spec=deepcopy(spec), metadata={"labels": {"team": "good"}})
    return collection


def _write(collection: Collection, subresource: str, way: str, wanted: Object) -> None:
    """Write through a subresource; it may be refused or change only its part."""
    path = collection.item("x", subresource)
    client = collection.client
    if way == "PUT":
        current = client.get(path).body
        merged = {**current, **{k: v for k, v in wanted.items() if k != "metadata"}}
        merged["metadata"] = {**current["metadata"], **wanted["metadata"]}
        if isinstance(current.get("spec"), dict):
            merged["spec"] = {**current["spec"], **wanted["spec"]}
        answer = client.put(path, merged)
    elif way == JSON:
        parts = [
            {"op": "add", "path": f"/spec/{name}", "value": value}
            for name, value in wanted["spec"].items()
        ]
        labels = {"op": "add", "path": "/metadata/labels", "value": {"team": "evil"}}
        answer = client.patch(path, [*parts, labels], kind=JSON)
    else:
        query = {"fieldManager": "x", "force": "true"} if way == APPLY else {}
        answer = client.patch(path, wanted, kind=way, **query)
    assert answer.status < 500, answer.text


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("group", "resource", "kind", "spec", "evil"),
    STATUS_KINDS,
    ids=[row[1] for row in STATUS_KINDS],
)
def test_a_write_to_the_status_leaves_the_spec_alone(
    space: Space, group: str, resource: str, kind: str, spec: Object, evil: Object, way: str
) -> None:
    collection = _created(space, group, resource, spec)
    before = collection.read("x")
    version = before["apiVersion"]
    wanted = {"kind": kind, "apiVersion": version, "metadata": {"name": "x"}, "spec": evil}
    _write(collection, "status", way, wanted)
    after = collection.read("x")
    assert after["spec"] == before["spec"]
    assert after["metadata"].get("finalizers") == before["metadata"].get("finalizers")


@pytest.mark.both_dialects
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("resource", SCALED)
def test_a_write_to_the_scale_changes_the_replicas_and_nothing_else(
    space: Space, resource: str, way: str
) -> None:
    group, _, _, spec, _ = next(row for row in STATUS_KINDS if row[1] == resource)
    collection = _created(space, group, resource, spec)
    before = collection.read("x")
    pod: Object = {
        "serviceAccountName": "admin-sa",
        "hostNetwork": True,
        "containers": [
            {"name": "c", "image": "evil"},
            {"name": "x", "image": "evil", "securityContext": {"privileged": True}},
        ],
    }
    wanted = {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {
            "name": "x",
            "namespace": space.name,
            "labels": {"team": "evil"},
            "annotations": {"evil": "yes"},
            "finalizers": ["example.com/evil"],
            "ownerReferences": [{"apiVersion": "v1", "kind": "ConfigMap", "name": "e", "uid": "e"}],
        },
        "spec": {"replicas": 2, "paused": True, "template": {"spec": pod}},
        "status": {"replicas": 99, "selector": "evil"},
    }
    _write(collection, "scale", way, wanted)
    after = collection.read("x")
    assert after["status"].get("replicas", 0) != 99
    revision = space.dialect.label("deployment.@/revision")
    assert _untold(after, revision) == _untold(before, revision)


def _untold(value: Object, revision: str) -> Object:
    """Return a workload without its size and without fields that the server or its controller
    sets."""
    metadata, spec = {**value["metadata"]}, {**value["spec"]}
    spec.pop("replicas", None)
    for name in ("resourceVersion", "generation", "managedFields"):
        metadata.pop(name, None)
    texts = {**metadata.pop("annotations", {})}
    texts.pop(revision, None)
    return {**value, "metadata": {**metadata, "annotations": texts}, "spec": spec, "status": {}}


def test_the_scale_is_written_by_apply(space: Space) -> None:
    collection = _created(space, "apps", "deployments", SELECTED)
    wanted = {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {"name": "x", "namespace": space.name},
        "spec": {"replicas": 3},
    }
    path = collection.item("x", "scale")
    answer = collection.client.patch(path, wanted, kind=APPLY, fieldManager="x", force="true")
    assert answer.status == 200, answer.text
    assert collection.read("x")["spec"]["replicas"] == 3


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        ({"replicas": 3, "paused": True}, ".spec.paused: field not declared in schema"),
        ({"replicas": "x"}, ".spec.replicas: expected numeric (int or float), got string"),
    ],
)
def test_a_scale_that_is_applied_is_one(space: Space, spec: dict[str, Any], why: str) -> None:
    collection = _created(space, "apps", "deployments", SELECTED)
    wanted = {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {"name": "x", "namespace": space.name},
        "spec": spec,
    }
    answer = collection.client.patch(
        collection.item("x", "scale"),
        wanted,
        kind=APPLY,
        fieldManager="x",
        fieldValidation="Strict",
    )
    named = f"({space.name}/x; autoscaling/v1, Kind=Scale)"
    assert (answer.status, answer.message) == (
        400,
        f"failed to create typed patch object {named}: {why}",
    )
    assert collection.read("x")["spec"]["replicas"] != 3
