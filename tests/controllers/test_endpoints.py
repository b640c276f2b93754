"""Endpoints have the addresses of the pods that a service selects."""

from __future__ import annotations

import pytest
from support.namespaces import Space
from support.process import FreshServer
from support.services import SINCE, Backend
from support.waiting import eventually


@pytest.fixture
def backend(kubernetes: Space) -> Backend:
    return Backend(kubernetes)


def test_ready_pods_are_addresses_and_others_are_not_ready(space: Space) -> None:
    backend = Backend(space)
    backend.service()
    ready = backend.pod("ready", "10.1.0.1")
    backend.pod("waiting", "10.1.0.2", ready=False)
    backend.has(["10.1.0.1"], ["10.1.0.2"])
    endpoints = backend.endpoints.read("s")
    assert endpoints["metadata"]["labels"] == {"of": "service"}
    (subset,) = endpoints["subsets"]
    assert subset["ports"] == [{"port": 80, "protocol": "TCP"}]
    assert subset["addresses"] == [
        {
            "ip": "10.1.0.1",
            "nodeName": backend.node,
            "targetRef": {
                "kind": "Pod",
                "namespace": space.name,
                "name": "ready",
                "uid": ready["metadata"]["uid"],
            },
        }
    ]


def test_endpoints_and_slices_without_labels_or_annotations_say_nothing_of_them(
    backend: Backend,
) -> None:
    backend.services.create("s", spec={"selector": {"app": "a"}, "ports": [{"port": 80}]})
    backend.services.create("written", spec={"ports": [{"port": 80}]})
    subset = {"addresses": [{"ip": "10.1.0.1"}], "ports": [{"port": 80}]}
    backend.endpoints.create("written", subsets=[subset])
    backend.has([])
    assert "labels" not in backend.endpoints.read("s")["metadata"]
    (mirrored,) = backend.has_slices("10.1.0.1", name="written")
    assert "annotations" not in mirrored["metadata"]


def test_endpoints_without_addresses_say_nothing_of_subsets(backend: Backend) -> None:
    backend.service()
    backend.has([])
    assert "subsets" not in backend.endpoints.read("s")
    backend.pod("a", "10.1.0.1")
    backend.has(["10.1.0.1"])
    backend.pods.delete("a", gracePeriodSeconds=0)
    backend.has([])
    assert "subsets" not in backend.endpoints.read("s")


def test_endpoints_follow_their_pods(backend: Backend) -> None:
    backend.service()
    backend.has([])
    backend.pod("a", "10.1.0.1", ready=False)
    backend.has([], ["10.1.0.1"])
    backend.status("a", "10.1.0.1")
    backend.has(["10.1.0.1"])
    backend.pods.label("a", app="other")
    backend.has([])
    backend.pods.label("a", app="a")
    backend.has(["10.1.0.1"])
    backend.status("a", "10.1.0.1", phase="Failed")
    backend.has([])


def test_pods_that_exist_before_their_service_are_found(backend: Backend) -> None:
    backend.pod("a", "10.1.0.1")
    backend.service()
    backend.has(["10.1.0.1"])


def test_another_selector_selects_other_pods(backend: Backend) -> None:
    backend.pod("a", "10.1.0.1")
    backend.pod("b", "10.1.0.2", app="b")
    backend.service()
    backend.has(["10.1.0.1"])
    backend.services.patch("s", {"spec": {"selector": {"app": "b"}}})
    backend.has(["10.1.0.2"])


def test_pods_that_go_away_are_left_out(backend: Backend) -> None:
    backend.service()
    backend.service("everybody", publishNotReadyAddresses=True)
    backend.pod("a", "10.1.0.1", terminationGracePeriodSeconds=300)
    backend.has(["10.1.0.1"])
    backend.pods.remove("a")
    backend.has([])
    backend.has(["10.1.0.1"], name="everybody")


