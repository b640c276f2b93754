"""Which addresses users can make the server connect to."""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from typing import Any

import pytest
from support.neighbour import Neighbour

from fairlead.wire.outgoing.addresses import AddressPolicy, NotAllowed, parse_allowed
from fairlead.wire.outgoing.cluster import ClusterDialer, ClusterTarget
from fairlead.wire.outgoing.response import CallError

SPECIAL = [
    *("127.0.0.1", "127.8.9.10", "0.0.0.0", "0.1.2.3", "169.254.169.254", "224.0.0.1"),
    *("255.255.255.255", "::1", "::", "fe80::1", "ff02::1", "::ffff:127.0.0.1"),
    *("::ffff:169.254.169.254", "::127.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::"),
    *("64:ff9b::a9fe:a9fe", "2002:a9fe:a9fe::1", "::169.254.169.254", "::ffff:0:127.0.0.1"),
    *("64:ff9b:1::7f00:1", "64:ff9b:1:7f00:0:100::", "64:ff9b:1:abcd::a9fe:a9fe"),
    *("2001:0:7f00:1::80ff:fffe", "2001:0:cb00:7107::5601:5601"),  # Teredo
    *("2001:db8::5efe:7f00:1", "2001:db8::200:5efe:a9fe:a9fe"),  # ISATAP
]
ORDINARY = [
    *("10.0.0.1", "192.168.1.1", "203.0.113.7", "fd00::1", "2001:db8::1", "::ffff:10.0.0.1"),
    *("64:ff9b::a00:1", "2002:a00:1::1", "2001:db8::5efe:a00:1", "2001:1::1"),
]


@pytest.mark.parametrize("address", SPECIAL)
def test_the_servers_own_surroundings_are_not_reached(address: str) -> None:
    assert not AddressPolicy().allows(ipaddress.ip_address(address))


@pytest.mark.parametrize("address", ORDINARY)
def test_ordinary_addresses_are_reached(address: str) -> None:
    assert AddressPolicy().allows(ipaddress.ip_address(address))


def test_networks_that_hide_ipv4_addresses_can_be_allowed_by_name() -> None:
    policy = AddressPolicy(parse_allowed("64:ff9b:1::/48"))
    assert policy.allows(ipaddress.ip_address("64:ff9b:1::a00:1"))
    assert not policy.allows(ipaddress.ip_address("2001::1"))


def test_address_policy_allows_what_the_administrator_allows() -> None:
    policy = AddressPolicy(parse_allowed("127.0.0.0/8, fe80::/10"))
    for address in ("127.0.0.1", "::ffff:127.0.0.1", "fe80::1"):
        assert policy.allows(ipaddress.ip_address(address))
    for address in ("::1", "169.254.1.1"):
        assert not policy.allows(ipaddress.ip_address(address))


@pytest.mark.parametrize(
    "spelling", ["127.1", "0x7f000001", "2130706433", "0177.0.0.1", "localhost", "LOCALHOST", "0"]
)
def test_address_in_an_odd_spelling_is_read_as_the_system_reads_it(spelling: str) -> None:
    with pytest.raises(NotAllowed):
        asyncio.run(AddressPolicy().resolve(spelling, 80))


@pytest.mark.parametrize("name", ["", ".", "a..b", "\x00", "x" * 300, "no-such-host.invalid"])
def test_address_that_is_no_host_is_an_error_of_the_call(name: str) -> None:
    async def reach() -> None:
        reach = ClusterDialer()
        try:
            await reach.open(ClusterTarget(name, 80), "/")
        finally:
            await reach.close()

    with pytest.raises((CallError, NotAllowed)):
        asyncio.run(reach())


def test_address_policy_refuses_a_name_with_one_forbidden_address(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def resolve() -> None:
        _answer_with(monkeypatch, ["203.0.113.7", "127.0.0.1"])
        await AddressPolicy().resolve("both.example", 80)

    with pytest.raises(NotAllowed):
        asyncio.run(resolve())


def test_address_that_was_checked_is_the_one_connected_to(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    neighbour = Neighbour()

    async def reach() -> None:
        looked_up = _answer_with(monkeypatch, ["127.0.0.1"], ["192.0.2.200"])
        dialer = ClusterDialer(AddressPolicy(parse_allowed("127.0.0.1/32")))
        connection = await dialer.open(ClusterTarget("changing.example", neighbour.port), "/")
        assert await connection.read_all(100) == b"hello"
        assert looked_up == ["changing.example"]
        await dialer.close()

    try:
        asyncio.run(reach())
    finally:
        neighbour.close()


def _answer_with(monkeypatch: pytest.MonkeyPatch, *answers: list[str]) -> list[str]:
    """Make the loop resolve names from a list; returns the requested names."""
    left = list(answers)
    requests: list[str] = []

    async def getaddrinfo(host: str, port: int, **_: Any) -> list[Any]:
        requests.append(host)
        result = left.pop(0)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (text, port)) for text in result]

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", getaddrinfo)
    return requests
