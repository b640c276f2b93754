"""Service: its rules one row each, allocated values, and mutable fields."""

from __future__ import annotations

from typing import Any

import pytest
from support.group_rules import (
    DROP,
    Found,
    Kind,
    Object,
    changed,
    duplicate,
    forbidden,
    invalid,
    required,
    unsupported,
)

from fairlead.base.errors import StatusError
from fairlead.resources.context import Context
from fairlead.resources.core.services.allocation import (
    DEFAULT_NETWORKS,
    ServiceAllocators,
    parse_networks,
)

PORT: Object = {"port": 80}
BASE: Object = {"spec": {"ports": [PORT]}}


class Services(Kind):
    """Services of a server with its own addresses; creates are committed."""

    def __init__(self, networks: str = DEFAULT_NETWORKS, **gates: Any) -> None:
        self.allocators = ServiceAllocators(parse_networks(networks), (30000, 30009))
        self.dry_run = False
        super().__init__("core/v1/services", **gates)

    def _context(self, *args: Any, **more: Any) -> Context:
        context = super()._context(*args, **more)
        context.allocators, context.dry_run = self.allocators, self.dry_run
        return context

    def commit(self, value: Object) -> Object:
        item = self.existing(value)
        self.allocators.observe(None, item)
        return item

    def refusal(self, value: Object, old: Object | None = None) -> tuple[int, Found]:
        with pytest.raises(StatusError) as caught:
            _ = self.create(value) if old is None else self.update(old, value)
        status = caught.value.status()
        causes = status["details"]["causes"]
        results = [
            (cause.get("field", ""), cause.get("reason", "")[len("FieldValue") :], cause["message"])
            for cause in causes
        ]
        return status["code"], results


def spec(changes: dict[str, Any], base: Object = BASE) -> Object:
    return changed(base, {f"spec.{path}": value for path, value in changes.items()})


