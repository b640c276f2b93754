"""Decides which addresses may be reached on behalf of users, who can write any into a node or a
pod.

A name is resolved once, all of its addresses are checked, and the connection goes to a checked
address, so a second lookup cannot return another one (DNS rebinding).
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from collections.abc import Sequence

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network

_THIS_NETWORK = ipaddress.IPv4Network("0.0.0.0/8")
_BROADCAST = ipaddress.IPv4Address("255.255.255.255")
# Networks whose addresses end with the IPv4 address that they map to: NAT64, stateless translation,
# and the old IPv4-compatible addresses.
_ENDING_IN_IPV4 = tuple(
    ipaddress.IPv6Network(text) for text in ("64:ff9b::/96", "::ffff:0:0:0/96", "::/96")
)
# These also embed IPv4 addresses, at a position that only local operators know (their own NAT64),
# or of a tunnel's far end (Teredo). Nothing in a cluster has such an address.
_FORBIDDEN_NETWORKS = tuple(ipaddress.IPv6Network(text) for text in ("64:ff9b:1::/48", "2001::/32"))
_ISATAP = 0x5EFE  # interface identifier before an embedded IPv4 address; 0x0200 marks a global one


class NotAllowed(Exception):
    """The address belongs to this machine or its link."""


def parse_allowed(text: str) -> list[Network]:
    """Parse a comma-separated list of networks; raises ValueError."""
    return [ipaddress.ip_network(part.strip()) for part in text.split(",") if part.strip()]


class AddressPolicy:
    """Allows ordinary addresses, and those in the networks that the administrator named."""

    def __init__(self, allowed: Sequence[Network] = ()) -> None:
        self._allowed = tuple(allowed)

    def allows(self, address: Address) -> bool:
        return all(map(self._allows, _reachable_addresses(address)))

    def _allows(self, address: Address) -> bool:
        return _is_ordinary(address) or any(
            address in network for network in self._allowed if network.version == address.version
        )

    async def resolve(self, host: str, port: int) -> list[str]:
        """Resolve a host to numeric addresses. Raises NotAllowed if one of them is not allowed,
        OSError if there are none."""
        loop = asyncio.get_running_loop()
        try:
            entries = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except UnicodeError:  # an invalid name
            raise OSError(f"lookup {host}: no such host") from None
        addresses = [entry[4][0] for entry in entries]
        for text in addresses:
            if "%" in str(text) or not self.allows(ipaddress.ip_address(text)):
                raise NotAllowed
        if not addresses:
            raise OSError(f"lookup {host}: no such host")
        return [str(text) for text in dict.fromkeys(addresses)]


def _reachable_addresses(address: Address) -> list[Address]:
    """Return the addresses that a connection to this one may reach: the embedded IPv4 address, or
    both if the network decides between them."""
    if isinstance(address, ipaddress.IPv4Address):
        return [address]
    embedded = ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    mapped = address.ipv4_mapped or address.sixtofour
    if mapped is not None:
        return [mapped]
    if int(address) > 1 and any(address in network for network in _ENDING_IN_IPV4):
        return [embedded]
    identifier = int(address) >> 32 & 0xFFFFFFFF
    return [address, embedded] if identifier & ~0x02000000 == _ISATAP else [address]


def _is_ordinary(address: Address) -> bool:
    is_special = address.is_loopback or address.is_link_local or address.is_multicast
    if isinstance(address, ipaddress.IPv4Address):
        is_special = is_special or address in _THIS_NETWORK or address == _BROADCAST
    else:
        is_special = is_special or any(address in network for network in _FORBIDDEN_NETWORKS)
    return not (is_special or address.is_unspecified)
