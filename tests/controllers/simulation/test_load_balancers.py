"""Addresses of Services and Ingresses beside simulated nodes."""

from __future__ import annotations

from ipaddress import ip_address, ip_network
from typing import Any

import pytest
from support.client import Object
from support.namespaces import Space
from support.process import FreshServer, ServerProcess
from support.simulation import Pods, behaviour
from support.waiting import await_value, eventually

DEFAULT = ip_network("198.18.0.0/15")
TWO = "192.0.2.0/30"  # two addresses: .1 and .2
Texts = dict[str, str]
OWN_CLASS = "simulation.fairlead.dev/load-balancer"


class Balanced:
    """Services and Ingresses of a namespace."""

    def __init__(self, space: Space) -> None:
        self.space = space
        self.services = space.collection("services")
        self.ingresses = space.collection("ingresses", "networking.@")
        self.classes = space.everywhere("ingressclasses", "networking.@")
        self.finalizer = space.dialect.label("service.@/load-balancer-cleanup")

    def service(self, name: str = "s", annotations: Texts | None = None, **spec: Any) -> None:
        wanted = {"type": "LoadBalancer", "ports": [{"port": 80}], **spec}
        self.services.create(name, metadata={"annotations": annotations or {}}, spec=wanted)

    def ingress(self, name: str = "i", annotations: Texts | None = None, **spec: Any) -> None:
        backend = {"service": {"name": "s", "port": {"number": 80}}}
        metadata = {"annotations": annotations or {}}
        self.ingresses.create(name, metadata=metadata, spec={"defaultBackend": backend, **spec})

    def points(self, name: str = "s") -> list[Object]:
        return list(self.services.read(name)["status"]["loadBalancer"].get("ingress") or ())

    def address(self, name: str = "s") -> str:
        """The address of a service, when it has one."""
        text: str = await_value(lambda: self.points(name))[0]["ip"]
        return text

    def ingress_points(self, name: str = "i") -> list[Object]:
        status = self.ingresses.read(name)["status"]
        return list((status.get("loadBalancer") or {}).get("ingress") or ())

    def ingress_address(self, name: str = "i") -> str:
        text: str = await_value(lambda: self.ingress_points(name))[0]["ip"]
        return text

    def reasons(self, name: str = "s") -> dict[str, str]:
        """The messages of events about an object, by reason."""
        items = self.space.collection("events").list().body["items"]
        about = (item for item in items if item["involvedObject"]["name"] == name)
        return {item["reason"]: item["message"] for item in about}

    def await_reason(self, reason: str, name: str = "s") -> str:
        eventually(lambda: reason in self.reasons(name), f"{name}: {reason}")
        return self.reasons(name)[reason]

    def again(self, server: ServerProcess) -> Balanced:
        """The same after a restart of the server."""
        self.space.client = server.client()
        return Balanced(self.space)


@pytest.fixture
def balanced(any_pods: Pods) -> Balanced:
    return Balanced(any_pods.space)


def small(fresh_server: FreshServer) -> tuple[ServerProcess, Balanced]:
    """A server with two addresses for load balancers."""
    server = fresh_server("--simulate-nodes=1", f"--simulate-load-balancers={TWO}")
    return server, Balanced(Space(server, server.client()))


@pytest.mark.both_dialects
def test_a_load_balancer_gets_an_address_and_gives_it_back(balanced: Balanced) -> None:
    balanced.service()
    address = balanced.address()
    assert ip_address(address) in DEFAULT
    assert balanced.services.read("s")["metadata"]["finalizers"] == [balanced.finalizer]
    assert balanced.await_reason("EnsuredLoadBalancer") == "Ensured load balancer"
    balanced.services.patch("s", {"spec": {"type": "ClusterIP"}})
    eventually(
        lambda: "finalizers" not in balanced.services.read("s")["metadata"], "it is cleaned up"
    )
    assert balanced.points() == []
    assert balanced.await_reason("DeletedLoadBalancer") == "Deleted load balancer"
    balanced.services.patch("s", {"spec": {"type": "LoadBalancer", "loadBalancerIP": address}})
    assert balanced.address() == address
    balanced.services.remove("s")
    eventually(lambda: balanced.services.get("s").status == 404, "it is deleted")


def test_release_1_36_says_how_the_address_is_reached(pods_1_36: Pods) -> None:
    balanced = Balanced(pods_1_36.space)
    balanced.service()
    balanced.address()
    assert balanced.points()[0]["ipMode"] == "VIP"


def test_only_services_without_a_class_or_of_the_simulated_class_are_served(
    balanced: Balanced,
) -> None:
    balanced.service("other", loadBalancerClass="example.com/other")
    balanced.service("own", loadBalancerClass=OWN_CLASS)
    balanced.address("own")
    assert balanced.points("other") == []
    assert "finalizers" not in balanced.services.read("other")["metadata"]


def test_a_service_may_show_a_host_name_and_may_take_its_time(pods: Pods) -> None:
    balanced = Balanced(pods.space)
    balanced.service("named", behaviour(load_balancer_hostname="lb.example.com"))
    balanced.service("late", behaviour(load_balancer_delay="1h"))
    balanced.service("wrong", behaviour(load_balancer_delay="soon"))
    assert await_value(lambda: balanced.points("named")) == [{"hostname": "lb.example.com"}]
    assert '"soon" is not a duration' in balanced.await_reason("InvalidSimulation", "wrong")
    balanced.address("wrong")
    balanced.await_reason("EnsuringLoadBalancer", "late")
    assert balanced.points("late") == []
    pods.server.advance(3600)
    balanced.address("late")
    eventually(
        lambda: "conditions" not in balanced.services.read("late")["status"], "nothing is left over"
    )


