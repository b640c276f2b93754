"""Quotas of release 1.36: devices, and the VolumeAttributesClasses of claims."""

from __future__ import annotations

from typing import Any

from support.namespaces import Collection, Space, random_word
from support.waiting import eventually

Object = dict[str, Any]
DEVICES = "gpu.deviceclass.resource.k8s.io/devices"


def counted(space: Space, name: str = "q", **spec: Any) -> Collection:
    """A quota whose usage is known."""
    quotas = space.collection("resourcequotas")
    quotas.create(name, spec=spec)
    eventually(lambda: "used" in quotas.read(name).get("status", {}), "the quota is counted")
    return quotas


def claim(*requests: Object) -> Object:
    return {"devices": {"requests": [{"name": f"r{n}", **r} for n, r in enumerate(requests)]}}


def gpus(count: int, **fields: Any) -> Object:
    return {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": count, **fields}


def test_a_quota_counts_devices_by_class(space_1_36: Space) -> None:
    quotas = counted(space_1_36, hard={DEVICES: "5"})
    claims = space_1_36.collection("resourceclaims", "resource.k8s.io")
    claims.create("exact", spec=claim({"exactly": gpus(2)}))
    alternatives = [gpus(2, name="large"), gpus(1, name="small")]
    claims.create("alternatives", spec=claim({"firstAvailable": alternatives}))
    assert quotas.read("q")["status"]["used"] == {DEVICES: "4"}
    value = {"metadata": {"name": "more"}, "spec": claim({"exactly": gpus(2)})}
    refused = claims.client.post(claims.path, value)
    assert refused.status == 403
    assert f"exceeded quota: q, requested: {DEVICES}=2, used: {DEVICES}=4" in refused.message


def test_a_claim_of_all_devices_counts_as_many_as_a_claim_may_have(space_1_36: Space) -> None:
    quotas = counted(space_1_36, hard={DEVICES: "40"})
    claims = space_1_36.collection("resourceclaims", "resource.k8s.io")
    every = {"deviceClassName": "gpu", "allocationMode": "All"}
    claims.create("all", spec=claim({"exactly": every}))
    assert quotas.read("q")["status"]["used"] == {DEVICES: "32"}


class Gpus:
    """A class of devices that stands for an extended resource, with a quota of both its names."""

    def __init__(self, space: Space, count: str) -> None:
        word = random_word()
        self.resource = f"{word}.example.com/gpu"
        self.implicit = f"deviceclass.resource.kubernetes.io/{word}"
        self.names = [f"requests.{self.resource}", f"requests.{self.implicit}"]
        self.request = {**gpus(2), "deviceClassName": word}
        classes = space.everywhere("deviceclasses", "resource.k8s.io")
        classes.create(word, spec={"extendedResourceName": self.resource})
        space.ready_for_pods()
        self.pods = space.collection("pods")
        self.claims = space.collection("resourceclaims", "resource.k8s.io")
        self._quotas = counted(space, hard=dict.fromkeys(self.names, count))

    def used(self) -> list[str]:
        used = self._quotas.read("q")["status"]["used"]
        return [used[name] for name in self.names]

    def recounted(self) -> list[str]:
        """The usage after a change of the limits."""
        hard = {"count/pods": "10", **self._quotas.read("q")["spec"]["hard"]}
        self._quotas.patch("q", {"spec": {"hard": hard}})
        eventually(
            lambda: "count/pods" in self._quotas.read("q")["status"]["used"], "it is recounted"
        )
        return self.used()

    def pod(self, name: str, resource: str) -> Object:
        limits = {"limits": {resource: "2"}}
        return self.pods.create(
            name, spec={"containers": [{"name": "c", "image": "i", "resources": limits}]}
        )


def test_a_claim_on_devices_counts_for_their_extended_resource(space_1_36: Space) -> None:
    devices = Gpus(space_1_36, "3")
    devices.claims.create("own", spec=claim({"exactly": devices.request}))
    assert devices.used() == ["2", "2"]
    value = {"metadata": {"name": "more"}, "spec": claim({"exactly": devices.request})}
    refused = devices.claims.client.post(devices.claims.path, value)
    assert refused.status == 403
    assert f"{devices.names[0]}=2" in refused.message
    assert f"{devices.names[1]}=2" in refused.message
    assert devices.recounted() == ["2", "2"]


def test_devices_of_a_pod_are_counted_once(space_1_36: Space) -> None:
    devices = Gpus(space_1_36, "10")
    pod = devices.pod("p", devices.resource)
    assert devices.used() == ["2", "0"]
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": pod["metadata"]["uid"]}
    made = {
        "annotations": {"resource.kubernetes.io/extended-resource-claim": "true"},
        "ownerReferences": [{**owner, "controller": True}],
    }
    devices.claims.create("made", spec=claim({"exactly": devices.request}), metadata=made)
    assert devices.used() == ["2", "2"]
    devices.claims.create("second", spec=claim({"exactly": devices.request}), metadata=made)
    assert devices.used() == ["4", "4"]
    devices.pod("q", devices.implicit)
    assert devices.used() == ["4", "6"]
    assert devices.recounted() == ["4", "6"]


def test_a_quota_may_be_about_the_claims_of_a_volume_attributes_class(space_1_36: Space) -> None:
    def about(operator: str, *values: str) -> Object:
        scope = {"scopeName": "VolumeAttributesClass", "operator": operator}
        return {"matchExpressions": [{**scope, "values": list(values)} if values else scope]}

    hard = {"persistentvolumeclaims": "1"}
    quotas = counted(space_1_36, "gold", hard=hard, scopeSelector=about("In", "gold"))
    counted(space_1_36, "none", hard={**hard}, scopeSelector=about("DoesNotExist"))
    claims = space_1_36.collection("persistentvolumeclaims")
    spec: Object = {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "1Gi"}},
        "storageClassName": "s",
    }
    golden = {**spec, "volumeAttributesClassName": "gold"}
    claims.create("plain", spec=spec)
    claims.create("golden", spec=golden)
    claims.create("silver", spec={**spec, "volumeAttributesClassName": "silver"})
    used = [quotas.read(name)["status"]["used"] for name in ("gold", "none")]
    assert used == [{"persistentvolumeclaims": "1"}] * 2
    refused = claims.client.post(claims.path, {"metadata": {"name": "more"}, "spec": golden})
    assert (refused.status, "exceeded quota: gold" in refused.message) == (403, True)


