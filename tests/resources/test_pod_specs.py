"""The rules of pod specs beyond containers and volumes, and the initial status of pods."""

from __future__ import annotations

from typing import Any

import pytest
from support.pod_rules import PODS, Found, Kind, container_pod, pod, wrong

from fairlead.base.dialect import CLUSTER

SUBDOMAIN_RULE = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or"
    " '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used"
    r" for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
AFFINITY = "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution"


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (
            {"restartPolicy": "X"},
            [
                (
                    "restartPolicy",
                    "unsupported",
                    '"X": supported values: "Always", "OnFailure", "Never"',
                )
            ],
        ),
        (
            {"dnsPolicy": "X"},
            [
                (
                    "dnsPolicy",
                    "unsupported",
                    '"X": supported values: "ClusterFirstWithHostNet", "ClusterFirst", "Default",'
                    ' "None"',
                )
            ],
        ),
        (
            {"dnsPolicy": "None"},
            [("dnsConfig", "required", "must provide `dnsConfig` when `dnsPolicy` is None")],
        ),
        (
            {"dnsPolicy": "None", "dnsConfig": {}},
            [
                (
                    "dnsConfig.nameservers",
                    "required",
                    "must provide at least one DNS nameserver when `dnsPolicy` is None",
                )
            ],
        ),
        (
            {"dnsConfig": {"nameservers": ["1.1.1.1"] * 4, "options": [{}]}},
            [
                (
                    "dnsConfig.nameservers",
                    "invalid",
                    '[]string{"1.1.1.1", "1.1.1.1", "1.1.1.1", "1.1.1.1"}: must not have more than'
                    " 3 nameservers",
                ),
                ("dnsConfig.options[0]", "required", "must not be empty"),
            ],
        ),
        (
            {"dnsConfig": {"nameservers": ["x"], "searches": ["ok."]}},
            [("dnsConfig.nameservers[0]", "invalid", '"x": must be valid IP address')],
        ),
        ({"hostAliases": [{"ip": "010.1.1.1"}]}, []),
        (
            {"hostAliases": [{"ip": '\x01\a\x7f\u00a0\U000e0001"\\é'}]},
            [
                (
                    "hostAliases.ip",
                    "invalid",
                    r'"\x01\a\x7f\u00a0\U000e0001\"\\é": must be valid IP address',
                )
            ],
        ),
        (
            {"hostAliases": [{"ip": "x"}]},
            [("hostAliases.ip", "invalid", '"x": must be valid IP address')],
        ),
        (
            {"activeDeadlineSeconds": 0},
            [
                (
                    "activeDeadlineSeconds",
                    "invalid",
                    "0: must be between 1 and 2147483647, inclusive",
                )
            ],
        ),
        ({"nodeName": "N"}, [("nodeName", "invalid", f'"N": {SUBDOMAIN_RULE}')]),
        ({"runtimeClassName": ""}, [("runtimeClassName", "invalid", f'"": {SUBDOMAIN_RULE}')]),
        ({"preemptionPolicy": ""}, [("preemptionPolicy", "required", "")]),
        (
            {"preemptionPolicy": "X"},
            [
                (
                    "preemptionPolicy",
                    "unsupported",
                    '"X": supported values: "PreemptLowerPriority", "Never"',
                )
            ],
        ),
        (
            {"overhead": {"cpu": "-1"}},
            [("overhead.limits[cpu]", "invalid", '"-1": must be greater than or equal to 0')],
        ),
        ({"os": {"name": ""}}, [("os.name", "required", "cannot be empty")]),
        (
            {"os": {"name": "plan9"}},
            [("os", "unsupported", '"plan9": supported values: "linux", "windows"')],
        ),
        (
            {"hostPID": True, "shareProcessNamespace": True},
            [
                (
                    "securityContext.shareProcessNamespace",
                    "invalid",
                    "true: ShareProcessNamespace and HostPID cannot both be enabled",
                )
            ],
        ),
        (
            {"tolerations": [{"operator": "Exists", "value": "v"}]},
            [
                (
                    "tolerations[0].operator",
                    "invalid",
                    'core.Toleration{Key:"", Operator:"Exists", Value:"v", Effect:"",'
                    " TolerationSeconds:(*int64)(nil)}: value must be empty when `operator` is"
                    " 'Exists'",
                )
            ],
        ),
        (
            {"tolerations": [{"key": "a", "tolerationSeconds": 1, "effect": "X"}]},
            [
                (
                    "tolerations[0].effect",
                    "invalid",
                    "\"X\": effect must be 'NoExecute' when `tolerationSeconds` is set",
                ),
                (
                    "tolerations[0].effect",
                    "unsupported",
                    '"X": supported values: "NoSchedule", "PreferNoSchedule", "NoExecute"',
                ),
            ],
        ),
        (
            {
                "topologySpreadConstraints": [
                    {"maxSkew": 1, "topologyKey": "a", "whenUnsatisfiable": "DoNotSchedule"},
                    {"maxSkew": 0, "topologyKey": "a", "whenUnsatisfiable": "DoNotSchedule"},
                ]
            },
            [
                (
                    "topologySpreadConstraints[0].{topologyKey, whenUnsatisfiable}",
                    "duplicate",
                    '"{a, DoNotSchedule}"',
                ),
                (
                    "topologySpreadConstraints[1].maxSkew",
                    "invalid",
                    "0: must be greater than zero",
                ),
            ],
        ),
    ],
)
def test_spec(spec: dict[str, Any], expected: Found) -> None:
    assert wrong(pod(**spec)) == [(f"spec.{f}", r, m) for f, r, m in expected]


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        (
            {"key": "a", "operator": "In"},
            [("values", "required", "must be specified when `operator` is 'In' or 'NotIn'")],
        ),
        (
            {"key": "a", "operator": "Gt", "values": ["1", "2"]},
            [
                (
                    "values",
                    "required",
                    "must be specified single value when `operator` is 'Lt' or 'Gt'",
                )
            ],
        ),
        (
            {"key": "a", "operator": "Exists", "values": ["1"]},
            [
                (
                    "values",
                    "forbidden",
                    "may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
                )
            ],
        ),
        (
            {"key": "a", "operator": "Near"},
            [("operator", "invalid", '"Near": not a valid selector operator')],
        ),
    ],
)
def test_node_affinity(rule: dict[str, Any], expected: Found) -> None:
    required = {"nodeSelectorTerms": [{"matchExpressions": [rule]}]}
    key = AFFINITY.rpartition(".")[2]
    errors = wrong(pod(affinity={"nodeAffinity": {key: required}}))
    base = f"{AFFINITY}.nodeSelectorTerms[0].matchExpressions[0]"
    assert errors == [(f"{base}.{f}", r, m) for f, r, m in expected]


