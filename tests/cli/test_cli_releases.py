"""The command line with a server of release 1.36."""

from __future__ import annotations

import json
from typing import Any

import pytest
from support.commands import Commands
from support.namespaces import Space, random_word

from fairlead.cli.describe.fields import Fields
from fairlead.cli.describe.page import Page
from fairlead.cli.describe.parts.containers import draw_environment
from fairlead.cli.describe.parts.quantities import of_pod

Object = dict[str, Any]
RULES = {
    "resourceRules": [
        {
            "apiGroups": ["example.com"],
            "apiVersions": ["v1"],
            "operations": ["CREATE"],
            "resources": ["nothing"],
        }
    ]
}


@pytest.fixture
def fairlead_1_36(space_1_36: Space) -> Commands:
    return Commands(space_1_36)


def _applied(fairlead: Commands, api_version: str, kind: str, **content: Any) -> str:
    """Apply an object, and return its name."""
    name = content.pop("name", random_word())
    value = {"apiVersion": api_version, "kind": kind, "metadata": {"name": name}, **content}
    fairlead("apply", "-f", "-", text=json.dumps(value))
    return str(name)


def _described(fairlead: Commands, kind: str, name: str) -> list[str]:
    text = fairlead("describe", kind, name)
    return [" ".join(line.split()) for line in text.splitlines()]


def test_describe_a_service_range(fairlead_1_36: Commands) -> None:
    spec = {"cidrs": ["10.77.0.0/24"]}
    name = _applied(fairlead_1_36, "networking.k8s.io/v1", "ServiceCIDR", spec=spec)
    assert "CIDRs: 10.77.0.0/24" in _described(fairlead_1_36, "servicecidr", name)
    fairlead_1_36("delete", "servicecidr", name, "--wait=false")


def test_describe_an_address(fairlead_1_36: Commands) -> None:
    parent = {"resource": "services", "namespace": "default", "name": "none"}
    spec = {"parentRef": parent}
    name = _applied(fairlead_1_36, "networking.k8s.io/v1", "IPAddress", name="10.88.0.9", spec=spec)
    lines = _described(fairlead_1_36, "ipaddress", name)
    at = lines.index("Parent Reference:")
    assert lines[at + 2 : at + 5] == ["Resource: services", "Namespace: default", "Name: none"]
    fairlead_1_36("delete", "ipaddress", name)


def test_describe_a_volume_attributes_class(fairlead_1_36: Commands) -> None:
    name = _applied(
        fairlead_1_36,
        "storage.k8s.io/v1",
        "VolumeAttributesClass",
        driverName="d.example.com",
        parameters={"iops": "100"},
    )
    assert _described(fairlead_1_36, "vac", name)[2:4] == [
        "DriverName: d.example.com",
        "Parameters: iops=100",
    ]


@pytest.mark.parametrize(
    ("api_version", "kind", "spec", "line"),
    [
        (
            "resource.k8s.io/v1",
            "DeviceClass",
            {"selectors": [{"cel": {"expression": "device.driver == 'x'"}}]},
            "Expression: device.driver == 'x'",
        ),
        (
            "admissionregistration.k8s.io/v1",
            "ValidatingAdmissionPolicy",
            {"matchConstraints": RULES, "validations": [{"expression": "true"}]},
            "Expression: true",
        ),
        (
            "admissionregistration.k8s.io/v1",
            "ValidatingAdmissionPolicyBinding",
            {"policyName": "none", "validationActions": ["Deny"]},
            "Policy Name: none",
        ),
    ],
)
def test_describe_new_kinds(
    api_version: str, kind: str, spec: Object, line: str, fairlead_1_36: Commands
) -> None:
    name = _applied(fairlead_1_36, api_version, kind, spec=spec)
    assert line in _described(fairlead_1_36, kind.lower(), name)
    fairlead_1_36("delete", kind.lower(), name)


def test_describe_a_pod_with_gates_and_sidecars(fairlead_1_36: Commands) -> None:
    spec = {
        "schedulingGates": [{"name": "example.com/a"}, {"name": "example.com/b"}],
        "initContainers": [{"name": "s", "image": "i", "restartPolicy": "Always"}],
        "containers": [{"name": "c", "image": "i"}],
    }
    lines = _described(fairlead_1_36, "pod", _applied(fairlead_1_36, "v1", "Pod", spec=spec))
    assert "Scheduling Gates: example.com/a, example.com/b" in lines
    assert lines.count("Restart Policy: Always") == 1


