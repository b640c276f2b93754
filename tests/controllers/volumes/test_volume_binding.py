"""Which volume a claim is bound to, and the fields of both."""

from __future__ import annotations

from typing import Any

import pytest
from support.namespaces import Space
from support.volumes import Storage
from support.waiting import eventually

MANY = ["ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany"]


@pytest.fixture
def storage(kubernetes: Space) -> Storage:
    return Storage(kubernetes)


@pytest.mark.both_dialects
def test_both_sides_of_a_binding_name_each_other(space: Space) -> None:
    storage = Storage(space)
    storage.free_volume("v", "2Gi", accessModes=["ReadWriteOnce", "ReadOnlyMany"])
    storage.claim("c")
    claim = storage.claim_in("c", "Bound")
    volume = storage.volume_in("v", "Bound")
    completed = space.dialect.label("pv.@/bind-completed")
    controller = space.dialect.label("pv.@/bound-by-controller")
    assert claim["metadata"]["annotations"] == {completed: "yes", controller: "yes"}
    assert claim["spec"]["volumeName"] == volume["metadata"]["name"]
    assert claim["status"] == {
        "phase": "Bound",
        "accessModes": ["ReadWriteOnce", "ReadOnlyMany"],
        "capacity": {"storage": "2Gi"},
    }
    assert volume["metadata"]["annotations"] == {controller: "yes"}
    reference = volume["spec"]["claimRef"]
    assert reference.pop("resourceVersion")
    assert reference == {
        "kind": "PersistentVolumeClaim",
        "apiVersion": "v1",
        "namespace": space.name,
        "name": "c",
        "uid": claim["metadata"]["uid"],
    }
    assert volume["status"] == {"phase": "Bound"}


def test_the_smallest_volume_that_is_large_enough_is_taken(storage: Storage) -> None:
    for word, size in (("tiny", "1Gi"), ("huge", "50Gi"), ("right", "5Gi"), ("large", "10Gi")):
        storage.free_volume(word, size)
    storage.claim("c", "4Gi")
    assert storage.bound_volume("c") == "right"


def test_a_claim_gets_a_volume_of_its_attributes_class(space_1_36: Space) -> None:
    storage = Storage(space_1_36)
    storage.free_volume("plain", "1Gi")
    for name, size in (("silver", "1Gi"), ("gold", "9Gi")):
        source = {"driver": "example.com", "volumeHandle": name}
        storage.free_volume(name, size, csi=source, volumeAttributesClassName=name)
    storage.claim("c", volumeAttributesClassName="gold")
    assert storage.bound_volume("c") == "gold"
    assert storage.claim_in("c", "Bound")["status"]["currentVolumeAttributesClassName"] == "gold"


def test_a_volume_that_can_do_no_more_than_wanted_is_taken_first(storage: Storage) -> None:
    storage.free_volume("versatile", "1Gi", accessModes=MANY)
    storage.free_volume("plain", "9Gi")
    storage.claim("c")
    assert storage.bound_volume("c") == "plain"


@pytest.mark.parametrize(
    "spec",
    [
        {"accessModes": ["ReadOnlyMany"]},
        {"volumeMode": "Block"},
        {"storageClassName": "another"},
        {"size": "1023Mi"},
    ],
)
def test_a_volume_that_does_not_fit_is_left_alone(storage: Storage, spec: dict[str, str]) -> None:
    storage.free_volume("bad", **spec)
    storage.free_volume("good", "2Gi")
    storage.claim("c")
    assert storage.bound_volume("c") == "good"
    assert storage.volumes.read(storage.name("bad"))["status"] == {"phase": "Available"}


@pytest.mark.parametrize(
    "spec",
    [
        {"accessModes": MANY},
        {"volumeMode": "Block"},
        {"selector": {"matchLabels": {"fast": "yes"}}},
        {"storageClassName": "of-no-volume"},
        {"size": "2Gi"},
    ],
)
def test_a_claim_that_nothing_fits_waits(storage: Storage, spec: dict[str, Any]) -> None:
    storage.free_volume("v")
    storage.claim("c", **spec)
    storage.claim("other")
    assert storage.bound_volume("other") == "v"
    assert storage.claims.read("c")["status"] == {"phase": "Pending"}


def test_a_selector_chooses_by_labels(storage: Storage) -> None:
    storage.volume("small")
    labels = {"labels": {"disk": "fast", "room": "1"}}
    storage.volume("labelled", "8Gi", metadata=labels)
    for word in ("small", "labelled"):
        storage.volume_in(word, "Available")
    rule = {"key": "room", "operator": "In", "values": ["1", "2"]}
    storage.claim("c", selector={"matchLabels": {"disk": "fast"}, "matchExpressions": [rule]})
    assert storage.bound_volume("c") == "labelled"


def test_the_older_annotation_names_the_class_too(storage: Storage) -> None:
    annotation = storage.label("volume.beta.@/storage-class")
    named = {"annotations": {annotation: storage.space.name}}
    storage.volume("v", metadata=named, storageClassName="")
    storage.volume_in("v", "Available")
    storage.claim("c")
    assert storage.bound_volume("c") == "v"


