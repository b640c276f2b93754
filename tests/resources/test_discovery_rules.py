"""Rules of endpoint slices."""

from __future__ import annotations

from typing import Any

import pytest
from support.group_rules import (
    Kind,
    changed,
    duplicate,
    invalid,
    required,
    too_many,
    unsupported,
)

from fairlead.codec.types.names import dns_label, dns_subdomain, qualified_name

KEY = "discovery/v1/endpointslices"
SLICE: dict[str, Any] = {"addressType": "IPv4", "endpoints": [{"addresses": ["10.1.2.3"]}]}
E0 = "endpoints[0]"
A0 = "endpoints[0].addresses[0]"
ZONES = [{"name": str(n)} for n in range(9)]


def _address(text: str) -> dict[str, Any]:
    return {"endpoints[0].addresses": [text]}


@pytest.mark.parametrize(
    ("changes", "causes"),
    [
        ({}, []),
        ({"addressType": ""}, [required("addressType")]),
        (
            {"addressType": "IPv5"},
            [unsupported("addressType", '"IPv5"', "FQDN", "IPv4", "IPv6")],
        ),
        ({"addressType": "IPv6"}, [invalid(A0, '"10.1.2.3"', "must be a valid IPv6 address")]),
        (
            {"endpoints": [{"addresses": []}]},
            [required(f"{E0}.addresses", "must contain at least 1 address")],
        ),
        (
            {"endpoints[0].addresses": [f"10.0.0.{n}" for n in range(101)]},
            [too_many(f"{E0}.addresses", 101, 100)],
        ),
        ({"endpoints": [{"addresses": ["1.2.3.4"]}] * 1001}, [too_many("endpoints", 1001, 1000)]),
        (
            _address("x"),
            [
                invalid(A0, '"x"', "must be a valid IPv4 address"),
                invalid(A0, '"x"', "must be a valid IP address"),
            ],
        ),
        (
            _address("127.0.0.1"),
            [invalid(A0, '"127.0.0.1"', "may not be in the loopback range (127.0.0.0/8, ::1/128)")],
        ),
        (_address("0.0.0.0"), [invalid(A0, '"0.0.0.0"', "may not be unspecified (0.0.0.0)")]),
        ({"addressType": "FQDN", **_address("a.example.com.")}, []),
        (
            {"addressType": "FQDN", **_address("single")},
            [
                invalid(
                    A0,
                    '"single"',
                    "should be a domain with at least two segments separated by dots",
                )
            ],
        ),
        (
            {"addressType": "FQDN", **_address("Bad_")},
            [invalid(A0, '"Bad_"', dns_subdomain("Bad_")[0])],
        ),
        (
            {"endpoints[0].nodeName": "Bad_", "endpoints[0].hostname": "Bad_"},
            [
                invalid(f"{E0}.nodeName", '"Bad_"', dns_subdomain("Bad_")[0]),
                invalid(f"{E0}.hostname", '"Bad_"', dns_label("Bad_")[0]),
            ],
        ),
        (
            {"endpoints[0].hints": {"forZones": ZONES}},
            [too_many(f"{E0}.hints.forZones", 9, 8)],
        ),
        (
            {"endpoints[0].hints": {"forZones": [{"name": "z"}, {"name": "z"}]}},
            [duplicate(f"{E0}.hints.forZones[1].name", '"z"')],
        ),
        ({"ports": [{"port": 0}]}, []),
        ({"ports": [{"port": 1}, {"port": 2}]}, [duplicate("ports[1].name", '""')]),
        (
            {"ports": [{"name": "Bad_", "protocol": "ICMP", "appProtocol": "bad key"}]},
            [
                invalid("ports[0].name", '"Bad_"', dns_label("Bad_")[0]),
                unsupported("ports[0].protocol", '"ICMP"', "SCTP", "TCP", "UDP"),
                invalid("ports[0].appProtocol", '"bad key"', qualified_name("bad key")[0]),
            ],
        ),
    ],
)
def test_endpoint_slice(changes: dict[str, Any], causes: list[Any]) -> None:
    assert Kind(KEY).wrong(changed(SLICE, changes)) == causes


def test_old_topology_is_not_written() -> None:
    kind = Kind(KEY)
    labels = {"kubernetes.io/hostname": "n", "other": "x"}
    sent = changed(SLICE, {"endpoints[0].deprecatedTopology": labels})
    old = kind.existing(sent)
    assert "deprecatedTopology" not in old["endpoints"][0]
    old["endpoints"][0]["deprecatedTopology"] = labels  # from before
    new, _ = kind.update(old, sent)
    assert new["endpoints"][0]["deprecatedTopology"] == labels
    new, _ = kind.update(old, changed(sent, _address("10.1.2.4")))
    assert new["endpoints"][0]["nodeName"] == "n"
    assert "deprecatedTopology" not in new["endpoints"][0]


@pytest.mark.parametrize(
    ("changes", "generation"),
    [
        ({}, 1),
        (_address("10.1.2.4"), 2),
        ({"metadata": {"labels": {"a": "b"}}}, 2),
        ({"metadata": {"annotations": {"a": "b"}}}, 1),
    ],
)
def test_labels_count_as_a_change(changes: dict[str, Any], generation: int) -> None:
    kind = Kind(KEY)
    new, _ = kind.update(kind.existing(SLICE), changed(SLICE, changes))
    assert new["metadata"]["generation"] == generation


def test_the_address_type_stays() -> None:
    kind = Kind(KEY)
    sent = changed(SLICE, {"addressType": "IPv6", **_address("2001:db8::1")})
    _, causes = kind.update(kind.existing(SLICE), sent)
    assert causes == [invalid("addressType", '"IPv6"', "field is immutable")]