def test_not_ready_addresses_are_published_on_demand(backend: Backend) -> None:
    backend.service(publishNotReadyAddresses=True)
    backend.pod("a", "10.1.0.1", ready=False)
    backend.has(["10.1.0.1"])


def test_named_ports_may_differ_between_pods(backend: Backend) -> None:
    backend.service(ports=[{"name": "web", "port": 80, "targetPort": "http"}])
    for name, ip, port in (("a", "10.1.0.1", 8080), ("b", "10.1.0.2", 9090)):
        ports = [{"name": "http", "containerPort": port}]
        backend.pod(name, ip, container={"ports": ports})
    backend.pod("without", "10.1.0.3")
    backend.has(["10.1.0.1", "10.1.0.2"])
    subsets = backend.subsets() or []
    offered = {subset["addresses"][0]["ip"]: subset["ports"] for subset in subsets}
    assert offered == {
        "10.1.0.1": [{"name": "web", "port": 8080, "protocol": "TCP"}],
        "10.1.0.2": [{"name": "web", "port": 9090, "protocol": "TCP"}],
    }


def test_pods_that_offer_the_same_ports_share_a_subset(backend: Backend) -> None:
    ports = [
        {"name": "http", "port": 80, "targetPort": 8080, "appProtocol": "http"},
        {"name": "dns", "port": 53, "protocol": "UDP"},
    ]
    backend.service(ports=ports)
    backend.pod("a", "10.1.0.2")
    backend.pod("b", "10.1.0.10")
    backend.has(["10.1.0.10", "10.1.0.2"])
    (subset,) = backend.subsets() or []
    assert sorted(subset["ports"], key=lambda port: str(port["name"])) == [
        {"name": "dns", "port": 53, "protocol": "UDP"},
        {"name": "http", "port": 8080, "protocol": "TCP", "appProtocol": "http"},
    ]


@pytest.mark.both_dialects
def test_a_headless_service_is_marked_and_needs_no_ports(space: Space) -> None:
    backend = Backend(space)
    backend.service(clusterIP="None", ports=[])
    backend.pod("a", "10.1.0.1", hostname="first", subdomain="s")
    backend.pod("b", "10.1.0.2", hostname="second", subdomain="other")
    backend.has(["10.1.0.1", "10.1.0.2"])
    endpoints = backend.endpoints.read("s")
    assert endpoints["metadata"]["labels"][backend.label("service.@/headless")] == ""
    (subset,) = endpoints["subsets"]
    assert "ports" not in subset
    assert [address.get("hostname") for address in subset["addresses"]] == ["first", None]


def test_labels_of_the_service_are_followed(backend: Backend) -> None:
    backend.service()
    backend.has([])
    backend.services.label("s", of="another")
    eventually(
        lambda: backend.endpoints.read("s")["metadata"].get("labels") == {"of": "another"},
        "Endpoints have the labels of their service",
    )


def test_endpoints_go_with_their_service_and_come_back_without_reason(backend: Backend) -> None:
    backend.service()
    backend.has([])
    backend.endpoints.remove("s")
    backend.has([])
    backend.services.remove("s")
    eventually(lambda: backend.endpoints.get("s").status == 404, "Endpoints go")


def test_services_that_select_nothing_are_left_alone(backend: Backend) -> None:
    address = {"addresses": [{"ip": "10.9.0.1"}], "ports": [{"port": 1}]}
    backend.endpoints.create("own", subsets=[address])
    backend.services.create("own", spec={"ports": [{"port": 1}]})
    backend.services.create(
        "outside", spec={"type": "ExternalName", "externalName": "e.com", "selector": {"app": "a"}}
    )
    backend.pod("a", "10.1.0.1")
    backend.service()
    backend.has(["10.1.0.1"])
    assert backend.addresses("own") == (["10.9.0.1"], [])
    assert backend.endpoints.get("outside").status == 404


