"""The behaviour of ServiceCIDR, a range of addresses for services, and of IPAddress, an address in
use. The allocator of services creates IPAddress objects, see `core.services.allocation`."""

from __future__ import annotations

from typing import Any

from fairlead.codec.types.names import dns_subdomain, path_segment
from fairlead.resources.behaviour import Behaviour, Object
from fairlead.resources.causes import Causes
from fairlead.resources.context import Context
from fairlead.resources.core.addresses import (
    canonical_address_errors,
    canonical_network_errors,
    parse_network,
)
from fairlead.resources.rules import IMMUTABLE, immutable

_CIDRS = "spec.cidrs"
_ONE_OF_EACH = (
    "may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64"
)


class ServiceCIDRBehaviour(Behaviour):
    def check_create(self, value: Object, causes: Causes, context: Context) -> None:
        super().check_create(value, causes, context)
        _check_ranges(value["spec"].get("cidrs") or [], causes)

    def check_change(self, value: Object, old: Object, causes: Causes, context: Context) -> None:
        cidrs, before = (version["spec"].get("cidrs") or [] for version in (value, old))
        if len(cidrs) == len(before):
            for index, (text, old_text) in enumerate(zip(cidrs, before, strict=True)):
                immutable(text, old_text, f"{_CIDRS}[{index}]", causes)
        elif (len(before), len(cidrs)) == (1, 2):  # a second family may be added
            immutable(cidrs[0], before[0], f"{_CIDRS}[0]", causes)
            _check_ranges(cidrs, causes)
        else:
            causes.invalid(_CIDRS, cidrs, IMMUTABLE)


def _check_ranges(cidrs: list[str], causes: Causes) -> None:
    if not cidrs:
        causes.required(_CIDRS, "at least one CIDR required")
        return
    if len(cidrs) > 2:
        causes.invalid(_CIDRS, {"CIDRs": cidrs}, "may only hold up to 2 values")
        return
    for index, text in enumerate(cidrs):
        causes.invalid_each(f"{_CIDRS}[{index}]", text, canonical_network_errors(text))
    networks = [parse_network(text) for text in cidrs]
    versions = [network.version for network in networks if network is not None]
    if len(versions) == 2 and versions[0] == versions[1]:
        causes.invalid(_CIDRS, cidrs, _ONE_OF_EACH)


class IPAddressBehaviour(Behaviour):
    @staticmethod
    def name_rule(text: str) -> list[str]:
        return canonical_address_errors(text)

    def check(self, value: Object, causes: Causes, context: Context) -> None:
        reference = value["spec"].get("parentRef")
        if reference is None:
            causes.required("spec.parentRef")
        else:
            _check_parent(reference, "spec.parentRef", causes)

    def check_change(self, value: Object, old: Object, causes: Causes, context: Context) -> None:
        reference, before = (version["spec"].get("parentRef") for version in (value, old))
        if reference != before:
            causes.invalid("spec.parentRef", _shown_parent(reference), IMMUTABLE)


def _check_parent(reference: dict[str, Any], path: str, causes: Causes) -> None:
    group, namespace = reference.get("group", ""), reference.get("namespace", "")
    if group:
        causes.invalid_each(f"{path}.group", group, dns_subdomain(group))
    for name in ("resource", "name"):
        text = reference.get(name, "")
        if not text:
            causes.required(f"{path}.{name}")
        else:
            causes.invalid_each(f"{path}.{name}", text, path_segment(text))
    if namespace:
        causes.invalid_each(f"{path}.namespace", namespace, path_segment(namespace))


def _shown_parent(reference: dict[str, Any] | None) -> Any:
    if reference is None:
        return None
    fields = ("group", "resource", "namespace", "name")
    return {name.capitalize(): reference.get(name, "") for name in fields}
