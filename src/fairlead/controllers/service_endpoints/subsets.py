"""Subsets of Endpoints: groups addresses with the same ports."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import ceil

from fairlead.controllers.service_endpoints.pods import OfferedPorts, PodFacts
from fairlead.controllers.service_endpoints.ports import Port, endpoints_ports, read_port
from fairlead.operations.api import Object
from fairlead.resources.core.addresses import V4, V6

MAX_ADDRESSES = 1000
READY, NOT_READY = "addresses", "notReadyAddresses"

# Ports, and addresses (with readiness) that offer them; a None port for addresses without ports.
Offer = tuple[Iterable[Port | None], list[tuple[Object, bool]]]
_Key = tuple[str, str]  # address and uid


def is_headless(service: Object) -> bool:
    return service["spec"].get("clusterIP") in (None, "", "None")


def has_no_ports(service: Object) -> bool:
    """A headless service may have no ports; then addresses are published without ports."""
    return not service["spec"].get("ports") and service["spec"].get("clusterIP") == "None"


def offers_of(service: Object, pods: Iterable[PodFacts]) -> Iterable[Offer]:
    """The offers of a service's pods, in its first address family."""
    publishes_all = bool(service["spec"].get("publishNotReadyAddresses"))
    family = (service["spec"].get("ipFamilies") or (V4,))[0]
    ports = OfferedPorts(service)
    offers: dict[int, Offer] = {}  # by id of the shared tuple of ports
    for pod in pods:
        if not pod.is_published(terminating=publishes_all):
            continue
        ip = next((address for address in pod.addresses if (":" in address) == (family == V6)), "")
        if not ip:
            continue
        address: Object = {"ip": ip, "nodeName": pod.node, "targetRef": pod.reference}
        if hostname := pod.hostname_for(service):
            address["hostname"] = hostname
        offered = (None,) if has_no_ports(service) else ports.of(pod)
        offers.setdefault(id(offered), (offered, []))[1].append(
            (address, publishes_all or pod.ready)
        )
    return offers.values()


def offers_in(subsets: Iterable[Object]) -> Iterator[Offer]:
    """The offers in user-written subsets."""
    for subset in subsets:
        addresses = [
            (address, ready)
            for name, ready in ((READY, True), (NOT_READY, False))
            for address in subset.get(name) or ()
        ]
        yield [read_port(port) for port in subset.get("ports") or ()] or (None,), addresses


def packed(offers: Iterable[Offer]) -> list[Object]:
    """The minimal subsets in canonical order. An address that is both ready and not ready at a port
    counts as not ready."""
    addresses: dict[_Key, Object] = {}
    offered: list[dict[_Key, bool]] = []
    places: dict[Port | None, list[int]] = {}  # indexes of the offers with a port
    for number, (ports, offered_addresses) in enumerate(offers):
        states: dict[_Key, bool] = {}
        for address, ready in offered_addresses:
            key = (address["ip"], (address.get("targetRef") or {}).get("uid") or "")
            addresses.setdefault(key, address)
            states[key] = ready and states.get(key, True)
        offered.append(states)
        for port in ports:
            places.setdefault(port, []).append(number)
    together: dict[tuple[int, ...], list[Port]] = {}
    for port, numbers in places.items():
        same = together.setdefault(tuple(numbers), [])
        if port is not None:
            same.append(port)
    by_states: dict[frozenset[tuple[_Key, bool]], list[Port]] = {}
    for where, same in together.items():
        states = {}
        for number in where:
            for key, ready in offered[number].items():
                states[key] = ready and states.get(key, True)
        if states:
            by_states.setdefault(frozenset(states.items()), []).extend(same)
    subsets = [_subset(addresses, group, ports) for group, ports in by_states.items()]
    return sorted(subsets, key=_order)


def _subset(
    addresses: dict[_Key, Object], group: frozenset[tuple[_Key, bool]], ports: list[Port]
) -> Object:
    subset: Object = {}
    for name, is_ready in ((READY, True), (NOT_READY, False)):
        if listed := [addresses[key] for key, ready in sorted(group) if ready is is_ready]:
            subset[name] = listed
    if ports:
        subset["ports"] = [port.in_endpoints() for port in endpoints_ports(ports)]
    return subset


def _order(subset: Object) -> list[tuple[str, int, str]]:
    ports = subset.get("ports") or ()
    return [(port.get("name", ""), port["port"], port["protocol"]) for port in ports]


def truncated(subsets: list[Object]) -> list[Object] | None:
    """Subsets cut to 1,000 addresses: proportionally per subset, ready addresses first. None if
    there are no more than that."""
    ready = sum(len(subset.get(READY) or ()) for subset in subsets)
    waiting = sum(len(subset.get(NOT_READY) or ()) for subset in subsets)
    if ready + waiting <= MAX_ADDRESSES:
        return None
    if ready > MAX_ADDRESSES:
        cut = _cut(subsets, READY, ready, MAX_ADDRESSES)
        remaining = [_without(subset, NOT_READY) for subset in cut]
    else:
        remaining = _cut(subsets, NOT_READY, waiting, MAX_ADDRESSES - ready)
    return [subset for subset in remaining if subset.get(READY) or subset.get(NOT_READY)]


def _without(subset: Object, name: str) -> Object:
    return {key: value for key, value in subset.items() if key != name}


def _cut(subsets: list[Object], name: str, total: int, room: int) -> list[Object]:
    left, result = room, []
    for subset in subsets:
        addresses = subset.get(name) or []
        share = min(ceil(len(addresses) / total * room), left)
        left -= min(share, len(addresses))
        remaining = _without(subset, name)
        result.append({**remaining, name: addresses[:share]} if addresses[:share] else remaining)
    return result
