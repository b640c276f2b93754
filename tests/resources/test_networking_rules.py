"""Rules of the networking group."""

from __future__ import annotations

from typing import Any

import pytest
from support.group_rules import (
    DIALECTS,
    Kind,
    changed,
    duplicate,
    forbidden,
    invalid,
    required,
    too_long,
    unsupported,
)

from fairlead.codec.types.names import dns_1035_label, dns_label, dns_subdomain
from fairlead.resources.networking.shared import wildcard_errors

BAD = dns_subdomain("Bad_")[0]
STAR = wildcard_errors("*")[0]
PORTS = "must be between 1 and 65535, inclusive"
NOT_IP = "must be a DNS name, not an IP address"
BACKEND = {"service": {"name": "s", "port": {"number": 80}}}
INGRESS: dict[str, Any] = {"spec": {"defaultBackend": BACKEND}}
DEFAULT = "spec.defaultBackend"
PATH0 = "spec.rules[0].http.paths[0]"


def _service(**service: Any) -> dict[str, Any]:
    return {DEFAULT: {"service": {"name": "s", "port": {"number": 80}, **service}}}


def _host(host: str) -> dict[str, Any]:
    return {"spec.rules": [{"host": host}]}


def _path(**path: Any) -> dict[str, Any]:
    item = {"path": "/x", "pathType": "Prefix", "backend": BACKEND, **path}
    return {"spec.rules": [{"http": {"paths": [item]}}]}


@pytest.mark.parametrize(
    ("changes", "causes"),
    [
        ({}, []),
        (
            {"spec": {}},
            [
                invalid(
                    "spec",
                    "[]networking.IngressRule(nil)",
                    "either `defaultBackend` or `rules` must be specified",
                )
            ],
        ),
        (
            {"spec": {"rules": []}},
            [
                invalid(
                    "spec",
                    "[]networking.IngressRule{}",
                    "either `defaultBackend` or `rules` must be specified",
                )
            ],
        ),
        ({DEFAULT: {}}, [invalid(DEFAULT, '""', "resource or service backend is required")]),
        (
            {DEFAULT: {**BACKEND, "resource": {"kind": "K", "name": "n"}}},
            [invalid(DEFAULT, '""', "cannot set both resource and service backends")],
        ),
        (
            {DEFAULT: {"resource": {"apiGroup": "Bad_", "kind": "a/", "name": ""}}},
            [
                invalid(f"{DEFAULT}.resource.apiGroup", '"Bad_"', BAD),
                invalid(f"{DEFAULT}.resource.kind", '"a/"', "may not contain '/'"),
                required(f"{DEFAULT}.resource.name", "name is required"),
            ],
        ),
        (_service(name=""), [required(f"{DEFAULT}.service.name")]),
        (
            _service(name="Bad_", port={"number": 70000}),
            [
                invalid(f"{DEFAULT}.service.name", '"Bad_"', dns_1035_label("Bad_")[0]),
                invalid(f"{DEFAULT}.service.port.number", "70000", PORTS),
            ],
        ),
        (_service(port={}), [required(DEFAULT, "port name or number is required")]),
        (
            _service(port={"name": "x", "number": 1}),
            [invalid(DEFAULT, '""', "cannot set both port name & port number")],
        ),
        (
            _service(port={"name": "Bad_Port"}),
            [
                invalid(
                    f"{DEFAULT}.service.port.name",
                    '"Bad_Port"',
                    "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)",
                )
            ],
        ),
        (_host("*.example.com"), []),
        (_host("1.2.3.4"), [invalid("spec.rules[0].host", '"1.2.3.4"', NOT_IP)]),
        (_host("Bad_"), [invalid("spec.rules[0].host", '"Bad_"', BAD)]),
        (_host("foo.*.com"), [invalid("spec.rules[0].host", '"foo.*.com"', STAR)]),
        ({"spec.rules": [{"http": {"paths": []}}]}, [required("spec.rules[0].http.paths")]),
        (_path(pathType=None), [required(f"{PATH0}.pathType", "pathType must be specified")]),
        (
            _path(pathType="Regex"),
            [
                unsupported(
                    f"{PATH0}.pathType", '"Regex"', "Exact", "ImplementationSpecific", "Prefix"
                )
            ],
        ),
        (
            _path(path="a//b/.."),
            [
                invalid(f"{PATH0}.path", '"a//b/.."', "must be an absolute path"),
                invalid(f"{PATH0}.path", '"a//b/.."', "must not contain '//'"),
                invalid(f"{PATH0}.path", '"a//b/.."', "cannot end with '/..'"),
            ],
        ),
        (_path(path="", pathType="ImplementationSpecific"), []),
        (
            _path(path="x", pathType="ImplementationSpecific"),
            [invalid(f"{PATH0}.path", '"x"', "must be an absolute path")],
        ),
        (
            _path(path="", pathType="Exact"),
            [invalid(f"{PATH0}.path", '""', "must be an absolute path")],
        ),
        (
            {"spec.tls": [{"hosts": ["*.ok.com", "*"], "secretName": "Bad_"}]},
            [
                invalid("spec.tls[0].hosts[1]", '"*"', STAR),
                invalid("spec.tls[0].secretName", '"Bad_"', BAD),
            ],
        ),
        ({"spec.ingressClassName": "Bad_"}, [invalid("spec.ingressClassName", '"Bad_"', BAD)]),
    ],
)
def test_ingress(changes: dict[str, Any], causes: list[Any]) -> None:
    assert Kind("networking/v1/ingresses").wrong(changed(INGRESS, changes)) == causes