def test_a_status_that_somebody_changes_is_put_back(balanced: Balanced) -> None:
    balanced.service()
    address = balanced.address()
    stolen = {"status": {"loadBalancer": {"ingress": [{"ip": "198.18.0.9"}]}}}
    item = balanced.services.item("s", "status")
    assert balanced.space.client.patch(item, stolen).status == 200
    eventually(lambda: balanced.points()[0]["ip"] == address, "it has its own address again")


def test_nobody_gets_the_address_of_another_and_who_got_none_waits(
    fresh_server: FreshServer,
) -> None:
    server, balanced = small(fresh_server)
    balanced.service("first", loadBalancerIP="192.0.2.1")
    assert balanced.address("first") == "192.0.2.1"
    balanced.service("thief", loadBalancerIP="192.0.2.1")
    assert "192.0.2.1 is already in use" in balanced.await_reason("SyncLoadBalancerFailed", "thief")
    balanced.service("outside", loadBalancerIP="10.64.0.5")
    assert "is not in" in balanced.await_reason("SyncLoadBalancerFailed", "outside")
    balanced.service("second")
    assert balanced.address("second") == "192.0.2.2"
    balanced.service("late-1")
    balanced.service("late-2")
    for name in ("late-1", "late-2"):
        text = balanced.await_reason("SyncLoadBalancerFailed", name)
        assert "no address is left in 192.0.2.0/30" in text
    server.kill()
    server.start()
    balanced = balanced.again(server)
    assert balanced.address("first") == "192.0.2.1"
    balanced.services.remove("second")
    assert balanced.address("late-1") == "192.0.2.2"
    assert balanced.points("thief") == []
    balanced.services.remove("first")
    assert balanced.address("thief") == "192.0.2.1"
    assert balanced.points("late-2") == []


@pytest.mark.both_dialects
def test_ingresses_of_a_class_share_an_address(balanced: Balanced) -> None:
    name = balanced.space.name
    balanced.classes.create(name, spec={"controller": "example.com/absent"})
    balanced.ingress("a", ingressClassName=name)
    balanced.ingress("b", ingressClassName=name)
    balanced.ingress("plain")
    balanced.ingress("unknown", ingressClassName=f"{name}-absent")
    balanced.ingress("named", behaviour(load_balancer_hostname="lb.example.com"))
    assert balanced.ingress_address("a") == balanced.ingress_address("b")
    assert balanced.ingress_address("plain") == balanced.ingress_address("unknown")
    assert balanced.ingress_address("plain") != balanced.ingress_address("a")
    assert await_value(lambda: balanced.ingress_points("named")) == [{"hostname": "lb.example.com"}]
    balanced.ingresses.patch("named", {"metadata": {"annotations": None}})
    eventually(
        lambda: "ip" in balanced.ingress_points("named")[0], "the address replaces the host name"
    )
    balanced.classes.remove(name)
    shared = balanced.ingress_address("plain")
    eventually(lambda: balanced.ingress_address("a") == shared, "the class is gone")


def test_the_status_of_another_ingress_controller_is_left_alone(balanced: Balanced) -> None:
    balanced.ingress()
    balanced.ingress_address()
    other = {"status": {"loadBalancer": {"ingress": [{"ip": "203.0.113.7"}]}}}
    item = balanced.ingresses.item("i", "status")
    assert balanced.space.client.patch(item, other, fieldManager="other").status == 200
    balanced.ingresses.patch("i", {"metadata": {"labels": {"touched": "yes"}}})
    balanced.ingress("next")
    balanced.ingress_address("next")
    assert balanced.ingress_points() == [{"ip": "203.0.113.7"}]


def test_only_chosen_ingress_classes_are_served_and_their_addresses_stay(
    fresh_server: FreshServer,
) -> None:
    flags = ("--simulate-nodes=1", "--simulate-ingress-classes=web*")
    server = fresh_server(*flags)
    balanced = Balanced(Space(server, server.client()))
    balanced.classes.create("own", spec={"controller": "simulation.fairlead.dev/ingress"})
    balanced.ingress("plain")
    balanced.ingress("other", ingressClassName="nginx")
    balanced.ingress("own", ingressClassName="own")
    balanced.ingress("web", ingressClassName="web-1")
    addresses = balanced.ingress_address("own"), balanced.ingress_address("web")
    assert balanced.ingress_points("plain") == balanced.ingress_points("other") == []
    server.kill()
    server.start()
    balanced = balanced.again(server)
    balanced.ingress("more", ingressClassName="web-2")
    assert balanced.ingress_address("more") == addresses[1]
    assert (balanced.ingress_address("own"), balanced.ingress_address("web")) == addresses


def test_without_a_range_nobody_gets_an_address(fresh_server: FreshServer) -> None:
    server = fresh_server("--simulate-nodes=1", "--simulate-load-balancers=")
    balanced = Balanced(Space(server, server.client()))
    balanced.service()
    pods = Pods(balanced.space)
    pods.create()
    pods.await_ready()
    assert balanced.points() == []
