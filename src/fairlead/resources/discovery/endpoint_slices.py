"""The behaviour of EndpointSlice: a part of the addresses behind a service, all of one type."""

from __future__ import annotations

from typing import Any

from fairlead.codec.types.names import dns_label, dns_subdomain, label_value, qualified_name
from fairlead.resources.behaviour import Object
from fairlead.resources.causes import Causes
from fairlead.resources.columns.cell_text import UNSET, items, shortened
from fairlead.resources.columns.model import AGE, NAME, table, text
from fairlead.resources.context import Context
from fairlead.resources.core.addresses import (
    address_errors,
    address_warning,
    canonical_address_errors,
    family_of,
    non_special_address,
)
from fairlead.resources.metadata import NameRule, check_labels
from fairlead.resources.networking.shared import check_full_domain
from fairlead.resources.rules import PROTOCOLS, immutable, one_of
from fairlead.resources.storage.shared import OrderedBehaviour, Step, same

ADDRESS_TYPES = ("FQDN", "IPv4", "IPv6")
MAX_ENDPOINTS = 1000
MAX_ADDRESSES = 100
MAX_PORTS = 20000
MAX_TOPOLOGY_LABELS = 16
MAX_HINTS = 8
HINTS_GATE = "TopologyAwareHints"


class EndpointSliceBehaviour(OrderedBehaviour):
    update_order = (Step.METADATA, Step.RULES, Step.CHANGE)

    def prepare_create(self, value: Object, context: Context) -> None:
        super().prepare_create(value, context)
        for endpoint in value["endpoints"] or ():
            endpoint.pop("deprecatedTopology", None)
            if not context.gates[HINTS_GATE]:
                endpoint.pop("hints", None)

    def prepare_update(self, value: Object, old: Object, context: Context) -> None:
        metadata, before = value["metadata"], old["metadata"]
        changed = any(
            not same(value.get(name), old.get(name)) for name in {*value, *old} - {"metadata"}
        )
        if changed or (metadata.get("labels") or {}) != (before.get("labels") or {}):
            metadata["generation"] = before.get("generation", 0) + 1
        _drop_hints(value, old, context)
        _drop_topology(value, old, context)

    def check(self, value: Object, causes: Causes, context: Context) -> None:
        self.check_again(value, {}, causes, context)

    def check_again(self, value: Object, old: Object, causes: Causes, context: Context) -> None:
        """Endpoints that did not change are valid, from release 1.33 on."""
        one_of(value["addressType"], ADDRESS_TYPES, "addressType", causes)
        by_value = context.gates["AddressErrorsByValue"]
        if by_value:
            _check_ports(value["ports"] or [], causes)
            if old and same(value["endpoints"], old["endpoints"]):
                return
        _check_endpoints(value, causes, context)
        if not by_value:
            _check_ports(value["ports"] or [], causes)

    def warnings(self, value: Object, old: Object | None, context: Context) -> None:
        if not context.gates["EndpointAddressWarnings"]:
            return
        kind = value["addressType"]
        if old is None and kind == "FQDN":
            context.warn("spec.addressType: FQDN endpoints are deprecated")
        for index, endpoint in enumerate(value["endpoints"] or () if kind != "FQDN" else ()):
            for number, address in enumerate(endpoint["addresses"] or ()):
                path = f"endpoints[{index}].addresses[{number}]"
                if warning := address_warning(address, path):
                    context.warn(warning)

    def check_change(self, value: Object, old: Object, causes: Causes, context: Context) -> None:
        immutable(value["addressType"], old["addressType"], "addressType", causes)


def _drop_hints(value: Object, old: Object, context: Context) -> None:
    if context.gates[HINTS_GATE] or any(e.get("hints") for e in old["endpoints"] or ()):
        return
    for endpoint in value["endpoints"] or ():
        endpoint.pop("hints", None)


def _drop_topology(value: Object, old: Object, context: Context) -> None:
    """v1 does not store the old topology labels; a node name in them moves to `nodeName`."""
    if same(value["endpoints"], old["endpoints"]):
        return
    key = context.dialect.label("@/hostname")
    old_values = {(e.get("deprecatedTopology") or {}).get(key) for e in old["endpoints"] or ()}
    for endpoint in value["endpoints"] or ():
        name = (endpoint.pop("deprecatedTopology", None) or {}).get(key)
        if (
            name
            and name in old_values
            and endpoint.get("nodeName") is None
            and not dns_subdomain(name)
        ):
            endpoint["nodeName"] = name


def _check_endpoints(value: Object, causes: Causes, context: Context) -> None:
    endpoints = value["endpoints"] or []
    if len(endpoints) > MAX_ENDPOINTS:
        causes.too_many("endpoints", len(endpoints), MAX_ENDPOINTS)
        return
    for index, endpoint in enumerate(endpoints):
        _check_endpoint(endpoint, value["addressType"], f"endpoints[{index}]", causes, context)


