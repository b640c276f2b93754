"""Events of claims that wait for a volume, a provisioner or a pod."""

from __future__ import annotations

import pytest
from support.namespaces import Space
from support.volumes import Storage
from support.waiting import eventually

EXTERNAL = (
    'waiting for a volume to be created, either by external provisioner "{}" or manually created'
    " by system administrator"
)
CONSUMER = "waiting for first consumer to be created before binding"


@pytest.fixture
def storage(kubernetes: Space) -> Storage:
    return Storage(kubernetes)


def _provisioner(storage: Storage, name: str) -> dict[str, str]:
    names = ("volume.@/storage-provisioner", "volume.beta.@/storage-provisioner")
    return {storage.label(key): name for key in names}


def test_a_claim_without_a_class_waits_for_a_volume(storage: Storage) -> None:
    storage.claim("c", storageClassName="", selector={"matchLabels": {"no": "such"}})
    text = "no persistent volumes available for this claim and no storage class is set"
    storage.hears("c", "Normal", "FailedBinding", text)
    assert storage.claims.read("c")["status"] == {"phase": "Pending"}


@pytest.mark.both_dialects
def test_a_class_that_does_not_exist_is_mentioned_until_it_does(space: Space) -> None:
    storage = Storage(space)
    storage.claim("c")
    group = space.dialect.group_name("storage.@")
    text = f'storageclass.{group} "{space.name}" not found'
    storage.hears("c", "Warning", "ProvisioningFailed", text)
    storage.storage_class("example.com/p")
    storage.hears("c", "Normal", "ExternalProvisioning", EXTERNAL.format("example.com/p"))
    claim = storage.claims.read("c")
    assert claim["metadata"]["annotations"] == _provisioner(storage, "example.com/p")
    assert claim["status"] == {"phase": "Pending"}


def test_what_is_said_of_a_waiting_claim_is_said_once(storage: Storage) -> None:
    storage.storage_class("example.com/p")
    storage.claim("c")
    text = EXTERNAL.format("example.com/p")
    storage.hears("c", "Normal", "ExternalProvisioning", text)
    for number in range(3):
        storage.claims.patch("c", {"metadata": {"labels": {"n": str(number)}}})
    storage.free_volume("other", storageClassName="another")
    path = f"/api/v1/namespaces/{storage.space.name}/events"
    items = storage.space.client.get(path, fieldSelector="involvedObject.name=c").body["items"]
    assert [item["count"] for item in items] == [1]
    assert items[0]["source"] == {"component": "persistentvolume-controller"}


def test_a_provisioner_makes_the_volume_and_the_claim_gets_it(storage: Storage) -> None:
    storage.storage_class("example.com/p")
    claim = storage.claim("c")
    name = storage.label("volume.@/storage-provisioner")
    eventually(
        lambda: name in storage.claims.read("c")["metadata"].get("annotations", {}), "it is asked"
    )
    reference = {
        "namespace": storage.space.name,
        "name": "c",
        "uid": claim["metadata"]["uid"],
    }
    value = {"annotations": {storage.label("pv.@/provisioned-by"): "example.com/p"}}
    storage.volume("made", claimRef=reference, metadata=value)
    assert storage.bound_volume("c") == "made"


@pytest.mark.both_dialects
@pytest.mark.parametrize(
    ("plugin", "why"),
    [
        ("no-provisioner", "no volume plugin matched name: {}"),
        ("nfs", "no provisionable volume plugin matched"),
        (
            "host-path",
            'Failed to create provisioner: provisioning in volume plugin "{}" is disabled',
        ),
    ],
)
def test_built_in_provisioners_cannot_provision(space: Space, plugin: str, why: str) -> None:
    storage = Storage(space)
    name = space.dialect.label(f"@/{plugin}")
    storage.storage_class(name)
    storage.claim("c")
    storage.hears("c", "Warning", "ProvisioningFailed", why.format(name))


def test_the_work_of_a_built_in_provisioner_is_done_by_its_driver(storage: Storage) -> None:
    storage.storage_class(storage.label("@/aws-ebs"))
    storage.claim("c")
    driver = "ebs.csi.aws.com"
    storage.hears("c", "Normal", "ExternalProvisioning", EXTERNAL.format(driver))
    given = storage.claims.read("c")["metadata"]["annotations"]
    assert given == _provisioner(storage, driver)
    migrated = storage.label("pv.@/migrated-to")
    old = _provisioner(storage, storage.label("@/gce-pd"))
    storage.claim("old", metadata={"annotations": old}, volumeName="none")
    eventually(
        lambda: (
            storage.claims.read("old")["metadata"]["annotations"].get(migrated)
            == "pd.csi.storage.gke.io"
        ),
        "the driver is named",
    )


def test_a_claim_of_a_delayed_class_waits_for_its_first_pod(storage: Storage) -> None:
    storage.storage_class(volumeBindingMode="WaitForFirstConsumer")
    storage.free_volume("v")
    storage.claim("c")
    storage.hears("c", "Normal", "WaitForFirstConsumer", CONSUMER)
    storage.space.ready_for_pods()
    volume = {"name": "v", "persistentVolumeClaim": {"claimName": "c"}}
    spec = {"containers": [{"name": "c", "image": "i"}], "volumes": [volume]}
    storage.pods.create("p", spec=spec)
    storage.hears("c", "Normal", "WaitForPodScheduled", "waiting for pod p to be scheduled")
    storage.pods.create("q", spec=spec)
    storage.hears("c", "Normal", "WaitForPodScheduled", "waiting for pods p,q to be scheduled")
    assert storage.claims.read("c")["status"] == {"phase": "Pending"}
    assert storage.volumes.read(storage.name("v"))["status"] == {"phase": "Available"}


def test_a_delayed_claim_is_provisioned_where_a_scheduler_says(storage: Storage) -> None:
    storage.storage_class("example.com/p", volumeBindingMode="WaitForFirstConsumer")
    storage.claim("c")
    storage.hears("c", "Normal", "WaitForFirstConsumer", CONSUMER)
    chosen = {storage.label("volume.@/selected-node"): "node-1"}
    storage.claims.patch("c", {"metadata": {"annotations": chosen}})
    storage.hears("c", "Normal", "ExternalProvisioning", EXTERNAL.format("example.com/p"))
