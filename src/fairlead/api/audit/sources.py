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
        self._known: BoundedCache[tuple[str, bytes], Caller] = BoundedCache(longest=2048)

    def of(self, request: Request) -> Caller:
        named = request.exchange.head.named
        if _OF_PROXIES[0] in named or _OF_PROXIES[1] in named:
            return caller(addresses_of(request), agent_of(request))
        key = (request.peer.address, named.get(b"user-agent", b""))
        found = self._known.get(key)
        if found is None:
            found = caller(addresses_of(request), agent_of(request))
            self._known.keep(key, found, len(key[0]) + len(key[1]))
        return found


def addresses_of(request: Request) -> tuple[str, ...]:
    """Addresses from proxy headers, then the peer address, which cannot be forged."""
    found: list[str] = []
    forwarded, real = map(request.header, _OF_PROXIES)
    if forwarded:
        hops = forwarded.rsplit(",", _MAX_HOPS)[-_MAX_HOPS:]
        found += filter(None, map(_address, hops))
    if real:
        address = _address(real)
        if address and address not in found:
            found.append(address)
    peer = _address(request.peer.address)
    if not found:
        return (peer,) if peer else ()
    if peer and found[-1] != peer:
        found.append(peer)
    return tuple(found)


def _address(text: str) -> str:
    """A normalized IP address; empty if invalid."""
    try:
        found = ipaddress.ip_address(text.strip())
    except ValueError:
        return ""
    if isinstance(found, ipaddress.IPv6Address) and found.ipv4_mapped is not None:
        return str(found.ipv4_mapped)
    return str(found)


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
