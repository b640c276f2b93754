"""EndpointSlices have the addresses of the pods that a service selects, a hundred at most each."""

from __future__ import annotations

import pytest
from support.client import Object
from support.namespaces import Space
from support.process import FreshServer
from support.services import SINCE, Backend
from support.waiting import eventually


@pytest.fixture
def backend(kubernetes: Space) -> Backend:
    return Backend(kubernetes)


@pytest.mark.both_dialects
def test_a_slice_says_what_is_known_of_its_pods(space: Space) -> None:
    backend = Backend(space)
    service = backend.service()
    pod = backend.pod("a", "10.1.0.1")
    (endpoint_slice,) = backend.has_slices("10.1.0.1")
    metadata = endpoint_slice["metadata"]
    assert metadata["generateName"] == "s-"
    assert metadata["labels"] == {
        "of": "service",
        backend.label("@/service-name"): "s",
        backend.label("endpointslice.@/managed-by"): space.dialect.group_name(
            "endpointslice-controller.@"
        ),
    }
    assert metadata["ownerReferences"] == [
        {
            "apiVersion": "v1",
            "kind": "Service",
            "name": "s",
            "uid": service["metadata"]["uid"],
            "controller": True,
            "blockOwnerDeletion": True,
        }
    ]
    assert endpoint_slice["addressType"] == "IPv4"
    assert endpoint_slice["ports"] == [{"name": "", "port": 80, "protocol": "TCP"}]
    assert endpoint_slice["endpoints"] == [
        {
            "addresses": ["10.1.0.1"],
            "conditions": {"ready": True, "serving": True, "terminating": False},
            "targetRef": {
                "kind": "Pod",
                "namespace": space.name,
                "name": "a",
                "uid": pod["metadata"]["uid"],
            },
            "nodeName": backend.node,
            "zone": "z1",
        }
    ]


def conditions(backend: Backend, ip: str, name: str = "s") -> Object:
    result = backend.in_slices(name).get(ip)
    return result["conditions"] if result is not None else {}


def test_conditions_tell_ready_serving_and_terminating_apart(backend: Backend) -> None:
    backend.service()
    backend.service("everybody", publishNotReadyAddresses=True)
    backend.pod("a", "10.1.0.1", ready=False, terminationGracePeriodSeconds=300)
    backend.has_slices("10.1.0.1")
    backend.has_slices("10.1.0.1", name="everybody")
    waiting = {"ready": False, "serving": False, "terminating": False}
    assert conditions(backend, "10.1.0.1") == waiting
    assert conditions(backend, "10.1.0.1", "everybody") == {**waiting, "ready": True}
    backend.status("a", "10.1.0.1")
    backend.pods.remove("a")
    going = {"ready": False, "serving": True, "terminating": True}
    eventually(lambda: conditions(backend, "10.1.0.1") == going, "a pod that goes still serves")
    open_to_all = {**going, "ready": True}
    eventually(
        lambda: conditions(backend, "10.1.0.1", "everybody") == open_to_all,
        "all addresses are published on demand",
    )


def test_a_service_without_pods_has_one_empty_slice(backend: Backend) -> None:
    backend.service()
    (empty,) = backend.has_slices()
    assert (empty["endpoints"], empty["ports"]) == (None, None)
    backend.pod("a", "10.1.0.1")
    (used,) = backend.has_slices("10.1.0.1")
    assert used["metadata"]["name"] == empty["metadata"]["name"]
    backend.pods.delete("a", gracePeriodSeconds=0)
    (empty_again,) = backend.has_slices()
    assert empty_again["metadata"]["name"] == empty["metadata"]["name"]
    assert empty_again["ports"] is None


def test_pods_with_other_ports_are_in_other_slices(backend: Backend) -> None:
    backend.service(ports=[{"name": "web", "port": 80, "targetPort": "http"}])
    for name, ip, port in (("a", "10.1.0.1", 8080), ("b", "10.1.0.2", 9090)):
        ports = [{"name": "http", "containerPort": port}]
        backend.pod(name, ip, container={"ports": ports})
    endpoint_slice = backend.has_slices("10.1.0.1", "10.1.0.2")
    offered = {item["endpoints"][0]["addresses"][0]: item["ports"] for item in endpoint_slice}
    assert offered == {
        "10.1.0.1": [{"name": "web", "port": 8080, "protocol": "TCP"}],
        "10.1.0.2": [{"name": "web", "port": 9090, "protocol": "TCP"}],
    }


def test_a_headless_service_has_marked_slices_with_hostnames(backend: Backend) -> None:
    backend.service(clusterIP="None", ports=[])
    backend.pod("a", "10.1.0.1", hostname="first", subdomain="s")
    (endpoint_slice,) = backend.has_slices("10.1.0.1")
    assert endpoint_slice["metadata"]["labels"]["service.kubernetes.io/headless"] == ""
    assert endpoint_slice["endpoints"][0]["hostname"] == "first"
    assert endpoint_slice["ports"] is None


