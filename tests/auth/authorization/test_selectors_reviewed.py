"""Selectors in access reviews, SelfSubjectReview, and rights of connections in release 1.36."""

from __future__ import annotations

from typing import Any

import pytest
from support.namespaces import Space

REVIEWS = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
RBAC = "rbac.authorization.k8s.io"


def review(space: Space, **selectors: Any) -> Any:
    attributes = {"verb": "list", "resource": "pods", **selectors}
    who = {"user": "system:node:n1", "groups": ["system:nodes"]}
    body = {"spec": {**who, "resourceAttributes": attributes}}
    return space.client.post(REVIEWS, body)


@pytest.mark.parametrize(
    ("selector", "allowed", "error"),
    [
        ({"rawSelector": "spec.nodeName=n1"}, True, None),
        ({"rawSelector": "spec.nodeName"}, False, "ignored due to parse error"),
        ({"requirements": [("spec.nodeName", "In", ["n1"])]}, True, None),
        ({"requirements": [("spec.nodeName", "In", ["n1", "n2"])]}, False, "ignored due to parse"),
        (
            {"requirements": [("spec.nodeName", "In", ["n1"]), ("a", "Near", [])]},
            True,
            "partially ignored due to parse error",
        ),
    ],
)
def test_reviews_consider_field_selectors(
    space_1_36: Space, selector: Any, allowed: bool, error: str | None
) -> None:
    if "requirements" in selector:
        names = ("key", "operator", "values")
        rules = [dict(zip(names, rule, strict=True)) for rule in selector["requirements"]]
        selector = {"requirements": rules}
    status = review(space_1_36, fieldSelector=selector).body["status"]
    assert status["allowed"] is allowed
    assert (error or "") in status.get("evaluationError", "")
    assert ("evaluationError" in status) is (error is not None)


def test_a_label_selector_is_checked(space_1_36: Space) -> None:
    rules = [{"key": "-", "operator": "In", "values": ["a b"]}]
    answer = review(space_1_36, labelSelector={"requirements": rules})
    path = "spec.resourceAttributes.labelSelector.requirements[0]"
    assert [field for field, _, _ in answer.causes] == [f"{path}.key", f"{path}.values[0]"]


def test_a_user_reviews_itself(space_1_36: Space) -> None:
    alice = space_1_36.server.client("alice-token")
    path = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
    answer = alice.post(path, {"status": {"userInfo": {"username": "other"}}})
    assert answer.status == 201
    info = answer.body["status"]["userInfo"]
    assert info["username"] == "alice"
    assert "system:authenticated" in info["groups"]
    assert space_1_36.client.get(path).status == 405


@pytest.mark.parametrize("subresource", ["exec", "attach", "portforward"])
def test_a_connection_needs_create_also_by_get(space_1_36: Space, subresource: str) -> None:
    space = space_1_36
    role = space.collection("roles", "rbac.authorization.@")
    verbs = {"apiGroups": [""], "resources": [f"pods/{subresource}"], "verbs": ["get"]}
    role.create("r", rules=[verbs])
    subject = {"kind": "User", "apiGroup": RBAC, "name": "alice"}
    ref = {"apiGroup": RBAC, "kind": "Role", "name": "r"}
    space.collection("rolebindings", "rbac.authorization.@").create(
        "r", subjects=[subject], roleRef=ref
    )
    alice = space.server.client("alice-token")
    pods = space.collection("pods")
    assert alice.get(pods.item("p", subresource)).status == 403
    role.patch("r", {"rules": [{**verbs, "verbs": ["get", "create"]}]})
    assert alice.get(pods.item("p", subresource)).status == 404
