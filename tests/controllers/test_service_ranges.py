"""Addresses of services as objects, and the ranges that they come from."""

from __future__ import annotations

from typing import Any

from support.namespaces import Collection, Space
from support.waiting import eventually

GROUP = "networking.k8s.io"
FINALIZER = "networking.k8s.io/service-cidr-finalizer"
PORTS = [{"port": 80}]


def addresses(space: Space) -> Collection:
    return space.everywhere("ipaddresses", GROUP)


def ranges(space: Space) -> Collection:
    return space.everywhere("servicecidrs", GROUP)


def serve(space: Space, name: str, **spec: Any) -> str:
    created = space.collection("services").create(name, spec={"ports": PORTS, **spec})
    return str(created["spec"]["clusterIP"])


def is_ready(space: Space, name: str) -> bool:
    value = ranges(space).read(name)
    conditions = (value.get("status") or {}).get("conditions") or []
    has_finalizer = FINALIZER in (value["metadata"].get("finalizers") or ())
    return has_finalizer and [each["status"] for each in conditions] == ["True"]


def test_the_configured_range_is_an_object(space_1_36: Space) -> None:
    eventually(lambda: is_ready(space_1_36, "kubernetes"), "ready")


def test_an_address_is_an_object_as_long_as_its_service_has_it(space_1_36: Space) -> None:
    address = serve(space_1_36, "a")
    value = addresses(space_1_36).read(address)
    parent = {"resource": "services", "namespace": space_1_36.name, "name": "a"}
    assert value["spec"]["parentRef"] == parent
    headers = {"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}
    shown = space_1_36.client.get(addresses(space_1_36).item(address), headers=headers).body
    assert [column["name"] for column in shown["columnDefinitions"]] == ["Name", "ParentRef"]
    # The reference has an age without a column.
    assert shown["rows"][0]["cells"][:2] == [address, f"services/{space_1_36.name}/a"]
    assert len(shown["rows"][0]["cells"]) == 3
    space_1_36.collection("services").remove("a")
    assert addresses(space_1_36).get(address).status == 404


def test_a_service_without_address_gives_it_back(space_1_36: Space) -> None:
    address = serve(space_1_36, "a")
    change = {"spec": {"type": "ExternalName", "externalName": "a.b"}}
    assert space_1_36.collection("services").patch("a", change).status == 200
    assert addresses(space_1_36).get(address).status == 404


def test_an_address_of_somebody_else_is_not_allocated(space_1_36: Space) -> None:
    parent = {"resource": "gateways", "group": "example.com", "name": "g"}
    addresses(space_1_36).create("10.0.0.200", spec={"parentRef": parent})
    services = space_1_36.collection("services")
    body = {"metadata": {"name": "a"}, "spec": {"ports": PORTS, "clusterIP": "10.0.0.200"}}
    answer = space_1_36.client.post(services.path, body)
    assert answer.status == 422
    assert "provided IP is already allocated" in answer.body["message"]
    addresses(space_1_36).remove("10.0.0.200")
    assert serve(space_1_36, "a", clusterIP="10.0.0.200") == "10.0.0.200"


def test_further_ranges_extend_the_configured_one(space_1_36: Space) -> None:
    ranges(space_1_36).create("more", spec={"cidrs": ["10.99.0.0/28"]})
    eventually(lambda: is_ready(space_1_36, "more"), "ready")
    assert serve(space_1_36, "a", clusterIP="10.99.0.3") == "10.99.0.3"
    ranges(space_1_36).delete("more")
    reason = "Terminating"

    def is_held() -> bool:
        conditions = ranges(space_1_36).read("more")["status"]["conditions"]
        return bool(conditions[0]["reason"] == reason)

    eventually(is_held, "held by an address")
    body = {"metadata": {"name": "b"}, "spec": {"ports": PORTS, "clusterIP": "10.99.0.4"}}
    answer = space_1_36.client.post(space_1_36.collection("services").path, body)
    assert "does not match the current range" in answer.body["message"]
    space_1_36.collection("services").remove("a")


def test_a_lost_address_is_restored(space_1_36: Space) -> None:
    address = serve(space_1_36, "a")
    addresses(space_1_36).delete(address)
    eventually(lambda: addresses(space_1_36).get(address).status == 200, "restored")


def test_an_address_without_service_is_deleted(space_1_36: Space) -> None:
    labels = {
        "ipaddress.kubernetes.io/ip-family": "IPv4",
        "ipaddress.kubernetes.io/managed-by": "ipallocator.k8s.io",
    }
    parent = {"resource": "services", "namespace": space_1_36.name, "name": "gone"}
    addresses(space_1_36).create("10.0.0.201", labels=labels, spec={"parentRef": parent})
    eventually(lambda: addresses(space_1_36).get("10.0.0.201").status == 404, "deleted")
