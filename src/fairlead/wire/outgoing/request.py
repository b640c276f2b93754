"""Requests to other servers: how their server is reached, and how they are encoded."""

import base64
import re
import ssl
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import NamedTuple
from urllib.parse import SplitResult, unquote, urlsplit

from fairlead.wire.outgoing.response import CallError, Header
from fairlead.wire.outgoing.tls import trust_by_openssl

Headers = Mapping[str, str] | Sequence[tuple[str, str]]

_DEFAULT_PORTS = {"http": 80, "https": 443}
_DEFAULT_HEADERS = {"user-agent": "fairlead", "accept": "*/*", "accept-encoding": "gzip"}
_NOT_VISIBLE = re.compile(rb"[^!-~]")


class Route(NamedTuple):
    """How a server is reached: its address and port; with TLS, its certificate must be valid for
    `name`. `proxy` is the URL of an HTTP proxy, through which the connection is made."""

    host: str
    port: int
    name: str
    tls: ssl.SSLContext | None
    proxy: str = ""

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def parse_route(url: str, tls: ssl.SSLContext | None, name: str = "", proxy: str = "") -> Route:
    """Return the route to the server of a URL, whose certificate is valid for `name`, by default
    the host. Raises ValueError."""
    parts = _split(url)
    if parts.scheme == "https" and tls is None:
        raise ValueError("an https URL without TLS")
    host = parts.hostname or ""
    tls = tls if parts.scheme == "https" else None
    return Route(host, parts.port or _DEFAULT_PORTS[parts.scheme], name or host, tls, proxy)


def _split(url: str) -> SplitResult:
    parts = urlsplit(url)
    if parts.scheme not in _DEFAULT_PORTS or not parts.hostname or parts.port == 0:
        raise ValueError("it is not an http or https URL")
    return parts


@cache  # one context, so that connections to a proxy can be shared; addresses come from files
def parse_proxy(url: str) -> tuple[Route, str]:
    """Return the route to a proxy and the Proxy-Authorization, or "". Raises CallError."""
    try:
        parts = _split(url)
        tls = trust_by_openssl(b"") if parts.scheme == "https" else None
        return parse_route(url, tls), _basic_authorization(parts)
    except ValueError:
        public_url = url.rpartition("@")[2]  # without the password
        if url.startswith("socks"):
            reason = f"proxies that speak SOCKS are not supported: {public_url}"
        else:
            reason = f"the proxy {public_url!r} is not an http or https URL"
        raise CallError(reason, unreached=True) from None


def _host(parts: SplitResult) -> str:
    return parts.netloc.rpartition("@")[2]


def _basic_authorization(parts: SplitResult) -> str:
    if not parts.username:
        return ""
    pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
    return f"Basic {base64.b64encode(pair.encode()).decode()}"


def encode_head(method: str, target: bytes, headers: Iterable[Header]) -> bytes:
    """Encode the head of a request with its empty line. Bytes of the target that are invalid in a
    request line are percent-encoded."""
    encoded_target = _NOT_VISIBLE.sub(lambda match: b"%%%02X" % match[0][0], target)
    lines = [b"%b %b HTTP/1.1\r\n" % (method.encode(), encoded_target)]
    lines += (b"%b: %b\r\n" % header for header in headers)
    return b"".join([*lines, b"\r\n"])


class Request(NamedTuple):
    """A request to a URL. Its server is verified by `tls`, for `server_name` in place of the host
    if there is one."""

    method: str
    url: str
    headers: Headers = ()
    body: bytes | None = None
    tls: ssl.SSLContext | None = None
    server_name: str = ""

    def encode(self, proxy: str = "") -> tuple[Route, bytes]:
        """Return the route and the encoded request; raises CallError. Requests over plain HTTP ask
        the proxy itself, which needs no tunnel."""
        try:
            parts = _split(self.url)
            if not proxy or parts.scheme == "https":
                route = parse_route(self.url, self.tls, self.server_name, proxy)
                return route, self._encode(parts, "", "")
            route, authorization = parse_proxy(proxy)
            return route, self._encode(parts, f"http://{_host(parts)}", authorization)
        except ValueError as error:  # also of text that cannot be encoded
            raise CallError(f"the request cannot be sent: {error}") from None

    def _encode(self, parts: SplitResult, origin: str, proxy_authorization: str) -> bytes:
        target = f"{origin}{parts.path or '/'}" + (f"?{parts.query}" if parts.query else "")
        headers = {"host": _host(parts), **_DEFAULT_HEADERS}
        if authorization := _basic_authorization(parts):
            headers["authorization"] = authorization
        if proxy_authorization:
            headers["proxy-authorization"] = proxy_authorization
        headers.update((name.lower(), value) for name, value in dict(self.headers).items())
        if self.body is not None:
            headers["content-length"] = str(len(self.body))
        lines = []
        for name, value in headers.items():
            if not f"{name}{value}".isprintable():
                raise ValueError(f"the header {name!r} has control characters")
            lines.append((name.encode("ascii"), value.encode("latin-1")))
        return encode_head(self.method, target.encode(), lines) + (self.body or b"")
