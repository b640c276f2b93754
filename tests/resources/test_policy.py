"""Rules of the policy group."""

from __future__ import annotations

from typing import Any

import pytest
from support.group_rules import (
    DROP,
    Found,
    Kind,
    changed,
    duplicate,
    forbidden,
    invalid,
    required,
    too_long,
    unsupported,
)

from fairlead.base.dialect import CLUSTER
from fairlead.codec.types.names import dns_subdomain, qualified_name
from fairlead.resources.policy.security_policies import PATTERN, VOLUMES
from fairlead.resources.rules import NON_NEGATIVE, PERCENT_ERROR, REASON_ERROR

Object = dict[str, Any]
Changes = dict[str, Any]

BUDGET: Object = {
    "metadata": {"name": "a"},
    "spec": {"minAvailable": 1, "selector": {"matchLabels": {"a": "b"}}},
}


def text(value: str) -> str:
    return f'intstr.IntOrString{{Type:1, IntVal:0, StrVal:"{value}"}}'


@pytest.mark.parametrize(
    ("changes", "causes"),
    [
        ({}, []),
        ({"metadata.name": "Not_A_DNS_Name"}, []),
        ({"spec.selector": DROP}, []),
        ({"spec.minAvailable": -1}, [invalid("spec.minAvailable", "-1", NON_NEGATIVE)]),
        ({"spec.minAvailable": "x"}, [invalid("spec.minAvailable", text("x"), PERCENT_ERROR)]),
        (
            {"spec.minAvailable": "120%"},
            [invalid("spec.minAvailable", text("120%"), "must not be greater than 100%")],
        ),
        (
            {"spec.selector": {"matchExpressions": [{"key": "k", "operator": "X"}]}},
            [
                invalid(
                    "spec.selector.matchExpressions[0].operator",
                    '"X"',
                    "not a valid selector operator",
                )
            ],
        ),
    ],
)
def test_disruption_budget(changes: Changes, causes: Found) -> None:
    assert Kind("policy/v1/poddisruptionbudgets").wrong(changed(BUDGET, changes)) == causes


def test_disruption_budget_with_two_limits() -> None:
    value = changed(BUDGET, {"spec.maxUnavailable": 1})
    message = (
        "policy.PodDisruptionBudgetSpec{MinAvailable:(*intstr.IntOrString)(0xc000000000),"
        " Selector:(*v1.LabelSelector)(0xc000000000),"
        " MaxUnavailable:(*intstr.IntOrString)(0xc000000000)}"
    )
    assert Kind("policy/v1/poddisruptionbudgets").wrong(value) == [
        invalid("spec", message, "minAvailable and maxUnavailable cannot be both set")
    ]


CONDITION = {
    "type": "T",
    "status": "True",
    "reason": "R",
    "message": "",
    "lastTransitionTime": "2024-01-01T00:00:00Z",
}
FIRST = "status.conditions[0]"


@pytest.mark.parametrize(
    ("status", "causes"),
    [
        ({"conditions": [CONDITION]}, []),
        (
            {"disruptionsAllowed": -1, "expectedPods": -1},
            [
                invalid("status.disruptionsAllowed", "-1", NON_NEGATIVE),
                invalid("status.expectedPods", "-1", NON_NEGATIVE),
            ],
        ),
        (
            {"conditions": [CONDITION, CONDITION]},
            [duplicate("status.conditions[1].type", '"T"')],
        ),
        (
            {"conditions": [{"type": "T t", "status": "x", "observedGeneration": -1}]},
            [
                invalid(f"{FIRST}.type", '"T t"', qualified_name("T t")[0]),
                unsupported(f"{FIRST}.status", '"x"', "False", "True", "Unknown"),
                invalid(
                    f"{FIRST}.observedGeneration", "-1", "must be greater than or equal to zero"
                ),
                required(f"{FIRST}.lastTransitionTime", "must be set"),
                required(f"{FIRST}.reason", "must be set"),
            ],
        ),
        (
            {"conditions": [{**CONDITION, "reason": "9", "message": "x" * 32769}]},
            [
                invalid(f"{FIRST}.reason", '"9"', REASON_ERROR),
                too_long(f"{FIRST}.message", 32768),
            ],
        ),
    ],
)
def test_disruption_budget_status(status: Object, causes: Found) -> None:
    kind = Kind("policy/v1/poddisruptionbudgets")
    old = kind.existing(BUDGET)
    assert kind.update(old, {**BUDGET, "status": status}, "status")[1] == causes


