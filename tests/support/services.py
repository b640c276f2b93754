"""Services and the pods behind them, written the short way."""

from __future__ import annotations

from typing import Any

from support.client import Object
from support.namespaces import Space, random_word
from support.waiting import eventually

Objects = list[Object]
SINCE = "2026-01-01T00:00:00Z"


class Backend:
    """Services, their pods and endpoints in a fresh namespace, and a node."""

    def __init__(self, space: Space) -> None:
        self.space = space
        space.ready_for_pods()
        self.pods = space.collection("pods")
        self.services = space.collection("services")
        self.endpoints = space.collection("endpoints")
        self.slices = space.collection("endpointslices", "discovery.@")
        self.nodes = space.everywhere("nodes")
        self.node = f"node-{random_word()}"
        self.nodes.create(self.node, labels={self.label("topology.@/zone"): "z1"})

    def label(self, name: str) -> str:
        return self.space.dialect.label(name)

    def service(self, name: str = "s", **spec: Any) -> Object:
        wanted = {"selector": {"app": "a"}, "ports": [{"port": 80}], **spec}
        return self.services.create(name, spec=wanted, labels={"of": "service"})

    def pod(
        self, name: str, *ips: str, ready: bool = True, app: str = "a", node: str = "", **spec: Any
    ) -> Object:
        """A pod on the node of this test that has its addresses, if it is given some."""
        container = {"name": "c", "image": "i", **spec.pop("container", {})}
        wanted = {"containers": [container], "nodeName": node or self.node, **spec}
        self.pods.create(name, spec=wanted, labels={"app": app})
        return self.status(name, *ips, ready=ready)

    def status(self, name: str, *ips: str, ready: bool = True, phase: str = "Running") -> Object:
        condition = {
            "type": "Ready",
            "status": "True" if ready else "False",
            "lastTransitionTime": SINCE,
        }
        status: Object = {"phase": phase, "conditions": [condition]}
        if ips:
            status |= {"podIP": ips[0], "podIPs": [{"ip": ip} for ip in ips]}
        path = self.pods.item(name, "status")
        answer = self.space.client.patch(path, {"status": status})
        assert answer.status == 200, answer.text
        changed: Object = answer.body
        return changed

    def subsets(self, name: str = "s") -> Objects | None:
        """The subsets of Endpoints; None if there are none."""
        answer = self.endpoints.get(name)
        return (answer.body.get("subsets") or []) if answer.status == 200 else None

    def addresses(self, name: str = "s") -> tuple[list[str], list[str]]:
        """Return the ready and the other addresses."""
        results: tuple[list[str], list[str]] = ([], [])
        for subset in self.subsets(name) or ():
            for ips, field in zip(results, ("addresses", "notReadyAddresses"), strict=True):
                ips += [address["ip"] for address in subset.get(field) or ()]
        return results

    def has(self, ready: list[str], waiting: list[str] | None = None, name: str = "s") -> None:
        """Wait until these are the addresses of Endpoints."""
        wanted = (ready, waiting or [])
        eventually(
            lambda: self.subsets(name) is not None and self.addresses(name) == wanted,
            f"Endpoints have {wanted}",
        )

    def slices_of(self, name: str = "s") -> Objects:
        selector = f"{self.label('@/service-name')}={name}"
        items: Objects = self.slices.list(labelSelector=selector).body["items"]
        return items

    def in_slices(self, name: str = "s") -> dict[str, Object]:
        """The endpoints of all slices, by their first address."""
        return {
            endpoint["addresses"][0]: endpoint
            for item in self.slices_of(name)
            for endpoint in item["endpoints"] or ()
        }

    def has_slices(self, *ips: str, name: str = "s") -> Objects:
        """Wait until the slices have these addresses."""
        eventually(
            lambda: bool(self.slices_of(name)) and sorted(self.in_slices(name)) == sorted(ips),
            f"slices have {ips}",
        )
        return self.slices_of(name)

    def events_about(self, name: str) -> list[tuple[str, str]]:
        listed = self.space.collection("events").list(fieldSelector=f"involvedObject.name={name}")
        return [(event["reason"], event["message"]) for event in listed.body["items"]]

    def event_text(self, name: str, reason: str) -> str:
        """Wait for an event and give its text."""
        eventually(
            lambda: reason in dict(self.events_about(name)), f"an event {reason} about {name}"
        )
        return dict(self.events_about(name))[reason]
