"""Columns of endpoint slices."""

from __future__ import annotations

from fairlead.resources.columns.cell_text import UNSET, items, shortened
from fairlead.resources.columns.model import AGE, NAME, Object, table, text

_SHOWN = 3


def _slice_port(port: Object) -> str:
    if port.get("port") is not None:
        return str(port["port"])
    name = port.get("name")
    return "*" if name is None else name


def _slice_ports(endpoint_slice: Object) -> str:
    ports = [_slice_port(port) for port in items(endpoint_slice, "ports")]
    return shortened(ports, _SHOWN) or UNSET


def _slice_addresses(endpoint_slice: Object) -> str:
    found = [
        address
        for endpoint in items(endpoint_slice, "endpoints")
        for address in items(endpoint, "addresses")
    ]
    return shortened(found, _SHOWN) or UNSET


PRINTERS = {
    "discovery/v1/endpointslices": table(
        NAME,
        text("AddressType", "addressType", "What kind of addresses these are"),
        text("Ports", _slice_ports, "Ports of every endpoint"),
        text("Endpoints", _slice_addresses, "Addresses of the endpoints"),
        AGE,
    ),
}
