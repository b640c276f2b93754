"""Addresses of the pods behind a service."""

from __future__ import annotations

from collections.abc import Iterator

from fairlead.cli.describe.fields import Fields
from fairlead.cli.describe.parts.words import NONE, host_and_port

_MOST = 3


def address_text(endpoints: Fields, port_name: str) -> str:
    """The first 3 addresses with the port of this name."""
    if not endpoints.items("subsets"):
        return NONE
    found = list(_addresses(endpoints, port_name))
    shown = ",".join(found[:_MOST])
    more = len(found) - _MOST
    return f"{shown} + {more} more..." if more > 0 else shown


def _addresses(endpoints: Fields, port_name: str) -> Iterator[str]:
    for subset in endpoints.items("subsets"):
        addresses = [address.text("ip") for address in subset.items("addresses")]
        if not subset.items("ports"):
            yield from addresses
        for port in subset.items("ports"):
            if port.text("name") == port_name:
                for address in addresses:
                    yield host_and_port(address, port.number("port"))