ANY = {"rule": "RunAsAny"}
POLICY: Object = {
    "spec": {"seLinux": ANY, "runAsUser": ANY, "supplementalGroups": ANY, "fsGroup": ANY}
}
BAD_RANGE = {"min": 5, "max": -1}
APPARMOR = "apparmor.security.beta.cluster.io"
SECCOMP = "seccomp.security.alpha.cluster.io"


@pytest.mark.parametrize(
    ("changes", "causes"),
    [
        ({}, []),
        (
            {"spec.runAsUser": {"rule": "X"}},
            [
                unsupported(
                    "spec.runAsUser.rule", '"X"', "MustRunAs", "MustRunAsNonRoot", "RunAsAny"
                )
            ],
        ),
        (
            {"spec.seLinux": {"rule": ""}, "spec.fsGroup": {}},
            [
                unsupported("spec.seLinux.rule", '""', "MustRunAs", "RunAsAny"),
                unsupported("spec.fsGroup.rule", '""', "MayRunAs", "MustRunAs", "RunAsAny"),
            ],
        ),
        (
            {"spec.runAsUser": {"rule": "MustRunAs", "ranges": [BAD_RANGE]}},
            [
                invalid("spec.runAsUser.ranges[0].max", "-1", "max cannot be negative"),
                invalid("spec.runAsUser.ranges[0].min", "5", "min cannot be greater than max"),
            ],
        ),
        (
            {"spec.runAsGroup": {"rule": "MustRunAs"}},
            [
                invalid(
                    "spec.runAsGroup.ranges",
                    "[]policy.IDRange(nil)",
                    "must provide at least one range",
                )
            ],
        ),
        (
            {"spec.runAsGroup": {"rule": "RunAsAny", "ranges": [{"min": 1, "max": 2}]}},
            [
                invalid(
                    "spec.runAsGroup.ranges",
                    "[]policy.IDRange{policy.IDRange{Min:1, Max:2}}",
                    "Ranges must be empty",
                )
            ],
        ),
        ({"spec.volumes": ["x"]}, [unsupported("spec.volumes", '"x"', *VOLUMES)]),
        (
            {"spec.allowedCapabilities": ["*", "A"], "spec.requiredDropCapabilities": ["A"]},
            [
                invalid(
                    "spec.requiredDropCapabilities",
                    '[]core.Capability{"A"}',
                    "must be empty when all capabilities are allowed by a wildcard",
                ),
                invalid(
                    "spec.allowedCapabilities",
                    '"A"',
                    "capability is listed in allowedCapabilities and requiredDropCapabilities",
                ),
            ],
        ),
        (
            {
                "spec.defaultAllowPrivilegeEscalation": True,
                "spec.allowPrivilegeEscalation": False,
            },
            [
                invalid(
                    "spec.defaultAllowPrivilegeEscalation",
                    "true",
                    "Cannot set DefaultAllowPrivilegeEscalation to true without also setting"
                    " AllowPrivilegeEscalation to true",
                )
            ],
        ),
        (
            {"spec.allowedHostPaths": [{"pathPrefix": path} for path in ("/a/../b", "", "/a/*")]},
            [
                invalid(
                    "spec.allowedHostPaths[0].pathPrefix", '"/a/../b"', "must not contain '..'"
                ),
                required("spec.allowedHostPaths[1].pathPrefix"),
                invalid("spec.allowedHostPaths[2].pathPrefix", '"/a/*"', "must not contain '*'"),
            ],
        ),
        (
            {"spec.hostPorts": [{"min": 1, "max": 65536}, {"min": 9, "max": 5}]},
            [
                invalid("spec.hostPorts[0].max", "65536", "must be between 0 and 65535, inclusive"),
                invalid("spec.hostPorts[1].min", "9", "min cannot be greater than max"),
            ],
        ),
        (
            {
                "spec.runAsUser": {"rule": "MustRunAs"},
                "spec.seLinux": {"rule": "MustRunAs"},
                "spec.supplementalGroups": {"rule": "MustRunAs"},
                "spec.fsGroup": {"rule": "MustRunAs"},
            },
            [
                required(f"spec.{path}", "must be given with the rule MustRunAs")
                for path in (
                    "runAsUser.ranges",
                    "seLinux.seLinuxOptions",
                    "supplementalGroups.ranges",
                    "fsGroup.ranges",
                )
            ],
        ),
        (
            {"spec.allowedFlexVolumes": [{}], "spec.allowedCSIDrivers": [{"name": "Bad_"}]},
            [
                required("spec.allowedFlexVolumes[0].driver", "must specify a driver"),
                invalid(
                    "spec.allowedCSIDrivers[0].name",
                    '"Bad_"',
                    dns_subdomain("bad_")[0],
                ),
            ],
        ),
        (
            {"spec.allowedUnsafeSysctls": ["*", "a"], "spec.forbiddenSysctls": ["", "A"]},
            [
                forbidden(
                    "spec.allowedUnsafeSysctls.items",
                    "if '*' is present, must not specify other sysctls",
                ),
                invalid("spec.forbiddenSysctls[0]", '""', "empty sysctl not allowed"),
                invalid(
                    "spec.forbiddenSysctls[1]",
                    '"A"',
                    f"must have at most 253 characters and match regex {PATTERN}",
                ),
                invalid("spec.forbiddenSysctls[0]", '""', "sysctl overlaps with *"),
                invalid("spec.forbiddenSysctls[1]", '"A"', "sysctl overlaps with *"),
            ],
        ),
        (
            {"spec.allowedUnsafeSysctls": ["net.a"], "spec.forbiddenSysctls": ["net.*"]},
            [invalid("spec.allowedUnsafeSysctls[0]", '"net.a"', "sysctl overlaps with net.*")],
        ),
        (
            {
                "spec.runtimeClass": {
                    "allowedRuntimeClassNames": ["a", "a"],
                    "defaultRuntimeClassName": "b",
                }
            },
            [
                duplicate("spec.runtimeClass.allowedRuntimeClassNames[1]", '"a"'),
                required(
                    "spec.runtimeClass.allowedRuntimeClassNames", 'default "b" must be allowed'
                ),
            ],
        ),
        (
            {"spec.runtimeClass": {"allowedRuntimeClassNames": ["*", "a"]}},
            [
                invalid(
                    "spec.runtimeClass.allowedRuntimeClassNames",
                    '[]string{"*", "a"}',
                    "if '*' is present, must not specify other RuntimeClass names",
                )
            ],
        ),
        (
            {
                "metadata": {
                    "annotations": {
                        f"{APPARMOR}/defaultProfileName": "x",
                        f"{SECCOMP}/allowedProfileNames": "*,localhost/../x,y",
                    }
                }
            },
            [
                invalid(
                    f"metadata.annotations[{APPARMOR}/defaultProfileName]",
                    '"x"',
                    'invalid AppArmor profile name: "x"',
                ),
                invalid(
                    f"metadata.annotations[{SECCOMP}/allowedProfileNames]",
                    '"../x"',
                    "must not contain '..'",
                ),
                invalid(
                    f"metadata.annotations[{SECCOMP}/allowedProfileNames]",
                    '"y"',
                    "must be a valid seccomp profile",
                ),
            ],
        ),
    ],
)
def test_security_policy(changes: Changes, causes: Found) -> None:
    assert (
        Kind("policy/v1beta1/podsecuritypolicies", CLUSTER).wrong(changed(POLICY, changes))
        == causes
    )


def test_security_policy_defaults_and_gates() -> None:
    value = changed(POLICY, {"spec.allowedProcMountTypes": ["X"]})
    spec = Kind("policy/v1beta1/podsecuritypolicies", CLUSTER).existing(value)["spec"]
    assert spec["allowPrivilegeEscalation"] is True
    assert "allowedProcMountTypes" not in spec
    on = Kind("policy/v1beta1/podsecuritypolicies", CLUSTER, ProcMountType=True)
    assert on.wrong(value) == [
        unsupported("spec.allowedProcMountTypes[0]", '"X"', "Default", "Unmasked")
    ]