PORT_RANGE = "must be between 1 and 65535, inclusive"
NOT_NAMED = "may not be set for ExternalName services"
ONLY_BALANCED = "may only be used when `type` is 'LoadBalancer'"
RANGES = "must be a list of IP ranges. For example, 10.240.0.0/24,10.250.0.0/24 "
SHOWN_PORT = (
    'core.ServicePort{Name:"", Protocol:"TCP", AppProtocol:(*string)(nil), Port:80,'
    ' TargetPort:intstr.IntOrString{Type:0, IntVal:0, StrVal:""}, NodePort:0}'
)
RULES: list[tuple[dict[str, Any], Found]] = [
    ({}, []),
    ({"ports": DROP}, [required("spec.ports")]),
    ({"ports": DROP, "clusterIP": "None"}, []),
    ({"ports": [{"port": 80, "targetPort": "http", "appProtocol": "example.com/x"}]}, []),
    (
        {"ports": [{"port": 0, "targetPort": 1}]},
        [invalid("spec.ports[0].port", "0", PORT_RANGE)],
    ),
    (
        {"ports": [PORT, {"port": 81, "name": "b"}]},
        [required("spec.ports[0].name")],
    ),
    (
        {"ports": [{"port": 80, "name": "a"}, {"port": 81, "name": "a"}]},
        [duplicate("spec.ports[1].name", '"a"')],
    ),
    (
        {"ports": [{"port": 80, "name": "a"}, {"port": 80, "name": "b"}]},
        [duplicate("spec.ports[1]", SHOWN_PORT)],
    ),
    (
        {"ports": [{"port": 80, "protocol": "ICMP"}]},
        [unsupported("spec.ports[0].protocol", '"ICMP"', "SCTP", "TCP", "UDP")],
    ),
    (
        {"ports": [{"port": 80, "nodePort": 30001}]},
        [forbidden("spec.ports[0].nodePort", "may not be used when `type` is 'ClusterIP'")],
    ),
    (
        {"sessionAffinity": "Odd"},
        [unsupported("spec.sessionAffinity", '"Odd"', "ClientIP", "None")],
    ),
    (
        {
            "sessionAffinity": "ClientIP",
            "sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 86401}},
        },
        [
            invalid(
                "spec.sessionAffinityConfig.clientIP.timeoutSeconds",
                "86401",
                "must be greater than 0 and less than 86400",
            )
        ],
    ),
    (
        {"externalIPs": ["nope", "127.0.0.1"]},
        [
            invalid(
                "spec.externalIPs[0]",
                '"nope"',
                "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)",
            ),
            invalid(
                "spec.externalIPs[1]",
                '"127.0.0.1"',
                "may not be in the loopback range (127.0.0.0/8, ::1/128)",
            ),
        ],
    ),
    (
        {"type": "Odd"},
        [
            unsupported(
                "spec.type", '"Odd"', "ClusterIP", "ExternalName", "LoadBalancer", "NodePort"
            )
        ],
    ),
    (
        {"type": "NodePort", "clusterIP": "None"},
        [invalid("spec.clusterIPs[0]", '"None"', "may not be set to 'None' for NodePort services")],
    ),
    (
        {"type": "ExternalName", "clusterIP": "None", "ipFamilies": ["IPv4"]},
        [
            forbidden("spec.clusterIPs", NOT_NAMED),
            forbidden("spec.ipFamilies", NOT_NAMED),
            required("spec.externalName"),
        ],
    ),
    ({"type": "ExternalName", "externalName": "a.example.com."}, []),
    (
        {"type": "LoadBalancer", "ports": [{"port": 10250}]},
        [
            invalid(
                "spec.ports[0]",
                "10250",
                "may not expose port 10250 externally since it is used by kubelet",
            )
        ],
    ),
    (
        {"loadBalancerSourceRanges": ["10.0.0.0/8", "x"]},
        [
            forbidden("spec.LoadBalancerSourceRanges", ONLY_BALANCED),
            invalid("spec.LoadBalancerSourceRanges", '"[10.0.0.0/8 x]"', RANGES),
        ],
    ),
    (
        {"allocateLoadBalancerNodePorts": True, "loadBalancerClass": "x"},
        [
            forbidden("spec.allocateLoadBalancerNodePorts", ONLY_BALANCED),
            forbidden("spec.loadBalancerClass", ONLY_BALANCED),
        ],
    ),
    (
        {"externalTrafficPolicy": "Local", "healthCheckNodePort": 30001},
        [
            invalid(
                "spec.externalTrafficPolicy",
                '"Local"',
                "may only be set when `type` is 'NodePort' or 'LoadBalancer'",
            ),
            invalid(
                "spec.healthCheckNodePort",
                "30001",
                "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is"
                " 'Local'",
            ),
        ],
    ),
    (
        {"type": "NodePort", "externalTrafficPolicy": "Odd"},
        [unsupported("spec.externalTrafficPolicy", '"Odd"', "Cluster", "Local")],
    ),
    (
        {"internalTrafficPolicy": "Odd"},
        [unsupported("spec.internalTrafficPolicy", '"Odd"', "Cluster", "Local")],
    ),
]


@pytest.mark.parametrize(("changes", "expected"), RULES)
def test_rule(changes: dict[str, Any], expected: Found) -> None:
    assert Services().wrong(spec(changes)) == expected


def test_names_are_older_dns_labels() -> None:
    errors = Services().wrong({**BASE, "metadata": {"name": "1a"}})
    assert [field for field, _, _ in errors] == ["metadata.name"]


DEFAULTS: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({}, {"type": "ClusterIP", "sessionAffinity": "None", "internalTrafficPolicy": "Cluster"}),
    ({"ports": [{"port": 8}]}, {"ports": [{"port": 8, "protocol": "TCP", "targetPort": 8}]}),
    (
        {"sessionAffinity": "ClientIP"},
        {"sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 10800}}},
    ),
    ({"sessionAffinityConfig": {}}, {"sessionAffinityConfig": None}),
    ({"type": "NodePort"}, {"externalTrafficPolicy": "Cluster"}),
    ({"type": "LoadBalancer"}, {"allocateLoadBalancerNodePorts": True}),
    (
        {"type": "ExternalName", "externalName": "x"},
        {"internalTrafficPolicy": None, "clusterIP": None, "ipFamilyPolicy": None},
    ),
    ({}, {"ipFamilies": ["IPv4"], "ipFamilyPolicy": "SingleStack"}),
    (
        {"clusterIP": "None", "selector": {"a": "b"}},
        {"clusterIPs": ["None"], "ipFamilies": ["IPv4"], "ipFamilyPolicy": "SingleStack"},
    ),
    (
        {"clusterIP": "None"},
        {"ipFamilies": ["IPv4", "IPv6"], "ipFamilyPolicy": "RequireDualStack"},
    ),
    ({"ipFamilyPolicy": "PreferDualStack"}, {"ipFamilies": ["IPv4"]}),
    ({"clusterIP": "10.0.0.9"}, {"clusterIP": "10.0.0.9", "clusterIPs": ["10.0.0.9"]}),
]


