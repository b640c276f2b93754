"""Allocation and release of cluster addresses and node ports."""

from __future__ import annotations

from time import process_time
from typing import Any

import pytest
from support.pace import in_time

from fairlead.resources.core.services.allocation import (
    DEFAULT_NETWORKS,
    DEFAULT_PORTS,
    AddressRange,
    AllocationError,
    Pool,
    ServiceAllocators,
    parse_networks,
    parse_ports,
)
from fairlead.resources.core.services.grants import _grant_new_ports

Object = dict[str, Any]


def allocators(networks: str = DEFAULT_NETWORKS, ports: str = DEFAULT_PORTS) -> ServiceAllocators:
    return ServiceAllocators(parse_networks(networks), parse_ports(ports))


def service(name: str, *, address: str = "None", ports: tuple[int, ...] = ()) -> Object:
    return {
        "metadata": {"namespace": "ns", "name": name},
        "spec": {
            "type": "NodePort",
            "clusterIP": address,
            "clusterIPs": [address],
            "ports": [{"port": 80, "nodePort": port} for port in ports],
        },
    }


def test_nothing_is_given_twice() -> None:
    every = allocators("10.0.0.0/26").reserve()
    given = {every.address("IPv4") for _ in range(62)}
    assert len(given) == 62
    assert {"10.0.0.0", "10.0.0.63"}.isdisjoint(given)
    with pytest.raises(AllocationError, match=r"^range is full$"):
        every.address("IPv4")


def test_chance_leaves_the_lowest_addresses_until_others_are_gone() -> None:
    every = allocators("10.0.0.0/24").reserve()
    first = [every.address("IPv4") for _ in range(254 - 16)]
    assert all(int(address.rpartition(".")[2]) > 16 for address in first)
    assert int(every.address("IPv4").rpartition(".")[2]) <= 16


BANDS = [("10.0.0.0/28", 0), ("10.0.0.0/27", 16), ("10.0.0.0/20", 256), ("fd00::/108", 256)]


@pytest.mark.parametrize(("network", "size"), BANDS)
def test_size_of_the_static_band(network: str, size: int) -> None:
    family = "IPv6" if ":" in network else "IPv4"
    banded, unbanded = (
        ServiceAllocators(parse_networks(network), (1, 2), static_band=band).ranges(family)[0]
        for band in (True, False)
    )
    assert (banded.static, unbanded.static) == (size, 0)


OUTSIDE = "the provided IP ({}) is not in the valid range. The range of valid IPs is 10.0.0.0/24"


@pytest.mark.parametrize("address", ["10.0.0.0", "10.0.0.255", "10.0.1.1", "fd00::1"])
def test_addresses_outside_are_refused(address: str) -> None:
    with pytest.raises(AllocationError) as caught:
        allocators().reserve().address("IPv4", address)
    assert str(caught.value) == OUTSIDE.format(address)


def test_a_wanted_value_is_given_once() -> None:
    both = allocators()
    first, second = both.reserve(), both.reserve()
    assert first.address("IPv4", "10.0.0.9") == "10.0.0.9"
    assert first.port(30001) == 30001
    with pytest.raises(AllocationError, match="provided IP is already allocated"):
        second.address("IPv4", "10.0.0.9")
    with pytest.raises(AllocationError, match="provided port is already allocated"):
        second.port(30001)
    with pytest.raises(AllocationError) as caught:
        second.port(80)
    assert str(caught.value) == (
        "provided port is not in the valid range. The range of valid ports is 30000-32767"
    )
    first.release()
    assert second.address("IPv4", "10.0.0.9") == "10.0.0.9"


def test_a_committed_write_ends_its_reservation() -> None:
    every = allocators()
    writing = every.reserve()
    writing.address("IPv4", "10.0.0.9")
    writing.port(30001)
    created = service("a", address="10.0.0.9", ports=(30001,))
    every.observe(None, created)
    writing.release()  # too late to matter
    with pytest.raises(AllocationError):
        every.reserve().port(30001)
    every.observe(created, None)
    assert every.reserve().port(30001) == 30001
    assert every.reserve().address("IPv4", "10.0.0.9") == "10.0.0.9"