def test_node_affinity_needs_a_term() -> None:
    key = AFFINITY.rpartition(".")[2]
    errors = wrong(pod(affinity={"nodeAffinity": {key: {}}}))
    detail = "must have at least one node selector term"
    assert errors == [(f"{AFFINITY}.nodeSelectorTerms", "required", detail)]


def test_pod_affinity() -> None:
    preferred = "preferredDuringSchedulingIgnoredDuringExecution"
    term = {"weight": 0, "podAffinityTerm": {"namespaces": ["X"]}}
    errors = wrong(pod(affinity={"podAntiAffinity": {preferred: [term]}}))
    base = f"spec.affinity.podAntiAffinity.{preferred}[0]"
    assert [(field, reason) for field, reason, _ in errors] == [
        (f"{base}.weight", "invalid"),
        (f"{base}.podAffinityTerm.namespace", "invalid"),
        (f"{base}.podAffinityTerm.topologyKey", "required"),
        (f"{base}.podAffinityTerm.topologyKey", "invalid"),
        (f"{base}.podAffinityTerm.topologyKey", "invalid"),
    ]


@pytest.mark.parametrize(
    ("context", "expected"),
    [
        (
            {"runAsUser": -1},
            [("runAsUser", "invalid", "-1: must be between 0 and 2147483647, inclusive")],
        ),
        (
            {"seccompProfile": {"type": "Localhost"}},
            [
                (
                    "seccompProfile.localhostProfile",
                    "required",
                    "must be set when seccomp type is Localhost",
                )
            ],
        ),
        (
            {"seccompProfile": {"type": "Unconfined", "localhostProfile": "x"}},
            [
                (
                    "seccompProfile.localhostProfile",
                    "invalid",
                    'core.SeccompProfile{Type:"Unconfined", LocalhostProfile:(*string)'
                    "(0xc000000000)}: can only be set when seccomp type is Localhost",
                )
            ],
        ),
        (
            {"windowsOptions": {"runAsUserName": "a\\b\\c"}},
            [
                (
                    "windowsOptions.runAsUserName",
                    "invalid",
                    '"a\\\\b\\\\c": runAsUserName cannot contain more than one backslash',
                )
            ],
        ),
        ({"windowsOptions": {"runAsUserName": "NT Authority\\Local service"}}, []),
        ({"procMount": "Odd"}, []),  # dropped while its gate is off
    ],
)
def test_container_security(context: dict[str, Any], expected: Found) -> None:
    errors = wrong(container_pod(securityContext=context))
    base = "spec.containers[0].securityContext"
    assert errors == [(f"{base}.{f}", r, m) for f, r, m in expected]


