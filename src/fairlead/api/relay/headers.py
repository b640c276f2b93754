"""Filters headers between client and proxied server.

Hop-by-hop headers are not forwarded. Proxied servers get no credentials, and learn the user from us
alone. Their responses share the origin of the console, so no header passes that affects more than
the response itself, and `INERT` headers keep browsers from running its content.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from fairlead.api.request import Request
from fairlead.auth.authentication.websocket_tokens import PROTOCOLS, offers_in, without_tokens
from fairlead.base.errors import StatusError
from fairlead.wire.incoming.websocket import acceptance

Field = tuple[bytes, bytes]

# Hop-by-hop headers, in both directions.
_HOP_BY_HOP = frozenset(
    (
        b"connection",
        b"keep-alive",
        b"proxy-authenticate",
        b"proxy-authorization",
        b"proxy-connection",
        b"te",
        b"trailer",
        b"transfer-encoding",
        b"upgrade",
    )
)
# Cookies are not forwarded: proxied servers cannot set any, so those that a browser sends belong to
# other servers on this host, or to a proxy in front of us.
_NOT_SENT = _HOP_BY_HOP | {b"audit-id", b"content-length", b"cookie", b"expect", b"host"}
_NOT_SENT_PREFIXES = (b"authorization", b"impersonate-", b"x-remote-", b"x-forwarded-")
# With these headers a browser shows content in a separate origin without scripts, forms, plugins or
# storage. Further policies of the proxied server can only restrict more.
INERT: tuple[Field, ...] = (
    (b"content-security-policy", b"sandbox"),
    (b"x-content-type-options", b"nosniff"),
)
NOT_RETURNED = _HOP_BY_HOP | {
    b"date",  # set by us
    b"content-length",  # set again, if known
    b"x-content-type-options",  # in INERT
    # State or behaviour of the whole origin.
    b"accept-ch",
    b"accept-ch-lifetime",
    b"alt-svc",
    b"clear-site-data",
    b"critical-ch",
    b"expect-ct",
    b"nel",
    b"origin-agent-cluster",
    b"public-key-pins",
    b"public-key-pins-report-only",
    b"report-to",
    b"reporting-endpoints",
    b"service-worker-allowed",
    b"set-cookie",
    b"set-cookie2",
    b"set-login",
    b"shared-storage-write",
    b"strict-transport-security",
    b"use-as-dictionary",
    # Actions that a browser takes by itself.
    b"refresh",
    b"speculation-rules",
    # It would prompt for a password for this server; Authorization is not forwarded anyway.
    b"www-authenticate",
    # Cross-origin access is decided by us alone.
    b"timing-allow-origin",
}
NOT_RETURNED_PREFIXES = (
    b"access-control-",
    b"attribution-reporting-",
    b"sec-",
    b"secure-session-",
)
_WEBSOCKET = b"sec-websocket-"
# Upgrades to HTTP are refused: the client could send requests with arbitrary headers.
_NO_UPGRADES = re.compile(rb"(h2c|http|tls)([/ ]|\Z)", re.IGNORECASE)
_WITH_BODY = ("POST", "PUT", "PATCH")
_PUNCTUATION = re.compile(rb"[^a-z0-9]")
_STEP_UP = re.compile(r"(?:\A|/)(?:\.|%2e){2}(?:[/?#]|\Z)", re.IGNORECASE)


def _connection_options(fields: Iterable[Field]) -> set[bytes]:
    """The header names listed in Connection."""
    values = (value for name, value in fields if name == b"connection")
    return {name.strip().lower() for value in values for name in value.split(b",")}


def requested_protocol(request: Request) -> bytes:
    """The protocol of an upgrade request, or empty. An upgrade with a body is treated as a plain
    request, as HTTP allows: this avoids disagreement about where the body ends."""
    head = request.exchange.head
    protocol: bytes = head.named.get(b"upgrade", b"")
    if not protocol or head.has_body or not head.is_http_1_1:
        return b""
    names = [name for name, _ in head.fields]
    if b"upgrade" not in _connection_options(head.fields) or names.count(b"upgrade") > 1:
        return b""
    return b"" if any(map(_NO_UPGRADES.match, _offers(protocol))) else protocol


def _offers(protocol: bytes) -> list[bytes]:
    return [offer.strip() for offer in protocol.split(b",")]


def forwarded_headers(request: Request, identity: tuple[bytes, ...]) -> list[Field]:
    """The client's headers without credentials, hop-by-hop headers and identity headers (name
    prefixes in `identity`). Punctuation in names counts as dashes, because some servers treat them
    alike."""
    head = request.exchange.head
    dropped = _NOT_SENT | _connection_options(head.fields)
    prefixes = (*_NOT_SENT_PREFIXES, *(_PUNCTUATION.sub(b"-", prefix) for prefix in identity))
    headers = []
    for name, value in head.fields:
        normalized_name = _PUNCTUATION.sub(b"-", name)
        if name == PROTOCOLS:
            value = without_tokens(value)
        if (
            name not in dropped
            and normalized_name not in _NOT_SENT
            and not normalized_name.startswith(prefixes)
        ):
            headers.append((name, value))
    audit_id = _own_audit_id(request)
    return [*headers, (b"audit-id", audit_id)] if audit_id else headers


def _own_audit_id(request: Request) -> bytes:
    """The audit ID of a request, to be forwarded to the other server's audit log."""
    for line in request.exchange.lines.split(b"\r\n"):
        name, _, value = line.partition(b": ")
        if name == b"audit-id":
            return value
    return b""


