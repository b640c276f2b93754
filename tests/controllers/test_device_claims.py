"""The claims of pods on devices: their controller, and the simulated scheduler."""

from __future__ import annotations

from support.devices import Devices
from support.simulation import Pods, behaviour
from support.waiting import eventually


def test_a_claim_is_allocated_on_the_node_with_the_device(pods_1_36: Pods) -> None:
    devices = Devices(pods_1_36, "simulated-0", 1)
    devices.claim("c")
    devices.use("p", resourceClaimName="c")
    pods_1_36.await_ready("p")
    assert pods_1_36.node_of("p") == "simulated-0"
    claim = devices.claims.read("c")
    (result,) = claim["status"]["allocation"]["devices"]["results"]
    assert (result["driver"], result["pool"], result["device"]) == (
        devices.driver,
        "simulated-0",
        "d0",
    )
    assert [each["name"] for each in claim["status"]["reservedFor"]] == ["p"]
    assert devices.is_protected(claim["metadata"]["name"])


def test_a_pod_waits_for_a_device_until_another_pod_is_gone(pods_1_36: Pods) -> None:
    devices = Devices(pods_1_36, "simulated-1", 1)
    devices.claim("first")
    devices.claim("second")
    devices.use("p", resourceClaimName="first")
    pods_1_36.await_ready("p")
    devices.use("q", resourceClaimName="second")
    pods_1_36.await_event("FailedScheduling", "q")
    pods_1_36.collection.delete("p", gracePeriodSeconds=0)
    eventually(lambda: "allocation" not in devices.status("first"), "the device is free")
    eventually(lambda: not devices.is_protected("first"), "the claim may be deleted")
    pods_1_36.server.advance(11)
    pods_1_36.await_ready("q")


def test_claims_are_created_from_a_template_for_each_pod(pods_1_36: Pods) -> None:
    devices = Devices(pods_1_36, "simulated-2", 2)
    for pod in ("p", "q"):
        devices.use(pod, resourceClaimTemplateName="t")
    pods_1_36.await_event("FailedResourceClaimCreation", "p")
    devices.template("t")
    pods_1_36.server.advance(11)
    pods_1_36.await_ready("p", "q")
    names = []
    for pod in ("p", "q"):
        (status,) = pods_1_36.status(pod)["resourceClaimStatuses"]
        names.append(status["resourceClaimName"])
        (owner,) = devices.claims.read(names[-1])["metadata"]["ownerReferences"]
        assert (owner["kind"], owner["name"], owner["controller"]) == ("Pod", pod, True)
    assert sorted(names) == sorted(devices.claims.names())


def test_the_claim_of_a_finished_pod_is_deleted(pods_1_36: Pods) -> None:
    devices = Devices(pods_1_36, "simulated-2", 1)
    devices.template("t")
    devices.use("p", resourceClaimTemplateName="t", annotations=behaviour(exit_after="5s"))
    pods_1_36.await_ready("p")
    assert len(devices.claims.names()) == 1
    pods_1_36.server.advance(6)
    pods_1_36.await_phase("Succeeded", "p")
    eventually(lambda: devices.claims.names() == [], "the claim is gone")


def test_a_claim_in_use_is_kept_until_its_pod_is_gone(pods_1_36: Pods) -> None:
    devices = Devices(pods_1_36, "simulated-2", 1)
    devices.claim("c")
    devices.use("p", resourceClaimName="c")
    pods_1_36.await_ready("p")
    devices.claims.delete("c")
    assert "deletionTimestamp" in devices.claims.read("c")["metadata"]
    pods_1_36.collection.delete("p", gracePeriodSeconds=0)
    eventually(lambda: devices.claims.names() == [], "the claim is gone")
