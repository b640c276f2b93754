"""Volumes of the simulated provisioner."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from support.client import Object
from support.namespaces import Space
from support.process import FreshServer
from support.simulation import Pods, container
from support.volumes import Storage
from support.waiting import await_value, eventually

DRIVER = "volumes.simulation.fairlead.dev"
DEFAULT = "simulated"


class Provisioned(Storage):
    """Claims of a namespace with simulated nodes; its class is named after it."""

    def __init__(self, space: Space) -> None:
        super().__init__(space)
        self.simulated = Pods(space)

    def own_class(self, **fields: Any) -> None:
        self.storage_class(DRIVER, **fields)

    def volume_of(self, name: str = "c") -> Object:
        """The volume of a claim, once it is bound."""
        return self.volumes.read(self.claim_in(name, "Bound")["spec"]["volumeName"])

    def use(self, claim: str = "c", pod: str = "p", **spec: Any) -> None:
        volume = {"name": "v", "persistentVolumeClaim": {"claimName": claim}}
        self.simulated.create(pod, container(), volumes=[volume], **spec)

    def resize(self, size: str, name: str = "c") -> None:
        change = {"spec": {"resources": {"requests": {"storage": size}}}}
        assert self.claims.patch(name, change).status == 200

    def capacity(self, name: str = "c") -> str:
        return str(self.claims.read(name)["status"]["capacity"]["storage"])

    def await_capacity(self, size: str, name: str = "c") -> None:
        eventually(lambda: self.capacity(name) == size, f"{name} has {size}")

    def states(self, name: str = "c") -> list[str]:
        conditions = self.claims.read(name)["status"].get("conditions") or ()
        return [condition["type"] for condition in conditions]

    def await_reason(self, reason: str, name: str = "c") -> str:
        """The message of an event about an object."""

        def found() -> list[str]:
            return [text for _, told, text in self.events(name) if told == reason]

        return str(await_value(found)[0])


@pytest.fixture
def storage(any_pods: Pods) -> Provisioned:
    return Provisioned(any_pods.space)


@pytest.fixture
def storage_1_36(pods_1_36: Pods) -> Iterator[Provisioned]:
    yield Provisioned(pods_1_36.space)
    pods_1_36.space.leave()


@pytest.mark.both_dialects
def test_claims_of_a_stateful_set_without_a_class_get_volumes(storage: Provisioned) -> None:
    sets = storage.space.collection("statefulsets", "apps")
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "8Gi"}}}
    mounts = [{"name": "data", "mountPath": "/data"}]
    template = {
        "metadata": {"labels": {"app": "db"}},
        "spec": {"containers": [container(volumeMounts=mounts)]},
    }
    spec = {
        "serviceName": "db",
        "replicas": 2,
        "podManagementPolicy": "Parallel",
        "selector": {"matchLabels": {"app": "db"}},
        "template": template,
        "volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": claim}],
    }
    sets.create("db", spec=spec)
    eventually(lambda: sets.read("db")["status"].get("readyReplicas") == 2, "it is ready")
    names = {storage.claims.read(f"data-db-{n}")["spec"]["volumeName"] for n in (0, 1)}
    assert len(names) == 2
    volume = storage.volume_of("data-db-0")
    spec = volume["spec"]
    assert spec["capacity"] == {"storage": "8Gi"}
    assert spec["csi"] == {
        "driver": DRIVER,
        "volumeHandle": volume["metadata"]["name"],
        "fsType": "ext4",
    }
    assert (spec["storageClassName"], spec["persistentVolumeReclaimPolicy"]) == (DEFAULT, "Delete")
    name = volume["metadata"]["name"]
    text = f"Successfully provisioned volume {name}"
    assert storage.await_reason("ProvisioningSucceeded", "data-db-0") == text


def test_the_default_class_and_its_driver_are_there(storage: Provisioned) -> None:
    (mark,) = storage.classes.read(DEFAULT)["metadata"]["annotations"]
    assert mark == storage.label("storageclass.@/is-default-class")
    drivers = storage.space.everywhere("csidrivers", "storage.@")
    assert drivers.read(DRIVER)["spec"]["attachRequired"] is False


def test_a_volume_is_deleted_with_its_claim_unless_it_is_retained(storage: Provisioned) -> None:
    storage.own_class(reclaimPolicy="Retain", mountOptions=["noatime"])
    storage.claim("kept", accessModes=["ReadWriteMany"], volumeMode="Block")
    storage.claim("c", storageClassName=DEFAULT)
    kept, deleted = storage.volume_of("kept"), storage.volume_of("c")
    assert kept["spec"]["mountOptions"] == ["noatime"]
    assert kept["spec"]["accessModes"] == ["ReadWriteMany"]
    assert kept["spec"]["volumeMode"] == "Block"
    storage.remove_claim("kept")
    storage.remove_claim("c")
    name = deleted["metadata"]["name"]
    eventually(lambda: storage.volumes.get(name).status == 404, "the volume is deleted")
    name = kept["metadata"]["name"]
    eventually(
        lambda: storage.volumes.read(name)["status"]["phase"] == "Released", "it is released"
    )
    storage.volumes.remove(name)


@pytest.mark.both_dialects
def test_a_claim_may_wait_for_its_pod_and_gets_a_volume_near_it(storage: Provisioned) -> None:
    zone = storage.label("topology.@/zone")
    place = {"key": zone, "values": ["simulated-b", "simulated-c"]}
    storage.own_class(
        volumeBindingMode="WaitForFirstConsumer",
        allowedTopologies=[{"matchLabelExpressions": [place]}],
    )
    storage.claim("c")
    storage.await_reason("WaitForFirstConsumer")
    storage.use(nodeSelector={zone: "simulated-c"})
    storage.simulated.await_ready()
    (term,) = storage.volume_of()["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"]
    rule = {"key": zone, "operator": "In", "values": ["simulated-c"]}
    assert term == {"matchExpressions": [rule]}


def test_a_class_may_delay_its_volumes(pods: Pods) -> None:
    storage = Provisioned(pods.space)
    storage.own_class(parameters={"delay": "1h"}, allowVolumeExpansion=True)
    storage.claim("c")
    storage.await_reason("Provisioning")
    eventually(lambda: len(storage.states()) == 1, "the delay has begun")
    assert storage.claims.read("c")["status"]["phase"] == "Pending"
    pods.server.advance(3600)
    storage.volume_of()
    eventually(lambda: storage.states() == [], "nothing of the delay is left")
    storage.use()
    storage.resize("2Gi")
    eventually(lambda: storage.states() == ["Resizing"], "it is being resized")
    assert storage.capacity() == "1Gi"
    pods.server.advance(3600)
    storage.await_capacity("2Gi")


def test_the_volumes_of_a_class_share_its_capacity(storage: Provisioned) -> None:
    storage.own_class(parameters={"capacity": "3Gi"}, allowVolumeExpansion=True)
    storage.claim("c", "2Gi")
    storage.volume_of()
    storage.claim("large", "2Gi")
    assert "code = ResourceExhausted" in storage.await_reason("ProvisioningFailed", "large")
    storage.claim("small", "1Gi")
    storage.volume_of("small")
    storage.use("small")
    storage.resize("1025Mi", "small")
    assert "code = ResourceExhausted" in storage.await_reason("VolumeResizeFailed", "small")
    storage.remove_claim("c")
    storage.remove_claim("large")
    storage.await_capacity("1025Mi", "small")


def test_a_claim_that_waits_for_room_gets_the_next(storage: Provisioned) -> None:
    storage.own_class(parameters={"capacity": "1Gi"})
    storage.claim("c")
    storage.volume_of()
    storage.claim("next")
    storage.await_reason("ProvisioningFailed", "next")
    storage.remove_claim("c")
    storage.volume_of("next")


def test_a_volume_in_use_grows_at_once_and_another_with_its_pod(
    storage_1_36: Provisioned,
) -> None:
    storage = storage_1_36
    storage.claim("used", storageClassName=DEFAULT)
    storage.claim("c", storageClassName=DEFAULT)
    storage.claim("block", storageClassName=DEFAULT, volumeMode="Block")
    storage.use("used", "q")
    storage.simulated.await_ready("q")
    for name in ("used", "c", "block"):
        storage.claim_in(name, "Bound")
        storage.resize("2Gi", name)
    for name in ("used", "block"):
        storage.await_capacity("2Gi", name)
        assert storage.states(name) == []
    assert storage.await_reason("VolumeResizeSuccessful", "block") == "Resize volume succeeded"
    storage.await_reason("FileSystemResizeRequired")
    status = storage.claims.read("c")["status"]
    assert storage.states() == ["FileSystemResizePending"]
    assert status["allocatedResourceStatuses"] == {"storage": "NodeResizePending"}
    assert storage.volume_of()["spec"]["capacity"] == {"storage": "2Gi"}
    storage.use()
    storage.await_capacity("2Gi")
    assert "allocatedResourceStatuses" not in storage.claims.read("c")["status"]


def test_attributes_change_when_their_class_exists(storage_1_36: Provisioned) -> None:
    storage, name = storage_1_36, storage_1_36.space.name
    attributes = storage.space.everywhere("volumeattributesclasses", "storage.@")
    attributes.create(f"{name}-1", driverName=DRIVER, parameters={"iops": "1"})
    storage.claim("c", storageClassName=DEFAULT, volumeAttributesClassName=f"{name}-1")
    assert storage.volume_of()["spec"]["volumeAttributesClassName"] == f"{name}-1"
    change = {"spec": {"volumeAttributesClassName": f"{name}-2"}}
    assert storage.claims.patch("c", change).status == 200

    def status() -> Object:
        value: Object = storage.claims.read("c")["status"]
        return value

    eventually(
        lambda: status().get("modifyVolumeStatus", {}).get("status") == "Pending", "it waits"
    )
    attributes.create(f"{name}-2", driverName=DRIVER, parameters={"iops": "2"})
    eventually(lambda: status()["currentVolumeAttributesClassName"] == f"{name}-2", "it is changed")
    assert "modifyVolumeStatus" not in status()
    assert storage.volume_of()["spec"]["volumeAttributesClassName"] == f"{name}-2"


@pytest.mark.parametrize(
    ("fields", "spec", "text"),
    [
        ({"parameters": {"delay": "soon"}}, {}, 'parameter delay: "soon" is not a duration'),
        ({"parameters": {"capacity": "much"}}, {}, "parameter capacity: not a quantity"),
        ({}, {"size": "1e30"}, "code = OutOfRange"),
        ({}, {"selector": {"matchLabels": {"a": "b"}}}, "with a selector are not provisioned"),
        (
            {},
            {"dataSource": {"kind": "PersistentVolumeClaim", "name": "absent"}},
            "there is no claim absent to clone",
        ),
    ],
    ids=["delay", "capacity", "size", "selector", "source"],
)
def test_why_a_claim_gets_no_volume_is_told(
    pods: Pods, fields: dict[str, Any], spec: dict[str, Any], text: str
) -> None:
    storage = Provisioned(pods.space)
    storage.own_class(**fields)
    storage.claim("c", **spec)
    told = storage.await_reason("ProvisioningFailed")
    assert told.startswith(f'failed to provision volume with StorageClass "{storage.space.name}": ')
    assert text in told


def test_a_claim_can_be_cloned_once_it_is_bound(storage: Provisioned) -> None:
    source = {"kind": "PersistentVolumeClaim", "name": "c"}
    storage.claim("clone", "2Gi", storageClassName=DEFAULT, dataSource=source)
    assert "there is no claim c" in storage.await_reason("ProvisioningFailed", "clone")
    storage.claim("c", "2Gi", storageClassName=DEFAULT)
    storage.claim_in("clone", "Bound")
    storage.claim("small", "1Gi", storageClassName=DEFAULT, dataSource=source)
    assert "is larger" in storage.await_reason("ProvisioningFailed", "small")


def test_a_claim_that_names_our_provisioner_for_a_class_of_another_gets_nothing(
    storage: Provisioned,
) -> None:
    storage.storage_class("example.com/other")
    annotations = {storage.label("volume.@/storage-provisioner"): DRIVER}
    storage.claim("c", metadata={"annotations": annotations})
    storage.claim("next", storageClassName=DEFAULT)
    storage.claim_in("next", "Bound")
    assert storage.claims.read("c")["status"]["phase"] == "Pending"


def test_a_killed_server_leaves_no_volume_behind_and_makes_none_twice(
    fresh_server: FreshServer,
) -> None:
    server = fresh_server("--simulate-nodes=1", "--simulate-storage-class=standard")
    storage = Provisioned(Space(server, server.client()))
    eventually(lambda: storage.classes.get("standard").status == 200, "the class is there")
    for number in range(40):
        storage.claim(f"c{number}", storageClassName="standard")
    for number in range(20):
        storage.claims.delete(f"c{number}")
    storage.classes.remove("standard")
    server.kill()
    server.start()
    storage.space.client = server.client()
    storage = Provisioned(storage.space)
    eventually(lambda: storage.classes.get("standard").status == 200, "the class is back")
    for number in range(20, 40):
        storage.claim_in(f"c{number}", "Bound")
    eventually(lambda: len(storage.volumes.list().body["items"]) == 20, "one volume for each")


def test_a_class_that_is_the_default_is_not_joined_by_another(fresh_server: FreshServer) -> None:
    server = fresh_server("--simulate-nodes=1", "--simulate-storage-class=")
    space = Space(server, server.client())
    classes = space.everywhere("storageclasses", "storage.@")
    mark = space.dialect.label("storageclass.@/is-default-class")
    classes.create("own", metadata={"annotations": {mark: "true"}}, provisioner=DRIVER)
    server.stop()
    server.flags = ("--simulate-nodes=1",)
    server.start()
    space.client = server.client()
    storage = Provisioned(space)
    storage.claim("c", storageClassName=None)
    assert storage.volume_of()["spec"]["storageClassName"] == "own"
    assert storage.classes.names() == ["own"]
