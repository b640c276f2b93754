"""Expansion of claims."""

from __future__ import annotations

from typing import Any

import pytest
from support.client import Object
from support.namespaces import Space
from support.volumes import Storage
from support.waiting import eventually

IGNORED = (
    "Ignoring the PVC: didn't find a plugin capable of expanding the volume; waiting for an"
    " external controller to process this PVC."
)
ON_NODE = "Waiting for user to (re-)start a pod to finish file system resize of volume on node."


@pytest.fixture
def storage(kubernetes: Space) -> Storage:
    return Storage(kubernetes)


def _grown(storage: Storage, **spec: Any) -> Object:
    """A bound claim that wants 2Gi of a volume of 1Gi."""
    storage.storage_class(allowVolumeExpansion=True)
    storage.volume("v", **spec)
    storage.claim("c", volumeMode=spec.get("volumeMode", "Filesystem"))
    storage.claim_in("c", "Bound")
    answer = storage.claims.patch("c", {"spec": {"resources": {"requests": {"storage": "2Gi"}}}})
    assert answer.status == 200, answer.text
    grown: Object = answer.body
    return grown


def _states(claim: Object) -> list[tuple[str, str, str]]:
    conditions = claim["status"].get("conditions", [])
    return [
        (condition["type"], condition["status"], condition.get("message", ""))
        for condition in conditions
    ]


def test_a_volume_that_others_make_larger_is_waited_for(space: Space) -> None:
    storage = Storage(space)
    _grown(storage)
    storage.hears("c", "Normal", "ExternalExpanding", IGNORED)
    claim = storage.claims.read("c")
    assert claim["status"]["capacity"] == {"storage": "1Gi"}
    assert _states(claim) == []


def test_a_claim_that_does_not_grow_is_not_mentioned(storage: Storage) -> None:
    _grown(storage)
    storage.hears("c", "Normal", "ExternalExpanding", IGNORED)
    storage.claims.patch("c", {"metadata": {"labels": {"a": "b"}}})
    storage.claims.patch("c", {"spec": {"resources": {"requests": {"storage": "3Gi"}}}})
    path = f"/api/v1/namespaces/{storage.space.name}/events"

    def counts() -> list[int]:
        items = storage.space.client.get(path, fieldSelector="involvedObject.name=c").body["items"]
        return [item["count"] for item in items if item["reason"] == "ExternalExpanding"]

    eventually(lambda: counts() == [2], "it is said again when the claim grows again")


def test_the_driver_that_took_over_a_plugin_is_named(storage: Storage) -> None:
    disk = {"volumeID": "vol-1"}
    _grown(storage, awsElasticBlockStore=disk)
    plugin = storage.label("@/aws-ebs")
    text = f"CSI migration enabled for {plugin}; waiting for external resizer to expand the pvc"
    storage.hears("c", "Normal", "ExternalExpanding", text)
    resizer = storage.label("volume.@/storage-resizer")
    eventually(
        lambda: (
            storage.claims.read("c")["metadata"]["annotations"].get(resizer) == "ebs.csi.aws.com"
        ),
        "the resizer is named",
    )


def test_a_volume_that_its_node_makes_larger_waits_for_a_pod(storage: Storage) -> None:
    _grown(storage, flexVolume={"driver": "example.com/flex"})
    eventually(
        lambda: _states(storage.claims.read("c")) == [("FileSystemResizePending", "True", ON_NODE)],
        "it waits for the node",
    )
    claim = storage.claims.read("c")
    assert claim["status"]["capacity"] == {"storage": "1Gi"}
    resizer = claim["metadata"]["annotations"][storage.label("volume.@/storage-resizer")]
    assert resizer == "example.com/flex"
    volume = storage.volumes.read(storage.name("v"))
    assert volume["spec"]["capacity"] == {"storage": "2Gi"}


def test_a_block_volume_needs_no_pod_to_grow(storage: Storage) -> None:
    _grown(storage, flexVolume={"driver": "example.com/flex"}, volumeMode="Block")
    eventually(
        lambda: storage.claims.read("c")["status"]["capacity"] == {"storage": "2Gi"}, "it has grown"
    )
    assert _states(storage.claims.read("c")) == []
    text = f"ExpandVolume succeeded for volume {storage.space.name}/c"
    storage.hears("c", "Normal", "VolumeResizeSuccessful", text)


@pytest.mark.both_dialects
def test_a_claim_that_is_being_resized_says_why_as_specified(space: Space) -> None:
    storage = Storage(space)
    watch = storage.claims.watch()
    _grown(storage, flexVolume={"driver": "example.com/flex"}, volumeMode="Block")
    condition: Object = {}
    while condition.get("type") != "Resizing":
        conditions = watch.next().object.get("status", {}).get("conditions") or [{}]
        condition = conditions[0]
    watch.close()
    wanted = "ResizeStarted" if space.dialect.resizing_has_reason else None
    assert condition.get("reason") == wanted


def test_conditions_about_other_things_stay(storage: Storage) -> None:
    storage.storage_class(allowVolumeExpansion=True)
    storage.volume("v", flexVolume={"driver": "example.com/flex"})
    storage.claim("c")
    storage.claim_in("c", "Bound")
    other = {"type": "Other", "status": "Unknown", "message": "stays"}
    path = storage.claims.item("c", "status")
    assert storage.space.client.patch(path, {"status": {"conditions": [other]}}).status == 200
    storage.claims.patch("c", {"spec": {"resources": {"requests": {"storage": "2Gi"}}}})
    eventually(
        lambda: (
            _states(storage.claims.read("c"))
            == [("Other", "Unknown", "stays"), ("FileSystemResizePending", "True", ON_NODE)]
        ),
        "both are there",
    )
