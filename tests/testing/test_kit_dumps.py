"""Loading the output of `kubectl get -o yaml` of another cluster."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from fairlead.testing import Cluster

Object = dict[str, Any]

LABELS = {"app": "web"}
CONTAINERS = {"containers": [{"name": "c", "image": "example.org/c:1"}]}
TEMPLATE = {"metadata": {"labels": LABELS}, "spec": CONTAINERS}
WORKLOADS = [
    {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web"},
        "spec": {"replicas": 2, "selector": {"matchLabels": LABELS}, "template": TEMPLATE},
    },
    {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "once"},
        "spec": {"template": {"spec": {**CONTAINERS, "restartPolicy": "Never"}}},
    },
    {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "web"},
        "spec": {"selector": LABELS, "ports": [{"port": 80}]},
    },
]


def _items(kit: Cluster, space: str, *words: str) -> list[Object]:
    """Return the items of resources as kubectl prints them, each with its kind."""
    items: list[Object] = []
    for word in words:
        resource = kit.admin.resource(word)
        kind = {"apiVersion": resource.type.api_version, "kind": resource.type.kind}
        items += [{**kind, **item} for item in resource.list(space)["items"]]
    return items


def _names(values: list[Object]) -> set[tuple[str, str]]:
    return {(value["kind"], value["metadata"]["name"]) for value in values}


def _printed(values: list[Object]) -> str:
    return yaml.safe_dump({"apiVersion": "v1", "kind": "List", "items": values})


WORDS = ("pods", "replicasets", "jobs", "services", "deployments")  # owners behind what they own


@pytest.fixture
def dump(kit: Cluster, space: str) -> str:
    """Of workloads that have come to rest, of which nothing is left."""
    with kit.snapshot():
        kit.apply(WORKLOADS, namespace=space)
        kit.wait_idle()
        items = _items(kit, space, *WORDS)
        assert len([item for item in items if item["kind"] == "Pod"]) == 3
    return _printed(items)


def test_workloads_come_back_with_their_owners_and_nothing_is_made_twice(
    kit: Cluster, space: str, dump: str
) -> None:
    before = yaml.safe_load(dump)["items"]
    kit.load(dump)
    kit.wait_idle()
    after = _items(kit, space, *WORDS)
    assert _names(after) == _names(before)
    uids = {item["metadata"]["uid"] for item in after}
    assert uids.isdisjoint(item["metadata"]["uid"] for item in before)
    owned = [item for item in after if item["metadata"].get("ownerReferences")]
    assert {item["kind"] for item in owned} == {"Pod", "ReplicaSet"}
    assert {ref["uid"] for item in owned for ref in item["metadata"]["ownerReferences"]} <= uids


def test_status_is_kept(kit: Cluster, space: str, dump: str) -> None:
    with kit.pause(*(controller["name"] for controller in kit.controllers())):
        created = {item["kind"]: item for item in kit.load(dump)}
    assert created["Pod"]["status"]["phase"] in ("Running", "Succeeded")
    assert created["Pod"]["status"]["podIP"]
    assert created["Deployment"]["status"]["readyReplicas"] == 2
    assert created["Job"]["status"]["active"] == 1


def test_the_garbage_collectors_leave_it_alone_for_longer_than_a_test(
    kit: Cluster, space: str, dump: str
) -> None:
    values = yaml.safe_load(dump)["items"]
    pod = next(value for value in values if value["kind"] == "Pod")
    pod["spec"]["nodeName"] = "a-node-that-is-not-here"
    owner = next(value for value in values if value["kind"] == "ReplicaSet")
    kit.load([pod, owner])  # its deployment is not among them
    kit.wait_idle()
    kit.advance(120)
    kit.wait_idle()
    assert _names([pod, owner]) <= _names(_items(kit, space, "pods", "replicasets"))


def test_claims_and_volumes_know_each_other(kit: Cluster, space: str) -> None:
    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "data", "namespace": space, "uid": "1-1"},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}},
            "storageClassName": "",
            "volumeName": "disk",
        },
        "status": {"phase": "Bound", "capacity": {"storage": "1Gi"}},
    }
    volume = {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": "disk", "uid": "2-2"},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "capacity": {"storage": "1Gi"},
            "hostPath": {"path": "/disk"},
            "claimRef": {"kind": "PersistentVolumeClaim", "namespace": space, "name": "data"}
            | {"uid": "1-1"},
        },
        "status": {"phase": "Bound"},
    }
    kit.load([volume, claim])
    kit.wait_idle()
    bound = kit.admin.resource("persistentvolumes").get("disk")
    loaded = kit.admin.resource("persistentvolumeclaims").get("data", space)
    assert bound["spec"]["claimRef"]["uid"] == loaded["metadata"]["uid"]
    assert (bound["status"]["phase"], loaded["status"]["phase"]) == ("Bound", "Bound")


def test_a_namespace_that_is_not_there_is_made_and_addresses_of_others_are_given_anew(
    kit: Cluster,
) -> None:
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "web", "namespace": "elsewhere", "uid": "1", "generation": 3},
        "spec": {"clusterIP": "192.0.2.9", "clusterIPs": ["192.0.2.9"], "ports": [{"port": 80}]},
    }
    (value,) = kit.load(service)
    assert value["spec"]["clusterIP"] != "192.0.2.9"
    (again,) = kit.load(service)
    assert again["metadata"]["uid"] == value["metadata"]["uid"]


def test_definitions_are_served_before_objects_of_theirs_are_loaded(kit: Cluster) -> None:
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "quays.example.org", "uid": "1"},
        "spec": {
            "group": "example.org",
            "scope": "Cluster",
            "names": {"plural": "quays", "kind": "Quay"},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "subresources": {"status": {}},
                    "schema": {
                        "openAPIV3Schema": {
                            "type": "object",
                            "x-kubernetes-preserve-unknown-fields": True,
                        }
                    },
                }
            ],
        },
        "status": {"conditions": [], "acceptedNames": {"plural": "other", "kind": "Other"}},
    }
    quay = {"apiVersion": "example.org/v1", "kind": "Quay"}
    owner = {**quay, "metadata": {"name": "north", "uid": "7", "generation": 4}}
    owner["status"] = {"ships": 2, "observedGeneration": 4}
    reference = {**quay, "name": "north", "uid": "7"}
    owned = {**quay, "metadata": {"name": "berth", "ownerReferences": [reference]}}
    kit.load([owned, owner, definition])
    kit.wait_idle()
    result = kit.admin.resource("quays").get("north")
    assert result["status"] == {"ships": 2, "observedGeneration": result["metadata"]["generation"]}
    assert (
        kit.admin.resource("quays").get("berth")["metadata"]["ownerReferences"][0]["uid"]
        == (result["metadata"]["uid"])
    )
