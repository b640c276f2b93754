"""Endpoints of services without a selector are mirrored to slices."""

from __future__ import annotations

import pytest
from support.client import Object
from support.namespaces import Space
from support.services import Backend
from support.waiting import eventually


@pytest.fixture
def backend(kubernetes: Space) -> Backend:
    backend = Backend(kubernetes)
    backend.services.create("s", spec={"ports": [{"port": 80}]})
    return backend


def subset(*ips: str, **more: object) -> Object:
    return {"addresses": [{"ip": ip} for ip in ips], "ports": [{"port": 80}], **more}


@pytest.mark.both_dialects
def test_a_mirrored_slice_says_what_the_endpoints_do(space: Space) -> None:
    backend = Backend(space)
    backend.services.create("s", spec={"ports": [{"port": 80}]})
    address = {"ip": "10.1.0.1", "hostname": "h", "nodeName": "n", "targetRef": {"name": "p"}}
    waiting = {"ip": "10.1.0.2"}
    metadata = {"annotations": {"a": "b"}, "labels": {"l": "v"}}
    written = {"addresses": [address], "notReadyAddresses": [waiting], "ports": [{"port": 80}]}
    endpoint = backend.endpoints.create("s", metadata=metadata, subsets=[written])
    (endpoint_slice,) = backend.has_slices("10.1.0.1", "10.1.0.2")
    assert endpoint_slice["metadata"]["labels"] == {
        "l": "v",
        backend.label("@/service-name"): "s",
        backend.label("endpointslice.@/managed-by"): space.dialect.group_name(
            "endpointslicemirroring-controller.@"
        ),
    }
    assert endpoint_slice["metadata"]["annotations"] == {"a": "b"}
    (owner,) = endpoint_slice["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["uid"]) == ("Endpoints", endpoint["metadata"]["uid"])
    assert endpoint_slice["ports"] == [{"name": "", "port": 80, "protocol": "TCP"}]
    assert sorted(endpoint_slice["endpoints"], key=lambda item: str(item["addresses"])) == [
        {
            "addresses": ["10.1.0.1"],
            "conditions": {"ready": True},
            "hostname": "h",
            "targetRef": {"name": "p"},
            "nodeName": "n",
        },
        {"addresses": ["10.1.0.2"], "conditions": {"ready": False}},
    ]


def test_each_family_and_each_set_of_ports_has_its_slice(backend: Backend) -> None:
    other = subset("10.1.0.2", ports=[{"port": 81}])
    backend.endpoints.create("s", subsets=[subset("10.1.0.1", "fd00::1"), other])
    endpoint_slice = backend.has_slices("10.1.0.1", "10.1.0.2", "fd00::1")
    kinds = {(item["addressType"], item["ports"][0]["port"]) for item in endpoint_slice}
    assert kinds == {("IPv4", 80), ("IPv6", 80), ("IPv4", 81)}


def test_the_mirror_follows(backend: Backend) -> None:
    backend.endpoints.create("s", subsets=[subset("10.1.0.1")])
    (first,) = backend.has_slices("10.1.0.1")
    backend.endpoints.patch("s", {"subsets": [subset("10.1.0.2")]})
    (second,) = backend.has_slices("10.1.0.2")
    assert second["metadata"]["name"] == first["metadata"]["name"]
    backend.endpoints.patch("s", {"metadata": {"labels": {"l": "v"}}})
    eventually(
        lambda: backend.slices_of()[0]["metadata"]["labels"].get("l") == "v", "labels follow"
    )
    backend.slices.remove(second["metadata"]["name"])
    backend.has_slices("10.1.0.2")
    backend.endpoints.remove("s")
    eventually(lambda: backend.slices_of() == [], "the mirror goes with the Endpoints")


def test_endpoints_without_a_service_are_mirrored_once_they_have_one(backend: Backend) -> None:
    backend.endpoints.create("other", subsets=[subset("10.1.0.1")])
    backend.services.create("other", spec={"ports": [{"port": 80}]})
    backend.has_slices("10.1.0.1", name="other")
    backend.services.remove("other")
    eventually(lambda: backend.slices_of("other") == [], "the mirror goes with the service")


@pytest.mark.parametrize(
    "metadata",
    [
        {"labels": {"endpointslice.kubernetes.io/skip-mirror": "true"}},
        {"annotations": {"control-plane.alpha.kubernetes.io/leader": "{}"}},
    ],
)
def test_what_is_not_to_be_mirrored_is_not(backend: Backend, metadata: Object) -> None:
    backend.endpoints.create("s", subsets=[subset("10.1.0.1")])
    backend.has_slices("10.1.0.1")
    backend.endpoints.patch("s", {"metadata": metadata})
    eventually(lambda: backend.slices_of() == [], "the mirror goes")


def test_a_service_that_gets_a_selector_is_not_mirrored(backend: Backend) -> None:
    backend.endpoints.create("s", subsets=[subset("10.1.0.1")])
    backend.has_slices("10.1.0.1")
    backend.services.patch("s", {"spec": {"selector": {"app": "a"}}})
    (endpoint_slice,) = backend.has_slices()
    managed = endpoint_slice["metadata"]["labels"]["endpointslice.kubernetes.io/managed-by"]
    assert managed == "endpointslice-controller.k8s.io"


def test_a_thousand_addresses_of_a_subset_are_mirrored(backend: Backend) -> None:
    ips = [f"10.2.{index // 250}.{index % 250 + 1}" for index in range(1003)]
    backend.endpoints.create("s", subsets=[subset(*ips)])
    eventually(lambda: len(backend.in_slices()) == 1000, "a thousand are mirrored")
    assert len(backend.slices_of()) == 1
    text = backend.event_text("s", "TooManyAddressesToMirror")
    assert text == (
        "A max of 1000 addresses can be mirrored to EndpointSlices per Endpoints subset."
        " 3 addresses were skipped"
    )