def test_a_claim_that_waits_gets_the_volume_that_comes(storage: Storage) -> None:
    storage.claim("large", "5Gi")
    storage.claim("c")
    storage.volume("v", "2Gi")
    assert storage.bound_volume("c") == "v"
    assert storage.claims.read("large")["status"] == {"phase": "Pending"}
    storage.volumes.patch(storage.name("v"), {"spec": {"capacity": {"storage": "9Gi"}}})
    storage.volume("next", "5Gi")
    assert storage.bound_volume("large") == "next"


def test_of_many_claims_each_gets_a_volume_of_its_own(storage: Storage) -> None:
    words = [f"v{index}" for index in range(8)]
    for index, word in enumerate(words):
        storage.claim(f"c{index}")
        storage.volume(word)
    result = [storage.bound_volume(f"c{index}") for index in range(8)]
    assert sorted(result) == words
    holders = [storage.volume_in(word, "Bound")["spec"]["claimRef"]["name"] for word in words]
    assert sorted(holders) == [f"c{index}" for index in range(8)]


def test_of_two_claims_for_one_volume_one_wins_and_the_other_finds_another(
    storage: Storage,
) -> None:
    storage.claim("a")
    storage.claim("b")
    storage.volume("first")
    eventually(
        lambda: storage.volumes.read(storage.name("first"))["status"]["phase"] == "Bound", "taken"
    )

    def phases() -> list[str]:
        return sorted(storage.claims.read(name)["status"]["phase"] for name in "ab")

    eventually(lambda: phases() == ["Bound", "Pending"], "told to the one that has it")
    storage.volume("second")
    assert sorted(storage.bound_volume(name) for name in "ab") == ["first", "second"]


def test_a_claim_gets_the_volume_that_it_names(storage: Storage) -> None:
    storage.free_volume("small")
    storage.free_volume("large", "9Gi")
    storage.claim("c", volumeName=storage.name("large"))
    assert storage.bound_volume("c") == "large"
    given = storage.claims.read("c")["metadata"]["annotations"]
    assert given == {storage.label("pv.@/bind-completed"): "yes"}


def test_a_claim_waits_for_the_volume_that_it_names(storage: Storage) -> None:
    storage.free_volume("other")
    storage.claim("c", volumeName=storage.name("late"))
    storage.volume("late")
    assert storage.bound_volume("c") == "late"


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        ({"size": "512Mi"}, "requested PV is too small"),
        ({"storageClassName": "another"}, "storageClassName does not match"),
        ({"volumeMode": "Block"}, "incompatible volumeMode"),
        ({"accessModes": ["ReadOnlyMany"]}, "incompatible accessMode"),
    ],
)
def test_a_named_volume_that_does_not_fit_is_refused(
    storage: Storage, spec: dict[str, Any], why: str
) -> None:
    storage.volume("v", **spec)
    name = storage.name("v")
    storage.claim("c", volumeName=name)
    storage.hears(
        "c", "Warning", "VolumeMismatch", f'Cannot bind to requested volume "{name}": {why}'
    )
    assert storage.claims.read("c")["status"] == {"phase": "Pending"}


def test_a_named_volume_that_another_claim_has_is_waited_for(storage: Storage) -> None:
    storage.free_volume("v")
    storage.claim("first")
    storage.claim_in("first", "Bound")
    name = storage.name("v")
    storage.claim("c", volumeName=name)
    text = f'volume "{name}" already bound to a different claim.'
    storage.hears("c", "Warning", "FailedBinding", text)
    storage.remove_claim("first")
    storage.volume_in("v", "Released")
    storage.volumes.patch(name, {"spec": {"claimRef": None}})
    assert storage.bound_volume("c") == "v"


def test_a_volume_can_be_meant_for_a_claim_that_comes_later(storage: Storage) -> None:
    storage.volume("v", "5Gi", claimRef={"namespace": storage.space.name, "name": "c"})
    storage.volume_in("v", "Available")
    storage.free_volume("small")
    storage.claim("other", "2Gi")
    storage.claim("c")
    assert storage.bound_volume("c") == "v"
    assert storage.claims.read("other")["status"] == {"phase": "Pending"}
    volume = storage.volume_in("v", "Bound")
    assert volume["spec"]["claimRef"]["uid"] == storage.claims.read("c")["metadata"]["uid"]
    assert "annotations" not in volume["metadata"]


def test_a_volume_of_any_class_may_be_meant_for_a_claim(storage: Storage) -> None:
    meant = {"namespace": storage.space.name, "name": "c"}
    storage.volume("v", claimRef=meant, storageClassName="another")
    storage.claim("c")
    assert storage.bound_volume("c") == "v"


