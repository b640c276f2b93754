"""How the server reaches a webhook: by URL or through a service. Conversion webhooks have the same
rules."""

from __future__ import annotations

from typing import Any

from fairlead.codec.types.names import dns_subdomain
from fairlead.resources.admissionregistration.urls import NoUrl, read_url
from fairlead.resources.causes import Causes, quote
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
    except NoUrl as wrong:
        causes.required(path, f"url must be a valid URL: parse {quote(url)}: {wrong}{FORM}")
        return
    if parts.scheme != "https":
        causes.invalid(path, parts.scheme, f"'https' is the only allowed URL scheme{FORM}")
    if not parts.host:
        causes.invalid(path, "", f"host must be provided{FORM}")
    if parts.user is not None:
        user = parts.user.replace("@", "%40")
        causes.invalid(path, user, "user information is not permitted in the URL")
    if parts.fragment:
        causes.invalid(path, parts.fragment, "fragments are not permitted in the URL")
    if parts.query:
        causes.invalid(path, parts.query, "query parameters are not permitted in the URL")


def check_service(service: dict[str, Any], path: str, causes: Causes) -> None:
    # The reference confuses the two names, and clients see which one it calls missing.
    if not service["namespace"]:
        causes.required(f"{path}.name", "service name is required")
    if not service["name"]:
        causes.required(f"{path}.namespace", "service namespace is required")
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
            wrong = (f"segment[{index}]: {error}" for error in dns_subdomain(step))
            causes.invalid_each(path, text, wrong)
