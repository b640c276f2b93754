"""LimitRange, ResourceQuota and Endpoints: one row a rule."""

from __future__ import annotations

import pytest
from support.group_rules import Found, Kind, Object, duplicate, forbidden, invalid, required

STANDARD = "must be a standard resource type or fully qualified"


def quantity_text(amount: str, text: str = "", form: str = "DecimalSI") -> str:
    value, _, scale = amount.partition("e")
    return (
        f"resource.Quantity{{i:resource.int64Amount{{value:{value}, scale:{scale or 0}}},"
        " d:resource.infDecAmount{Dec:(*inf.Dec)(nil)},"
        f' s:"{text}", Format:"{form}"}}'
    )


LIMITS: list[tuple[Object, Found]] = [
    ({"type": "Container", "max": {"cpu": "1"}}, []),
    ({"type": "example.com/own", "max": {"storage": "1"}}, []),
    (
        {"type": "Odd"},
        [
            invalid(
                "spec.limits[0].type", '"Odd"', "must be a standard limit type or fully qualified"
            )
        ],
    ),
    (
        {"type": "Pod", "default": {"cpu": "1"}, "defaultRequest": {"cpu": "1"}},
        [
            forbidden("spec.limits[0].default", "may not be specified when `type` is 'Pod'"),
            forbidden("spec.limits[0].defaultRequest", "may not be specified when `type` is 'Pod'"),
        ],
    ),
    (
        {"type": "PersistentVolumeClaim", "max": {"cpu": "1"}},
        [
            required(
                "spec.limits[0].limits",
                "either minimum or maximum storage value is required, but neither was provided",
            )
        ],
    ),
    (
        {"type": "Pod", "max": {"bogus": "1"}},
        [
            invalid("spec.limits[0].max[bogus]", '"bogus"', STANDARD),
            invalid(
                "spec.limits[0].max[bogus]",
                '"bogus"',
                "must be a standard resource for containers",
            ),
        ],
    ),
    (
        {"type": "Pod", "min": {"memory": "2Gi"}, "max": {"memory": "1Gi"}},
        [
            invalid(
                "spec.limits[0].min[memory]",
                quantity_text("2147483648", "2Gi", "BinarySI"),
                "min value 2Gi is greater than max value 1Gi",
            )
        ],
    ),
    (
        {"type": "Container", "default": {"cpu": "2"}, "max": {"cpu": "1"}},
        [
            invalid(
                "spec.limits[0].defaultRequest[cpu]",
                quantity_text("2", "2"),
                "default request value 2 is greater than max value 1",
            ),
            invalid(
                "spec.limits[0].default[cpu]",
                quantity_text("1", "1"),
                "default value 2 is greater than max value 1",
            ),
        ],
    ),
    (
        {"type": "Container", "default": {"cpu": "1"}, "defaultRequest": {"cpu": "2"}},
        [
            invalid(
                "spec.limits[0].defaultRequest[cpu]",
                quantity_text("2", "2"),
                "default request value 2 is greater than default limit value 1",
            )
        ],
    ),
    (
        {"type": "Container", "max": {"cpu": "1500m"}, "defaultRequest": {"cpu": "2500m"}},
        [
            invalid(
                "spec.limits[0].defaultRequest[cpu]",
                quantity_text("2500e-3", "2500m"),
                "default request value 2500m is greater than max value 1500m",
            ),
            invalid(
                "spec.limits[0].defaultRequest[cpu]",
                quantity_text("2500e-3", "2500m"),
                "default request value 2500m is greater than default limit value 1500m",
            ),
        ],
    ),
    (
        {"type": "Pod", "maxLimitRequestRatio": {"cpu": "500m"}},
        [
            invalid(
                "spec.limits[0].maxLimitRequestRatio[cpu]",
                quantity_text("500e-3", "500m"),
                "ratio 500m is less than 1",
            )
        ],
    ),
    (
        {
            "type": "Pod",
            "maxLimitRequestRatio": {"cpu": "4"},
            "min": {"cpu": "2"},
            "max": {"cpu": "5"},
        },
        [
            invalid(
                "spec.limits[0].maxLimitRequestRatio[cpu]",
                quantity_text("4", "4"),
                "ratio 4 is greater than max/min = 2.500000",
            )
        ],
    ),
    (
        {
            "type": "Container",
            "default": {"example.com/gpu": "2"},
            "defaultRequest": {"example.com/gpu": "1"},
        },
        [
            invalid(
                "spec.limits[0].defaultRequest[example.com/gpu]",
                quantity_text("1", "1"),
                "default value 2 must equal to defaultRequest value 1 in example.com/gpu",
            )
        ],
    ),
]