def test_denying_escalation_to_the_privileged() -> None:
    context = {
        "privileged": True,
        "allowPrivilegeEscalation": False,
        "capabilities": {"add": ["CAP_SYS_ADMIN"]},
    }
    errors = wrong(container_pod(securityContext=context))
    assert [(field, message.rpartition(": ")[2]) for field, _, message in errors] == [
        (
            "spec.containers[0].securityContext",
            "cannot set `allowPrivilegeEscalation` to false and `privileged` to true",
        ),
        (
            "spec.containers[0].securityContext",
            "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN",
        ),
    ]


def test_what_windows_lacks() -> None:
    stored = pod(
        os={"name": "windows"},
        hostPID=True,
        securityContext={"fsGroup": 1, "sysctls": [{"name": "a", "value": "b"}]},
    )
    stored["spec"]["containers"][0]["securityContext"] = {"privileged": True}
    detail = "cannot be set for a windows pod"
    assert wrong(stored) == [
        ("spec.hostPID", "forbidden", detail),
        ("spec.securityContext.fsGroup", "forbidden", detail),
        ("spec.securityContext.sysctls", "forbidden", detail),
        ("spec.containers[0].securityContext.privileged", "forbidden", detail),
    ]


def test_host_process_containers_are_all_or_none() -> None:
    stored = pod(initContainers=[{"name": "i", "image": "i"}])
    stored["spec"]["containers"][0]["securityContext"] = {"windowsOptions": {"hostProcess": True}}
    assert [(field, reason) for field, reason, _ in wrong(stored)] == [
        ("spec", "invalid"),
        ("spec.hostNetwork", "invalid"),
    ]


@pytest.mark.parametrize(
    ("annotations", "expected"),
    [
        (
            {"kubernetes.io/config.mirror": "x"},
            [("[kubernetes.io/config.mirror]", "must set spec.nodeName if mirror pod")],
        ),
        (
            {"controller.kubernetes.io/pod-deletion-cost": "+1"},
            [("[controller.kubernetes.io/pod-deletion-cost]", "must be a 32bit integer")],
        ),
        ({"controller.kubernetes.io/pod-deletion-cost": "-7"}, []),
        (
            {"container.apparmor.security.beta.kubernetes.io/nope": "x"},
            [
                ("[container.apparmor.security.beta.kubernetes.io/nope]", "container not found"),
                (
                    "[container.apparmor.security.beta.kubernetes.io/nope]",
                    'invalid AppArmor profile name: "x"',
                ),
            ],
        ),
        (
            {"seccomp.security.alpha.kubernetes.io/pod": "x"},
            [(".seccomp.security.alpha.kubernetes.io/pod", "must be a valid seccomp profile")],
        ),
    ],
)
def test_annotations(annotations: dict[str, str], expected: list[tuple[str, str]]) -> None:
    errors = wrong({**pod(), "metadata": {"annotations": annotations}})
    assert len(errors) == len(expected)
    for (field, _, message), (path, detail) in zip(errors, expected, strict=True):
        assert field == f"metadata.annotations{path}"
        assert detail in message


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("null", ""),
        ("[]", ""),
        ('[{"key": "a", "operator": "Exists", "tolerationSeconds": null}]', ""),
        ('[{"key": "a", "value": null}]', ""),
        ("[null]", "operator must be Exists when `key` is empty"),
        ("nope", "invalid character 'o' in literal null (expecting 'u')"),
        ("[{]", "invalid character ']' looking for beginning of object key string"),
        ("{}", "json: cannot unmarshal object into Go value of type []core.Toleration"),
        ("[1]", "json: cannot unmarshal number into Go value of type core.Toleration"),
        (
            '[{"key": "a", "effect": {}}]',
            "json: cannot unmarshal object into Go struct field Toleration.Effect of type"
            " core.TaintEffect",
        ),
        (
            '[{"key": "a", "tolerationSeconds": "5"}]',
            "json: cannot unmarshal string into Go struct field Toleration.TolerationSeconds of"
            " type int64",
        ),
    ],
)
def test_tolerations_in_an_annotation_are_tolerations(text: str, expected: str) -> None:
    annotations = {"scheduler.alpha.kubernetes.io/tolerations": text}
    errors = wrong({**pod(), "metadata": {"annotations": annotations}})
    assert len(errors) == bool(expected)
    assert expected in "".join(message for _, _, message in errors)


