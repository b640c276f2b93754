"""Rules of addresses and domains that several kinds share."""

from __future__ import annotations

import re
from typing import Any

from fairlead.base.errors import ResourceRef
from fairlead.base.release import Reworded
from fairlead.codec.types.names import dns_label, dns_subdomain, path_segment
from fairlead.resources.causes import Causes
from fairlead.resources.context import Context
from fairlead.resources.core.addresses import address_errors, parse_address
from fairlead.resources.gates import is_default
from fairlead.resources.storage.shared import OrderedBehaviour

NOT_AN_IP = "must be a DNS name, not an IP address"

_SUBDOMAIN = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*"
_WILDCARD = rf"\*\.{_SUBDOMAIN}"
_WILDCARD_ERROR = (
    "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which"
    " must consist of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric"
    f" character (e.g. '*.example.com', regex used for validation is '{_WILDCARD}')"
)
_HTTP_PATH = r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+"


class NetworkingBehaviour(OrderedBehaviour):
    """A kind whose errors name its former group in early releases."""

    def error_ref(self, name: str) -> ResourceRef:
        if is_default("NetworkingErrorsInOwnGroup", self.resource.release):
            return super().error_ref(name)
        return ResourceRef("extensions", self.resource.kind, name)


def wildcard_errors(name: str) -> list[str]:
    """The errors of a DNS name whose first label is `*`."""
    errors = ["must be no more than 253 characters"] if len(name) > 253 else []
    if not re.fullmatch(_WILDCARD, name, re.ASCII):
        errors.append(_WILDCARD_ERROR)
    return errors


def host_errors(name: str) -> list[str]:
    """The errors of a DNS name, with or without a wildcard."""
    return wildcard_errors(name) if "*" in name else dns_subdomain(name)


def check_full_name(name: str, segments: int, path: str, causes: Causes) -> bool:
    """Check a DNS name of at least `segments` segments; returns whether it is valid."""
    if not name:
        causes.required(path)
        return False
    errors = dns_subdomain(name)
    if errors:
        causes.invalid(path, name, ",".join(errors))
        return False
    if len(name.split(".")) < segments:
        count = {2: "two", 3: "three"}[segments]
        causes.invalid(
            path, name, f"should be a domain with at least {count} segments separated by dots"
        )
        return False
    return True


def check_full_domain(name: str, path: str, causes: Causes) -> None:
    """Check a fully qualified domain name; it may end with a dot."""
    bare = name.removesuffix(".")
    if not check_full_name(bare if name else name, 2, path, causes):
        return
    for label in bare.split("."):
        errors = dns_label(label)
        if errors:
            causes.invalid(path, label, ",".join(errors))
            return


def check_prefixed_path(text: str, path: str, causes: Causes) -> None:
    """Check a required path with a domain in front, such as `acme.io/foo`."""
    if not text:
        causes.required(path)
        return
    host, _, rest = text.partition("/")
    if not host or not rest:
        causes.invalid(path, text, 'must be a domain-prefixed path (such as "acme.io/foo")')
        return
    causes.invalid_each(path, host, dns_subdomain(host))
    if not re.fullmatch(_HTTP_PATH, rest, re.ASCII):
        causes.invalid(path, rest, f"Invalid path (regex used for validation is '{_HTTP_PATH}')")


def check_typed_reference(reference: dict[str, Any], path: str, causes: Causes) -> None:
    """Check a reference to an object of any kind."""
    group = reference.get("apiGroup")
    if group is not None:
        causes.invalid_each(f"{path}.apiGroup", group, dns_subdomain(group))
    for name in ("kind", "name"):
        if not reference[name]:
            causes.required(f"{path}.{name}", Reworded(f"{name} is required", ""))
        else:
            causes.invalid_each(f"{path}.{name}", reference[name], path_segment(reference[name]))


def check_balancer_status(
    status: dict[str, Any],
    old: dict[str, Any],
    path: str,
    causes: Causes,
    context: Context,
) -> None:
    """Check the addresses of a load balancer; those of the old status are valid."""
    strict, by_value = (
        context.gates[name] for name in ("StrictIPCIDRValidation", "AddressErrorsByValue")
    )
    old_addresses = {point.get("ip") for point in old.get("ingress") or ()} if by_value else ()
    for index, point in enumerate(status.get("ingress") or ()):
        item_path = f"{path}.ingress[{index}]"
        ip, hostname = point.get("ip", ""), point.get("hostname", "")
        errors = address_errors(ip, strict=strict) if ip and ip not in old_addresses else []
        if errors and not by_value:
            errors = ["must be a valid IP address"]
        causes.invalid_each(f"{item_path}.ip", ip, errors)
        if hostname:
            causes.invalid_each(f"{item_path}.hostname", hostname, dns_subdomain(hostname))
            if parse_address(hostname) is not None:
                causes.invalid(f"{item_path}.hostname", hostname, NOT_AN_IP)