def test_resources_of_the_pod_make_those_of_its_containers_optional(space_1_36: Space) -> None:
    space_1_36.ready_for_pods()
    quotas = counted(space_1_36, hard={"requests.cpu": "1"})
    pods = space_1_36.collection("pods")
    spec: Object = {"containers": [{"name": "c", "image": "i"}]}
    refused = pods.client.post(pods.path, {"metadata": {"name": "a"}, "spec": spec})
    assert "failed quota: q: must specify requests.cpu for: c" in refused.message
    pods.create("a", spec={**spec, "resources": {"requests": {"cpu": "600m"}}})
    assert quotas.read("q")["status"]["used"] == {"requests.cpu": "600m"}


def test_a_pod_that_comes_into_the_scope_of_a_quota_is_charged_to_it(space_1_36: Space) -> None:
    space_1_36.ready_for_pods()
    quotas = counted(space_1_36, hard={"pods": "1"}, scopes=["Terminating"])
    pods = space_1_36.collection("pods")
    spec: Object = {"containers": [{"name": "c", "image": "i"}]}
    pods.create("first", spec=spec)
    pods.create("second", spec=spec)
    limited = {"spec": {"activeDeadlineSeconds": 60}}
    assert pods.patch("first", limited).status == 200
    assert quotas.read("q")["status"]["used"] == {"pods": "1"}
    refused = pods.patch("second", limited)
    assert refused.status == 403
    assert "exceeded quota: q, requested: pods=1" in refused.message