def test_seccomp_annotations_become_fields() -> None:
    annotations = {
        "seccomp.security.alpha.kubernetes.io/pod": "localhost/x.json",
        "container.seccomp.security.alpha.kubernetes.io/c": "docker/default",
    }
    value, errors, warnings = PODS.create({**pod(), "metadata": {"annotations": annotations}})
    assert (errors, warnings) == ([], [])
    profile = value["spec"]["securityContext"]["seccompProfile"]
    assert profile == {"type": "Localhost", "localhostProfile": "x.json"}
    container = value["spec"]["containers"][0]
    assert container["securityContext"] == {"seccompProfile": {"type": "RuntimeDefault"}}


def test_seccomp_annotation_must_say_what_the_field_says() -> None:
    annotations = {"seccomp.security.alpha.kubernetes.io/pod": "unconfined"}
    stored = pod(securityContext={"seccompProfile": {"type": "RuntimeDefault"}})
    assert wrong({**stored, "metadata": {"annotations": annotations}}) == [
        (
            "spec.securityContext.seccompProfile.type",
            "forbidden",
            "seccomp type in annotation and field must match",
        )
    ]


def test_unqualified_finalizers() -> None:
    errors = wrong({**pod(), "metadata": {"finalizers": ["orphan", "mine"]}})
    detail = '"mine": name is neither a standard finalizer name nor is it fully qualified'
    assert errors == [("metadata.finalizers[1]", "invalid", detail)]


def test_new_pods_are_pending() -> None:
    value, _, _ = PODS.create({**pod(), "status": {"phase": "Running", "podIP": "1.2.3.4"}})
    assert value["status"] == {"phase": "Pending", "qosClass": "BestEffort"}


