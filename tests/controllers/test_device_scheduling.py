"""Devices in the simulated scheduler, beyond claims that get a free device."""

from __future__ import annotations

from typing import Any

from support.devices import Devices
from support.namespaces import random_word
from support.simulation import Pods, container
from support.waiting import eventually

Object = dict[str, Any]
STOP_AFTER = "simulation.fairlead/stop-after"


def condition(kind: str, message: str = "") -> Object:
    return {
        "type": kind,
        "status": "True",
        "reason": "Done",
        "message": message,
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }


def test_a_pod_is_bound_when_its_device_is_ready(pods_1_36: Pods) -> None:
    fields = {"bindingConditions": ["attached"], "bindingFailureConditions": ["broken"]}
    devices = Devices(pods_1_36, "simulated-0", 1, bindsToNode=True, **fields)
    devices.claim("c")
    devices.use("p", resourceClaimName="c")
    pods_1_36.await_event("BindingConditionsPending", "p", "device on node simulated-0")
    allocation = devices.status("c")["allocation"]
    assert allocation["allocationTimestamp"]
    assert allocation["devices"]["results"][0]["bindingConditions"] == ["attached"]
    assert pods_1_36.node_of("p") == ""
    devices.report("c", condition("attached"))
    pods_1_36.await_ready("p")


def test_a_device_that_fails_or_is_never_ready_is_given_back(pods_1_36: Pods) -> None:
    fields = {"bindingConditions": ["attached"], "bindingFailureConditions": ["broken"]}
    devices = Devices(pods_1_36, "simulated-0", 1, **fields)
    devices.claim("c")
    devices.use("p", resourceClaimName="c")
    pods_1_36.await_event("BindingConditionsPending", "p")
    first = devices.status("c")["allocation"]["allocationTimestamp"]
    devices.report("c", condition("broken", "no power"))
    text = 'device binding failed: claim=c, reason=Done, message="no power"'
    pods_1_36.await_event("FailedScheduling", "p", text)
    pods_1_36.server.advance(2)
    eventually(
        lambda: devices.status("c").get("allocation", {}).get("allocationTimestamp", first) > first,
        "another device is tried",
    )
    pods_1_36.server.advance(601)
    pods_1_36.await_event("FailedScheduling", "p", "device binding timeout: claim=c")
    assert pods_1_36.condition("p", "PodScheduled")["reason"] == "SchedulerError"


def test_a_device_class_serves_an_extended_resource(pods_1_36: Pods) -> None:
    devices, resource = Devices(pods_1_36, "simulated-1", 3), f"example.com/{random_word()}"

    def asking(name: str, count: int) -> Object:
        return container(name, resources={"limits": {resource: str(count)}})

    pods_1_36.create("p", asking("c", 2), initContainers=[asking("init", 1)])
    pods_1_36.await_event("FailedScheduling", "p", f"Insufficient {resource}")
    devices.stand_for(resource)
    pods_1_36.server.advance(11)
    pods_1_36.await_ready("p")
    assert pods_1_36.node_of("p") == "simulated-1"
    status = pods_1_36.status("p")["extendedResourceClaimStatus"]
    request = {"resourceName": resource, "requestName": "container-1-request-0"}
    assert status["requestMappings"] == [
        {"containerName": "c", **request},
        {"containerName": "init", **request},
    ]
    claim = devices.claims.read(status["resourceClaimName"])
    assert claim["metadata"]["name"].startswith("p-extended-resources-")
    note = "resource.kubernetes.io/extended-resource-claim"
    assert claim["metadata"]["annotations"] == {note: "true"}
    assert len(claim["status"]["allocation"]["devices"]["results"]) == 2
    assert [each["name"] for each in claim["status"]["reservedFor"]] == ["p"]
    pods_1_36.create("q", asking("c", 2))
    pods_1_36.await_event("FailedScheduling", "q", "cannot allocate all claims")
    pods_1_36.collection.delete("p", gracePeriodSeconds=0)
    pods_1_36.await_gone("p")
    eventually(lambda: devices.claims.names() == [], "the claim of the first pod is gone")
    pods_1_36.server.advance(11)
    pods_1_36.await_ready("q")


def test_each_class_has_an_extended_resource_of_its_own(pods_1_36: Pods) -> None:
    devices = Devices(pods_1_36, "simulated-2", 1)
    resource = f"deviceclass.resource.kubernetes.io/{devices.driver}"
    pods_1_36.create("p", container(resources={"limits": {resource: "1"}}))
    pods_1_36.await_ready("p")
    assert pods_1_36.node_of("p") == "simulated-2"


