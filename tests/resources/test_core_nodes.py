"""Node: one row a rule."""

from __future__ import annotations

import pytest
from support.group_rules import Found, Kind, Object, duplicate, forbidden, invalid, required

INTERNAL = "Internal error: invalid PodCIDRs. failed to check with dual stack with error:"
SPECS: list[tuple[Object, Found]] = [
    ({"podCIDRs": ["10.0.0.0/24", "fd00::/64"]}, []),
    (
        {"podCIDR": "nope"},
        [invalid("spec.podCIDRs[0]", '[]string{"nope"}', "must be valid CIDR")],
    ),
    (
        {"podCIDRs": ["10.0.0.0/24", "10.0.0.0/24"]},
        [
            invalid(
                "spec.podCIDRs",
                '[]string{"10.0.0.0/24", "10.0.0.0/24"}',
                "may specify no more than one CIDR for each IP family",
            ),
            duplicate("spec.podCIDRs[1]", '"10.0.0.0/24"'),
        ],
    ),
    (
        {"podCIDRs": ["nope", "10.0.0.0/24"]},
        [
            invalid("spec.podCIDRs[0]", '[]string{"nope", "10.0.0.0/24"}', "must be valid CIDR"),
            (
                "spec.podCIDRs",
                "InternalError",
                f'{INTERNAL}failed to parse cidr value:"nope" with error:'
                "invalid CIDR address: nope",
            ),
            invalid(
                "spec.podCIDRs",
                '[]string{"nope", "10.0.0.0/24"}',
                "may specify no more than one CIDR for each IP family",
            ),
        ],
    ),
    ({"taints": [{"key": "a"}]}, [required("metadata.taints[0].effect")]),
    (
        {"taints": [{"key": "a", "effect": "Odd"}]},
        [
            (
                "metadata.taints[0].effect",
                "NotSupported",
                'Unsupported value: "Odd": supported values: "NoSchedule", "PreferNoSchedule",'
                ' "NoExecute"',
            )
        ],
    ),
    (
        {"taints": [{"key": "b", "effect": "NoExecute"}] * 2},
        [
            duplicate(
                "metadata.taints[1]",
                'core.Taint{Key:"b", Value:"", Effect:"NoExecute", TimeAdded:<nil>}:'
                " taints must be unique by key and effect pair",
            )
        ],
    ),
    (
        {
            "taints": [
                {"key": "b", "effect": "NoExecute"},
                {"key": "b", "effect": "NoExecute", "timeAdded": "2020-11-21T10:05:03Z"},
            ]
        },
        [
            duplicate(
                "metadata.taints[1]",
                'core.Taint{Key:"b", Value:"", Effect:"NoExecute",'
                " TimeAdded:time.Date(2020, time.November, 21, 10, 5, 3, 0, time.Local)}:"
                " taints must be unique by key and effect pair",
            )
        ],
    ),
]


@pytest.mark.parametrize(("spec", "expected"), SPECS)
def test_spec(spec: Object, expected: Found) -> None:
    assert Kind("core/v1/nodes").wrong({"spec": spec}) == expected


