"""How a pod resolves names: DNS settings and host aliases."""

from __future__ import annotations

from typing import Final

from fairlead.codec.types.names import dns_subdomain
from fairlead.resources.behaviour import Object
from fairlead.resources.causes import Causes, GoValue
from fairlead.resources.context import Context
from fairlead.resources.core.addresses import is_address
from fairlead.resources.metadata import go_strings

DNS_POLICIES: Final[tuple[str, ...]] = (
    "ClusterFirstWithHostNet",
    "ClusterFirst",
    "Default",
    "None",
)
NOT_AN_ADDRESS = "must be valid IP address"
MOST_NAMESERVERS = 3
# Search paths and their characters, without and with the gate.
SEARCH_LIMITS, EXPANDED_SEARCH_LIMITS = (6, 256), (32, 2048)


def check_dns_config(
    config: Object | None, policy: str, path: str, causes: Causes, context: Context
) -> None:
    servers = (config or {}).get("nameservers") or []
    if policy == "None":
        if config is None:
            causes.required(path, "must provide `dnsConfig` when `dnsPolicy` is None")
            return
        if not servers:
            detail = "must provide at least one DNS nameserver when `dnsPolicy` is None"
            causes.required(f"{path}.nameservers", detail)
            return
    if config is None:
        return
    if len(servers) > MOST_NAMESERVERS:
        detail = f"must not have more than {MOST_NAMESERVERS} nameservers"
        causes.invalid(f"{path}.nameservers", GoValue(go_strings(servers)), detail)
    for index, server in enumerate(servers):
        if not is_address(server):
            causes.invalid(f"{path}.nameservers[{index}]", server, NOT_AN_ADDRESS)
    expanded = context.gates["ExpandedDNSConfig"]
    limits = EXPANDED_SEARCH_LIMITS if expanded else SEARCH_LIMITS
    _check_searches(config.get("searches") or [], limits, f"{path}.searches", causes)
    for index, option in enumerate(config.get("options") or ()):
        if not option.get("name"):
            causes.required(f"{path}.options[{index}]", "must not be empty")


def _check_searches(
    searches: list[str], limits: tuple[int, int], path: str, causes: Causes
) -> None:
    most, longest = limits
    if len(searches) > most:
        detail = f"must not have more than {most} search paths"
        causes.invalid(path, GoValue(go_strings(searches)), detail)
    if len(" ".join(searches)) > longest:
        detail = (
            f"must not have more than {longest} characters (including spaces) in the search list"
        )
        causes.invalid(path, GoValue(go_strings(searches)), detail)
    for index, search in enumerate(searches):
        name = search.removesuffix(".")
        causes.invalid_each(f"{path}[{index}]", name, dns_subdomain(name))


def check_host_aliases(aliases: list[Object], path: str, causes: Causes) -> None:
    for alias in aliases:
        address = alias.get("ip", "")
        if not is_address(address):
            causes.invalid(f"{path}.ip", address, NOT_AN_ADDRESS)
        for name in alias.get("hostnames") or ():
            causes.invalid_each(f"{path}.hostnames", name, dns_subdomain(name))
