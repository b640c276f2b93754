"""Functions of templates that depend on the object or the server."""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256
from ipaddress import IPv4Address, IPv4Network
from typing import Any

from fairlead import __version__
from fairlead.base import clock
from fairlead.codec.types.model import Object
from fairlead.codec.types.times import format_micro_time
from fairlead.controllers.simulation.simulated_nodes import NODES
from fairlead.operations.client import Client

# Addresses of nodes and pods that stages move; other than those of simulated nodes.
_NODES_NETWORK = IPv4Network("198.18.0.0/15")
_PODS_NETWORK = IPv4Network("10.128.0.0/10")
_STARTED = format_micro_time(clock.now())


class ObjectFunctions:
    """The functions for one object."""

    def __init__(self, client: Client, value: Object) -> None:
        self._client = client
        self._value = value

    def table(self) -> dict[str, Callable[..., Any]]:
        return {name: function.__get__(self) for name, function in OBJECT_FUNCTIONS.items()}

    def now(self) -> str:
        return format_micro_time(clock.now())

    def start_time(self) -> str:
        return _STARTED

    def version(self) -> str:
        return __version__

    def node_name(self) -> str:
        if self._value["kind"] == "Node":
            return str(self._value["metadata"]["name"])
        return str((self._value.get("spec") or {}).get("nodeName") or "")

    def node_ip(self) -> str:
        return self.node_ip_with(self.node_name())

    def node_ips(self) -> list[str]:
        return [self.node_ip()]

    def node_port(self) -> int:
        return 0  # no agent listens

    def node_ip_with(self, name: str | None) -> str:
        """The address of a node: its own, or one that belongs to its name."""
        node = self._client.find(NODES, "", name) if name else None
        for address in ((node or {}).get("status") or {}).get("addresses") or ():
            if address.get("type") == "InternalIP":
                return str(address["address"])
        return _address(_NODES_NETWORK, name or "")

    def node_ips_with(self, name: str | None) -> list[str]:
        return [self.node_ip_with(name)]

    def pod_ip(self) -> str:
        spec, metadata = self._value.get("spec") or {}, self._value["metadata"]
        return self.pod_ip_with(spec.get("nodeName"), spec.get("hostNetwork"), metadata.get("uid"))

    def pod_ip_with(self, node: str | None, shares_host: Any, uid: str | None, *_: Any) -> str:
        """The address of a pod: that of its node, the one that it has, or one that belongs to its
        uid."""
        if shares_host:
            return self.node_ip_with(node)
        present = (self._value.get("status") or {}).get("podIP")
        return str(present or _address(_PODS_NETWORK, uid or ""))

    def pod_ips_with(
        self, node: str | None, shares_host: Any, uid: str | None, *_: Any
    ) -> list[str]:
        return [self.pod_ip_with(node, shares_host, uid)]


def _address(network: IPv4Network, identity: str) -> str:
    """An address of a network by a digest."""
    number = int.from_bytes(sha256(identity.encode()).digest()[:8])
    return str(IPv4Address(int(network[1]) + number % (network.num_addresses - 2)))


OBJECT_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "NodeIP": ObjectFunctions.node_ip,
    "NodeIPWith": ObjectFunctions.node_ip_with,
    "NodeIPs": ObjectFunctions.node_ips,
    "NodeIPsWith": ObjectFunctions.node_ips_with,
    "NodeName": ObjectFunctions.node_name,
    "NodePort": ObjectFunctions.node_port,
    "Now": ObjectFunctions.now,
    "PodIP": ObjectFunctions.pod_ip,
    "PodIPWith": ObjectFunctions.pod_ip_with,
    "PodIPsWith": ObjectFunctions.pod_ips_with,
    "StartTime": ObjectFunctions.start_time,
    "Version": ObjectFunctions.version,
}
