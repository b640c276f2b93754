"""Source addresses, user agents and attempted credentials of requests."""

from __future__ import annotations

import ipaddress

from fairlead.api.audit.fragments import Caller, caller
from fairlead.api.request import Request
from fairlead.base.caches import BoundedCache

_LONGEST_AGENT = 1024
_CUT = "...TRUNCATED"
_MAX_HOPS = 64  # the nearest ones: a longer chain is forged
_OF_PROXIES = (b"x-forwarded-for", b"x-real-ip")


class Callers:
    """Caches callers, because most repeat."""

    def __init__(self) -> None:
        self._cache: BoundedCache[tuple[str, bytes], Caller] = BoundedCache(longest=2048)

    def of(self, request: Request) -> Caller:
        headers = request.exchange.head.named
        if _OF_PROXIES[0] in headers or _OF_PROXIES[1] in headers:
            return caller(addresses_of(request), agent_of(request))
        key = (request.peer.address, headers.get(b"user-agent", b""))
        source = self._cache.get(key)
        if source is None:
            source = caller(addresses_of(request), agent_of(request))
            self._cache.keep(key, source, len(key[0]) + len(key[1]))
        return source


def addresses_of(request: Request) -> tuple[str, ...]:
    """Addresses from proxy headers, then the peer address, which cannot be forged."""
    addresses: list[str] = []
    forwarded, real = map(request.header, _OF_PROXIES)
    if forwarded:
        hops = forwarded.rsplit(",", _MAX_HOPS)[-_MAX_HOPS:]
        addresses += filter(None, map(_address, hops))
    if real:
        address = _address(real)
        if address and address not in addresses:
            addresses.append(address)
    peer = _address(request.peer.address)
    if not addresses:
        return (peer,) if peer else ()
    if peer and addresses[-1] != peer:
        addresses.append(peer)
    return tuple(addresses)


def _address(text: str) -> str:
    """A normalized IP address; empty if invalid."""
    try:
        address = ipaddress.ip_address(text.strip())
    except ValueError:
        return ""
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    return str(address)


def agent_of(request: Request) -> str:
    agent = request.user_agent
    return agent if len(agent) <= _LONGEST_AGENT else agent[:_LONGEST_AGENT] + _CUT


def attempts(request: Request) -> str:
    """A message with the kinds of credentials that a request failed to authenticate with."""
    kind = request.header(b"authorization").strip().partition(" ")[0].lower()
    tried = [kind] if kind in ("basic", "bearer") else []
    if request.parameter("access_token").strip():
        tried.append("access_token")
    if request.peer.certificates:
        tried.append("x509")
    if tried:
        return f"Authentication failed, attempted: {', '.join(tried)}"
    return "Authentication failed, no credentials provided"