def test_describe_a_job_with_a_success_policy(fairlead_1_36: Commands) -> None:
    spec = {
        "completions": 5,
        "suspend": True,
        "completionMode": "Indexed",
        "backoffLimitPerIndex": 0,
        "successPolicy": {
            "rules": [
                {"succeededIndexes": "0-2", "succeededCount": 1},
                {"succeededIndexes": "4"},
                {"succeededCount": 3},
            ]
        },
        "template": {
            "spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}
        },
    }
    lines = _described(fairlead_1_36, "job", _applied(fairlead_1_36, "batch/v1", "Job", spec=spec))
    assert "Backoff Limit Per Index: 0" in lines
    at = lines.index("Success Policy: 1 of indexes 0-2")
    assert lines[at + 1 : at + 3] == ["all of indexes 4", "any 3 indexes"]


def test_environment_from_a_file() -> None:
    page = Page()
    reference = {"path": "p", "volumeName": "v", "key": "k"}
    variable = {"name": "A", "valueFrom": {"fileKeyRef": reference}}
    draw_environment(page, Fields({"env": [variable]}), Fields(None))
    assert "<key 'k' in file 'p' of volume 'v'>" in page.text()


def _container(cpu: str, **fields: Any) -> Object:
    return {"resources": {"requests": {"cpu": cpu}}, **fields}


@pytest.mark.parametrize(
    ("spec", "cpu"),
    [
        ({"containers": [_container("1")], "initContainers": [_container("3")]}, 3),
        (
            {
                "containers": [_container("1")],
                "initContainers": [_container("2", restartPolicy="Always")],
            },
            3,
        ),
        (
            {
                "containers": [_container("1")],
                "initContainers": [_container("2", restartPolicy="Always"), _container("4")],
            },
            6,
        ),
        ({"containers": [_container("1")], "resources": {"requests": {"cpu": "8"}}}, 8),
    ],
    ids=["init container", "sidecar", "init container after a sidecar", "pod"],
)
def test_requests_of_a_pod(spec: Object, cpu: int) -> None:
    assert of_pod(Fields({"spec": spec}), "requests")["cpu"].value == cpu


def test_new_kinds_are_listed(fairlead_1_36: Commands) -> None:
    listed = fairlead_1_36("api-resources", "-o", "name").split()
    assert {"resourceclaims.resource.k8s.io", "ipaddresses.networking.k8s.io"} <= set(listed)
    assert "resource.k8s.io/v1" in fairlead_1_36("api-versions").split()


def test_who_am_i(fairlead_1_36: Commands) -> None:
    assert "admin" in fairlead_1_36("auth", "whoami")


def test_explain_fields_of_the_release(
    fairlead_1_36: Commands, fairlead_kubernetes: Commands
) -> None:
    assert "schedulingGates" in fairlead_1_36("explain", "pod.spec.schedulingGates")
    assert fairlead_kubernetes.run("explain", "pod.spec.schedulingGates").code == 1


def test_apply_in_the_client_merges_lists_of_new_types(fairlead_1_36: Commands) -> None:
    name = random_word()
    value: Object = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": name},
        "spec": {
            "matchConstraints": RULES,
            "matchConditions": [{"name": "a", "expression": "true"}],
            "validations": [{"expression": "true"}],
        },
    }
    words = ("apply", "--server-side=false", "-f", "-")
    fairlead_1_36(*words, text=json.dumps(value))
    patch = [
        {
            "op": "add",
            "path": "/spec/matchConditions/-",
            "value": {"name": "b", "expression": "1 == 1"},
        }
    ]
    fairlead_1_36(
        "patch", "validatingadmissionpolicy", name, "--type=json", "-p", json.dumps(patch)
    )
    value["spec"]["matchConditions"][0]["expression"] = "2 == 2"
    fairlead_1_36(*words, text=json.dumps(value))
    live = json.loads(fairlead_1_36("get", "validatingadmissionpolicy", name, "-o", "json"))
    conditions = {each["name"]: each["expression"] for each in live["spec"]["matchConditions"]}
    assert conditions == {"a": "2 == 2", "b": "1 == 1"}
    fairlead_1_36("delete", "validatingadmissionpolicy", name)