@pytest.mark.parametrize(("limit", "expected"), LIMITS)
def test_limit(limit: Object, expected: Found) -> None:
    assert Kind("core/v1/limitranges").wrong({"spec": {"limits": [limit]}}) == expected


def test_each_type_of_limit_once() -> None:
    limits = [{"type": "Pod"}, {"type": "Pod"}]
    assert Kind("core/v1/limitranges").wrong({"spec": {"limits": limits}}) == [
        duplicate("spec.limits[1].type", '"Pod"')
    ]


def test_containers_default_to_their_bounds() -> None:
    limit = {"type": "Container", "max": {"cpu": "2"}, "min": {"memory": "1Mi", "cpu": "1"}}
    value = Kind("core/v1/limitranges").existing({"spec": {"limits": [limit]}})
    result = value["spec"]["limits"][0]
    assert result["default"] == {"cpu": "2"}
    assert result["defaultRequest"] == {"cpu": "2", "memory": "1Mi"}


def scopes(*names: str) -> str:
    listed = ", ".join(f'"{name}"' for name in names)
    return f"[]core.ResourceQuotaScope{{{listed}}}"


NOT_APPLICABLE = "unsupported scope applied to resource"
MATCH = "spec.scopeSelector.matchExpressions"
QUOTAS: list[tuple[Object, Found]] = [
    ({}, []),
    ({"hard": {"count/jobs.batch": "1", "requests.hugepages-2Mi": "1", "limits.cpu": "1"}}, []),
    (
        {"hard": {"pods": "-1"}},
        [invalid("spec.hard[pods]", '"-1"', "must be greater than or equal to 0")],
    ),
    (
        {"hard": {"pods": "1.5"}},
        [invalid("spec.hard[pods]", quantity_text("15e-1"), "must be an integer")],
    ),
    (
        {"hard": {"pods": "0.5"}},
        [invalid("spec.hard[pods]", quantity_text("5e-1"), "must be an integer")],
    ),
    (
        {"hard": {"storage": "1"}},
        [invalid("spec.hard[storage]", '"storage"', "must be a standard resource for quota")],
    ),
    (
        {"hard": {"weird": "1"}},
        [
            invalid("spec.hard[weird]", '"weird"', STANDARD),
            invalid("spec.hard[weird]", '"weird"', "must be a standard resource for quota"),
        ],
    ),
    (
        {"scopes": ["Odd"]},
        [invalid("spec.scopes", scopes("Odd"), "unsupported scope")],
    ),
    (
        {"hard": {"cpu": "1", "secrets": "1"}, "scopes": ["BestEffort"]},
        [invalid("spec.scopes", scopes("BestEffort"), NOT_APPLICABLE)] * 2,
    ),
    (
        {"scopes": ["Terminating", "NotTerminating"]},
        [invalid("spec.scopes", scopes("Terminating", "NotTerminating"), "conflicting scopes")],
    ),
    (
        {"scopeSelector": {"matchExpressions": [{"scopeName": "Odd", "operator": "Exists"}]}},
        [invalid(f"{MATCH}.scopeName", '"Odd"', "unsupported scope")],
    ),
    (
        {
            "scopeSelector": {
                "matchExpressions": [
                    {"scopeName": "PriorityClass", "operator": "Exists", "values": ["x"]}
                ]
            }
        },
        [
            invalid(
                f"{MATCH}.values",
                '[]string{"x"}',
                "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector",
            )
        ],
    ),
]


