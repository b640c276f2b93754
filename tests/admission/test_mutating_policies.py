"""Mutating admission policies: apply configurations, JSON patches, second rounds."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from support.namespaces import Space
from support.policies import Bound


@pytest.fixture
def policies(space_1_36: Space) -> Iterator[Bound]:
    bound = Bound(space_1_36)
    yield bound
    bound.end()


def _json_patch(expression: str) -> dict[str, object]:
    return {"patchType": "JSONPatch", "jsonPatch": {"expression": expression}}


def test_an_apply_configuration_is_merged(policies: Bound) -> None:
    policies.mutating(
        "Object{metadata: Object.metadata{labels: {'by': request.userInfo.username}}}"
    )
    labels = policies.write(metadata={"labels": {"own": "x"}}).body["metadata"]["labels"]
    assert labels.keys() == {"by", "own"}


def test_a_json_patch_is_applied(policies: Bound) -> None:
    key = "'/metadata/annotations/' + jsonpatch.escapeKey('a/b')"
    operations = (
        "[JSONPatch{op: 'add', path: '/metadata/annotations', value: {}},"
        f" JSONPatch{{op: 'add', path: {key}, value: 'v'}}]"
    )
    policies.mutating(mutations=[_json_patch(operations)])
    answer = policies.write()
    assert answer.body["metadata"].get("annotations") == {"a/b": "v"}, answer.message


def test_a_failed_test_leaves_the_object_as_it_is(policies: Bound) -> None:
    operations = (
        "[JSONPatch{op: 'test', path: '/data/a', value: 'other'},"
        " JSONPatch{op: 'remove', path: '/data/a'}]"
    )
    policies.mutating(mutations=[_json_patch(operations)])
    assert policies.write(data={"a": "1"}).body["data"] == {"a": "1"}


def test_policies_run_again_after_later_changes(policies: Bound) -> None:
    policies.mutating("Object{data: {'first': string(object.data.size())}}",
                      reinvocationPolicy="IfNeeded")  # fmt: skip
    policies.mutating("Object{data: {'second': '', 'third': ''}}")
    assert policies.write(data={"n": ""}).body["data"]["first"] == "4"


def test_two_policies_that_change_each_other_end(policies: Bound) -> None:
    for name, other in (("a", "b"), ("b", "a")):
        policies.mutating(
            f"Object{{data: {{'{name}': string(object.data.?{other}.orValue('').size() + 1)}}}}",
            reinvocationPolicy="IfNeeded",
        )
    assert policies.write(data={"n": ""}).status == 201


@pytest.mark.parametrize(
    ("expression", "told"),
    [
        ("Object{spec: Object.spec{x: 1}}", ".spec: field not declared in schema"),
        ("Object{metadata: Object.meta{}}", 'unexpected type name "Object.meta"'),
        ("Object{data: {'a': object.nope}}", "no such key: nope"),
        ("Object{data: {'a': 1.0 / 0.0}}", "inf is not a number in JSON"),
    ],
    ids=["field", "type", "error", "number"],
)
def test_mutations_that_fail_refuse_the_write(policies: Bound, expression: str, told: str) -> None:
    name = policies.mutating(expression)
    answer = policies.write()
    assert (answer.status, answer.body["reason"]) == (403, "Invalid")
    assert answer.message.startswith(f"policy '{name}' with binding '{name}' denied request: ")
    assert told in answer.message


def test_atomic_parts_are_not_mutated(policies: Bound) -> None:
    rule = {
        "apiGroups": ["apps"],
        "apiVersions": ["v1"],
        "operations": ["CREATE"],
        "resources": ["deployments"],
    }
    policies.mutating(
        "Object{spec: Object.spec{selector: Object.spec.selector{matchLabels: {'a': 'b'}}}}",
        matchConstraints={"resourceRules": [rule]},
    )
    labels = {"x": "y"}
    pod = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    path = f"/apis/apps/v1/namespaces/{policies.space.name}/deployments"
    spec = {"selector": {"matchLabels": labels}, "template": pod}
    answer = policies.client.post(path, {"metadata": {"name": "d"}, "spec": spec})
    assert "may not mutate atomic arrays, maps or structs: .spec.selector" in answer.message