@pytest.mark.parametrize(("given", "expected"), DEFAULTS)
def test_defaults(given: dict[str, Any], expected: dict[str, Any]) -> None:
    result = Services().existing(spec(given))["spec"]
    assert {name: result.get(name) for name in expected} == expected


def test_two_families() -> None:
    kind = Services("10.0.0.0/24,fd00::/112")
    preferring = kind.existing(spec({"ipFamilyPolicy": "PreferDualStack"}))["spec"]
    assert preferring["ipFamilies"] == ["IPv4", "IPv6"]
    assert preferring["clusterIP"] == preferring["clusterIPs"][0]
    assert [":" in address for address in preferring["clusterIPs"]] == [False, True]
    other = kind.existing(spec({"ipFamilies": ["IPv6"]}))["spec"]
    assert (len(other["clusterIPs"]), other["ipFamilyPolicy"]) == (1, "SingleStack")


ASKED = '[]string{"10.0.0.9"}'
REFUSALS: list[tuple[dict[str, Any], Found]] = [
    (
        {"clusterIP": "10.0.0.9"},
        [
            invalid(
                "spec.clusterIPs",
                ASKED,
                "failed to allocate IP 10.0.0.9: provided IP is already allocated",
            )
        ],
    ),
    (
        {"clusterIP": "1.2.3.4"},
        [
            invalid(
                "spec.clusterIPs",
                '[]string{"1.2.3.4"}',
                "failed to allocate IP 1.2.3.4: the provided IP (1.2.3.4) is not in the valid"
                " range. The range of valid IPs is 10.0.0.0/24",
            )
        ],
    ),
    (
        {"clusterIP": "nope"},
        [
            invalid(
                "spec.clusterIPs[0]",
                '"nope"',
                "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)",
            )
        ],
    ),
    (
        {"clusterIP": "10.0.0.7", "clusterIPs": ["10.0.0.8"]},
        [invalid("spec.clusterIPs", '[]string{"10.0.0.8"}', "first value must match `clusterIP`")],
    ),
    (
        {"clusterIPs": ["10.0.0.8"]},
        [
            invalid(
                "spec.clusterIPs",
                '[]string{"10.0.0.8"}',
                "must be empty when `clusterIP` is not specified",
            )
        ],
    ),
    (
        {"ipFamilyPolicy": "RequireDualStack"},
        [
            invalid(
                "spec.ipFamilyPolicy",
                '"RequireDualStack"',
                "this cluster is not configured for dual-stack services",
            )
        ],
    ),
    (
        {"ipFamilies": ["IPv6"]},
        [invalid("spec.ipFamilies[0]", '"IPv6"', "not configured on this cluster")],
    ),
    (
        {"ipFamilies": ["IPv4", "IPv6"]},
        [
            invalid(
                "spec.ipFamilyPolicy",
                '"SingleStack"',
                "must be 'RequireDualStack' or 'PreferDualStack' when multiple IP families are"
                " specified",
            )
        ],
    ),
    (
        {"ipFamilyPolicy": "Odd"},
        [
            unsupported(
                "spec.ipFamilyPolicy",
                '"Odd"',
                "PreferDualStack",
                "RequireDualStack",
                "SingleStack",
            )
        ],
    ),
    (
        {"type": "NodePort", "ports": [{"port": 80, "nodePort": 30001}]},
        [invalid("spec.ports[0].nodePort", "30001", "provided port is already allocated")],
    ),
    (
        {"type": "NodePort", "ports": [{"port": 80, "nodePort": 80}]},
        [
            invalid(
                "spec.ports[0].nodePort",
                "80",
                "provided port is not in the valid range. The range of valid ports is 30000-30009",
            )
        ],
    ),
]


@pytest.mark.parametrize(("changes", "expected"), REFUSALS)
def test_what_cannot_be_given(changes: dict[str, Any], expected: Found) -> None:
    kind = Services()
    kind.commit(
        spec(
            {
                "clusterIP": "10.0.0.9",
                "type": "NodePort",
                "ports": [{"port": 80, "nodePort": 30001}],
            }
        )
    )
    assert kind.refusal({"metadata": {"name": "b"}, **spec(changes)}) == (422, expected)


