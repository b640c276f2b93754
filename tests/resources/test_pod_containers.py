"""The rules of containers."""

from __future__ import annotations

from typing import Any

import pytest
from support.pod_rules import PODS, Found, container_pod, pod, wrong

LABEL_RULE = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and"
    " must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex"
    " used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)
HERE = "spec.containers[0]"
RANGE = "must be between 1 and 65535, inclusive"


def _c(name: str, **fields: Any) -> dict[str, Any]:
    return {"name": name, "image": "i", **fields}


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"name": ""}, [("name", "required", "")]),
        ({"name": "Bad_"}, [("name", "invalid", f'"Bad_": {LABEL_RULE}')]),
        ({"image": ""}, [("image", "required", "")]),
        (
            {"image": " i"},
            [("image", "invalid", '" i": must not have leading or trailing whitespace')],
        ),
        (
            {"imagePullPolicy": "X"},
            [
                (
                    "imagePullPolicy",
                    "unsupported",
                    '"X": supported values: "Always", "IfNotPresent", "Never"',
                )
            ],
        ),
        (
            {"terminationMessagePolicy": "X"},
            [
                (
                    "terminationMessagePolicy",
                    "unsupported",
                    '"X": supported values: "File", "FallbackToLogsOnError"',
                )
            ],
        ),
        ({"ports": [{}]}, [("ports[0].containerPort", "required", "")]),
        (
            {"ports": [{"containerPort": 70000}]},
            [("ports[0].containerPort", "invalid", f"70000: {RANGE}")],
        ),
        (
            {"ports": [{"containerPort": 1, "hostPort": -1}]},
            [("ports[0].hostPort", "invalid", f"-1: {RANGE}")],
        ),
        (
            {"ports": [{"containerPort": 1, "protocol": "X"}]},
            [
                (
                    "ports[0].protocol",
                    "unsupported",
                    '"X": supported values: "SCTP", "TCP", "UDP"',
                )
            ],
        ),
        (
            {"ports": [{"containerPort": 1, "name": "a"}, {"containerPort": 2, "name": "a"}]},
            [("ports[1].name", "duplicate", '"a"')],
        ),
        (
            {"ports": [{"containerPort": 1, "hostPort": 9}, {"containerPort": 2, "hostPort": 9}]},
            [("ports[1].hostPort", "duplicate", '"TCP//9"')],
        ),
        ({"ports": [{"containerPort": 1, "hostIP": "not-looked-at"}]}, []),
    ],
)
def test_container(fields: dict[str, Any], expected: Found) -> None:
    assert wrong(container_pod(**fields)) == [(f"{HERE}.{f}", r, m) for f, r, m in expected]