@pytest.mark.parametrize("dialect", DIALECTS.values(), ids=DIALECTS)
def test_the_class_of_an_ingress_is_named_once(dialect: Any) -> None:
    kind = Kind("networking/v1/ingresses", dialect)
    key = dialect.label("@/ingress.class")
    value = changed(INGRESS, {"metadata": {"annotations": {key: "x"}}})
    assert kind.wrong(value) == []
    causes = kind.wrong(changed(value, {"spec.ingressClassName": "y"}))
    detail = "can not be set when the class field is also set"
    assert causes == [invalid(f"annotations.{key}", '"x"', detail)]


def test_ingress_status_and_generation() -> None:
    kind = Kind("networking/v1/ingresses")
    old = kind.existing({**INGRESS, "status": {"loadBalancer": {"ingress": [{"ip": "1.2.3.4"}]}}})
    assert old["status"] == {"loadBalancer": {}}
    assert old["metadata"]["generation"] == 1
    new, _ = kind.update(old, changed(INGRESS, _host("a.example.com")))
    assert new["metadata"]["generation"] == 2
    points = [{"ip": "nope"}, {"hostname": "1.2.3.4"}, {"hostname": "Bad_"}]
    new, causes = kind.update(
        old, {"spec": {}, "status": {"loadBalancer": {"ingress": points}}}, "status"
    )
    assert new["spec"] == old["spec"]
    at = "status.loadBalancer.ingress"
    assert causes == [
        invalid(f"{at}[0].ip", '"nope"', "must be a valid IP address"),
        invalid(f"{at}[1].hostname", '"1.2.3.4"', NOT_IP),
        invalid(f"{at}[2].hostname", '"Bad_"', BAD),
    ]


def test_errors_name_the_group_ingresses_and_policies_came_from() -> None:
    for name in ("ingresses", "networkpolicies"):
        assert Kind(f"networking/v1/{name}").behaviour.error_ref("a").group == "extensions"


CONTROLLER = "spec.controller"
PARAMETERS = {"kind": "P", "name": "x"}