@pytest.mark.parametrize(("spec", "expected"), QUOTAS)
def test_quota(spec: Object, expected: Found) -> None:
    assert Kind("core/v1/resourcequotas").wrong({"spec": spec}) == expected


def test_scopes_of_a_quota_are_fixed_but_not_their_order() -> None:
    kind = Kind("core/v1/resourcequotas")
    old = kind.existing({"spec": {"scopes": ["BestEffort", "Terminating"]}})
    assert kind.update(old, {"spec": {"scopes": ["Terminating", "BestEffort"]}})[1] == []
    without: list[tuple[Object, str]] = [({}, "(nil)"), ({"scopes": []}, "{}")]
    for spec, output in without:
        assert kind.update(old, {"spec": spec})[1] == [
            invalid("spec.scopes", f"[]core.ResourceQuotaScope{output}", "field is immutable")
        ]


def test_status_of_a_quota() -> None:
    kind = Kind("core/v1/resourcequotas")
    old = kind.existing({"spec": {"hard": {"pods": "1"}}, "status": {"used": {"pods": "1"}}})
    assert old["status"] == {}
    sent = {"spec": {}, "status": {"hard": {"pods": "-1"}, "used": {"weird": "1"}}}
    value, errors = kind.update(old, sent, "status")
    assert value["spec"] == old["spec"]
    assert [(field, reason) for field, reason, _ in errors] == [
        ("status.hard[pods]", "Invalid"),
        ("status.used[weird]", "Invalid"),
        ("status.used[weird]", "Invalid"),
    ]


NOT_AN_ADDRESS = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
SUBSETS: list[tuple[Object, Found]] = [
    ({}, [required("subsets[0]", "must specify `addresses` or `notReadyAddresses`")]),
    ({"addresses": [{"ip": "1.2.3.4"}], "ports": [{"port": 80}]}, []),
    ({"notReadyAddresses": [{"ip": "2001:db8::1", "nodeName": "n"}]}, []),
    (
        {"addresses": [{"ip": "nope"}]},
        [
            invalid("subsets[0].addresses[0].ip", '"nope"', NOT_AN_ADDRESS),
            invalid("subsets[0].addresses[0].ip", '"nope"', "must be a valid IP address"),
        ],
    ),
    (
        {"addresses": [{"ip": "127.0.0.1"}]},
        [
            invalid(
                "subsets[0].addresses[0].ip",
                '"127.0.0.1"',
                "may not be in the loopback range (127.0.0.0/8, ::1/128)",
            )
        ],
    ),
    (
        {"addresses": [{"ip": "0.0.0.0"}]},
        [invalid("subsets[0].addresses[0].ip", '"0.0.0.0"', "may not be unspecified (0.0.0.0)")],
    ),
    (
        {"addresses": [{"ip": "169.254.1.1"}, {"ip": "224.0.0.1"}]},
        [
            invalid(
                "subsets[0].addresses[0].ip",
                '"169.254.1.1"',
                "may not be in the link-local range (169.254.0.0/16, fe80::/10)",
            ),
            invalid(
                "subsets[0].addresses[1].ip",
                '"224.0.0.1"',
                "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)",
            ),
        ],
    ),
    (
        {"addresses": [{"ip": "1.2.3.4"}], "ports": [{"port": 80}, {"port": 0, "name": "b"}]},
        [
            required("subsets[0].ports[0].name"),
            invalid("subsets[0].ports[1].port", "0", "must be between 1 and 65535, inclusive"),
        ],
    ),
]


@pytest.mark.parametrize(("subset", "expected"), SUBSETS)
def test_endpoints(subset: Object, expected: Found) -> None:
    assert Kind("core/v1/endpoints").wrong({"subsets": [subset]}) == expected