@pytest.mark.parametrize(
    ("variable", "expected"),
    [
        ({"name": ""}, [("name", "required", "")]),
        ({"name": "..x"}, [("name", "invalid", "\"..x\": must not start with '..'")]),
        (
            {"name": "A", "valueFrom": {}},
            [
                (
                    "valueFrom",
                    "invalid",
                    '"": must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef` or'
                    " `secretKeyRef`",
                )
            ],
        ),
        (
            {"name": "A", "value": "x", "valueFrom": {"fieldRef": {"fieldPath": "metadata.uid"}}},
            [("valueFrom", "invalid", '"": may not be specified when `value` is not empty')],
        ),
        (
            {
                "name": "A",
                "valueFrom": {
                    "fieldRef": {"fieldPath": "metadata.uid"},
                    "secretKeyRef": {"name": "s", "key": "k"},
                },
            },
            [("valueFrom", "invalid", '"": may not have more than one field specified at a time')],
        ),
        (
            {"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "status.phase"}}},
            [
                (
                    "valueFrom.fieldRef.fieldPath",
                    "unsupported",
                    '"status.phase": supported values: "metadata.name", "metadata.namespace",'
                    ' "metadata.uid", "spec.nodeName", "spec.serviceAccountName", "status.hostIP",'
                    ' "status.podIP", "status.podIPs"',
                )
            ],
        ),
        (
            {"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "metadata.whoops"}}},
            [
                (
                    "valueFrom.fieldRef.fieldPath",
                    "invalid",
                    '"metadata.whoops": error converting fieldPath: field label not supported:'
                    " metadata.whoops",
                )
            ],
        ),
        (
            {"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName['x']"}}},
            [
                (
                    "valueFrom.fieldRef.fieldPath",
                    "invalid",
                    "\"spec.nodeName['x']\": error converting fieldPath: field label does not"
                    " support subscript: spec.nodeName['x']",
                )
            ],
        ),
        ({"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "metadata.labels['a/b']"}}}, []),
        ({"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "spec.host"}}}, []),
        (
            {"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "x", "apiVersion": "v2"}}},
            [
                (
                    "valueFrom.fieldRef.fieldPath",
                    "invalid",
                    '"x": error converting fieldPath: unsupported pod version: v2',
                )
            ],
        ),
        (
            {"name": "A", "valueFrom": {"resourceFieldRef": {"resource": "limits.gpu"}}},
            [
                (
                    "valueFrom.resourceFieldRef.resource",
                    "unsupported",
                    '"limits.gpu": supported values: "limits.cpu", "limits.ephemeral-storage",'
                    ' "limits.memory", "requests.cpu", "requests.ephemeral-storage",'
                    ' "requests.memory"',
                )
            ],
        ),
        (
            {
                "name": "A",
                "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu", "divisor": "2"}},
            },
            [
                (
                    "valueFrom.resourceFieldRef.divisor",
                    "invalid",
                    '"limits.cpu": only divisor\'s values 1m and 1 are supported with the cpu'
                    " resource",
                )
            ],
        ),
        (
            {
                "name": "A",
                "valueFrom": {
                    "resourceFieldRef": {"resource": "limits.hugepages-2Mi", "divisor": "1Mi"}
                },
            },
            [],
        ),
        (
            {"name": "A", "valueFrom": {"configMapKeyRef": {"name": "x", "key": ""}}},
            [("valueFrom.configMapKeyRef.key", "required", "")],
        ),
    ],
)
def test_environment(variable: dict[str, Any], expected: Found) -> None:
    errors = wrong(container_pod(env=[variable]))
    assert errors == [(f"{HERE}.env[0].{f}", r, m) for f, r, m in expected]


def test_environment_from_objects() -> None:
    sources = [{}, {"prefix": "1"}, {"configMapRef": {"name": ""}, "secretRef": {"name": "s"}}]
    errors = wrong(container_pod(envFrom=sources))
    assert [(field.removeprefix(f"{HERE}."), reason) for field, reason, _ in errors] == [
        ("envFrom", "invalid"),
        ("envFrom[1].prefix", "invalid"),
        ("envFrom", "invalid"),
        ("envFrom[2].configMapRef.name", "required"),
        ("envFrom", "invalid"),
    ]


@pytest.mark.parametrize(
    ("probe", "expected"),
    [
        ({}, [("", "required", "must specify a handler type")]),
        ({"exec": {}}, [(".exec.command", "required", "")]),
        ({"tcpSocket": {"port": 0}}, [(".tcpSocket.port", "invalid", f"0: {RANGE}")]),
        (
            {"tcpSocket": {"port": 1}, "grpc": {"port": 1}},
            [(".grpc", "forbidden", "may not specify more than 1 handler type")],
        ),
        (
            {"tcpSocket": {"port": 1}, "successThreshold": 2},
            [(".successThreshold", "invalid", "2: must be 1")],
        ),
        (
            {"tcpSocket": {"port": 1}, "terminationGracePeriodSeconds": 0},
            [(".terminationGracePeriodSeconds", "invalid", "0: must be greater than 0")],
        ),
        (
            {"httpGet": {"port": "x", "scheme": "FTP"}},
            [
                (
                    ".httpGet.scheme",
                    "unsupported",
                    '"FTP": supported values: "HTTP", "HTTPS"',
                )
            ],
        ),
    ],
)
def test_liveness_probe(probe: dict[str, Any], expected: Found) -> None:
    errors = wrong(container_pod(livenessProbe=probe))
    assert errors == [(f"{HERE}.livenessProbe{f}", r, m) for f, r, m in expected]


def test_readiness_probe_has_no_grace_period() -> None:
    probe = {"exec": {"command": ["x"]}, "terminationGracePeriodSeconds": 5, "successThreshold": 2}
    path = f"{HERE}.readinessProbe.terminationGracePeriodSeconds"
    expected = [(path, "invalid", "5: must not be set for readinessProbes")]
    assert wrong(container_pod(readinessProbe=probe)) == expected


def test_lifecycle() -> None:
    errors = wrong(container_pod(lifecycle={"postStart": {}, "preStop": {"exec": {}}}))
    assert errors == [
        (f"{HERE}.lifecycle.postStart", "required", "must specify a handler type"),
        (f"{HERE}.lifecycle.preStop.exec.command", "required", ""),
    ]


@pytest.mark.parametrize(
    ("resources", "expected"),
    [
        (
            {"requests": {"cpu": "2"}, "limits": {"cpu": "1"}},
            [("requests", "invalid", '"2": must be less than or equal to cpu limit')],
        ),
        (
            {"requests": {"memory": "-1"}},
            [("requests[memory]", "invalid", '"-1": must be greater than or equal to 0')],
        ),
        (
            {"requests": {"example.com/gpu": "1"}},
            [("limits", "required", "Limit must be set for non overcommitable resources")],
        ),
        (
            {"requests": {"example.com/gpu": "1"}, "limits": {"example.com/gpu": "2"}},
            [("requests", "invalid", '"1": must be equal to example.com/gpu limit')],
        ),
        (
            {"limits": {"hugepages-2Mi": "3Mi", "cpu": "1"}},
            [
                (
                    "limits[hugepages-2Mi]",
                    "invalid",
                    '"3Mi": 3Mi is not positive integer multiple of hugepages-2Mi',
                ),
                (
                    "requests[hugepages-2Mi]",
                    "invalid",
                    '"3Mi": 3Mi is not positive integer multiple of hugepages-2Mi',
                ),
            ],
        ),
        (
            {"limits": {"example.com/gpu": "1500m"}},
            [
                (
                    f"{part}[example.com/gpu]",
                    "invalid",
                    "resource.Quantity{i:resource.int64Amount{value:15, scale:-1},"
                    ' d:resource.infDecAmount{Dec:(*inf.Dec)(nil)}, s:"", Format:"DecimalSI"}:'
                    " must be an integer",
                )
                for part in ("limits", "requests")
            ],
        ),
        (
            {"limits": {"hugepages-2Mi": "4Mi"}},
            [("", "forbidden", "HugePages require cpu or memory")],
        ),
        (
            {"requests": {"weird": "1"}},
            [
                (
                    "requests[weird]",
                    "invalid",
                    '"weird": must be a standard resource type or fully qualified',
                ),
                (
                    "requests[weird]",
                    "invalid",
                    '"weird": must be a standard resource for containers',
                ),
            ],
        ),
        ({"limits": {"kubernetes.io/thing": "1"}}, []),
        ({"requests": {"cpu": "0.5"}, "limits": {"cpu": "500m"}}, []),
    ],
)
def test_resources(resources: dict[str, Any], expected: Found) -> None:
    errors = wrong(container_pod(resources=resources))
    base = f"{HERE}.resources"
    assert errors == [(f"{base}.{f}" if f else base, r, m) for f, r, m in expected]


def test_mounts_and_devices() -> None:
    stored = pod(
        volumes=[{"name": "v"}, {"name": "b", "persistentVolumeClaim": {"claimName": "x"}}]
    )
    stored["spec"]["containers"][0] |= {
        "volumeMounts": [
            {"name": "v", "mountPath": "/a", "subPath": "../x"},
            {"name": "v", "mountPath": "/a", "subPath": "y", "subPathExpr": "/z"},
            {"name": "none", "mountPath": "", "mountPropagation": "Bidirectional"},
            {"name": "b", "mountPath": "/dev/y"},
        ],
        "volumeDevices": [
            {"name": "v", "devicePath": "/dev/x/.."},
            {"name": "b", "devicePath": "/dev/y"},
        ],
    }
    results = [(field.removeprefix(f"{HERE}."), reason) for field, reason, _ in wrong(stored)]
    assert results == [
        ("volumeMounts[0].name", "invalid"),
        ("volumeMounts.subPath", "invalid"),
        ("volumeMounts[1].mountPath", "invalid"),
        ("volumeMounts[1].name", "invalid"),
        ("volumeMounts[1].subPathExpr", "invalid"),
        ("volumeMounts.subPathExpr", "invalid"),
        ("volumeMounts[2].name", "not found"),
        ("volumeMounts[2].mountPath", "required"),
        ("volumeMounts.mountPropagation", "forbidden"),
        ("volumeMounts[3].name", "invalid"),
        ("volumeMounts[3].mountPath", "invalid"),
        ("volumeDevices[0].name", "invalid"),
        ("volumeDevices[0].devicePath", "invalid"),
        ("volumeDevices[0].name", "invalid"),
        ("volumeDevices[1].name", "invalid"),
        ("volumeDevices[1].devicePath", "invalid"),
    ]


def test_names_are_unique_across_kinds_of_containers() -> None:
    manifest = {"spec": {"containers": [_c("a"), _c("a")], "initContainers": [_c("a"), _c("b")]}}
    assert wrong(manifest) == [
        ("spec.containers[1].name", "duplicate", '"a"'),
        ("spec.initContainers[0].name", "duplicate", '"a"'),
    ]


def test_init_containers_are_not_probed() -> None:
    stored = pod(
        initContainers=[
            _c("x", livenessProbe={"exec": {"command": ["a"]}}, lifecycle={}),
        ]
    )
    assert wrong(stored) == [
        ("spec.initContainers[0].lifecycle", "forbidden", "may not be set for init containers"),
        ("spec.initContainers[0].livenessProbe", "forbidden", "may not be set for init containers"),
    ]


def test_no_containers() -> None:
    assert wrong({"spec": {}}) == [("spec.containers", "required", "")]
    assert wrong({}) == [("spec.containers", "required", "")]


def test_ephemeral_containers_come_later() -> None:
    stored = pod(ephemeralContainers=[_c("e")])
    expected = [("spec.ephemeralContainers", "forbidden", "cannot be set on create")]
    assert wrong(stored) == expected


@pytest.mark.parametrize(
    ("image", "policy"),
    [
        ("busybox", "Always"),
        ("busybox:latest", "Always"),
        ("busybox:1.2", "IfNotPresent"),
        ("registry.example:5000/x/y", "Always"),
        ("registry.example:5000/x/y@sha256:" + "0" * 64, "IfNotPresent"),
        ("x:latest@sha256:" + "0" * 64, "Always"),
        ("Not/An/Image!", "IfNotPresent"),
        ("Not/an/image", "IfNotPresent"),
        ("x" * 237, "Always"),
        ("x" * 238, "IfNotPresent"),  # too long with the usual registry
        ("0" * 64, "IfNotPresent"),
        ("localhost/" + "x" * 246, "IfNotPresent"),
    ],
)
def test_pull_policy_follows_from_the_tag(image: str, policy: str) -> None:
    text = PODS.decode(container_pod(image=image))
    assert text["spec"]["containers"][0]["imagePullPolicy"] == policy