def test_a_pod_waits_for_its_node(backend: Backend) -> None:
    backend.service()
    node = f"{backend.node}-later"
    backend.pod("a", "10.1.0.1", node=node)
    text = backend.event_text("s", "FailedToUpdateEndpointSlices")
    space = backend.space.name
    assert text == (
        f"Error updating Endpoint Slices for Service {space}/s: skipping Pod a for Service"
        f" {space}/s: Node {node} Not Found"
    )
    assert backend.in_slices() == {}
    backend.nodes.create(node)
    (endpoint_slice,) = backend.has_slices("10.1.0.1")
    assert "zone" not in endpoint_slice["endpoints"][0]
    zone = {"topology.kubernetes.io/zone": "z2"}
    backend.nodes.patch(node, {"metadata": {"labels": zone}})  # a controller writes the node, too
    eventually(
        lambda: backend.in_slices()["10.1.0.1"].get("zone") == "z2", "the zone is that of the node"
    )


def test_what_others_do_to_slices_is_undone(backend: Backend) -> None:
    backend.service()
    backend.pod("a", "10.1.0.1")
    (endpoint_slice,) = backend.has_slices("10.1.0.1")
    stranger = {"addresses": ["10.7.7.7"], "conditions": {"ready": True}}
    backend.slices.update({**endpoint_slice, "endpoints": [stranger]})
    (mended,) = backend.has_slices("10.1.0.1")
    backend.slices.remove(mended["metadata"]["name"])
    backend.has_slices("10.1.0.1")


def test_slices_of_an_earlier_service_of_that_name_are_replaced(backend: Backend) -> None:
    backend.service()
    backend.pod("a", "10.1.0.1")
    (endpoint_slice,) = backend.has_slices("10.1.0.1")
    stray = {"name": "stray", "labels": endpoint_slice["metadata"]["labels"]}
    backend.slices.create("stray", metadata=stray, addressType="IPv4", endpoints=[])
    eventually(lambda: backend.slices.get("stray").status == 404, "who has no owner goes")
    assert [item["metadata"]["name"] for item in backend.slices_of()] == [
        endpoint_slice["metadata"]["name"]
    ]


def test_hints_that_nobody_asked_for_are_taken_away(backend: Backend) -> None:
    backend.service()
    backend.pod("a", "10.1.0.1")
    (endpoint_slice,) = backend.has_slices("10.1.0.1")
    endpoint_slice["endpoints"][0]["hints"] = {"forZones": [{"name": "z1"}]}
    backend.slices.update(endpoint_slice)
    eventually(lambda: "hints" not in backend.in_slices()["10.1.0.1"], "there are none")


def test_the_annotation_says_since_when_there_was_news(backend: Backend) -> None:
    created = backend.service()
    (endpoint_slice,) = backend.has_slices()
    name = "endpoints.kubernetes.io/last-change-trigger-time"
    assert endpoint_slice["metadata"]["annotations"] == {
        name: created["metadata"]["creationTimestamp"]
    }
    backend.pod("a", "10.1.0.1")
    (endpoint_slice,) = backend.has_slices("10.1.0.1")
    assert endpoint_slice["metadata"]["annotations"] == {name: SINCE}


def test_services_that_select_nothing_have_no_slices(backend: Backend) -> None:
    backend.services.create("own", spec={"ports": [{"port": 1}]})
    backend.service()
    backend.has_slices()
    assert backend.slices_of("own") == []


def test_a_service_of_both_families_has_slices_of_both(fresh_server: FreshServer) -> None:
    server = fresh_server("--service-cluster-ip-range=10.0.0.0/24,fd00:1::/112")
    backend = Backend(Space(server, server.client()))
    backend.service(ipFamilyPolicy="RequireDualStack")
    backend.service("six", ipFamilies=["IPv6"])
    backend.pod("both", "10.1.0.1", "fd00::1")
    backend.pod("four", "10.1.0.2")
    endpoint_slice = backend.has_slices("10.1.0.1", "10.1.0.2", "fd00::1")
    sizes = {item["addressType"]: len(item["endpoints"]) for item in endpoint_slice}
    assert sizes == {"IPv4": 2, "IPv6": 1}
    backend.has(["10.1.0.1", "10.1.0.2"])
    backend.has(["fd00::1"], name="six")
    backend.services.patch("s", {"spec": {"ipFamilyPolicy": "SingleStack", "ipFamilies": ["IPv4"]}})
    backend.has_slices("10.1.0.1", "10.1.0.2")
