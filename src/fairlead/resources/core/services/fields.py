"""Accessors of a service's spec, and the fields that each type needs."""

from __future__ import annotations

from fairlead.resources.behaviour import Object

HEADLESS = "None"
TYPES = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")


def addresses(spec: Object) -> list[str]:
    return spec.get("clusterIPs") or []


def families(spec: Object) -> list[str]:
    return spec.get("ipFamilies") or []


def ports(spec: Object) -> list[Object]:
    return spec.get("ports") or []


def is_headless(spec: Object) -> bool:
    return addresses(spec) == [HEADLESS]


def needs_address(spec: Object) -> bool:
    return spec.get("type") != "ExternalName"


def needs_node_ports(spec: Object) -> bool:
    return spec.get("type") in ("NodePort", "LoadBalancer")


def is_externally_accessible(spec: Object, by_addresses: bool) -> bool:
    """Whether `externalTrafficPolicy` applies; `by_addresses`: also to services with external
    addresses."""
    has_addresses = spec.get("type") == "ClusterIP" and bool(spec.get("externalIPs"))
    return needs_node_ports(spec) or (by_addresses and has_addresses)


def is_load_balancer(spec: Object) -> bool:
    return spec.get("type") == "LoadBalancer"


def needs_health_port(spec: Object) -> bool:
    return is_load_balancer(spec) and spec.get("externalTrafficPolicy") == "Local"


def gives_node_ports(spec: Object) -> bool:
    """Whether ports without a node port get one. Requested node ports are always allocated."""
    if spec.get("type") == "NodePort":
        return True
    return is_load_balancer(spec) and bool(spec.get("allocateLoadBalancerNodePorts", True))


def node_ports(spec: Object) -> list[int]:
    return [port["nodePort"] for port in ports(spec) if port.get("nodePort")]


def set_addresses(spec: Object, values: list[str]) -> None:
    if values:
        spec["clusterIPs"] = values
    else:
        spec.pop("clusterIPs", None)
