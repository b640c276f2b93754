"""Proxies requests to addresses in the cluster and rewrites redirects and links."""

from __future__ import annotations

import posixpath
from urllib.parse import SplitResult, quote, urljoin, urlsplit, urlunsplit

from fairlead.api.answers import Answer
from fairlead.api.relay import links
from fairlead.api.relay.answers import Translation, UpgradeRefused, answer_of
from fairlead.api.relay.forward import pass_on
from fairlead.api.relay.headers import forwarding_headers, has_parent_step, requested_protocol
from fairlead.api.request import Request
from fairlead.api.subresources.simulated import Dialer
from fairlead.base.errors import StatusError, bad_request
from fairlead.wire.incoming.parser import UNRESERVED
from fairlead.wire.outgoing.addresses import NotAllowed
from fairlead.wire.outgoing.cluster import ClusterTarget
from fairlead.wire.outgoing.response import CallError


def unavailable(message: str) -> StatusError:
    return StatusError(503, "ServiceUnavailable", message)


def not_allowed() -> StatusError:
    return bad_request("address not allowed")


async def relay(
    reach: Dialer,
    request: Request,
    place: ClusterTarget,
    path: str,
    identity: tuple[bytes, ...],
) -> Answer:
    """Send a request to a place and return its response. `path` is the decoded rest after the
    proxy's prefix, with its leading slash; `identity` are prefixes of headers that carry user
    identity."""
    own_part = request.target.path.removesuffix(path)
    if not path and request.method in ("GET", "HEAD"):
        return _redirect_to_root(request)
    clean = _clean(path)
    query = request.exchange.head.query
    target = quote(clean, safe=UNRESERVED).encode() + (b"?" + query if query else b"")
    uri = quote(f"{own_part}{clean}", safe=UNRESERVED).encode()
    try:
        answer = await forward_to(reach, request, place, target, uri, identity)
    except CallError as error:
        raise unavailable(f"error trying to reach service: {error}") from None

    def rewritten(value: bytes) -> bytes:
        return _location(request, value, place, clean, own_part)

    located = (
        (name, rewritten(value) if name == b"location" else value) for name, value in answer.headers
    )
    answer.headers = tuple(field for field in located if field[1] or field[0] != b"location")
    return links.with_links(answer, rewritten)


async def forward_to(
    reach: Dialer,
    request: Request,
    place: ClusterTarget,
    target: bytes,
    uri: bytes,
    identity: tuple[bytes, ...],
    translation: Translation | None = None,
) -> Answer:
    """The response of a place; raises StatusError, or CallError if there is none."""
    headers = forwarding_headers(request, uri)
    spdy = translation.spdy if translation is not None else ()
    try:
        passed = await reach.call_first_reachable(
            place,
            lambda route: pass_on(reach.pool, route, request, target, headers, identity, spdy),
        )
        return answer_of(request, passed, translation)
    except NotAllowed:
        raise not_allowed() from None
    except UpgradeRefused as error:
        raise StatusError(500, "", str(error)) from None
    except CallError as error:
        if requested_protocol(request):
            raise StatusError(500, "", f"error dialing backend: {error}") from None
        raise


def _clean(path: str) -> str:
    """Normalize a path, so that `..` cannot leave the root; keeps a trailing slash."""
    clean = posixpath.normpath(f"/{path.lstrip('/')}")
    return f"{clean}/" if path.endswith("/") and clean != "/" else clean


def _redirect_to_root(request: Request) -> Answer:
    """Redirect to the URL with a trailing slash, which relative links need."""
    query = request.exchange.head.query
    location = quote(f"{request.target.path}/", safe=UNRESERVED).encode() + (
        b"?" + query if query else b""
    )
    return Answer(301, b"", "text/plain", ((b"location", location),))


def _location(
    request: Request, value: bytes, place: ClusterTarget, path: str, own_part: str
) -> bytes:
    """Rewrite a Location header: a redirect within the target goes through the proxy, one to
    another server stays as it is. Empty for one to other paths of this server: clients would follow
    it with their credentials."""
    prefix = quote(own_part, safe=UNRESERVED)
    try:
        location = value.decode()
        parts = urlsplit(urljoin(f"{place.url}{quote(path, safe=UNRESERVED)}", location))
    except ValueError:
        return b""
    steps = parts.path or "/"
    if parts.netloc == urlsplit(place.url).netloc:
        if not steps.startswith(f"{prefix}/"):
            steps = f"{prefix}{steps}"
    elif parts.netloc and "\\" not in location and not _is_this_server(request, parts):
        return value
    if not steps.startswith(f"{prefix}/") or not parts.netloc or has_parent_step(steps):
        return b""
    return urlunsplit(("", "", steps, parts.query, parts.fragment)).encode()


def _is_this_server(request: Request, parts: SplitResult) -> bool:
    try:
        own_url = urlsplit(f"https://{request.header(b'host')}")
        return parts.hostname == own_url.hostname and (parts.port or 443) == (own_url.port or 443)
    except ValueError:  # invalid port: others may parse it differently
        return True
