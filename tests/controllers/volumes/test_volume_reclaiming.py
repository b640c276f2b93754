"""Reclaim policies of volumes after their claim was deleted."""

from __future__ import annotations

from typing import Any

import pytest
from support.namespaces import Collection, Space
from support.volumes import Storage
from support.waiting import eventually


@pytest.fixture
def storage(kubernetes: Space) -> Storage:
    return Storage(kubernetes)


def _released(storage: Storage, policy: str, **spec: Any) -> str:
    """Let a volume lose its claim; its name."""
    storage.volume("v", persistentVolumeReclaimPolicy=policy, **spec)
    storage.volume_in("v", "Available")
    storage.claim("c")
    storage.claim_in("c", "Bound")
    storage.remove_claim("c")
    return storage.name("v")


def test_a_retained_volume_is_released_and_for_nobody(storage: Storage) -> None:
    _released(storage, "Retain")
    volume = storage.volume_in("v", "Released")
    assert volume["spec"]["claimRef"]["name"] == "c"
    storage.claim("c")
    storage.volume("w")
    assert storage.bound_volume("c") == "w"
    assert storage.volumes.read(storage.name("v"))["status"] == {"phase": "Released"}


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ({"nfs": {"server": "s", "path": "/x"}}, "no deletable volume plugin matched"),
        (
            {"iscsi": {"targetPortal": "1.2.3.4", "iqn": "iqn.2015-02.example.com:t", "lun": 0}},
            "no volume plugin matched",
        ),
    ],
)
def test_a_volume_that_nobody_can_delete_has_failed(
    storage: Storage, source: dict[str, Any], why: str
) -> None:
    name = _released(storage, "Delete", **source)
    volume = storage.volume_in("v", "Failed")
    text = f'Error getting deleter volume plugin for volume "{name}": {why}'
    assert volume["status"]["message"] == text
    storage.hears(name, "Warning", "VolumeFailedDelete", text, "default")


def test_directories_of_hosts_are_deleted_in_one_place_only(space: Space) -> None:
    storage = Storage(space)
    name = _released(storage, "Delete", hostPath={"path": "/data/x"})
    text = "host_path deleter only supports /tmp/.+ but received provided /data/x"
    storage.hears(name, "Warning", "VolumeFailedDelete", text, "default")
    assert storage.volume_in("v", "Failed")["status"]["message"] == text


def test_a_deleted_volume_is_gone(storage: Storage) -> None:
    name = _released(storage, "Delete", hostPath={"path": "/tmp/x"})
    eventually(lambda: storage.volumes.get(name).status == 404, "the volume is gone")


def test_a_volume_is_left_to_the_provisioner_that_made_it(storage: Storage) -> None:
    value = {"annotations": {storage.label("pv.@/provisioned-by"): "example.com/p"}}
    name = _released(storage, "Delete", metadata=value)
    storage.volume_in("v", "Released")
    assert storage.events(name, "default") == []
    moved = {"annotations": {storage.label("pv.@/provisioned-by"): storage.label("@/aws-ebs")}}
    reference = {"namespace": storage.space.name, "name": "c", "uid": "gone"}
    policy = "Delete"
    storage.volume("w", metadata=moved, claimRef=reference, persistentVolumeReclaimPolicy=policy)
    volume = storage.volume_in("w", "Released")
    driver = volume["metadata"]["annotations"][storage.label("pv.@/migrated-to")]
    assert driver == "ebs.csi.aws.com"


def test_a_volume_that_was_made_for_a_claim_that_has_another_is_deleted(storage: Storage) -> None:
    storage.free_volume("v")
    claim = storage.claim("c")
    storage.claim_in("c", "Bound")
    reference = {
        "namespace": storage.space.name,
        "name": "c",
        "uid": claim["metadata"]["uid"],
    }
    value = {"annotations": {storage.label("pv.@/provisioned-by"): storage.label("@/host-path")}}
    storage.volume(
        "made",
        metadata=value,
        claimRef=reference,
        hostPath={"path": "/tmp/made"},
        persistentVolumeReclaimPolicy="Delete",
    )
    eventually(lambda: storage.volumes.get(storage.name("made")).status == 404, "it is of no use")
    assert storage.claims.read("c")["status"]["phase"] == "Bound"


def test_a_volume_that_nobody_can_recycle_has_failed(storage: Storage) -> None:
    csi = {"driver": "example.com", "volumeHandle": "h"}
    name = _released(storage, "Recycle", csi=csi)
    volume = storage.volume_in("v", "Failed")
    text = "No recycler plugin found for the volume!"
    assert volume["status"]["message"] == text
    storage.hears(name, "Warning", "VolumeFailedRecycle", text, "default")


def _recycler(storage: Storage, name: str) -> tuple[Collection, str]:
    pods = Collection(storage.space.client, "/api/v1/namespaces/default/pods")
    pod = f"recycler-for-{name}"
    eventually(lambda: pods.get(pod).status == 200, "there is a pod that empties it")
    return pods, pod


def test_a_recycled_volume_is_free_again(storage: Storage) -> None:
    name = _released(storage, "Recycle", hostPath={"path": "/data/x"})
    pods, pod = _recycler(storage, name)
    spec = pods.read(pod)["spec"]
    assert spec["volumes"][0]["hostPath"]["path"] == "/data/x"
    assert (spec["restartPolicy"], spec["activeDeadlineSeconds"]) == ("Never", 60)
    pods.client.patch(pods.item(pod, "status"), {"status": {"phase": "Succeeded"}})
    volume = storage.volume_in("v", "Available")
    assert "claimRef" not in volume["spec"]
    assert pods.get(pod).status == 404
    storage.hears(name, "Normal", "VolumeRecycled", "Volume recycled", "default")


def test_a_volume_that_could_not_be_emptied_has_failed(storage: Storage) -> None:
    name = _released(storage, "Recycle", nfs={"server": "s", "path": "/x"})
    pods, pod = _recycler(storage, name)
    assert pods.read(pod)["spec"]["activeDeadlineSeconds"] == 300
    failed = {"status": {"phase": "Failed", "message": "no such server"}}
    pods.client.patch(pods.item(pod, "status"), failed)
    volume = storage.volume_in("v", "Failed")
    assert volume["status"]["message"] == "Recycle failed: no such server"
    text = "Recycle failed: no such server"
    storage.hears(name, "Warning", "VolumeFailedRecycle", text, "default")
    storage.volumes.patch(name, {"spec": {"persistentVolumeReclaimPolicy": "Retain"}})
    pods.delete(pod)


def test_a_volume_is_not_emptied_while_a_pod_uses_its_claim(storage: Storage) -> None:
    storage.space.ready_for_pods()
    volume = {"name": "v", "persistentVolumeClaim": {"claimName": "c"}}
    spec = {"containers": [{"name": "c", "image": "i"}], "volumes": [volume]}
    storage.pods.create("p", spec=spec)
    name = _released(storage, "Recycle")
    text = f"Volume is used by pods: {storage.space.name}/p"
    storage.hears(name, "Normal", "VolumeFailedRecycle", text, "default")
    storage.volume_in("v", "Released")
    storage.pods.delete("p", gracePeriodSeconds=0)
    pods, pod = _recycler(storage, name)
    storage.volumes.patch(name, {"spec": {"persistentVolumeReclaimPolicy": "Retain"}})
    pods.delete(pod)