def test_changes_are_followed() -> None:
    every = allocators()
    before, after = service("a", ports=(30001, 30002)), service("a", ports=(30002, 30003))
    every.load([before])
    every.observe(before, after)
    assert every.reserve().port(30001) == 30001
    for port in (30002, 30003):
        with pytest.raises(AllocationError):
            every.reserve().port(port)


def test_a_value_held_by_two_services_is_free_when_both_are_gone() -> None:
    every = allocators()
    first, other = service("a", ports=(30001,)), service("b", ports=(30001,))
    every.load([first, other])
    every.observe(first, None)
    with pytest.raises(AllocationError):
        every.reserve().port(30001)
    every.observe(other, None)
    assert every.reserve().port(30001) == 30001


def test_what_a_service_holds() -> None:
    every = allocators("10.0.0.0/24,fd00::/112")
    assert every.families == ("IPv4", "IPv6")
    held = service("a", address="10.0.0.9")
    held["spec"]["clusterIPs"].append("fd00::9")
    held["spec"]["healthCheckNodePort"] = 30009
    every.load([held, service("headless"), service("far", address="192.168.0.1", ports=(80,))])
    for wanted in (("IPv4", "10.0.0.9"), ("IPv6", "fd00::9")):
        with pytest.raises(AllocationError, match="already allocated"):
            every.reserve().address(*wanted)
    with pytest.raises(AllocationError, match="already allocated"):
        every.reserve().port(30009)


def test_a_dry_run_takes_nothing() -> None:
    every = allocators()
    every.load([service("a", address="10.0.0.9", ports=(30001,))])
    trial = every.reserve(dry_run=True)
    assert trial.address("IPv4") == "10.0.0.0"
    assert trial.address("IPv4", "10.0.0.9") == "10.0.0.9"
    assert (trial.port(), trial.port(), trial.port(30002)) == (32769, 32770, 30002)
    for port in (30001, 30002):
        with pytest.raises(AllocationError, match="already allocated"):
            trial.port(port)
    assert every.reserve().port(30002) == 30002


@pytest.mark.parametrize(
    ("text", "ports"), [("30000-32767", (30000, 32767)), ("100+5", (100, 105)), ("7", (7, 7))]
)
def test_port_ranges(text: str, ports: tuple[int, int]) -> None:
    assert parse_ports(text) == ports


@pytest.mark.parametrize("text", ["", "a-b", "5-4", "0-5", "1-70000", "5+"])
def test_what_is_no_port_range(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_ports(text)


@pytest.mark.parametrize("text", ["", "10.0.0.1", "10.0.0.0/24,10.1.0.0/24", "x/24"])
def test_what_is_no_list_of_networks(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_networks(text)


def test_many_ports_take_time_in_proportion() -> None:
    spec: Object = {"type": "NodePort", "ports": [{"port": port + 1} for port in range(20_000)]}
    started = process_time()
    _grant_new_ports(spec, allocators().reserve(dry_run=True))
    assert in_time(process_time() - started, 1)
    assert len({port["nodePort"] for port in spec["ports"]}) == 20_000


def test_the_last_free_address_of_a_large_range_is_found_quickly() -> None:
    pool = Pool()
    for number in range(200_000):
        if number != 123_456:
            pool.hold(number, "someone")

    began = process_time()
    for _ in range(1_000):
        assert pool.free(0, 200_000) == 123_456
    assert in_time(process_time() - began, 2.0)


def test_ranges_may_overlap() -> None:
    pool = Pool()
    small, large = (
        AddressRange(network, pool) for network in parse_networks("10.0.0.0/30,fd00::/64")[:1] * 2
    )
    taken = small.free()
    assert taken is not None
    pool.hold(taken, "someone")
    assert large.free() != taken
