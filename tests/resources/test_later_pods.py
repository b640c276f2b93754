"""Rules of pods in release 1.36."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest
from support.pod_rules import Found, Kind, Object, container_pod, pod

from fairlead.base.release import V1_36
from fairlead.resources.core.addresses import NOT_AN_ADDRESS
from fairlead.resources.core.pods.behaviour import GRACE as GRACE_PERIOD

PODS = Kind(release=V1_36)


def wrong(value: Object) -> Found:
    return PODS.create(value)[1]


def stored(value: Object) -> Object:
    created, causes, _ = PODS.create(value)
    assert causes == []
    created["metadata"]["resourceVersion"] = "1"
    return created


def resized(old: Object, resources: Object) -> Found:
    value = deepcopy(old)
    value["spec"]["containers"][0]["resources"] = resources
    return PODS.update(value, old, "resize")[1]


SIDECAR = {"name": "s", "image": "i", "restartPolicy": "Always"}


def test_a_sidecar_may_have_probes_and_hooks() -> None:
    probe = {"tcpSocket": {"port": 1}}
    hooks = {"preStop": {"sleep": {"seconds": 0}}}
    sidecar = {**SIDECAR, "readinessProbe": probe, "lifecycle": hooks}
    assert wrong(pod(initContainers=[sidecar])) == []


def test_a_plain_init_container_may_not() -> None:
    detail = "may not be set for init containers without restartPolicy=Always"
    plain = {"name": "s", "image": "i", "readinessProbe": {"tcpSocket": {"port": 1}}}
    path = "spec.initContainers[0].readinessProbe"
    assert wrong(pod(initContainers=[plain])) == [(path, "forbidden", detail)]


def test_a_sleep_is_not_longer_than_the_grace_period() -> None:
    value = container_pod(lifecycle={"preStop": {"sleep": {"seconds": 31}}})
    detail = "31: must be non-negative and less than terminationGracePeriodSeconds (30)"
    path = "spec.containers[0].lifecycle.preStop.sleep"
    assert wrong(value) == [(path, "invalid", detail)]


def test_gates_can_only_be_removed_and_nodes_only_narrowed() -> None:
    old = stored(pod(schedulingGates=[{"name": "a"}, {"name": "b"}], nodeSelector={"x": "y"}))
    assert old["status"]["conditions"][0]["reason"] == "SchedulingGated"
    value = deepcopy(old)
    value["spec"]["schedulingGates"] = [{"name": "b"}]
    value["spec"]["nodeSelector"]["z"] = "1"
    updated, causes = PODS.update(value, old)
    assert causes == []
    assert updated["metadata"]["generation"] == 2
    value = deepcopy(old)
    value["spec"]["schedulingGates"].append({"name": "c"})
    value["spec"]["nodeSelector"] = {}
    fields = [field for field, _, _ in PODS.update(value, old)[1]]
    assert fields == ["spec.schedulingGates[2].name", "spec.nodeSelector"]


REQUESTS = {"requests": {"cpu": "1"}, "limits": {"cpu": "2"}}


def test_resources_change_only_through_resize() -> None:
    old = stored(container_pod(resources=REQUESTS))
    assert resized(old, {"requests": {"cpu": "1500m"}, "limits": {"cpu": "2"}}) == []
    value = deepcopy(old)
    value["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "2"}, "limits": {"cpu": "2"}}
    assert [field for field, _, _ in PODS.update(value, old)[1]] == ["spec"]


@pytest.mark.parametrize(
    ("resources", "fields"),
    [
        ({"requests": {"cpu": "-1"}, "limits": {"cpu": "2"}}, "requests[cpu]"),
        ({"requests": {"cpu": "3"}, "limits": {"cpu": "2"}}, "requests"),
        ({"requests": {"cpu": "1"}}, "limits"),
        ({"requests": {"cpu": "1", "x.y/z": "1"}, "limits": {"cpu": "2", "x.y/z": "1"}}, None),
        (
            {
                "requests": {"cpu": "2", "memory": "1Gi"},
                "limits": {"cpu": "2", "memory": "1Gi"},
            },
            None,  # the QoS class would change
        ),
    ],
)
def test_bad_resizes_are_refused(resources: Object, fields: str | None) -> None:
    causes = resized(stored(container_pod(resources=REQUESTS)), resources)
    assert causes
    if fields:
        assert causes[0][0] == f"spec.containers[0].resources.{fields}"


def test_a_resize_takes_nothing_but_resources() -> None:
    old = stored(container_pod(resources=REQUESTS))
    value = deepcopy(old)
    value["spec"]["containers"][0]["image"] = "other"
    value["spec"]["nodeName"] = "n"
    updated, causes = PODS.update(value, old, "resize")
    assert causes == []
    assert updated["spec"] == old["spec"]


def test_the_resources_of_the_pod_count_for_its_class_and_have_defaults() -> None:
    limits = {"limits": {"cpu": "2", "memory": "1Gi"}}
    created = stored({"spec": {**container_pod(resources={})["spec"], "resources": limits}})
    assert created["spec"]["resources"]["requests"] == limits["limits"]
    assert created["status"]["qosClass"] == "Guaranteed"


def test_labels_are_merged_into_the_selectors_of_affinities() -> None:
    term = {
        "topologyKey": "t",
        "labelSelector": {"matchLabels": {"a": "b"}},
        "matchLabelKeys": ["x", "missing"],
        "mismatchLabelKeys": ["y"],
    }
    rules = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
    value = pod(affinity={"podAffinity": rules})
    value["metadata"] = {"labels": {"x": "1", "y": "2"}}
    required = stored(value)["spec"]["affinity"]["podAffinity"]
    merged = required["requiredDuringSchedulingIgnoredDuringExecution"][0]["labelSelector"]
    assert merged["matchExpressions"] == [
        {"key": "x", "operator": "In", "values": ["1"]},
        {"key": "y", "operator": "NotIn", "values": ["2"]},
    ]


def test_an_app_armor_annotation_becomes_a_field_with_a_warning() -> None:
    value = container_pod()
    key = "container.apparmor.security.beta.kubernetes.io/c"
    value["metadata"] = {"annotations": {key: "localhost/p"}}
    created, causes, warnings = PODS.create(value)
    assert causes == []
    profile = {"type": "Localhost", "localhostProfile": "p"}
    assert created["spec"]["containers"][0]["securityContext"] == {"appArmorProfile": profile}
    assert warnings == [
        f'metadata.annotations[{key}]: deprecated since v1.30; use the "appArmorProfile" field'
        " instead"
    ]


@pytest.mark.parametrize(
    ("rules", "field", "reason"),
    [
        ([{"action": "Restart"}], "restartPolicyRules[0].exitCodes", "required"),
        (
            [{"action": "Restart", "exitCodes": {"operator": "In"}}] * 21,
            "restartPolicyRules",
            "too many",
        ),
        (
            [{"action": "Stop", "exitCodes": {"operator": "In", "values": [1]}}],
            "restartPolicyRules[0].action",
            "unsupported",
        ),
    ],
)
def test_bad_restart_rules_are_refused(rules: list[Any], field: str, reason: str) -> None:
    causes = wrong(container_pod(restartPolicy="Never", restartPolicyRules=rules))
    assert [cause[:2] for cause in causes] == [(f"spec.containers[0].{field}", reason)]


def test_duplicate_variables_and_ports_are_warned_of() -> None:
    value = container_pod(
        env=[{"name": "A", "value": "1"}, {"name": "A", "value": "$(A)2"}, {"name": "A"}],
        ports=[{"containerPort": 1}, {"containerPort": 1}],
    )
    assert PODS.create(value)[2] == [
        'spec.containers[0].env[2]: hides previous definition of "A", which may be dropped when'
        " using apply",
        "spec.containers[0].ports[1]: duplicate port definition with spec.containers[0].ports[0]",
    ]


def test_thousands_of_claims_and_gates_are_checked_quickly() -> None:
    claims = [{"name": f"c{n}", "resourceClaimName": "x"} for n in range(5000)]
    used = [{"name": f"c{n}"} for n in range(5000)]
    gates = [{"name": f"g{n}"} for n in range(5000)]
    value = pod(resourceClaims=claims, schedulingGates=gates)
    value["spec"]["containers"][0]["resources"] = {"claims": used}
    assert wrong(value) == []


def test_a_negative_grace_period_is_one_second() -> None:
    assert stored(pod(terminationGracePeriodSeconds=-3))["spec"][GRACE_PERIOD] == 1


def test_a_key_of_a_file_is_not_optional_by_default() -> None:
    key = {"volumeName": "v", "path": "a.env", "key": "K"}
    value = container_pod(env=[{"name": "A", "valueFrom": {"fileKeyRef": key}}])
    value["spec"]["volumes"] = [{"name": "v", "emptyDir": {}}]
    (variable,) = stored(value)["spec"]["containers"][0]["env"]
    assert variable["valueFrom"]["fileKeyRef"]["optional"] is False


ZEROS, MAPPED = "must not have leading 0s", "must not be an IPv4-mapped IPv6 address"


def test_the_addresses_of_a_pod_are_read_strictly() -> None:
    aliases = [{"ip": "1.2.3.4", "hostnames": ["a"]}, {"ip": "1.2.3.04", "hostnames": ["b", "B"]}]
    servers = {"nameservers": ["1.2.3.4", "::ffff:1.2.3.4", "x"]}
    found = wrong(pod(hostAliases=aliases, dnsConfig=servers))
    assert [(field, detail.split(": ")[-1]) for field, _, detail in found][:4] == [
        ("spec.dnsConfig.nameservers[1]", MAPPED),
        ("spec.dnsConfig.nameservers[2]", NOT_AN_ADDRESS),
        ("spec.hostAliases[1].ip", ZEROS),
        ("spec.hostAliases[1].hostnames[1]", found[3][2].split(": ")[-1]),
    ]


def test_an_odd_address_of_a_host_may_stay() -> None:
    old = stored(pod())
    odd = {"hostIP": "10.0.0.01", "hostIPs": [{"ip": "10.0.0.01"}]}
    value = {**old, "status": {**old["status"], **odd}}
    found = [("status.hostIPs[0]", "invalid", f'"10.0.0.01": {ZEROS}')]
    assert PODS.update(value, old, "status")[1] == found
    assert PODS.update(deepcopy(value), value, "status")[1] == []


def test_claims_of_the_pods_own_resources() -> None:
    found = wrong(pod(resources={"claims": [{"name": "x"}]}))
    assert [(field, reason) for field, reason, _ in found] == [
        ("spec.resources.claims", "forbidden"),
        ("spec.resources.claims[0]", "not found"),
    ]