def forwarding_headers(request: Request, uri: bytes) -> list[Field]:
    """The X-Forwarded headers: client addresses and original URI."""
    addresses = [value for name, value in request.raw_headers if name == b"x-forwarded-for"]
    all_addresses = b", ".join([*addresses, request.peer.address.encode()])
    return [(b"x-forwarded-uri", uri), (b"x-forwarded-for", all_addresses)]


def framing(request: Request) -> list[Field]:
    """The framing headers of the body, which is streamed as it arrives."""
    head = request.exchange.head
    if head.chunked:
        return [(b"transfer-encoding", b"chunked")]
    if head.length or head.method in _WITH_BODY:
        return [(b"content-length", b"%d" % head.length)]
    return []


def upgrade_headers(protocol: bytes) -> list[Field]:
    return [(b"connection", b"Upgrade"), (b"upgrade", protocol)]


_KEY = b"sec-websocket-key"


def offered_protocols(request: Request) -> list[str]:
    """The subprotocols that a WebSocket offers, without those that carry bearer tokens."""
    values = [without_tokens(value) for name, value in request.raw_headers if name == PROTOCOLS]
    return [offer for value in values if value for offer in offers_in(value)]


def websocket_headers(request: Request, protocols: Iterable[str]) -> list[Field]:
    """The headers of the answer that switches to a WebSocket."""
    key = request.header(_KEY).encode("latin-1")
    headers = [*upgrade_headers(b"websocket"), (b"sec-websocket-accept", acceptance(key))]
    return headers + [(PROTOCOLS, protocol.encode("latin-1")) for protocol in protocols]


def without_websocket(fields: Iterable[Field]) -> list[Field]:
    return [field for field in fields if not field[0].startswith(_WEBSOCKET)]


def returned_headers(request: Request, fields: list[Field]) -> list[Field]:
    """The response headers for the client. Drops those that we set ourselves."""
    own_names = {line.partition(b":")[0] for line in request.exchange.lines.split(b"\r\n")}
    dropped = NOT_RETURNED | _connection_options(fields) | own_names
    return [(name, value) for name, value in fields if name not in dropped and _may_return(name)]


def _may_return(name: bytes) -> bool:
    return name.startswith(_WEBSOCKET) or not name.startswith(NOT_RETURNED_PREFIXES)


def refuse_service_worker(request: Request) -> None:
    """Raises 403 for the script of a service worker: it would intercept all pages below a path."""
    if request.header(b"service-worker") or request.header(b"sec-fetch-dest") == "serviceworker":
        raise StatusError(403, "Forbidden", "service workers of other servers are not passed on")


def has_parent_step(path: str) -> bool:
    """Whether a browser would find `..` in a path; browsers accept more spellings than `urllib`."""
    return "\\" in path or "\t" in path or bool(_STEP_UP.search(path))
