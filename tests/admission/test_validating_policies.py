"""Validating admission policies: what they refuse, warn of and match."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from support.client import Object
from support.namespaces import Space
from support.policies import CONFIG_MAPS, GROUP, Bound
from support.process import FreshServer
from support.waiting import eventually


@pytest.fixture
def policies(space_1_36: Space) -> Iterator[Bound]:
    bound = Bound(space_1_36)
    yield bound
    bound.end()


def test_a_policy_holds_for_the_next_write_and_not_after_its_removal(policies: Bound) -> None:
    name = policies.validating(validations=[{"expression": "false", "message": "never"}])
    answer = policies.write()
    assert (answer.status, answer.body["reason"]) == (422, "Invalid")
    assert answer.message == (
        f"configmaps \"c\" is forbidden: ValidatingAdmissionPolicy '{name}' with binding '{name}'"
        " denied request: never"
    )
    policies.client.delete(f"{GROUP}/validatingadmissionpolicies/{name}")
    assert policies.write().status == 201


@pytest.mark.parametrize(
    ("validation", "told"),
    [
        ({"expression": "object.data.a == 'x'"}, "failed expression: object.data.a == 'x'"),
        ({"expression": "false", "messageExpression": "'got ' + object.data.a"}, "got y"),
        ({"expression": "false", "messageExpression": "string(object.b)", "message": "m"}, "m"),
        (
            {"expression": "object.b == 1"},
            "expression 'object.b == 1' resulted in error: no such key: b",
        ),
    ],
    ids=["expression", "message-expression", "message", "error"],
)
def test_messages_of_denials(policies: Bound, validation: Object, told: str) -> None:
    policies.validating(validations=[validation])
    assert policies.write(data={"a": "y"}).message.endswith(f"denied request: {told}")


def test_a_failing_expression_is_ignored_if_the_policy_says_so(policies: Bound) -> None:
    policies.validating(validations=[{"expression": "object.nope == 1"}], failurePolicy="Ignore")
    assert policies.write().status == 201


def test_warnings_instead_of_denials(policies: Bound) -> None:
    name = policies.validating(binding={"validationActions": ["Warn", "Audit"]})
    answer = policies.write()
    assert answer.status == 201
    text = f"Validation failed for ValidatingAdmissionPolicy '{name}' with binding '{name}'"
    assert any(f"{text}: failed expression: false" in warning for warning in answer.warnings)


def test_variables_are_evaluated_when_they_are_used(policies: Bound) -> None:
    variables = [
        {"name": "size", "expression": "object.data.size()"},
        {"name": "double", "expression": "variables.size * 2"},
        {"name": "broken", "expression": "object.nope"},
    ]
    validations = [
        {"expression": "variables.double < 4 || variables.broken == 1"},
    ]
    policies.validating(variables=variables, validations=validations)
    assert policies.write(data={"a": "1"}).status == 201
    assert policies.write(data={"a": "1", "b": "2"}).message.endswith(
        'composited variable "broken" fails to evaluate: no such key: nope'
    )


def test_match_conditions_select_writes(policies: Bound) -> None:
    policies.validating(
        matchConditions=[{"name": "marked", "expression": "has(object.metadata.labels)"}]
    )
    assert policies.write().status == 201
    assert policies.write(metadata={"labels": {"a": "b"}}).status == 422


def test_names_and_excluded_rules(policies: Bound) -> None:
    rules = {
        "resourceRules": [{**CONFIG_MAPS, "resourceNames": ["a", "b"]}],
        "excludeResourceRules": [{**CONFIG_MAPS, "resourceNames": ["b"]}],
    }
    policies.validating(matchConstraints=rules)
    assert [policies.write(name).status for name in ("a", "b", "c")] == [422, 201, 201]


@pytest.mark.parametrize(
    ("groups", "resources", "status"),
    [
        ([""], ["secrets", "configmaps"], 422),
        (["*"], ["configmaps/*"], 422),
        ([""], ["*"], 422),
        (["*"], ["*/*"], 422),
        (["apps"], ["configmaps"], 201),
        (["apps"], ["*"], 201),
        ([""], ["*/status"], 201),
    ],
)
def test_policies_are_found_by_the_names_in_their_rules(
    policies: Bound, groups: list[str], resources: list[str], status: int
) -> None:
    rule = {**CONFIG_MAPS, "apiGroups": groups, "resources": resources}
    policies.validating(matchConstraints={"resourceRules": [rule]})
    assert policies.write().status == status


def test_a_policy_matches_other_resources_after_an_update(policies: Bound) -> None:
    name = policies.validating()
    path = f"{GROUP}/validatingadmissionpolicies/{name}"
    secrets = {**CONFIG_MAPS, "resources": ["secrets"]}
    for rule, status in ((secrets, 201), (CONFIG_MAPS, 422)):
        patch = {"spec": {"matchConstraints": {"resourceRules": [rule]}}}
        assert policies.client.patch(path, patch).status == 200
        assert policies.write().status == status
    binding = f"{GROUP}/validatingadmissionpolicybindings/{name}"
    patch = {"spec": {"matchResources": {"resourceRules": [secrets]}}}
    assert policies.client.patch(binding, patch).status == 200
    assert policies.write().status == 201


def test_parameters_of_another_namespace_hold_at_once(policies: Bound) -> None:
    maps = "/api/v1/namespaces/kube-public/configmaps"
    name = policies.space.name
    limits = {"metadata": {"name": name}, "data": {"most": "1"}}
    assert policies.client.post(maps, limits).status == 201
    ref = {"name": name, "namespace": "kube-public", "parameterNotFoundAction": "Deny"}
    policies.validating(
        paramKind={"apiVersion": "v1", "kind": "ConfigMap"},
        validations=[{"expression": "object.data.size() <= int(params.data.most)"}],
        binding={"paramRef": ref},
    )
    assert policies.write(data={"a": "1", "b": "2"}).status == 422
    assert policies.client.patch(f"{maps}/{name}", {"data": {"most": "2"}}).status == 200
    assert policies.write(data={"a": "1", "b": "2"}).status == 201
    assert policies.client.delete(f"{maps}/{name}").status == 200
    assert policies.write(data={"a": "1"}).message.endswith(
        "failed to configure binding: no params found for policy binding with `Deny`"
        " parameterNotFoundAction"
    )


def test_users_name_only_parameters_that_they_may_read(fresh_server: FreshServer) -> None:
    server = fresh_server("--release=1.36", "--authorization-mode=RBAC", dialect="kubernetes")
    client = server.client()
    rules = [{"apiGroups": ["admissionregistration.k8s.io"], "resources": ["*"], "verbs": ["*"]}]
    roles = "/apis/rbac.authorization.k8s.io/v1"
    client.post(f"{roles}/clusterroles", {"metadata": {"name": "writer"}, "rules": rules})
    subject = {"kind": "User", "name": "eve", "apiGroup": "rbac.authorization.k8s.io"}
    role = {"kind": "ClusterRole", "name": "writer", "apiGroup": "rbac.authorization.k8s.io"}
    binding = {"metadata": {"name": "writer"}, "roleRef": role, "subjects": [subject]}
    assert client.post(f"{roles}/clusterrolebindings", binding).status == 201
    spec = {
        "matchConstraints": {"resourceRules": [CONFIG_MAPS]},
        "paramKind": {"apiVersion": "v1", "kind": "Secret"},
        "validations": [{"expression": "true"}],
    }
    answer = client.request(
        "POST",
        f"{GROUP}/validatingadmissionpolicies",
        {"metadata": {"name": "p"}, "spec": spec},
        headers={"Impersonate-User": "eve"},
    )
    assert answer.status == 422
    assert 'must have "get" permission on all objects of the referenced paramKind' in answer.message


def test_the_authorizer_is_asked_about_the_user(policies: Bound) -> None:
    question = "authorizer.group('').resource('secrets').namespace('default').check('get')"
    policies.validating(
        variables=[{"name": "own", "expression": f"{question}.allowed()"}],
        validations=[
            {"expression": "variables.own"},
            {
                "expression": "authorizer.serviceAccount('default', 'nobody').group('')"
                ".resource('secrets').check('list').allowed()",
                "message": "the account may not",
            },
        ],
    )
    assert policies.write().message.endswith("denied request: the account may not")


def test_the_authorizer_is_told_the_selectors(policies: Bound) -> None:
    node, space = "system:node:node1", policies.space.name
    subject = {"kind": "User", "name": node, "apiGroup": "rbac.authorization.k8s.io"}
    role = {"kind": "ClusterRole", "name": "edit", "apiGroup": "rbac.authorization.k8s.io"}
    bindings = f"/apis/rbac.authorization.k8s.io/v1/namespaces/{space}/rolebindings"
    binding = {"metadata": {"name": "node"}, "roleRef": role, "subjects": [subject]}
    assert policies.client.post(bindings, binding).status == 201
    pods = "authorizer.group('').resource('pods').namespace('default')"
    own = f"{pods}.fieldSelector('spec.nodeName=node1').check('list').allowed()"
    policies.validating(
        validations=[
            {"expression": f"!{pods}.check('list').allowed()", "message": "all pods"},
            {"expression": own, "message": "pods of the node"},
        ]
    )
    answer = policies.client.request(
        "POST",
        f"/api/v1/namespaces/{space}/configmaps",
        {"metadata": {"name": "c"}},
        headers={"Impersonate-User": node, "Impersonate-Group": "system:nodes"},
    )
    assert answer.status == 201, answer.message


def test_costs_are_limited(policies: Bound) -> None:
    loop = "true"
    for name in "abcdef":
        loop = f"[1,2,3,4,5,6,7,8,9,10].all({name}, {loop})"
    policies.validating(validations=[{"expression": loop}])
    assert policies.write().message.endswith("operation cancelled: actual cost limit exceeded")


def test_a_policy_against_everything_can_be_removed(policies: Bound) -> None:
    everything = {
        "apiGroups": ["*"],
        "apiVersions": ["*"],
        "operations": ["*"],
        "resources": ["*/*"],
    }
    name = policies.validating(matchConstraints={"resourceRules": [everything]})
    assert policies.write().status == 422
    for resource in ("validatingadmissionpolicybindings", "validatingadmissionpolicies"):
        assert policies.client.delete(f"{GROUP}/{resource}/{name}").status == 200
    assert policies.write().status == 201


def test_a_server_starts_with_a_policy_against_everything(fresh_server: FreshServer) -> None:
    server = fresh_server("--release=1.36", dialect="kubernetes")
    rule = {"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*/*"]}
    spec = {
        "matchConstraints": {"resourceRules": [rule]},
        "validations": [{"expression": "false"}],
    }
    client = server.client()
    path = f"{GROUP}/validatingadmissionpolicies"
    assert client.post(path, {"metadata": {"name": "p"}, "spec": spec}).status == 201
    binding = {"policyName": "p", "validationActions": ["Deny"]}
    bindings = f"{GROUP}/validatingadmissionpolicybindings"
    assert client.post(bindings, {"metadata": {"name": "p"}, "spec": binding}).status == 201
    client.close()
    server.stop()
    server.start()
    client = server.client()
    maps = "/api/v1/namespaces/default/configmaps"
    assert client.post(maps, {"metadata": {"name": "c"}}).status == 422
    assert client.delete(f"{path}/p").status == 200
    assert client.post(maps, {"metadata": {"name": "c"}}).status == 201


def test_types_are_checked_in_the_status(policies: Bound) -> None:
    name = policies.validating(
        validations=[
            {"expression": "object.data.size() > 0"},
            {"expression": "object.dater == 'x'"},
        ]
    )
    path = f"{GROUP}/validatingadmissionpolicies/{name}"
    eventually(
        lambda: policies.client.get(path).body["status"].get("observedGeneration") == 1,
        "the types are checked",
    )
    status = policies.client.get(path).body["status"]
    (warning,) = status["typeChecking"]["expressionWarnings"]
    assert warning["fieldRef"] == "spec.validations[1].expression"
    assert warning["warning"].startswith(
        "/v1, Kind=ConfigMap: ERROR: <input>:1:7: undefined field 'dater'"
    )


def test_types_are_checked_only_for_names_that_are_served(policies: Bound) -> None:
    many = [f"x{number}" for number in range(500)]  # 125 million resources
    rule = {"apiGroups": ["", *many], "apiVersions": ["v1", *many], "operations": ["CREATE"]}
    name = policies.validating(
        matchConstraints={"resourceRules": [{**rule, "resources": ["configmaps", *many]}]},
        validations=[{"expression": "object.dater == 'x'"}],
    )
    path = f"{GROUP}/validatingadmissionpolicies/{name}"
    eventually(
        lambda: policies.client.get(path).body["status"].get("observedGeneration") == 1,
        "the types are checked",
    )
    (warning,) = policies.client.get(path).body["status"]["typeChecking"]["expressionWarnings"]
    assert warning["warning"].startswith("/v1, Kind=ConfigMap: ERROR")
