"""PodSecurity over HTTP: labels of namespaces and their effect on pods and templates."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.client import Answer, Client
from support.namespaces import Space
from support.process import ServerProcess, failed_start

Object = dict[str, Any]
APPLY = "application/apply-patch+yaml"
POD: Object = {"containers": [{"name": "c", "image": "i"}]}
GOOD_POD: Object = {
    "securityContext": {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}},
    "containers": [
        {
            "name": "c",
            "image": "i",
            "securityContext": {
                "allowPrivilegeEscalation": False,
                "capabilities": {"drop": ["ALL"]},
            },
        }
    ],
}
FAULTS = (
    'allowPrivilegeEscalation != false (container "c" must set'
    " securityContext.allowPrivilegeEscalation=false), unrestricted capabilities (container"
    ' "c" must set securityContext.capabilities.drop=["ALL"]), runAsNonRoot != true (pod or'
    ' container "c" must set securityContext.runAsNonRoot=true), seccompProfile (pod or container'
    ' "c" must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost")'
)
REASONS = (
    "allowPrivilegeEscalation != false, unrestricted capabilities, runAsNonRoot != true,"
    " seccompProfile"
)


def _label(space: Space, mode: str) -> str:
    return space.dialect.label(f"pod-security.@/{mode}")


def _ask(space: Space, dry_run: bool = False, **modes: Any) -> Answer:
    """Set the labels of the namespace."""
    labels = {_label(space, mode.replace("_", "-")): level for mode, level in modes.items()}
    query = {"dryRun": "All"} if dry_run else {}
    return space.client.patch(
        f"/api/v1/namespaces/{space.name}", {"metadata": {"labels": labels}}, **query
    )


def _enforce(space: Space, **modes: Any) -> None:
    answer = _ask(space, **modes)
    assert answer.status == 200, answer.text


def _create(space: Space, name: str = "p", spec: Object = POD, **metadata: Any) -> Answer:
    body = {"metadata": {"name": name, **metadata}, "spec": spec}
    return space.client.post(space.collection("pods").path, body)


def _create_accepted(space: Space, name: str = "p", spec: Object = POD, **metadata: Any) -> None:
    answer = _create(space, name, spec, **metadata)
    assert answer.status == 201, answer.text


def _texts(answer: Answer) -> list[str]:
    """The texts of warnings, without code, agent and quotes."""
    return [
        text.partition(' "')[2].removesuffix('"').replace('\\"', '"') for text in answer.warnings
    ]


@pytest.fixture
def ready(space: Space) -> Space:
    space.ready_for_pods()
    return space


def test_a_namespace_without_labels_allows_everything(ready: Space) -> None:
    assert _create(ready, spec={**POD, "hostNetwork": True}).warnings == []


def test_an_enforced_standard_refuses_pods(ready: Space) -> None:
    _enforce(ready, enforce="restricted")
    refused = _create(ready)
    assert refused.status == 403
    assert refused.message == (
        f'pods "p" is forbidden: violates PodSecurity "restricted:latest": {FAULTS}'
    )
    assert refused.body["details"] == {"name": "p", "kind": "pods"}
    _create_accepted(ready, spec=GOOD_POD)


def test_a_version_is_held_to(ready: Space) -> None:
    _enforce(ready, enforce="restricted", enforce_version="v1.7")
    text = 'runAsNonRoot != true (pod or container "c" must set securityContext.runAsNonRoot=true)'
    assert _create(ready).message.endswith(f'violates PodSecurity "restricted:v1.7": {text}')


def test_a_warning_does_not_refuse(ready: Space) -> None:
    _enforce(ready, enforce="baseline", warn="restricted", warn_version="v1.30")
    answer = _create(ready)
    assert answer.status == 201
    assert _texts(answer) == [f'would violate PodSecurity "restricted:v1.30": {FAULTS}']


def test_what_is_refused_is_not_warned_of(ready: Space) -> None:
    _enforce(ready, enforce="restricted", warn="restricted")
    assert _create(ready).warnings == []


@pytest.mark.parametrize(
    ("resource", "group", "value"),
    [
        ("podtemplates", "", {"template": {"spec": POD}}),
        ("replicationcontrollers", "", {"spec": {"selector": {"a": "b"}}}),
        ("replicasets", "apps", {}),
        ("deployments", "apps", {}),
        ("daemonsets", "apps", {}),
        ("statefulsets", "apps", {"spec": {"serviceName": "s"}}),
        ("jobs", "batch", {"spec": {"selector": None, "restart": "Never"}}),
        ("cronjobs", "batch", {"spec": {"schedule": "@daily", "restart": "Never"}}),
    ],
)
def test_templates_are_warned_of(ready: Space, resource: str, group: str, value: Object) -> None:
    _enforce(ready, enforce="restricted", warn="restricted")
    labels = {"a": "b"}
    if resource != "podtemplates":
        spec: Object = {"selector": {"matchLabels": labels}, **value.get("spec", {})}
        pod = dict(POD)
        if spec.pop("restart", None):
            pod["restartPolicy"] = "Never"
        template = {"metadata": {"labels": labels}, "spec": pod}
        if resource == "cronjobs":
            spec.pop("selector")
            spec["jobTemplate"] = {"spec": {"template": template}}
        else:
            spec["template"] = template
        value = {"spec": {name: item for name, item in spec.items() if item is not None}}
    collection = ready.collection(resource, group)
    answer = ready.client.post(collection.path, {"metadata": {"name": "w"}, **value})
    assert answer.status == 201, answer.text
    assert _texts(answer) == [f'would violate PodSecurity "restricted:latest": {FAULTS}']
    changed = collection.patch("w", {"metadata": {"labels": {"c": "d"}}})
    assert _texts(changed) == _texts(answer)


@pytest.mark.both_dialects
def test_wrong_labels_are_refused(ready: Space) -> None:
    answer = _ask(ready, enforce="strict", warn_version="1.25")
    assert answer.status == 422
    enforce, version = _label(ready, "enforce"), _label(ready, "warn-version")
    level_fault = 'Invalid value: "strict": must be one of privileged, baseline, restricted'
    version_fault = 'Invalid value: "1.25": must be "latest" or "v1.x"'
    assert answer.causes == [
        (f"metadata.labels[{enforce}]", "FieldValueInvalid", level_fault),
        (f"metadata.labels[{version}]", "FieldValueInvalid", version_fault),
    ]
    assert answer.message == (
        f'Namespace "{ready.name}" is invalid: [metadata.labels[{enforce}]: {level_fault},'
        f" metadata.labels[{version}]: {version_fault}]"
    )
    fresh = {"metadata": {"name": f"{ready.name}-2", "labels": {enforce: ""}}}
    assert ready.client.post("/api/v1/namespaces", fresh).status == 422


def test_running_pods_are_held_against_a_new_standard(ready: Space) -> None:
    for name in ("b", "a", "c"):
        _create_accepted(ready, name)
    _create_accepted(ready, "good", GOOD_POD)
    _create_accepted(ready, "host", {**POD, "hostNetwork": True})
    messages = [
        f'existing pods in namespace "{ready.name}" violate the new PodSecurity enforce level'
        ' "restricted:latest"',
        f"a (and 2 other pods): {REASONS}",
        f"host: host namespaces, {REASONS}",
    ]
    tried = _ask(ready, dry_run=True, enforce="restricted")
    assert (tried.status, _texts(tried)) == (200, messages)
    assert _texts(_ask(ready, enforce="restricted")) == messages
    assert _ask(ready, enforce="restricted", warn="baseline").warnings == []
    assert _ask(ready, enforce="baseline").warnings == []
    assert _texts(_ask(ready, enforce="baseline", enforce_version="v1.1"))[1:] == [
        "host: host namespaces"
    ]


def test_only_changes_that_matter_are_judged(ready: Space) -> None:
    _create_accepted(ready)
    _enforce(ready, enforce="restricted")
    pods = ready.collection("pods")
    assert pods.patch("p", {"metadata": {"labels": {"a": "b"}}}).status == 200
    image = pods.client.patch(
        pods.item("p"),
        [{"op": "replace", "path": "/spec/containers/0/image", "value": "other"}],
        kind="application/json-patch+json",
    )
    assert image.status == 403
    assert 'violates PodSecurity "restricted:latest"' in image.message
    value = pods.read("p")
    value["spec"]["ephemeralContainers"] = [{"name": "e", "image": "i"}]
    answer = ready.client.put(pods.item("p", "ephemeralcontainers"), value)
    assert answer.status == 403
    assert 'containers "c", "e" must set' in answer.message


def test_a_label_between_two_identical_applies_is_seen(ready: Space) -> None:
    path = ready.collection("pods").item("applied")
    body = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "applied"}, "spec": POD}

    def applied() -> list[str]:
        answer = ready.client.patch(path, body, kind=APPLY, fieldManager="m")
        assert answer.status in (200, 201), answer.text
        return _texts(answer)

    assert [applied() for _ in range(3)] == [[], [], []]
    _enforce(ready, warn="restricted")
    assert applied() == []  # nothing that matters in the pod has changed
    path = ready.collection("deployments", "apps").item("applied")
    template = {"metadata": {"labels": {"a": "b"}}, "spec": POD}
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": template}
    body = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "applied"}}
    body["spec"] = spec
    assert len(applied()) == 1
    _enforce(ready, warn="privileged")
    assert [applied() for _ in range(3)] == [[], [], []]
    _enforce(ready, warn="restricted")
    assert [len(applied()) for _ in range(2)] == [1, 1]


CONFIGURATION = """
apiVersion: apiserver.config.{domain}/v1
kind: AdmissionConfiguration
plugins:
- name: PodSecurity
  configuration:
    apiVersion: pod-security.admission.config.{domain}/v1
    kind: PodSecurityConfiguration
    defaults: {{{defaults}}}
    exemptions: {{{exemptions}}}
