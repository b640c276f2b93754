"""Claims and volumes are not deleted while they are in use."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
from support.namespaces import Space
from support.volumes import Storage
from support.waiting import eventually

AT_ONCE = {"gracePeriodSeconds": 0}


@pytest.fixture
def storage(kubernetes: Space) -> Storage:
    kubernetes.ready_for_pods()
    return Storage(kubernetes)


def _pod(storage: Storage, name: str, claim: str = "c", **spec: Any) -> None:
    volume = {"name": "v", "persistentVolumeClaim": {"claimName": claim}}
    containers = [{"name": "c", "image": "i"}]
    storage.pods.create(name, spec={"containers": containers, "volumes": [volume], **spec})


def _is_gone(storage: Storage, name: str = "c") -> None:
    eventually(lambda: storage.claims.get(name).status == 404, f"{name} is gone")


def _stays(storage: Storage, name: str = "c") -> None:
    """Another claim that was deleted later is gone, and this one is not."""
    storage.claim("later")
    storage.remove_claim("later")
    assert storage.claims.get(name).status == 200


def test_a_claim_that_a_pod_on_a_node_uses_stays_until_the_pod_is_gone(storage: Storage) -> None:
    storage.claim("c")
    _pod(storage, "p", nodeName="n")
    _pod(storage, "q", nodeName="n")
    storage.claims.remove("c")
    storage.pods.delete("p", **AT_ONCE)
    _stays(storage)
    storage.pods.delete("q", **AT_ONCE)
    _is_gone(storage)


def test_a_pod_that_no_node_has_holds_nothing(storage: Storage) -> None:
    storage.claim("c")
    _pod(storage, "p")
    storage.claims.remove("c")
    _is_gone(storage)


def test_a_pod_that_is_through_still_holds_its_claims(storage: Storage) -> None:
    storage.claim("c")
    _pod(storage, "p", nodeName="n")
    status = storage.pods.item("p", "status")
    storage.space.client.patch(status, {"status": {"phase": "Succeeded"}})
    storage.claims.remove("c")
    _stays(storage)
    storage.pods.delete("p", **AT_ONCE)
    _is_gone(storage)


def test_a_pod_that_is_shut_down_does_not_hold_what_was_made_for_it(storage: Storage) -> None:
    """Its finalizer may wait for the claim to go."""
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    volume = {"name": "v", "ephemeral": {"volumeClaimTemplate": {"spec": spec}}}
    wanted = {"containers": [{"name": "c", "image": "i"}], "volumes": [volume], "nodeName": "n"}
    storage.pods.create("p", metadata={"finalizers": ["example.com/wait"]}, spec=wanted)
    eventually(lambda: storage.claims.get("p-v").status == 200, "it has its claim")
    storage.claims.remove("p-v")
    _stays(storage, "p-v")
    storage.pods.delete("p", **AT_ONCE)
    _is_gone(storage, "p-v")
    storage.pods.patch("p", {"metadata": {"finalizers": None}})


@pytest.mark.both_dialects
def test_protection_finalizer_is_added_where_it_is_missing(space: Space) -> None:
    storage = Storage(space)
    storage.claim("c")
    storage.volume("v", storageClassName="another")
    storage.claims.patch("c", {"metadata": {"finalizers": None}})
    storage.volumes.patch(storage.name("v"), {"metadata": {"finalizers": None}})
    eventually(
        lambda: (
            storage.claims.read("c")["metadata"].get("finalizers") == [space.dialect.pvc_protection]
        ),
        "the claim has it again",
    )
    eventually(
        lambda: (
            storage.volumes.read(storage.name("v"))["metadata"].get("finalizers")
            == [space.dialect.pv_protection]
        ),
        "the volume has it again",
    )


def test_a_bound_volume_stays_until_its_claim_is_gone(storage: Storage) -> None:
    storage.free_volume("v")
    storage.claim("c")
    storage.claim_in("c", "Bound")
    name = storage.name("v")
    storage.volumes.remove(name)
    storage.free_volume("other")
    storage.volumes.remove(storage.name("other"))
    eventually(lambda: storage.volumes.get(storage.name("other")).status == 404, "a free one goes")
    assert storage.volumes.read(name)["status"] == {"phase": "Bound"}
    storage.claims.remove("c")
    eventually(lambda: storage.volumes.get(name).status == 404, "the volume goes with its claim")


def test_a_class_of_attributes_stays_while_a_claim_names_it(space_1_36: Space) -> None:
    classes = space_1_36.everywhere("volumeattributesclasses", "storage.k8s.io")
    claims = space_1_36.collection("persistentvolumeclaims")
    name, other = f"{space_1_36.name}-used", f"{space_1_36.name}-other"

    def is_protected(each: str) -> bool:
        return "finalizers" in classes.read(each)["metadata"]

    for each in (name, other):
        classes.create(each, driverName="d.example.com", parameters={"a": "b"})
        eventually(partial(is_protected, each), "protected")
    spec = {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "1Gi"}},
        "volumeAttributesClassName": name,
    }
    claims.create("c", spec=spec)
    for each in (name, other):
        classes.remove(each)
    eventually(lambda: classes.get(other).status == 404, "the unused class is gone")
    assert classes.get(name).status == 200
    claims.remove("c")
    eventually(lambda: classes.get(name).status == 404, "the class is gone with its claim")
