"""URLs: absolute ones, or rooted paths, as in a request line."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import quote as escape
from urllib.parse import unquote

from fairlead.base.quotes import quote
from fairlead.codec.cel.arithmetic import Implementations
from fairlead.codec.cel.errors import EvaluationError

_SCHEME = re.compile(r"([a-zA-Z][a-zA-Z0-9+.-]*+):")
_BAD_ESCAPE = re.compile(r"%(?![0-9a-fA-F]{2})")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_PORT = re.compile(r":[0-9]*")
_HOST = re.compile(r"[a-zA-Z0-9\-._~!$&'()*+,;=:\[\]<>\"%\x80-\U0010ffff]*")
_USER = re.compile(r"[a-zA-Z0-9\-._:~!$&'()*+,;=%@]*")
_PATH = re.compile(r"[a-zA-Z0-9\-._~!$&'()*+,;=:@\[\]/%]*")
_PATH_SAFE = "/$&+:=@!'()*~"


@dataclass(frozen=True, slots=True)
class Url:
    type_name = "kubernetes.URL"

    scheme: str
    host: str
    path: str
    query: str


class UrlError(ValueError):
    """Text that is not a URL; the message says why."""


def parse(text: str) -> Url:
    if _CONTROL.search(text):
        raise UrlError("net/url: invalid control character in URL")
    if not text:
        raise UrlError("empty url")
    if text == "*":
        return Url("", "", "*", "")
    if text.startswith(":"):
        raise UrlError("missing protocol scheme")
    match = _SCHEME.match(text)
    scheme, rest = (match[1].lower(), text[match.end() :]) if match else ("", text)
    rest, _, query = rest.partition("?")
    if not rest.startswith("/"):
        if scheme:
            return Url(scheme, "", "", query)  # opaque, as mailto:
        raise UrlError("invalid URI for request")
    host = ""
    if scheme and rest.startswith("//"):
        authority, slash, path = rest[2:].partition("/")
        host, rest = _host(authority), slash + path
    _check_escapes(rest)
    return Url(scheme, host, rest, query)


def _host(authority: str) -> str:
    user, separator, host = authority.rpartition("@")
    if separator and not _USER.fullmatch(user):
        raise UrlError("net/url: invalid userinfo")
    if host.startswith("["):
        inside, bracket, port = host.rpartition("]")
        if not bracket:
            raise UrlError("missing ']' in host")
    else:
        inside, colon, port = host.rpartition(":") if ":" in host else (host, "", "")
        port = colon + port
    if port and not _PORT.fullmatch(port):
        raise UrlError(f'invalid port "{port}" after host')
    if not _HOST.fullmatch(host):
        bad = next(character for character in host if not _HOST.fullmatch(character))
        raise UrlError(f"invalid character {quote(bad)} in host name")
    _check_escapes(inside)
    return unquote(host)


def _check_escapes(text: str) -> None:
    bad = _BAD_ESCAPE.search(text)
    if bad:
        raise UrlError(f'invalid URL escape "{text[bad.start() : bad.start() + 3]}"')


def _url(text: str) -> Url:
    try:
        return parse(text)
    except UrlError as error:
        raise EvaluationError(
            f"URL parse error during conversion from string: parse {quote(text)}: {error}"
        ) from None


def _is_url(text: str) -> bool:
    try:
        parse(text)
    except UrlError:
        return False
    return True


def _hostname(url: Url) -> str:
    host = url.host
    if host.startswith("["):
        return host[1 : host.rfind("]")]
    return host.rpartition(":")[0] if ":" in host else host


def _port(url: Url) -> str:
    tail = url.host.rpartition("]")[2]
    return tail.rpartition(":")[2] if ":" in tail else ""


def _escaped_path(url: Url) -> str:
    if _PATH.fullmatch(url.path):
        return url.path
    return escape(unquote(url.path, errors="surrogateescape"), _PATH_SAFE, errors="surrogateescape")


def _query(url: Url) -> dict[str, list[str]]:
    parameters: dict[str, list[str]] = {}
    for pair in url.query.split("&"):
        if not pair or ";" in pair or _BAD_ESCAPE.search(pair):
            continue
        name, _, value = pair.replace("+", " ").partition("=")
        parameters.setdefault(unquote(name), []).append(unquote(value))
    return parameters


URLS: Implementations = {
    "url": {(str,): _url},
    "isURL": {(str,): _is_url},
    "getScheme": {(Url,): lambda url: url.scheme},
    "getHost": {(Url,): lambda url: url.host},
    "getHostname": {(Url,): _hostname},
    "getPort": {(Url,): _port},
    "getEscapedPath": {(Url,): _escaped_path},
    "getQuery": {(Url,): _query},
}