def _check_endpoint(
    endpoint: dict[str, Any], kind: str, path: str, causes: Causes, context: Context
) -> None:
    addresses = endpoint["addresses"] or []
    if not addresses:
        causes.required(f"{path}.addresses", "must contain at least 1 address")
    elif len(addresses) > MAX_ADDRESSES:
        causes.too_many(f"{path}.addresses", len(addresses), MAX_ADDRESSES)
    for index, address in enumerate(addresses):
        if context.gates["AddressErrorsByValue"] and kind in ("IPv4", "IPv6"):
            strict = context.gates["StrictIPCIDRValidation"]
            _check_address_by_value(address, kind, f"{path}.addresses", index, causes, strict)
        else:
            _check_address(address, kind, f"{path}.addresses[{index}]", causes)
    node = endpoint.get("nodeName")
    if node is not None:
        causes.invalid_each(f"{path}.nodeName", node, dns_subdomain(node))
    topology = endpoint.get("deprecatedTopology") or {}
    if len(topology) > MAX_TOPOLOGY_LABELS:
        causes.too_many(f"{path}.deprecatedTopology", len(topology), MAX_TOPOLOGY_LABELS)
    check_labels(topology, f"{path}.deprecatedTopology", causes)
    hostname = endpoint.get("hostname")
    if hostname is not None:
        causes.invalid_each(f"{path}.hostname", hostname, dns_label(hostname))
    if endpoint.get("hints") is not None:
        hints = f"{path}.hints"
        zones, nodes = (endpoint["hints"].get(name) or [] for name in ("forZones", "forNodes"))
        if _check_hints(zones, f"{hints}.forZones", label_value, causes):
            _check_hints(nodes, f"{hints}.forNodes", dns_subdomain, causes)


def _check_address(address: str, kind: str, path: str, causes: Causes) -> None:
    if kind in ("IPv4", "IPv6"):
        if family_of(address) != kind:
            causes.invalid(path, address, f"must be a valid {kind} address")
        non_special_address(address, path, causes)
    elif kind == "FQDN":
        check_full_domain(address, path, causes)


def _check_address_by_value(
    address: str, kind: str, path: str, index: int, causes: Causes, strict: bool
) -> None:
    item_path = f"{path}[{index}]"
    if kind == "IPv6":
        errors = canonical_address_errors(address)
    else:
        errors = address_errors(address, strict=strict)
    causes.invalid_each(item_path, address, errors)
    if not errors:
        if family_of(address) != kind:
            causes.invalid(path, address, f"must be an {kind} address")
        non_special_address(address, item_path, causes)


def _check_hints(
    hints: list[dict[str, str]], path: str, name_rule: NameRule, causes: Causes
) -> bool:
    """Check hints by their names; returns False if there are too many."""
    if len(hints) > MAX_HINTS:
        causes.too_many(path, len(hints), MAX_HINTS)
        return False
    seen = set()
    for index, hint in enumerate(hints):
        name, field_path = hint["name"], f"{path}[{index}].name"
        if name in seen:
            causes.duplicate(field_path, name)
        seen.add(name)
        causes.invalid_each(field_path, name, name_rule(name))
    return True


def _check_ports(ports: list[dict[str, Any]], causes: Causes) -> None:
    if len(ports) > MAX_PORTS:
        causes.too_many("ports", len(ports), MAX_PORTS)
        return
    seen = set()
    for index, port in enumerate(ports):
        path, name = f"ports[{index}]", port.get("name") or ""
        if name:
            causes.invalid_each(f"{path}.name", name, dns_label(name))
        if name in seen:
            causes.duplicate(f"{path}.name", name)
        seen.add(name)
        protocol, application = port.get("protocol"), port.get("appProtocol")
        if protocol is None:
            causes.required(f"{path}.protocol")
        elif protocol not in PROTOCOLS:
            causes.unsupported(f"{path}.protocol", protocol, PROTOCOLS)
        if application is not None:
            causes.invalid_each(f"{path}.appProtocol", application, qualified_name(application))


# Columns of endpoint slices

_MAX_SHOWN = 3


def _slice_port(port: Object) -> str:
    if port.get("port") is not None:
        return str(port["port"])
    name = port.get("name")
    return "*" if name is None else name


def _slice_ports(endpoint_slice: Object) -> str:
    ports = [_slice_port(port) for port in items(endpoint_slice, "ports")]
    return shortened(ports, _MAX_SHOWN) or UNSET


def _slice_addresses(endpoint_slice: Object) -> str:
    addresses = [
        address
        for endpoint in items(endpoint_slice, "endpoints")
        for address in items(endpoint, "addresses")
    ]
    return shortened(addresses, _MAX_SHOWN) or UNSET


PRINTERS = {
    "discovery/v1/endpointslices": table(
        NAME,
        text("AddressType", "addressType", "What kind of addresses these are"),
        text("Ports", _slice_ports, "Ports of every endpoint"),
        text("Endpoints", _slice_addresses, "Addresses of the endpoints"),
        AGE,
    ),
}