def test_a_volume_that_was_made_for_another_claim_of_that_name_is_not_taken(
    storage: Storage,
) -> None:
    meant = {"namespace": storage.space.name, "name": "c", "uid": "0-1-2"}
    storage.volume("old", claimRef=meant)
    storage.volume_in("old", "Released")
    storage.claim("c")
    storage.volume("new", "3Gi")
    assert storage.bound_volume("c") == "new"


def test_a_volume_that_a_scheduler_bound_to_a_claim_is_taken(storage: Storage) -> None:
    """The other way round: somebody else has written the claim's identity into the volume."""
    storage.storage_class(volumeBindingMode="WaitForFirstConsumer")
    claim = storage.claim("c")
    metadata = claim["metadata"]
    reference = {"namespace": storage.space.name, "name": "c", "uid": metadata["uid"]}
    storage.volume("v", claimRef=reference)
    assert storage.bound_volume("c") == "v"


def test_an_unusable_volume_that_is_meant_for_a_claim_is_mentioned(storage: Storage) -> None:
    claim = storage.claim("c")
    metadata = claim["metadata"]
    reference = {"namespace": storage.space.name, "name": "c", "uid": metadata["uid"]}
    storage.volume("v", claimRef=reference, volumeMode="Block")
    name, why = storage.name("v"), "due to incompatible volumeMode."
    text = f'Cannot bind PersistentVolume "{name}" to requested PersistentVolumeClaim {why}'
    storage.hears("c", "Warning", "VolumeMismatch", text)
    text = f'Cannot bind PersistentVolume to requested PersistentVolumeClaim "c" {why}'
    storage.hears(name, "Warning", "VolumeMismatch", text, "default")


def test_a_volume_whose_claim_went_elsewhere_is_free_again(storage: Storage) -> None:
    storage.free_volume("v")
    claim = storage.claim("c")
    storage.claim_in("c", "Bound")
    metadata = claim["metadata"]
    reference = {"namespace": storage.space.name, "name": "c", "uid": metadata["uid"]}
    mark = {"annotations": {storage.label("pv.@/bound-by-controller"): "yes"}}
    storage.volume("spare", claimRef=reference, metadata=mark)
    spare = storage.volume_in("spare", "Available")
    assert "claimRef" not in spare["spec"]
    assert "annotations" not in spare["metadata"]
    storage.volume("meant", claimRef=reference)
    meant = storage.volume_in("meant", "Available")
    assert meant["spec"]["claimRef"] == {"namespace": storage.space.name, "name": "c"}


def test_a_claim_whose_volume_is_gone_is_lost(storage: Storage) -> None:
    storage.free_volume("v")
    storage.claim("c")
    storage.claim_in("c", "Bound")
    name = storage.name("v")
    storage.volumes.remove(name)
    storage.volumes.patch(name, {"metadata": {"finalizers": None}})
    claim = storage.claim_in("c", "Lost")
    assert claim["status"] == {"phase": "Lost"}
    text = "Bound claim has lost its PersistentVolume. Data on the volume is lost!"
    storage.hears("c", "Warning", "ClaimLost", text)


def test_a_claim_whose_volume_belongs_to_another_is_lost(storage: Storage) -> None:
    storage.free_volume("v")
    storage.claim("first")
    storage.claim_in("first", "Bound")
    mark = {"annotations": {storage.label("pv.@/bind-completed"): "yes"}}
    storage.claim("c", volumeName=storage.name("v"), metadata=mark)
    storage.claim_in("c", "Lost")
    text = "Two claims are bound to the same volume, this one is bound incorrectly"
    storage.hears("c", "Warning", "ClaimMisbound", text)


def test_a_volume_that_lost_its_claim_by_hand_is_bound_again(storage: Storage) -> None:
    storage.free_volume("v")
    storage.claim("c")
    storage.claim_in("c", "Bound")
    name = storage.name("v")
    assert storage.volumes.patch(name, {"spec": {"claimRef": None}}).status == 200
    eventually(lambda: "claimRef" in storage.volumes.read(name)["spec"], "bound again")
    assert storage.volume_in("v", "Bound")["spec"]["claimRef"]["name"] == "c"


def test_a_volume_that_is_being_deleted_is_not_taken(storage: Storage) -> None:
    storage.volume("v", metadata={"finalizers": ["example.com/wait"]})
    storage.volume_in("v", "Available")
    storage.volumes.remove(storage.name("v"))
    storage.claim("c")
    storage.volume("w", "9Gi")
    assert storage.bound_volume("c") == "w"
    storage.volumes.patch(storage.name("v"), {"metadata": {"finalizers": None}})


def test_the_modes_of_a_volume_are_followed_and_its_size_is_not(storage: Storage) -> None:
    storage.free_volume("v")
    storage.claim("c")
    storage.claim_in("c", "Bound")
    change = {"spec": {"capacity": {"storage": "3Gi"}, "accessModes": MANY}}
    storage.volumes.patch(storage.name("v"), change)
    eventually(
        lambda: storage.claims.read("c")["status"]["accessModes"] == MANY, "the modes are followed"
    )
    assert storage.claims.read("c")["status"]["capacity"] == {"storage": "1Gi"}