def test_the_node_with_the_better_alternative_is_chosen(pods_1_36: Pods) -> None:
    devices = Devices(pods_1_36, "simulated-0", 1, attributes={"size": {"int": 1}})
    devices.publish("simulated-1", [{"name": "d", "attributes": {"size": {"int": 2}}}])
    size = f"device.attributes['{devices.driver}'].size"
    alternatives = [
        {
            "name": f"size{wanted}",
            "deviceClassName": devices.driver,
            "selectors": [{"cel": {"expression": f"{size} == {wanted}"}}],
        }
        for wanted in (2, 1)
    ]
    spec = {"devices": {"requests": [{"name": "r", "firstAvailable": alternatives}]}}
    for claim, node, name in (("a", "simulated-1", "r/size2"), ("b", "simulated-0", "r/size1")):
        devices.claims.create(claim, spec=spec)
        devices.use(claim, resourceClaimName=claim)
        pods_1_36.await_ready(claim)
        assert pods_1_36.node_of(claim) == node
        (result,) = devices.status(claim)["allocation"]["devices"]["results"]
        assert result["request"] == name


def test_pods_leave_a_device_with_a_taint_that_they_do_not_tolerate(pods_1_36: Pods) -> None:
    devices = Devices(pods_1_36, "simulated-0", 1, allowMultipleAllocations=True)

    def tolerating(seconds: int | None) -> Object:
        toleration: Object = {"key": "broken", "operator": "Exists", "effect": "NoExecute"}
        if seconds is not None:
            toleration["tolerationSeconds"] = seconds
        return {"tolerations": [toleration]}

    claims = {"now": {}, "later": tolerating(60), "never": tolerating(None)}
    for name, fields in claims.items():
        devices.claim(name, **fields)
        devices.use(name, resourceClaimName=name, annotations={STOP_AFTER: "20s"})
    pods_1_36.await_ready(*claims)
    devices.taint("simulated-0", {"key": "broken", "effect": "NoExecute"})
    pods_1_36.await_event("DeviceTaintManagerEviction", "now", "Marking for deletion")
    eventually(
        lambda: (
            pods_1_36.condition("now", "DisruptionTarget").get("reason")
            == "DeletionByDeviceTaintManager"
        ),
        "the pod has the condition",
    )
    pods_1_36.server.advance(61)
    pods_1_36.await_event("DeviceTaintManagerEviction", "later", "Marking for deletion")
    pods_1_36.await_gone("now")
    assert pods_1_36.is_ready("never")


def test_a_pod_stays_if_the_taint_of_its_device_goes_in_time(pods_1_36: Pods) -> None:
    toleration = {"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 60}
    tainted = [Devices(pods_1_36, "simulated-0", 1) for _ in range(2)]
    for number, devices in enumerate(tainted):
        devices.claim(f"c{number}", tolerations=[toleration])
        devices.use(f"p{number}", resourceClaimName=f"c{number}")
    pods_1_36.await_ready("p0", "p1")
    for devices in tainted:
        devices.taint("simulated-0", {"key": "broken", "effect": "NoExecute"})
    tainted[0].taint("simulated-0")
    pods_1_36.server.advance(61)
    pods_1_36.await_gone("p1")
    assert pods_1_36.is_ready("p0")


def test_a_search_that_takes_long_ends_and_other_pods_go_on(pods_1_36: Pods) -> None:
    devices = Devices(pods_1_36, "simulated-0", 1)
    puzzle = [
        {
            "name": f"d{number}",
            "attributes": {"x": {"int": number // 64}, "y": {"int": number // 4}},
        }
        for number in range(128)
    ]
    devices.publish("simulated-1", puzzle)
    attribute = f"{devices.driver}/"
    constraints = [{"matchAttribute": f"{attribute}x"}, {"distinctAttribute": f"{attribute}y"}]
    request = {"name": "r", "exactly": {"deviceClassName": devices.driver, "count": 17}}
    devices.claims.create(
        "hard", spec={"devices": {"requests": [request], "constraints": constraints}}
    )
    devices.claim("easy")
    devices.use("hard", resourceClaimName="hard")
    devices.use("easy", resourceClaimName="easy")
    pods_1_36.create("plain")
    pods_1_36.await_ready("plain", "easy")
    pods_1_36.await_event("FailedScheduling", "hard", "1 timed out trying to allocate devices")