ALPHA = "scheduler.alpha.kubernetes.io"
SIGNATURE = f"metadata.annotations.{ALPHA}/preferAvoidPods[0].PodSignature"
ANNOTATIONS: list[tuple[str, str, Found]] = [
    ("taints", '[{"key": "a", "effect": "NoExecute"}]', []),
    (
        "taints",
        '[{"key": "a"}]',
        [required(f"metadata.annotations.{ALPHA}/taints[0].effect")],
    ),
    (
        "taints",
        "{}",
        [
            invalid(
                "metadata.annotations",
                f'"{ALPHA}/taints"',
                "json: cannot unmarshal object into Go value of type []core.Taint",
            )
        ],
    ),
    (
        "preferAvoidPods",
        '{"preferAvoidPods": [{"podSignature": {"podController": {"controller": true}}}]}',
        [],
    ),
    ("preferAvoidPods", '{"preferAvoidPods": [{}]}', [required(SIGNATURE)]),
    (
        "preferAvoidPods",
        '{"preferAvoidPods": [{"podSignature": {"podController": {"controller": false}}}]}',
        [invalid(f"{SIGNATURE}.PodController.Controller", "false", "must point to a controller")],
    ),
    (
        "preferAvoidPods",
        "nope",
        [
            invalid(
                "metadata.annotations.AvoidPods",
                f'"{ALPHA}/preferAvoidPods"',
                "invalid character 'o' in literal null (expecting 'u')",
            )
        ],
    ),
    (
        "preferAvoidPods",
        '{"preferAvoidPods": [{"podSignature": 1}]}',
        [
            invalid(
                "metadata.annotations.AvoidPods",
                f'"{ALPHA}/preferAvoidPods"',
                "json: cannot unmarshal number into Go struct field"
                " PreferAvoidPodsEntry.preferAvoidPods.podSignature of type v1.PodSignature",
            )
        ],
    ),
]


@pytest.mark.parametrize(("name", "text", "expected"), ANNOTATIONS)
def test_annotations_that_mean_something(name: str, text: str, expected: Found) -> None:
    value = {"metadata": {"annotations": {f"{ALPHA}/{name}": text}}}
    assert Kind("core/v1/nodes").wrong(value) == expected


RANGES: list[tuple[Object, str | None, list[str] | None]] = [
    ({"podCIDR": "10.0.0.0/24"}, "10.0.0.0/24", ["10.0.0.0/24"]),
    ({"podCIDRs": ["10.0.0.0/24"]}, "10.0.0.0/24", ["10.0.0.0/24"]),
    ({"podCIDR": "10.1.0.0/24", "podCIDRs": ["10.2.0.0/24"]}, "10.1.0.0/24", ["10.1.0.0/24"]),
    ({}, None, None),
]


@pytest.mark.parametrize(("spec", "single", "listed"), RANGES)
def test_one_range_and_the_list_agree(
    spec: Object, single: str | None, listed: list[str] | None
) -> None:
    created = Kind("core/v1/nodes").existing({"spec": spec})["spec"]
    assert (created.get("podCIDR"), created.get("podCIDRs")) == (single, listed)


def test_a_node_registers_with_its_status() -> None:
    value = Kind("core/v1/nodes").existing(
        {"spec": {"configSource": {}}, "status": {"capacity": {"cpu": "4", "weird": "1"}}}
    )
    assert value["status"]["allocatable"] == {"cpu": "4", "weird": "1"}
    assert "configSource" not in value["spec"]


def test_what_is_assigned_stays() -> None:
    kind = Kind("core/v1/nodes")
    old = kind.existing({"spec": {"podCIDR": "10.0.0.0/24", "providerID": "a://b"}})
    _, errors = kind.update(old, {"spec": {"podCIDR": "10.1.0.0/24", "providerID": "a://c"}})
    assert errors == [
        forbidden("spec.podCIDRs", 'node updates may not change podCIDR except from "" to valid'),
        forbidden(
            "spec.providerID", 'node updates may not change providerID except from "" to valid'
        ),
    ]
    assert kind.update(kind.existing({}), {"spec": {"providerID": "a://b"}})[1] == []


def test_status() -> None:
    kind = Kind("core/v1/nodes")
    old = kind.existing({"spec": {"providerID": "a://b"}})
    address = {"type": "Hostname", "address": "h"}
    sent: Object = {
        "spec": {},
        "status": {
            "capacity": {"example.com/gpu": "1500m", "cpu": "-1"},
            "allocatable": {"cpu": "1"},
            "addresses": [address, address],
            "config": {"active": {}},
        },
    }
    value, errors = kind.update(old, sent, "status")
    assert value["spec"] == old["spec"]
    assert "config" not in value["status"]
    assert [(field, reason) for field, reason, _ in errors] == [
        ("status.capacity.example.com/gpu", "Invalid"),
        ("status.capacity.cpu", "Invalid"),
        ("status.addresses[1]", "Duplicate"),
    ]
