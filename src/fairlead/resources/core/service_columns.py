"""Columns of services and endpoints."""

from __future__ import annotations

from fairlead.resources.columns.cell_text import (
    NONE,
    UNKNOWN,
    field,
    items,
    joined,
    labels_at,
    load_balancer_text,
    shortened,
)
from fairlead.resources.columns.model import AGE, NAME, Object, table, text

_MAX_SHOWN = 3


def _cluster_address(service: Object) -> str:
    addresses = items(service, "spec.clusterIPs")
    return addresses[0] if addresses else field(service, "spec.clusterIP") or NONE


def _external_address(service: Object) -> str:
    listed = joined(items(service, "spec.externalIPs"))
    match field(service, "spec.type"):
        case "ClusterIP" | "NodePort":
            return listed or NONE
        case "LoadBalancer":
            balanced = load_balancer_text(field(service, "status.loadBalancer"))
            return ",".join(filter(None, (balanced, listed))) or "<pending>"
        case "ExternalName":
            return field(service, "spec.externalName") or ""
    return UNKNOWN


def _port(port: Object) -> str:
    node_port = port.get("nodePort") or 0
    middle = f":{node_port}" if node_port > 0 else ""
    return f"{port.get('port') or 0}{middle}/{port.get('protocol') or ''}"


def _ports(service: Object) -> str:
    return joined(map(_port, items(service, "spec.ports"))) or NONE


def _host_port(address: str, port: Object) -> str:
    host = f"[{address}]" if ":" in address else address
    return f"{host}:{port.get('port') or 0}"


def _endpoints(endpoints: Object) -> str:
    subsets = items(endpoints, "subsets")
    if not subsets:
        return NONE
    shown: list[str] = []
    for subset in subsets:
        addresses = [address.get("ip") or "" for address in items(subset, "addresses")]
        ports = items(subset, "ports")
        shown += (_host_port(address, port) for port in ports for address in addresses)
        shown += () if ports else addresses
    return shortened(shown, _MAX_SHOWN)


PRINTERS = {
    "core/v1/services": table(
        NAME,
        text("Type", "spec.type", "How the service is reached"),
        text("Cluster-IP", _cluster_address, "Address inside the cluster"),
        text("External-IP", _external_address, "Addresses from outside"),
        text("Port(s)", _ports, "Ports, with the node's port where there is one"),
        AGE,
        text("Selector", labels_at("spec.selector"), "Labels that select the pods", wide=True),
    ),
    "core/v1/endpoints": table(
        NAME,
        text("Endpoints", _endpoints, "Addresses and ports behind the service"),
        AGE,
    ),
}
