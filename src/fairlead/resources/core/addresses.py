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
from fairlead.resources.causes import Causes, quote

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

V4, V6 = "IPv4", "IPv6"
_BITS_BEYOND = "must not have bits set beyond the prefix length"

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
    if address is not None and address.version == 4 and ":" in start:
        length = str(int(length[:4]) - 96)  # the prefix of an IPv4-mapped IPv6 network
    try:
        return ip_network(f"{address}/{length}", strict=False) if address else None
    except ValueError:
        return None


NOT_AN_ADDRESS = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
NOT_A_NETWORK = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"


def address_errors(text: str, *, strict: bool) -> list[str]:
    """The errors of an address; `strict` refuses forms that programs read differently."""
    if parse_address(text) is None:
        return [NOT_AN_ADDRESS]
    if strict and "." in text:
        if _ZEROS.search(text):
            return ["must not have leading 0s"]
        if ":" in text and parse_address(text) != ip_address(text):
            return ["must not be an IPv4-mapped IPv6 address"]
    return []


def canonical_address_errors(text: str) -> list[str]:
    """The errors of an address that must be strictly valid and in its canonical form."""
    errors = address_errors(text, strict=True)
    address = parse_address(text)
    if not errors and str(address) != text:
        errors.append(f"must be in canonical form ({quote(str(address))})")
    return errors


def network_errors(text: str, *, strict: bool) -> list[str]:
    """The errors of a network; `strict` refuses forms that programs read differently."""
    network = parse_network(text)
    if network is None:
        return [NOT_A_NETWORK]
    start, _, length = text.partition("/")
    if strict:
        if ("." in start and _ZEROS.search(start)) or (length[0] == "0" and length != "0"):
            return ["must not have leading 0s in IP or prefix length"]
        if ":" in start and "." in start and parse_address(start) != ip_address(start):
            return ["must not have an IPv4-mapped IPv6 address"]
        if network.network_address != parse_address(start):
            return [_BITS_BEYOND]
    return []


def canonical_network_errors(text: str) -> list[str]:
    errors = network_errors(text, strict=True)
    network = parse_network(text)
    if not errors and str(network) != text:
        errors.append(f"must be in canonical form ({quote(str(network))})")
    return errors


def address_warning(text: str, path: str) -> str:
    """What is unusual about the form of a valid address; empty if it is canonical."""
    address = parse_address(text)
    if address is None or str(address) == text:
        return ""
    if address_errors(text, strict=True):
        return (
            f"{path}: non-standard IP address {quote(text)} is invalid: use {quote(str(address))}"
        )
    canonical = quote(str(address))
    return (
        f"{path}: IPv6 address {quote(text)} should be in RFC 5952 canonical format ({canonical})"
    )


def network_warnings(text: str, path: str) -> list[str]:
    """What is unusual about the form of a valid network."""
    network, address = parse_network(text), parse_address(text.partition("/")[0])
    if network is None or address is None or str(network) == text:
        return []
    warnings = []
    if network.network_address != address:
        single = quote(f"{address}/{address.max_prefixlen}")
        warnings.append(
            f"{path}: CIDR value {quote(text)} is ambiguous in this context"
            f" (should be {quote(str(network))} or {single}?)"
        )
    shown = quote(str(network))
    if network_errors(text, strict=True)[:1] not in ([], [_BITS_BEYOND]):
        warnings.append(f"{path}: non-standard CIDR value {quote(text)} is invalid: use {shown}")
    if not warnings and network.version == 6:
        warnings.append(
            f"{path}: IPv6 CIDR value {quote(text)} should be in RFC 5952 canonical format"
            f" ({shown})"
        )
    return warnings


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