@pytest.mark.both_dialects
def test_the_annotation_says_since_when_there_was_news(space: Space) -> None:
    backend = Backend(space)
    created = backend.service()
    backend.has([])
    name = backend.label("endpoints.@/last-change-trigger-time")

    def told() -> str:
        annotations = backend.endpoints.read("s")["metadata"].get("annotations") or {}
        return str(annotations.get(name, ""))

    assert told() == created["metadata"]["creationTimestamp"]
    backend.pod("a", "10.1.0.1")
    backend.has(["10.1.0.1"])
    assert told() == SINCE
    backend.pods.remove("a")
    backend.has([])
    assert told() == ""


def test_changes_that_mean_nothing_write_nothing(backend: Backend) -> None:
    backend.service()
    backend.pod("a", "10.1.0.1")
    backend.has(["10.1.0.1"])
    backend.has_slices("10.1.0.1")
    before = [backend.endpoints.read("s"), backend.slices_of()]
    backend.pods.patch("a", {"metadata": {"annotations": {"x": "y"}}})
    backend.pods.patch("a", {"metadata": {"labels": {"more": "y"}}})
    backend.service("later")
    backend.has(["10.1.0.1"], name="later")
    backend.has_slices("10.1.0.1", name="later")
    assert [backend.endpoints.read("s"), backend.slices_of()] == before


def test_a_pod_without_a_node_cannot_be_published(backend: Backend) -> None:
    """As in the reference: the address names its node, and an empty name is none."""
    backend.service()
    backend.has([])
    backend.pods.create(
        "lost", spec={"containers": [{"name": "c", "image": "i"}]}, labels={"app": "a"}
    )
    backend.status("lost", "10.1.0.9")
    text = backend.event_text("s", "FailedToUpdateEndpoint")
    assert text.startswith(f"Failed to update endpoint {backend.space.name}/s: ")
    assert "subsets[0].addresses[0].nodeName" in text
    backend.pods.delete("lost", gracePeriodSeconds=0)
    backend.pod("found", "10.1.0.1")
    backend.has(["10.1.0.1"])


def test_a_restart_clears_what_services_left_and_publishes_what_changed(
    fresh_server: FreshServer,
) -> None:
    server = fresh_server("--controllers=-*")
    backend = Backend(Space(server, server.client()))
    backend.service()
    backend.pod("a", "10.1.0.1")
    leader = {"annotations": {"control-plane.alpha.kubernetes.io/leader": "{}"}}
    backend.endpoints.create("lock", metadata=leader)
    backend.endpoints.create("left")
    space = backend.space
    server.stop()
    server.flags = ()
    server.start()
    space.client = server.client()
    collection = space.collection("endpoints")
    eventually(lambda: collection.get("left").status == 404, "Endpoints without a service go")
    eventually(lambda: collection.get("s").status == 200, "the service gets its own")
    assert collection.read("s")["subsets"][0]["addresses"][0]["ip"] == "10.1.0.1"
    assert collection.get("lock").status == 200
    collection.create("new")
    space.collection("services").create("t", spec={"ports": [{"port": 1}], "selector": {"a": "b"}})
    eventually(lambda: collection.get("t").status == 200, "the next service gets its own")
    assert collection.get("new").status == 200


def test_what_is_over_capacity_is_cut_and_says_so(fresh_server: FreshServer) -> None:
    few = "import fairlead.controllers.service_endpoints.subsets as s; s.MAX_ADDRESSES = 2"
    server = fresh_server(prelude=few)
    backend = Backend(Space(server, server.client()))
    backend.service()
    for number in (1, 2, 3):
        backend.pod(f"p{number}", f"10.1.0.{number}")

    def mark() -> object:
        annotations = backend.endpoints.read("s")["metadata"].get("annotations") or {}
        return annotations.get("endpoints.kubernetes.io/over-capacity")

    backend.has(["10.1.0.1", "10.1.0.2"])
    eventually(lambda: mark() == "truncated", "the annotation says so")
    backend.pods.delete("p1", gracePeriodSeconds=0)
    backend.has(["10.1.0.2", "10.1.0.3"])
    eventually(lambda: mark() is None, "the annotation goes")