"""


def _file(directory: Path, dialect: str, defaults: str = "", exemptions: str = "") -> str:
    domain = {"kubernetes": "k8s.io", "cluster": "cluster.io"}[dialect]
    text = CONFIGURATION.format(domain=domain, defaults=defaults, exemptions=exemptions)
    path = directory / "admission.yaml"
    path.write_text(text)
    return str(path)


@pytest.mark.parametrize("dialect", ["kubernetes", "cluster"])
def test_defaults_and_exemptions(tmp_path: Path, fresh_server: Any, dialect: str) -> None:
    file = _file(
        tmp_path,
        dialect,
        'enforce: baseline, "enforce-version": v1.24, warn: restricted',
        "namespaces: [free], usernames: [root], runtimeClasses: [vm]",
    )
    server: ServerProcess = fresh_server("--admission-control-config-file", file, dialect=dialect)
    client = server.client()
    space = Space(server, client)
    space.ready_for_pods()
    host = {**POD, "hostNetwork": True}
    assert 'violates PodSecurity "baseline:v1.24"' in _create(space, "a", host).message
    assert len(_create(space, "b").warnings) == 1
    _check_exemptions(space, client, host)
    client.close()


def _check_exemptions(space: Space, client: Client, host: Object) -> None:
    group = space.base("node.@")
    body = {"metadata": {"name": "vm"}, "handler": "h"}
    assert client.post(f"{group}/runtimeclasses", body).status == 201
    exempt = _create(space, "c", {**host, "runtimeClassName": "vm"})
    assert (exempt.status, exempt.warnings) == (201, [])
    labels = {_label(space, "enforce"): "restricted"}
    created = client.post("/api/v1/namespaces", {"metadata": {"name": "free", "labels": labels}})
    assert _texts(created) == [
        'namespace "free" is exempt from Pod Security, and the policy (enforce=restricted:v1.24,'
        " warn=restricted:latest) will be ignored"
    ]
    space.name = "free"
    space.ready_for_pods()
    assert _create(space, "d", host).status == 201


@pytest.mark.parametrize(
    ("defaults", "exemptions", "message"),
    [
        ("enforce: high", "", "defaults.enforce: must be one of privileged, baseline, restricted"),
        ('"audit-version": v2', "", 'defaults.audit-version: must be "latest" or "v1.x"'),
        ("", 'usernames: [""]', "exemptions.usernames[0]: username must not be empty"),
        ("", "namespaces: [a, a]", 'exemptions.namespaces[1]: "a" occurs twice'),
        ("", "runtimeClasses: [A]", "exemptions.runtimeClasses[0]: a lowercase RFC 1123"),
        ("level: high", "", "defaults.level: unknown field"),
    ],
)
def test_a_wrong_configuration_stops_the_start(
    tmp_path: Path, defaults: str, exemptions: str, message: str
) -> None:
    file = _file(tmp_path, "kubernetes", defaults, exemptions)
    ended = failed_start(tmp_path, "--admission-control-config-file", file)
    assert ended.returncode != 0
    assert f"{file}: plugins[0].configuration.{message}" in ended.stderr
    assert "Traceback" not in ended.stderr
