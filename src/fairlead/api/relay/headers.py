"""Which headers pass from one connection to the other.

Headers of one connection stay there. Servers behind us get no credentials, and are told who asks
by us alone. Their answers come from the origin of the console, so no header passes that would act
on more than the answer itself, and `INERT` headers keep browsers from running what is in it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from fairlead.api.request import Request
from fairlead.auth.authentication.websocket_tokens import PROTOCOLS, without_tokens
from fairlead.base.errors import StatusError

Field = tuple[bytes, bytes]

# What belongs to one connection and not to the message, both ways.
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
# No cookie is for a server behind us, since it cannot set any: those that a browser sends belong to
# others on this host, or to a proxy in front of us.
_NOT_SENT = _HOP_BY_HOP | {b"audit-id", b"content-length", b"cookie", b"expect", b"host"}
_NOT_SENT_PREFIXES = (b"authorization", b"impersonate-", b"x-remote-", b"x-forwarded-")
# With these a browser shows content without running any of it, in an origin of its own: no scripts,
# forms, plugins or storage. Further policies of the other server can only forbid more.
INERT: tuple[Field, ...] = (
    (b"content-security-policy", b"sandbox"),
    (b"x-content-type-options", b"nosniff"),
)
_NOT_RETURNED = _HOP_BY_HOP | {
    b"date",  # ours
    b"content-length",  # said anew, where it is known
    b"x-content-type-options",  # in INERT
    # What a browser keeps or does for the whole origin.
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
    # What a browser does next by itself.
    b"refresh",
    b"speculation-rules",
    # It would ask for a password of this server, and Authorization is not passed on.
    b"www-authenticate",
    # Scripts of other origins are let in by us or not at all.
    b"timing-allow-origin",
}
_NOT_RETURNED_PREFIXES = (
    b"access-control-",
    b"attribution-reporting-",
    b"sec-",
    b"secure-session-",
)
_WEBSOCKET = b"sec-websocket-"
# Over these a client would speak HTTP of its own to the server behind us, with headers of its own.
_NO_UPGRADES = re.compile(rb"(h2c|http|tls)([/ ]|\Z)", re.IGNORECASE)
_WITH_BODY = ("POST", "PUT", "PATCH")
_MARKS = re.compile(rb"[^a-z0-9]")
_STEP_UP = re.compile(r"(?:\A|/)(?:\.|%2e){2}(?:[/?#]|\Z)", re.IGNORECASE)
_NOT_VISIBLE = re.compile(rb"[^!-~]")


def _listed(fields: Iterable[Field]) -> set[bytes]:
    """The headers that a message says to be of the connection."""
    values = (value for name, value in fields if name == b"connection")
    return {name.strip().lower() for value in values for name in value.split(b",")}


def wanted_protocol(request: Request) -> bytes:
    """What the client wants to go on with after this request, or nothing. One with a body is just
    answered, as everybody may do: no two could differ about where it ends."""
    head = request.exchange.head
    protocol: bytes = head.named.get(b"upgrade", b"")
    if not protocol or head.has_body or not head.modern:
        return b""
    names = [name for name, _ in head.fields]
    if b"upgrade" not in _listed(head.fields) or names.count(b"upgrade") > 1:
        return b""
    return b"" if any(map(_NO_UPGRADES.match, _offers(protocol))) else protocol


def _offers(protocol: bytes) -> list[bytes]:
    return [offer.strip() for offer in protocol.split(b",")]


def passed_on(request: Request, identity: tuple[bytes, ...]) -> list[Field]:
    """The client's headers without credentials, without what belongs to the connection, and
    without those that name users, whose names begin as `identity` says. Marks in names count as
    dashes, because some servers take them for each other."""
    head = request.exchange.head
    dropped = _NOT_SENT | _listed(head.fields)
    prefixes = (*_NOT_SENT_PREFIXES, *(_MARKS.sub(b"-", prefix) for prefix in identity))
    found = []
    for name, value in head.fields:
        meant = _MARKS.sub(b"-", name)
        if name == PROTOCOLS:
            value = without_tokens(value)
        if name not in dropped and meant not in _NOT_SENT and not meant.startswith(prefixes):
            found.append((name, value))
    audit_id = _own_audit_id(request)
    return [*found, (b"audit-id", audit_id)] if audit_id else found


def _own_audit_id(request: Request) -> bytes:
    """Under which id the audit log tells of a request, for that of the other server."""
    for line in request.exchange.lines.split(b"\r\n"):
        name, _, value = line.partition(b": ")
        if name == b"audit-id":
            return value
    return b""


def forwarded(request: Request, uri: bytes) -> list[Field]:
    """Where a request comes from, and what it was for."""
    before = [value for name, value in request.raw_headers if name == b"x-forwarded-for"]
    way = b", ".join([*before, request.peer.address.encode()])
    return [(b"x-forwarded-uri", uri), (b"x-forwarded-for", way)]


def framing(request: Request) -> list[Field]:
    """How the body is sent on: as it comes."""
    head = request.exchange.head
    if head.chunked:
        return [(b"transfer-encoding", b"chunked")]
    if head.length or head.method in _WITH_BODY:
        return [(b"content-length", b"%d" % head.length)]
    return []


def changing_to(protocol: bytes) -> list[Field]:
    return [(b"connection", b"Upgrade"), (b"upgrade", protocol)]


def request_head(method: str, target: bytes, fields: Iterable[Field]) -> bytes:
    """The head of a request, up to its empty line. What cannot be in a line is left out."""
    parts = [b"%b %b HTTP/1.1\r\n" % (method.encode(), _visible(target))]
    parts += (b"%b: %b\r\n" % field for field in fields)
    return b"".join([*parts, b"\r\n"])


def _visible(target: bytes) -> bytes:
    """With the bytes encoded that have no place in a request line."""
    return _NOT_VISIBLE.sub(lambda found: b"%%%02X" % found[0][0], target)


def returned(request: Request, fields: list[Field]) -> list[Field]:
    """Of the headers of an answer those for the client. What we say ourselves is said once."""
    own = {line.partition(b":")[0] for line in request.exchange.lines.split(b"\r\n")}
    dropped = _NOT_RETURNED | _listed(fields) | own
    return [(name, value) for name, value in fields if name not in dropped and _may_return(name)]


def _may_return(name: bytes) -> bool:
    return name.startswith(_WEBSOCKET) or not name.startswith(_NOT_RETURNED_PREFIXES)


def refuse_service_worker(request: Request) -> None:
    """Raises StatusError for a browser that wants to install what is fetched between all pages
    below a path and this server."""
    if request.header(b"service-worker") or request.header(b"sec-fetch-dest") == "serviceworker":
        raise StatusError(403, "Forbidden", "service workers of other servers are not passed on")


def leads_up(path: str) -> bool:
    """Whether a browser would read steps up in a path, which it sees in more spellings than
    `urllib` does."""
    return "\\" in path or "\t" in path or bool(_STEP_UP.search(path))
