"""Parses IP addresses and networks; leading zeros are accepted and decimal."""

from __future__ import annotations

import re
from ipaddress import (
    IPv4Address,
    IPv4Network,
    IPv6Address,
    IPv6Network,
    ip_address,
    ip_network,
)

from fairlead.base.caches import memoized
from fairlead.resources.causes import Causes

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

V4, V6 = "IPv4", "IPv6"

_ZEROS = re.compile(r"(?<![0-9a-fA-F:.])0+(?=\d)|(?<=\.)0+(?=\d)")


@memoized(8192, longest=64)
def parse_address(text: str) -> Address | None:
    if "%" in text:
        return None
    try:
        address = ip_address(_ZEROS.sub("", text) if "." in text else text)
    except ValueError:
        return None
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        return address.ipv4_mapped
    return address


def is_address(text: str) -> bool:
    return parse_address(text) is not None


def parse_network(text: str) -> Network | None:
    """A network such as 10.0.0.0/24; bits after the prefix are ignored."""
    start, slash, length = text.partition("/")
    if not slash or not length.isascii() or not length.isdigit() or "." in length:
        return None
    address = parse_address(start)
    try:
        return ip_network(f"{address}/{length}", strict=False) if address else None
    except ValueError:
        return None


def family_of(text: str) -> str:
    """The family of an address; empty if the text is not an address."""
    address = parse_address(text)
    return f"IPv{address.version}" if address is not None else ""


def is_dual_stack(families: list[str]) -> bool:
    return len(set(families)) == 2


def non_special_address(text: str, path: str, causes: Causes) -> None:
    """Check that an address is reachable from other hosts."""
    causes.invalid_each(path, text, special_uses(text))


@memoized(8192, longest=64)
def special_uses(text: str) -> list[str]:
    """Why an address is not reachable from other hosts; empty if it is."""
    address = parse_address(text)
    if address is None:
        return ["must be a valid IP address"]
    uses = []
    if address.is_unspecified:
        uses.append(f"may not be unspecified ({text})")
    if address.is_loopback:
        uses.append("may not be in the loopback range (127.0.0.0/8, ::1/128)")
    if address.is_link_local:
        uses.append("may not be in the link-local range (169.254.0.0/16, fe80::/10)")
    if _is_link_local_multicast(address):
        uses.append("may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)")
    return uses


def _is_link_local_multicast(address: Address) -> bool:
    if isinstance(address, IPv4Address):
        return address.packed[:3] == b"\xe0\x00\x00"
    return address.packed[0] == 0xFF and address.packed[1] & 0x0F == 0x02
