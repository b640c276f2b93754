"""The address of a webhook's service."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from fairlead.wire.outgoing.addresses import AddressPolicy, parse_allowed
from fairlead.wire.outgoing.client_config import ClientConfig, HostCredentials
from fairlead.wire.outgoing.response import CallError
from fairlead.wire.outgoing.webhooks import Webhooks

Object = dict[str, Any]
PORTS = [{"name": "web", "port": 80}, {"name": "https", "port": 443}]
SUBSETS = [
    {
        "addresses": [{"ip": "10.1.2.3"}],
        "notReadyAddresses": [{"ip": "10.1.2.4"}],
        "ports": [{"name": "web", "port": 8080}, {"name": "https", "port": 8443}],
    }
]


def _address(service: Object | None, subsets: Any = (), port: int = 443) -> tuple[str, int]:
    objects = {
        "core/v1/services": {"spec": service} if service is not None else None,
        "core/v1/endpoints": {"subsets": subsets},
    }
    webhooks = Webhooks(lambda key, namespace, name: objects[key])
    return asyncio.run(webhooks.address("n", "s", port))


def test_ready_endpoints_of_the_port_are_used() -> None:
    spec = {"clusterIP": "10.96.0.1", "ports": PORTS}
    assert _address(spec, SUBSETS) == ("10.1.2.3", 8443)
    assert _address(spec, SUBSETS, 80) == ("10.1.2.3", 8080)


def test_without_endpoints_the_address_of_the_service_is_used() -> None:
    assert _address({"clusterIP": "10.96.0.1", "ports": PORTS}) == ("10.96.0.1", 443)


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        (None, 'service "s" not found'),
        ({"clusterIP": "None", "ports": PORTS}, 'no endpoints available for service "s"'),
        ({"clusterIP": "10.0.0.1", "ports": []}, 'no service port 443 found for service "s"'),
        ({"type": "ExternalName", "externalName": "127.0.0.1"}, "the address is not allowed"),
    ],
)
def test_webhook_service_that_cannot_be_reached_is_an_error_with_a_reason(
    spec: Object | None, why: str
) -> None:
    with pytest.raises(CallError, match=why):
        _address(spec)


def test_an_administrator_may_allow_addresses_of_this_machine() -> None:
    spec = {"type": "ExternalName", "externalName": "127.0.0.1"}
    policy = AddressPolicy(parse_allowed("127.0.0.0/8"))
    webhooks = Webhooks(lambda key, namespace, name: {"spec": spec}, policy=policy)
    assert asyncio.run(webhooks.address("n", "s", 443)) == ("127.0.0.1", 443)


@pytest.mark.parametrize(
    "config",
    [
        {"service": {"namespace": "n\r\nX-Sent: by us\r\n", "name": "s"}},
        {"url": "https://h:99999999/"},
        {"url": "https://"},
        {"url": "https://[::1/"},
    ],
)
def test_webhook_with_an_invalid_host_is_not_called(config: Object) -> None:
    webhooks = Webhooks(lambda key, namespace, name: None, {"n\r\nX-Sent: by us\r\n/s": "h:1"})
    with pytest.raises(CallError, match="is not a host"):
        asyncio.run(webhooks.webhook(config).post(b"{}", 1.0))


@pytest.mark.parametrize(
    ("path", "called"),
    [
        ("", "/"),
        ("/", "/"),
        ("//failing", "/failing"),
        ("/a//b/", "/a/b"),
        ("/a/./b/../c", "/a/c"),
        ("/../a", "/a"),
        ("/a%20b%2Fc", "/a%20b/c"),
        ("/(a)'*!", "/%28a%29%27%2A%21"),
        ("/a:b@c;d=e,f+g$h&i", "/a:b@c;d=e,f+g$h&i"),
        ("/ä", "/%C3%A4"),
    ],
)
@pytest.mark.parametrize("config", ["url", "service"])
def test_webhook_path_is_cleaned_before_the_call(config: str, path: str, called: str) -> None:
    service = {"namespace": "n", "name": "s", "path": path}
    given = {"url": f"https://s.n.svc:443{path}"} if config == "url" else {"service": service}
    webhooks = Webhooks(lambda key, namespace, name: None, {"n/s": "127.0.0.1:1"})
    with pytest.raises(CallError) as failure:
        asyncio.run(webhooks.webhook(given).post(b"{}", 1.0))
    assert str(failure.value).startswith(f'Post "https://s.n.svc:443{called}?timeout=1s": dial')


@pytest.mark.parametrize(
    ("host", "port", "expected"),
    [
        ("a.b.example.com", 443, "exact"),
        ("a.b.example.com", 8443, "with port"),
        ("x.b.example.com", 443, "wild"),
        ("x.y.b.example.com", 443, "wild"),
        ("x.b.example.com", 8443, "default"),
        ("b.example.com", 443, "default"),
    ],
)
def test_webhook_credentials_of_the_closest_host_pattern_are_used(
    host: str, port: int, expected: str
) -> None:
    names = {
        "a.b.example.com": "exact",
        "a.b.example.com:8443": "with port",
        "*.b.example.com": "wild",
        "*": "default",
    }
    users = {name: ClientConfig("https://", token=token) for name, token in names.items()}
    credentials = HostCredentials(users).of(host, port)
    assert credentials is not None
    assert credentials.token == expected


def test_webhook_credentials_are_not_sent_to_other_hosts_without_a_default() -> None:
    users = HostCredentials({"a": ClientConfig("https://", token="t")})
    assert users.of("b", 443) is None