def test_a_full_range_is_the_servers_error() -> None:
    kind = Services("10.0.0.0/30")
    for name in ("a", "b"):
        kind.commit({"metadata": {"name": name}, **BASE})
    trouble = "failed to allocate a serviceIP: range is full"
    assert kind.refusal({"metadata": {"name": "c"}, **BASE}) == (500, [("", "", trouble)])


def test_ports_of_one_number_share_a_node_port() -> None:
    ports = [
        {"port": 53, "name": "t"},
        {"port": 53, "protocol": "UDP", "name": "u", "nodePort": 30005},
        {"port": 54, "name": "o"},
    ]
    created = Services().existing(spec({"type": "NodePort", "ports": ports}))["spec"]["ports"]
    node_ports = [port["nodePort"] for port in created]
    assert node_ports[:2] == [30005, 30005]
    assert node_ports[2] not in (0, 30005)


def test_a_balanced_service_can_do_without_node_ports() -> None:
    value = spec({"type": "LoadBalancer", "allocateLoadBalancerNodePorts": False})
    assert "nodePort" not in Services().existing(value)["spec"]["ports"][0]


def test_local_traffic_needs_a_health_port() -> None:
    kind = Services()
    value = spec({"type": "LoadBalancer", "externalTrafficPolicy": "Local"})
    first = kind.commit(value)
    port = first["spec"]["healthCheckNodePort"]
    assert 30000 <= port <= 30009
    kept, errors = kind.update(first, value)
    assert (kept["spec"]["healthCheckNodePort"], errors) == (port, [])
    other = spec({"healthCheckNodePort": 30000 + (port + 1) % 10}, value)
    assert kind.update(first, other)[1] == [
        forbidden("spec.healthCheckNodePort", "field is immutable")
    ]
    wide, errors = kind.update(first, spec({"externalTrafficPolicy": "Cluster"}, value))
    assert (wide["spec"].get("healthCheckNodePort"), errors) == (None, [])


def test_a_write_that_does_not_happen_gives_back() -> None:
    kind = Services()
    value = spec({"type": "NodePort", "ports": [{"port": 80, "nodePort": 30001}]})
    kind.create(value)
    assert kind.refusal(value)[0] == 422
    kind.context.roll_back()
    kind = Services()
    kind.create(value)
    kind.context.roll_back()
    assert kind.create(value)[1] == []


def test_a_refused_write_gives_back_by_itself() -> None:
    kind = Services()
    ports = [
        {"port": 80, "nodePort": 30001, "name": "a"},
        {"port": 81, "nodePort": 1, "name": "b"},
    ]
    assert kind.refusal(spec({"type": "NodePort", "ports": ports}))[0] == 422
    item = spec({"type": "NodePort", "ports": ports[:1]})
    assert kind.create(item)[1] == []


def test_a_dry_run_takes_nothing() -> None:
    kind = Services()
    kind.dry_run = True
    value = spec({"type": "NodePort", "ports": [{"port": 80, "nodePort": 30001}]})
    for _ in range(2):
        assert kind.create(value)[1] == []


def test_an_update_keeps_what_was_given() -> None:
    kind = Services()
    value = spec({"type": "NodePort"})
    old = kind.commit(value)
    new, errors = kind.update(old, value)
    assert errors == []
    assert new["spec"] == old["spec"]


def test_node_ports_follow_names() -> None:
    kind = Services()
    ports = [{"port": 80, "name": "a"}, {"port": 81, "name": "b"}]
    old = kind.commit(spec({"type": "NodePort", "ports": ports}))
    new, errors = kind.update(old, spec({"type": "NodePort", "ports": ports[::-1]}))
    assert errors == []
    assert new["spec"]["ports"] == old["spec"]["ports"][::-1]