@pytest.mark.parametrize(
    ("spec", "causes"),
    [
        ({}, []),
        ({"controller": ""}, [required(CONTROLLER)]),
        (
            {"controller": "nodomain"},
            [
                invalid(
                    CONTROLLER,
                    '"nodomain"',
                    'must be a domain-prefixed path (such as "acme.io/foo")',
                )
            ],
        ),
        ({"controller": "Bad_/x"}, [invalid(CONTROLLER, '"Bad_"', BAD)]),
        (
            {"controller": "a.io/ "},
            [
                invalid(
                    CONTROLLER,
                    '" "',
                    "Invalid path (regex used for validation is"
                    r" '[A-Za-z0-9/\-._~%!$&'()*+,;=:]+')",
                )
            ],
        ),
        ({"controller": "a.io/" + "x" * 246}, [too_long(CONTROLLER, 250)]),
        (
            {"parameters": {**PARAMETERS, "scope": "Galaxy"}},
            [unsupported("spec.parameters.scope", '"Galaxy"', "Cluster", "Namespace")],
        ),
        (
            {"parameters": {**PARAMETERS, "namespace": "n"}},
            [forbidden("spec.parameters.namespace", "`parameters.scope` is set to 'Cluster'")],
        ),
        (
            {"parameters": {**PARAMETERS, "scope": "Namespace"}},
            [required("spec.parameters.namespace", "`parameters.scope` is set to 'Namespace'")],
        ),
        (
            {"parameters": {**PARAMETERS, "scope": "Namespace", "namespace": "Bad_"}},
            [invalid("spec.parameters.namespace", '"Bad_"', dns_label("Bad_")[0])],
        ),
    ],
)
def test_ingress_class(spec: dict[str, Any], causes: list[Any]) -> None:
    value = {"spec": {"controller": "example.com/c", **spec}}
    assert Kind("networking/v1/ingressclasses").wrong(value) == causes


def test_the_controller_of_a_class_stays() -> None:
    kind = Kind("networking/v1/ingressclasses")
    old = kind.existing({"spec": {"controller": "example.com/c"}})
    _, causes = kind.update(old, {"spec": {"controller": "d"}})
    assert causes[0] == invalid(CONTROLLER, '"d"', "field is immutable")
    assert len(causes) == 2


POLICY: dict[str, Any] = {"spec": {"podSelector": {}}}
PORT0 = "spec.ingress[0].ports[0]"
PEER0 = "spec.egress[0].to[0]"


def _port(**port: Any) -> dict[str, Any]:
    return {"spec.ingress": [{"ports": [port]}]}


def _peer(**peer: Any) -> dict[str, Any]:
    return {"spec.egress": [{"to": [peer]}]}


def _block(cidr: str, *excepted: str) -> dict[str, Any]:
    return _peer(ipBlock={"cidr": cidr, "except": list(excepted)})