@pytest.mark.parametrize(
    ("resources", "expected"),
    [
        ([{}], "BestEffort"),
        ([{"limits": {"cpu": "1", "memory": "1Gi"}}], "Guaranteed"),
        ([{"limits": {"cpu": "1", "memory": "1Gi"}}, {}], "Burstable"),
        ([{"limits": {"cpu": "1"}}], "Burstable"),
        ([{"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "500m"}}], "Burstable"),
        ([{"requests": {"ephemeral-storage": "1Gi"}}], "BestEffort"),
        ([{"requests": {"cpu": "0"}}], "BestEffort"),
        ([{"limits": {"cpu": "0", "memory": "1Gi"}}], "Burstable"),
        (
            [
                {"limits": {"cpu": "2", "memory": "2Gi"}, "requests": {"cpu": "1"}},
                {"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "1"}},
            ],
            "Burstable",
        ),
    ],
)
def test_quality_of_service(resources: list[dict[str, Any]], expected: str) -> None:
    containers = [
        {"name": f"c{index}", "image": "i", "resources": item}
        for index, item in enumerate(resources)
    ]
    value, errors, _ = PODS.create({"spec": {"containers": containers}})
    assert errors == []
    assert value["status"]["qosClass"] == expected


def test_defaults_that_follow_from_other_fields() -> None:
    text = PODS.decode(
        {
            "spec": {
                "hostNetwork": True,
                "serviceAccount": "robot",
                "volumes": [{"name": "v"}],
                "containers": [
                    {
                        "name": "c",
                        "image": "i:1",
                        "ports": [{"containerPort": 80}],
                        "resources": {"limits": {"cpu": "0.00005"}},
                    }
                ],
            }
        }
    )
    spec = text["spec"]
    assert spec["serviceAccountName"] == "robot"
    assert spec["enableServiceLinks"] is True
    assert spec["volumes"] == [{"name": "v", "emptyDir": {}}]
    assert spec["containers"][0]["ports"][0]["hostPort"] == 80
    assert spec["containers"][0]["resources"] == {
        "limits": {"cpu": "1m"},
        "requests": {"cpu": "1m"},
    }


def test_gated_fields_are_dropped() -> None:
    constraint = {
        "maxSkew": 1,
        "topologyKey": "z",
        "whenUnsatisfiable": "DoNotSchedule",
        "minDomains": 2,
        "matchLabelKeys": ["x"],
    }
    spec = {"hostUsers": True, "topologySpreadConstraints": [constraint]}
    off = {"MinDomainsInPodTopologySpread": False}
    value, _, _ = PODS.create(pod(**spec), off)
    assert "hostUsers" not in value["spec"]
    kept = value["spec"]["topologySpreadConstraints"][0]
    assert kept.keys() == {"maxSkew", "topologyKey", "whenUnsatisfiable"}
    on = dict.fromkeys(
        (
            "MinDomainsInPodTopologySpread",
            "MatchLabelKeysInPodTopologySpread",
            "UserNamespacesStatelessPodsSupport",
        ),
        True,
    )
    value, _, _ = PODS.create(pod(**spec), on)
    assert value["spec"]["topologySpreadConstraints"] == [constraint]
    assert value["spec"]["hostUsers"] is True


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (
            {"nodeSelector": {"beta.kubernetes.io/os": "x"}},
            "spec.nodeSelector[beta.kubernetes.io/os]: deprecated since v1.14; use"
            ' "kubernetes.io/os" instead',
        ),
        (
            {"volumes": [{"name": "v", "gitRepo": {"repository": "r"}}]},
            "spec.volumes[0].gitRepo: deprecated in v1.11",
        ),
        (
            {"hostAliases": [{"ip": "1.1.1.1"}, {"ip": "1.1.1.1"}]},
            'spec.hostAliases[1].ip: duplicate ip "1.1.1.1"',
        ),
        (
            {"imagePullSecrets": [{"name": ""}]},
            'spec.imagePullSecrets[0].name: invalid empty name ""',
        ),
        (
            {"volumes": [{"name": "v", "glusterfs": {"endpoints": "e", "path": "/p"}}]},
            "spec.volumes[0].glusterfs: deprecated in v1.25, this feature will be removed soon"
            " after in a subsequent release",
        ),
        (
            {"volumes": [{"name": "v", "flocker": {"datasetName": "d"}}]},
            "spec.volumes[0].flocker: deprecated in v1.22, support removal is planned in v1.26",
        ),
        (
            {"volumes": [{"name": "v", "quobyte": {"registry": "a:1", "volume": "v"}}]},
            "spec.volumes[0].quobyte: deprecated in v1.22, support removal is planned in v1.26",
        ),
        (
            {"volumes": [{"name": "v", "storageos": {"volumeName": "v"}}]},
            "spec.volumes[0].storageOS: deprecated in v1.22, support removal is planned in v1.26",
        ),
        (
            {
                "containers": [
                    {"name": "c", "image": "i", "env": [{"name": "A"}, {"name": "A"}]},
                ]
            },
            'spec.containers[0].env[1].name: duplicate name "A"',
        ),
        (
            {
                "containers": [
                    {"name": "c", "image": "i", "resources": {"requests": {"memory": "1.5"}}},
                ]
            },
            'spec.containers[0].resources.requests[memory]: fractional byte value "1500m" is'
            " invalid, must be an integer",
        ),
    ],
)
def test_warnings(spec: dict[str, Any], expected: str) -> None:
    _, errors, warnings = PODS.create(pod(**spec))
    assert (errors, warnings) == ([], [expected])


def test_names_follow_the_dialect() -> None:
    pods = Kind(dialect=CLUSTER)
    annotations = {"cluster.io/config.mirror": "x", "kubernetes.io/config.mirror": "x"}
    _, errors, _ = pods.create({**pod(), "metadata": {"annotations": annotations}})
    assert [field for field, _, _ in errors] == ["metadata.annotations[cluster.io/config.mirror]"]


def test_templates_hold_no_ephemeral_containers() -> None:
    templates = Kind("core/v1/podtemplates")
    spec = {**pod()["spec"], "ephemeralContainers": [{"name": "e", "image": "i"}]}
    value = {"template": {"metadata": {"labels": {"a": "b c"}}, "spec": spec}}
    _, errors, _ = templates.create(value)
    assert [(field, reason) for field, reason, _ in errors] == [
        ("template.labels", "invalid"),
        ("template.spec.ephemeralContainers", "forbidden"),
    ]