def test_a_change_of_type_drops_what_belongs_to_the_old_one() -> None:
    kind = Services()
    old = kind.commit(
        spec({"type": "LoadBalancer", "externalTrafficPolicy": "Local", "loadBalancerClass": "x/y"})
    )
    old["status"] = {"loadBalancer": {"ingress": [{"ip": "1.2.3.4"}]}}
    back, errors = kind.update(old, changed(old, {"spec.type": "ClusterIP"}))
    assert errors == []
    assert back["status"] == {"loadBalancer": {}}
    assert set(back["spec"]) == {
        "clusterIP",
        "clusterIPs",
        "internalTrafficPolicy",
        "ipFamilies",
        "ipFamilyPolicy",
        "ports",
        "sessionAffinity",
        "type",
    }
    assert "nodePort" not in back["spec"]["ports"][0]
    named, errors = kind.update(
        old, changed(old, {"spec.type": "ExternalName", "spec.externalName": "x"})
    )
    assert errors == []
    assert set(named["spec"]) == {"externalName", "ports", "sessionAffinity", "type"}


def test_a_change_from_a_name_to_an_address() -> None:
    kind = Services()
    old = kind.commit(spec({"type": "ExternalName", "externalName": "x"}))
    new, errors = kind.update(old, changed(old, {"spec.type": "ClusterIP"}))
    assert errors == []
    assert new["spec"]["clusterIP"].startswith("10.0.0.")


CHANGES: list[tuple[dict[str, Any], Found]] = [
    ({"clusterIP": "", "clusterIPs": DROP}, []),
    (
        {"clusterIP": "10.0.0.8"},
        [invalid("spec.clusterIPs[0]", '[]string{"10.0.0.8"}', "may not change once set")],
    ),
    (
        {"clusterIP": "None"},
        [invalid("spec.clusterIPs[0]", '[]string{"None"}', "may not change once set")],
    ),
    ({"selector": {"a": "b"}}, []),
]


@pytest.mark.parametrize(("changes", "expected"), CHANGES)
def test_change_of_addresses(changes: dict[str, Any], expected: Found) -> None:
    kind = Services()
    old = kind.commit(spec({"clusterIP": "10.0.0.9", "selector": {"x": "y"}}))
    assert kind.update(old, spec(changes, old))[1] == expected


def test_a_second_address_comes_and_goes_with_the_policy() -> None:
    kind = Services("10.0.0.0/24,fd00::/112")
    old = kind.commit(BASE)
    both, errors = kind.update(old, spec({"ipFamilyPolicy": "RequireDualStack"}, old))
    assert errors == []
    assert both["spec"]["ipFamilies"] == ["IPv4", "IPv6"]
    assert both["spec"]["clusterIPs"][0] == old["spec"]["clusterIP"]
    kind.allocators.observe(old, both)
    item, errors = kind.update(both, spec({"ipFamilyPolicy": "SingleStack"}, both))
    assert errors == []
    assert item["spec"]["clusterIPs"] == old["spec"]["clusterIPs"]
    fewer = spec({"clusterIPs": both["spec"]["clusterIPs"][:1]}, both)
    assert kind.refusal(fewer, both) == (
        422,
        [
            invalid(
                "spec.ipFamilyPolicy",
                '"RequireDualStack"',
                "must be 'SingleStack' to release the secondary cluster IP",
            )
        ],
    )


def test_the_class_of_a_balancer_is_fixed() -> None:
    kind = Services()
    old = kind.commit(spec({"type": "LoadBalancer", "loadBalancerClass": "x/y"}))
    assert kind.update(old, spec({"loadBalancerClass": "x/z"}, old))[1] == [
        invalid("spec.loadBalancerClass", '"x/z"', "may not change once set")
    ]


STATUSES: list[tuple[Object, Found]] = [
    ({"ip": "1.2.3.4"}, []),
    ({"hostname": "a.example.com"}, []),
    (
        {"ip": "nope"},
        [invalid("status.loadBalancer.ingress[0].ip", '"nope"', "must be a valid IP address")],
    ),
    (
        {"hostname": "1.2.3.4"},
        [
            invalid(
                "status.loadBalancer.ingress[0].hostname",
                '"1.2.3.4"',
                "must be a DNS name, not an IP address",
            )
        ],
    ),
]


@pytest.mark.parametrize(("ingress", "expected"), STATUSES)
def test_status(ingress: Object, expected: Found) -> None:
    kind = Services()
    old = kind.commit(BASE)
    sent = {**old, "status": {"loadBalancer": {"ingress": [ingress]}}}
    assert kind.update(old, sent, "status")[1] == expected


def test_without_allocators_nothing_is_given() -> None:
    value = Kind("core/v1/services").existing(BASE)
    assert "clusterIP" not in value["spec"]
