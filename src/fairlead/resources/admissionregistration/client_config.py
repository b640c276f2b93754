"""Validation of a webhook's client configuration (a URL or a service) and of its review versions.
Conversion webhooks use both too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, NamedTuple

from fairlead.base.release import Reworded
from fairlead.codec.types.names import dns_1035_label, dns_subdomain
from fairlead.resources.causes import Causes, quote
from fairlead.resources.go_values import go_list
from fairlead.resources.rules import PORT_RANGE

FORM = "; desired format: https://host[/path]"


def check_client_config(config: dict[str, Any], path: str, causes: Causes) -> None:
    url, service = config.get("url"), config.get("service")
    if (url is None) == (service is None):
        causes.required(path, "exactly one of url or service is required")
    elif url is not None:
        check_url(url, f"{path}.url", causes)
    elif service is not None:
        check_service(service, f"{path}.service", causes)


def check_url(url: str, path: str, causes: Causes) -> None:
    try:
        parts = read_url(url)
    except NoUrl as error:
        causes.required(path, f"url must be a valid URL: parse {quote(url)}: {error}{FORM}")
        return
    if parts.scheme != "https":
        causes.invalid(path, parts.scheme, f"'https' is the only allowed URL scheme{FORM}")
    if not parts.host:
        detail = Reworded(f"host must be provided{FORM}", f"host must be specified{FORM}")
        causes.invalid(path, "", detail)
    if parts.user is not None:
        user = parts.user.replace("@", "%40")
        causes.invalid(path, user, "user information is not permitted in the URL")
    if parts.fragment:
        causes.invalid(path, parts.fragment, "fragments are not permitted in the URL")
    if parts.query:
        causes.invalid(path, parts.query, "query parameters are not permitted in the URL")


def check_service(service: dict[str, Any], path: str, causes: Causes) -> None:
    names = ("name", "namespace")
    # The reference mixes the two up, and clients see which one it reports.
    for field, name in zip(names, names[::-1], strict=True):
        if not service[name]:
            causes.required(f"{path}.{field}", Reworded(f"service {field} is required", ""))
    port = service.get("port", 443)
    if not 1 <= port <= 65535:
        causes.invalid(f"{path}.port", port, f"port is not valid: {PORT_RANGE}")
    _check_path(service.get("path") or "", f"{path}.path", causes)


def _check_path(text: str, path: str, causes: Causes) -> None:
    if text in ("", "/"):
        return
    if text == "//":
        causes.invalid(path, text, "segment[0] may not be empty")
        return
    if not text.startswith("/"):
        causes.invalid(path, text, "must start with a '/'")
    for index, step in enumerate(text[1:].removesuffix("/").split("/")):
        if not step:
            causes.invalid(path, text, f"segment[{index}] may not be empty")
        else:
            errors = (f"segment[{index}]: {error}" for error in dns_subdomain(step))
            causes.invalid_each(path, text, errors)


# A URL parser with the reference's rules and messages

_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_SCHEME = re.compile(r"([a-zA-Z][-+.a-zA-Z0-9]*):")
_PORT = re.compile(r"(?::[0-9]*)?\Z", re.ASCII)
_BAD_ESCAPE = re.compile(r"%(?![0-9a-fA-F]{2}).{0,2}", re.DOTALL)
# In a host, only non-ASCII bytes and the percent sign before a zone may be escaped.
_BAD_IN_HOST = re.compile(r"%(?!25|[89a-fA-F][0-9a-fA-F]).{0,2}|[ \\^`{|}]", re.DOTALL)
_USER = re.compile(r"[-._:~!$&'()*+,;=%@a-zA-Z0-9]*\Z")


class Url(NamedTuple):
    scheme: str = ""
    user: str | None = None
    host: str = ""
    query: str = ""
    fragment: str = ""


class NoUrl(Exception):
    """A text that is not a URL; the message says why."""


def read_url(text: str) -> Url:
    start, _, fragment = text.partition("#")
    if _CONTROL.search(start):
        raise NoUrl("net/url: invalid control character in URL")
    if start.startswith(":"):
        raise NoUrl("missing protocol scheme")
    match = _SCHEME.match(start)
    scheme = match[1].lower() if match else ""
    rest, _, query = start[match.end() if match else 0 :].partition("?")
    user, host = None, ""
    if not rest.startswith("/"):
        if scheme:
            return Url(scheme, query=query, fragment=fragment)
        if ":" in rest.partition("/")[0]:
            raise NoUrl("first path segment in URL cannot contain colon")
    elif rest.startswith("//") and (scheme or not rest.startswith("///")):
        authority, slash, path = rest[2:].partition("/")
        user, host = _read_authority(authority)
        rest = slash + path
    _check_escapes(rest)
    _check_escapes(fragment)
    return Url(scheme, user, host, query, fragment)


def _read_authority(authority: str) -> tuple[str | None, str]:
    user, separator, host = authority.rpartition("@")
    _check_host(host)
    if not _USER.match(user):
        raise NoUrl("net/url: invalid userinfo")
    _check_escapes(user)
    return (user if separator else None), host


def _check_host(host: str) -> None:
    if host.startswith("["):
        end = host.rfind("]")
        if end < 0:
            raise NoUrl("missing ']' in host")
        port = host[end + 1 :]
    else:
        port = host[host.rfind(":") :] if ":" in host else ""
    if not _PORT.match(port):
        raise NoUrl(f"invalid port {quote(port)} after host")
    match = _BAD_IN_HOST.search(host)
    if match and match[0].startswith("%"):
        raise NoUrl(f"invalid URL escape {quote(match[0])}")
    if match:
        raise NoUrl(f"invalid character {quote(match[0])} in host name")


def _check_escapes(part: str) -> None:
    match = _BAD_ESCAPE.search(part)
    if match:
        raise NoUrl(f"invalid URL escape {quote(match[0])}")


# The review versions that a webhook supports

# The versions that this server can send.
KNOWN = ("v1", "v1beta1")


def has_known_version(versions: Iterable[str] | None) -> bool:
    """Whether we can send one of the versions; also True for a webhook without versions."""
    listed = list(versions or ())
    return not listed or any(version in KNOWN for version in listed)


def check_review_versions(
    versions: list[str] | None,
    path: str,
    causes: Causes,
    *,
    missing: str,
    require_known: bool = True,
) -> None:
    """`missing` is the message if there are none. `require_known`: one must be a version that we
    can send."""
    if not versions:
        causes.required(path, missing)
        return
    seen: set[str] = set()
    for index, version in enumerate(versions):
        item_path = f"{path}[{index}]"
        if version in seen:
            causes.invalid(item_path, version, "duplicate version")
        else:
            seen.add(version)
            causes.invalid_each(item_path, version, dns_1035_label(version))
    if require_known and not has_known_version(versions):
        detail = f"must include at least one of {', '.join(KNOWN)}"
        causes.invalid(path, go_list("string", versions), detail)
