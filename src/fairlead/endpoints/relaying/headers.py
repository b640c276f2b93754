"""Which headers pass from one connection to the other.

Those of one connection stay there, and nobody but us tells a server behind us who asks.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from fairlead.authentication.websocket_tokens import PROTOCOLS, without_tokens
from fairlead.endpoints.request import Request

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
_NOT_SENT = _HOP_BY_HOP | {b"audit-id", b"content-length", b"expect", b"host"}
_NOT_SENT_PREFIXES = (b"authorization", b"impersonate-", b"x-remote-", b"x-forwarded-")
# The date is ours; scripts of other origins are let in by us or not at all.
_NOT_RETURNED = _HOP_BY_HOP | {
    b"date",
    b"content-length",  # said anew, where it is known
    b"access-control-allow-credentials",
    b"access-control-allow-headers",
    b"access-control-allow-methods",
    b"access-control-allow-origin",
    b"access-control-expose-headers",
    b"access-control-max-age",
}
# Over these a client would speak HTTP of its own to the server behind us, with headers of its own.
_NO_UPGRADES = re.compile(rb"(h2c|http|tls)([/ ]|\Z)", re.IGNORECASE)
_WITH_BODY = ("POST", "PUT", "PATCH")
_MARKS = re.compile(rb"[^a-z0-9]")
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
    return [(name, value) for name, value in fields if name not in dropped]