@pytest.mark.parametrize(
    ("changes", "causes"),
    [
        ({}, []),
        (_port(port="http"), []),
        (_port(port=80, endPort=90), []),
        (
            _port(protocol="ICMP", port=0),
            [
                unsupported(f"{PORT0}.protocol", '"ICMP"', "TCP", "UDP", "SCTP"),
                invalid(f"{PORT0}.port", "0", PORTS),
            ],
        ),
        (
            _port(port=80, endPort=70),
            [invalid(f"{PORT0}.endPort", "80", "must be greater than or equal to `port`")],
        ),
        (
            _port(port="http", endPort=70),
            [invalid(f"{PORT0}.endPort", "70", "may not be specified when `port` is non-numeric")],
        ),
        (
            _port(endPort=70),
            [
                invalid(
                    f"{PORT0}.endPort", "70", "may not be specified when `port` is not specified"
                )
            ],
        ),
        (_peer(), [required(PEER0, "must specify a peer")]),
        (
            {"spec.egress": [{"to": [{"podSelector": {}, "ipBlock": {"cidr": "10.0.0.0/8"}}]}]},
            [forbidden(PEER0, "may not specify both ipBlock and another peer")],
        ),
        (_block("10.0.0.0/8", "10.1.0.0/16"), []),
        (_block(""), [required(f"{PEER0}.ipBlock.cidr")]),
        (_block("nope"), [invalid(f"{PEER0}.ipBlock.cidr", '"nope"', "not a valid CIDR")]),
        (
            _block("10.0.0.0/8", "10.0.0.0/8"),
            [
                invalid(
                    f"{PEER0}.ipBlock.except[0]",
                    '"10.0.0.0/8"',
                    "must be a strict subset of `cidr`",
                )
            ],
        ),
        (
            _block("10.0.0.0/8", "x", "y"),
            [invalid(f"{PEER0}.ipBlock.except[0]", '"x"', "not a valid CIDR")],
        ),
        (
            {"spec.policyTypes": ["Sideways"]},
            [unsupported("spec.policyTypes[0]", '"Sideways"', "Ingress", "Egress")],
        ),
        (
            {"spec.policyTypes": ["Ingress", "Egress", "Egress"]},
            [
                invalid(
                    "spec.policyTypes",
                    '[]networking.PolicyType{"Ingress", "Egress", "Egress"}',
                    "may not specify more than two policyTypes",
                )
            ],
        ),
        (
            {"spec.podSelector": {"matchExpressions": [{"key": "a", "operator": "In"}]}},
            [
                required(
                    "spec.podSelector.matchExpressions[0].values",
                    "must be specified when `operator` is 'In' or 'NotIn'",
                )
            ],
        ),
    ],
)
def test_network_policy(changes: dict[str, Any], causes: list[Any]) -> None:
    assert Kind("networking/v1/networkpolicies").wrong(changed(POLICY, changes)) == causes


@pytest.mark.parametrize(
    ("spec", "types"), [({}, ["Ingress"]), ({"egress": [{}]}, ["Ingress", "Egress"])]
)
def test_policy_types_follow_the_rules(spec: dict[str, Any], types: list[str]) -> None:
    value = Kind("networking/v1/networkpolicies").existing({"spec": {"podSelector": {}, **spec}})
    assert value["spec"]["policyTypes"] == types
    assert value["metadata"]["generation"] == 1


def test_an_updated_policy_lists_its_causes_twice() -> None:
    kind = Kind("networking/v1/networkpolicies")
    _, causes = kind.update(kind.existing(POLICY), changed(POLICY, _peer()))
    assert causes == [required(PEER0, "must specify a peer")] * 2


CONDITION = {
    "type": "Ready",
    "status": "True",
    "reason": "Fine",
    "message": "",
    "lastTransitionTime": "2020-01-01T00:00:00Z",
}


def test_policy_status_needs_its_feature() -> None:
    sent = {**POLICY, "status": {"conditions": [CONDITION]}}
    kind = Kind("networking/v1/networkpolicies")
    new, _ = kind.update(kind.existing(POLICY), sent, "status")
    assert new["status"] == {}
    kind = Kind("networking/v1/networkpolicies", NetworkPolicyStatus=True)
    new, causes = kind.update(kind.existing(sent), sent, "status")
    assert new["status"] == {"conditions": [CONDITION]}
    assert causes == []


def test_conditions() -> None:
    kind = Kind("networking/v1/networkpolicies", NetworkPolicyStatus=True)
    bad = {"type": "Ready", "status": "x", "reason": "", "observedGeneration": -1}
    sent = {**POLICY, "status": {"conditions": [CONDITION, bad]}}
    _, causes = kind.update(kind.existing(POLICY), sent, "status")
    at = "status.conditions[1]"
    assert causes == [
        duplicate(f"{at}.type", '"Ready"'),
        unsupported(f"{at}.status", '"x"', "False", "True", "Unknown"),
        invalid(f"{at}.observedGeneration", "-1", "must be greater than or equal to zero"),
        required(f"{at}.lastTransitionTime", "must be set"),
        required(f"{at}.reason", "must be set"),
    ]
