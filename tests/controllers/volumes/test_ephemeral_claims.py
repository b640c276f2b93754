"""Claims for the ephemeral volumes of pods."""

from __future__ import annotations

import pytest
from support.client import Object
from support.namespaces import Space
from support.volumes import Storage
from support.waiting import eventually


@pytest.fixture
def storage(kubernetes: Space) -> Storage:
    kubernetes.ready_for_pods()
    return Storage(kubernetes)


def _spec(*names: str) -> Object:
    wanted = {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "1Gi"}},
        "storageClassName": "none",
    }
    metadata = {"labels": {"of": "template"}, "annotations": {"note": "kept"}}
    template = {"metadata": metadata, "spec": wanted}
    volumes = [{"name": name, "ephemeral": {"volumeClaimTemplate": template}} for name in names]
    return {"containers": [{"name": "c", "image": "i"}], "volumes": volumes}


def _exists(storage: Storage, name: str) -> None:
    eventually(lambda: storage.claims.get(name).status == 200, f"there is a claim {name}")


def test_each_ephemeral_volume_gets_a_claim_that_its_pod_owns(space: Space) -> None:
    space.ready_for_pods()
    storage = Storage(space)
    pod = storage.pods.create("p", spec=_spec("data", "more"))
    for name in ("p-data", "p-more"):
        _exists(storage, name)
    claim = storage.claims.read("p-data")
    metadata = claim["metadata"]
    assert metadata["ownerReferences"] == [
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "name": "p",
            "uid": pod["metadata"]["uid"],
            "controller": True,
            "blockOwnerDeletion": True,
        }
    ]
    assert metadata["labels"] == {"of": "template"}
    assert metadata["annotations"]["note"] == "kept"
    assert claim["spec"]["resources"] == {"requests": {"storage": "1Gi"}}
    assert claim["status"] == {"phase": "Pending"}


def test_a_claim_that_was_deleted_is_made_again(storage: Storage) -> None:
    storage.pods.create("p", spec=_spec("data"))
    _exists(storage, "p-data")
    first = storage.claims.read("p-data")["metadata"]["uid"]
    storage.claims.remove("p-data")

    def renewed() -> bool:
        answer = storage.claims.get("p-data")
        return answer.status == 200 and answer.body["metadata"]["uid"] != first

    eventually(renewed, "there is a new one")


def test_a_claim_of_somebody_else_is_in_the_way(storage: Storage) -> None:
    storage.claim("p-data")
    storage.pods.create("p", spec=_spec("data"))
    space = storage.space.name
    text = f"PVC {space}/p-data was not created for pod {space}/p (pod is not owner)"
    storage.hears("p", "Warning", "FailedBinding", f"ephemeral volume data: {text}")
    assert "ownerReferences" not in storage.claims.read("p-data")["metadata"]
    storage.claims.remove("p-data")
    eventually(
        lambda: bool(storage.claims.get("p-data").body.get("metadata", {}).get("ownerReferences")),
        "it is made once the other is gone",
    )


def test_a_claim_that_is_refused_is_mentioned_and_tried_again(storage: Storage) -> None:
    quotas = storage.space.collection("resourcequotas")
    quotas.create("q", spec={"hard": {"persistentvolumeclaims": "0"}})
    eventually(lambda: "used" in quotas.read("q")["status"], "it is counted")
    storage.pods.create("p", spec=_spec("data"))
    message = "ephemeral volume data: create PVC p-data: persistentvolumeclaims"
    refused = f'{message} "p-data" is forbidden: exceeded quota'
    eventually(
        lambda: any(text.startswith(refused) for _, _, text in storage.events("p")),
        "it is said why",
    )
    quotas.remove("q")
    _exists(storage, "p-data")


def test_a_pod_that_is_going_gets_no_claims(storage: Storage) -> None:
    storage.claim("p-data")
    metadata = {"finalizers": ["example.com/wait"]}
    storage.pods.create("p", metadata=metadata, spec={**_spec("data"), "nodeName": "n"})
    storage.pods.delete("p", gracePeriodSeconds=0)
    storage.remove_claim("p-data")
    storage.pods.create("q", spec=_spec("data"))
    _exists(storage, "q-data")
    assert storage.claims.get("p-data").status == 404
    storage.pods.patch("p", {"metadata": {"finalizers": None}})
