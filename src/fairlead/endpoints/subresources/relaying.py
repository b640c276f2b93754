"""Passing requests on to what runs in the cluster, and its answers back as they come."""

from __future__ import annotations

import posixpath
from contextlib import suppress
from urllib.parse import quote, urljoin, urlsplit, urlunsplit

from fairlead.endpoints.answers import Answer
from fairlead.endpoints.request import Request
from fairlead.errors import StatusError, bad_request
from fairlead.http.writing import Header
from fairlead.outgoing.addresses import NotAllowed
from fairlead.outgoing.client import CallError, Stream
from fairlead.outgoing.reaching import Place, Reach

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
_NOT_SENT = _HOP_BY_HOP | {b"authorization", b"content-length", b"expect"}
_NOT_SENT_PREFIXES = (b"impersonate-", b"x-remote-", b"x-forwarded-")
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
_UNRESERVED = "/:@!$&'()*+,;=-._~"


def unavailable(message: str) -> StatusError:
    return StatusError(503, "ServiceUnavailable", message)


def not_allowed() -> StatusError:
    return bad_request("address not allowed")


class Relayed(Answer):
    """An answer of others that is passed on while it comes. One that is cut off is cut off for
    the client too, so that nobody takes it for whole."""

    __slots__ = ("_stream",)

    def __init__(self, stream: Stream, headers: tuple[Header, ...]) -> None:
        super().__init__(stream.status, b"", "", headers)
        self._stream = stream

    async def send(self, request: Request) -> None:
        exchange, stream = request.exchange, self._stream
        exchange.no_deadline()
        exchange.when_gone(stream.close)
        size = stream.header("content-length")
        try:
            exchange.start(self.code, self.headers, int(size) if size.isdigit() else None)
            async for piece in stream.pieces():
                await exchange.send(piece)
            exchange.end()
        except CallError:
            exchange.abort()
        finally:
            stream.release()


async def relay(
    reach: Reach, request: Request, place: Place, path: str, identity: tuple[bytes, ...]
) -> Answer:
    """Send a request on to a place and give its answer. `path` is what follows the proxy's own
    part, decoded, with its first slash; `identity` are prefixes of headers that name users."""
    own_part = request.target.path.removesuffix(path)
    if not path and request.method in ("GET", "HEAD"):
        return _to_the_root(request)
    if request.header(b"upgrade"):
        raise StatusError(501, "NotImplemented", "proxies do not pass upgrades on")
    clean = _clean(path)
    query = request.exchange.head.query.decode("latin-1")
    body = await request.body()
    try:
        stream = await reach.open(
            place,
            request.method,
            quote(clean, safe=_UNRESERVED) + (f"?{query}" if query else ""),
            _sent_headers(request, f"{own_part}{clean}", identity),
            body or None,
        )
    except NotAllowed:
        raise not_allowed() from None
    except CallError as error:
        raise unavailable(f"error trying to reach service: {error}") from None
    if not 200 <= stream.status < 600:  # nobody asked it to switch protocols
        stream.close()
        text = f"it answered with the status {stream.status}"
        raise unavailable(f"error trying to reach service: {text}")
    returned = _returned_headers(stream, place, clean, own_part)
    return Relayed(stream, returned)


def _clean(path: str) -> str:
    """Without steps up, so that nothing above the root is asked for; a last slash stays."""
    clean = posixpath.normpath(f"/{path.lstrip('/')}")
    return f"{clean}/" if path.endswith("/") and clean != "/" else clean


def _to_the_root(request: Request) -> Answer:
    """Relative links in a page work only if the proxy's own address ends with a slash."""
    query = request.exchange.head.query
    location = quote(f"{request.target.path}/", safe=_UNRESERVED).encode() + (
        b"?" + query if query else b""
    )
    return Answer(301, b"", "text/plain", ((b"location", location),))


def _sent_headers(request: Request, uri: str, identity: tuple[bytes, ...]) -> list[tuple[str, str]]:
    """The caller's headers without credentials and without what belongs to the connection."""
    listed = request.header(b"connection").lower().encode("latin-1").split(b",")
    dropped = _NOT_SENT | {name.strip() for name in listed}
    prefixes = (*_NOT_SENT_PREFIXES, *identity)
    sent = [
        (name.decode("latin-1"), value.decode(errors="replace"))
        for name, value in request.raw_headers
        if name not in dropped and not name.startswith(prefixes)
    ]
    sent.append(("X-Forwarded-Uri", quote(uri, safe=_UNRESERVED)))
    peer = request.peer.address
    known = request.header(b"x-forwarded-for")
    sent.append(("X-Forwarded-For", f"{known}, {peer}" if known else peer))
    return sent


def _returned_headers(stream: Stream, place: Place, path: str, own_part: str) -> tuple[Header, ...]:
    listed = stream.header("connection").lower().encode(errors="replace").split(b",")
    dropped = _NOT_RETURNED | {name.strip() for name in listed}
    returned = []
    for name, value in stream.headers:
        name = name.lower()
        if name in dropped:
            continue
        if name == b"location":
            value = _location(value, place, path, own_part)
        returned.append((name, value))
    return tuple(returned)


def _location(value: bytes, place: Place, path: str, own_part: str) -> bytes:
    """A redirect within the place leads through the proxy; one to elsewhere stays as it is."""
    with suppress(ValueError):
        base = f"{place.url}{quote(path, safe=_UNRESERVED)}"
        parts = urlsplit(urljoin(base, value.decode()))
        if parts.netloc == urlsplit(place.url).netloc:
            prefix = quote(own_part, safe=_UNRESERVED)
            steps = parts.path or "/"
            if not steps.startswith(f"{prefix}/"):
                steps = f"{prefix}{steps}"
            return urlunsplit(("", "", steps, parts.query, parts.fragment)).encode()
    return value
