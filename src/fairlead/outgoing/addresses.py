"""Which addresses may be reached on behalf of users, who can write any into a node or a pod.

A name is looked up once, every address that it has is judged, and the connection goes to an
address that was judged, so that a name cannot mean something else a moment later.
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
_TRANSLATED = ipaddress.IPv6Network("64:ff9b::/96")  # NAT64
_COMPATIBLE = ipaddress.IPv6Network("::/96")


class NotAllowed(Exception):
    """The address is one of the server's own surroundings."""


def parse_allowed(text: str) -> list[Network]:
    """Networks of a comma-separated list; raises ValueError."""
    return [ipaddress.ip_network(part.strip()) for part in text.split(",") if part.strip()]


class AddressPolicy:
    """Ordinary addresses are allowed, and those in the networks that the administrator named."""

    def __init__(self, allowed: Sequence[Network] = ()) -> None:
        self._allowed = tuple(allowed)

    def allows(self, address: Address) -> bool:
        meant = _meant(address)
        return _is_ordinary(meant) or any(
            meant in network for network in self._allowed if network.version == meant.version
        )

    async def resolve(self, host: str, port: int) -> list[str]:
        """The addresses of a host, as texts that mean only themselves. Raises NotAllowed if one
        of them is not allowed, OSError if there are none."""
        loop = asyncio.get_running_loop()
        try:
            found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except UnicodeError:  # no name at all
            raise OSError(f"lookup {host}: no such host") from None
        addresses = [entry[4][0] for entry in found]
        for text in addresses:
            if "%" in str(text) or not self.allows(ipaddress.ip_address(text)):
                raise NotAllowed
        if not addresses:
            raise OSError(f"lookup {host}: no such host")
        return [str(text) for text in dict.fromkeys(addresses)]


def _meant(address: Address) -> Address:
    """The IPv4 address inside an IPv6 one that stands for it."""
    if isinstance(address, ipaddress.IPv4Address):
        return address
    inner = address.ipv4_mapped or address.sixtofour
    if inner is not None:
        return inner
    if address in _TRANSLATED or (address in _COMPATIBLE and int(address) > 1):
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return address


def _is_ordinary(address: Address) -> bool:
    special = address.is_loopback or address.is_link_local or address.is_multicast
    if isinstance(address, ipaddress.IPv4Address):
        special = special or address in _THIS_NETWORK or address == _BROADCAST
    return not (special or address.is_unspecified)
