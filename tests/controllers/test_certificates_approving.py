"""Automatic approval of the signing requests of nodes."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from support.client import Object
from support.kubectl import Kubectl
from support.namespaces import Space, random_word
from support.signing_requests import CLIENT_USAGES, NODE, Requests, object_of, request_pem
from support.waiting import eventually

OWN = "Auto approving self kubelet client certificate after SubjectAccessReview."
ANY = "Auto approving kubelet client certificate after SubjectAccessReview."


def _allow(space: Space, user: str, right: str) -> None:
    domain = space.dialect.group_name("certificates.@")
    binding = {
        "metadata": {"name": f"test-{random_word()}"},
        "roleRef": {
            "apiGroup": space.dialect.group_name("rbac.authorization.@"),
            "kind": "ClusterRole",
            "name": f"system:{domain}:certificatesigningrequests:{right}",
        },
        "subjects": [{"kind": "User", "name": user}],
    }
    path = f"{space.base('rbac.authorization.@')}/clusterrolebindings"
    answer = space.client.post(path, binding)
    assert answer.status == 201, answer.text


def _ask(
    space: Space, user: str, node: str, usages: list[str] = CLIENT_USAGES
) -> tuple[Requests, str]:
    requests = Requests(space.client, space.dialect)
    signer = space.dialect.signer_client_node
    sender = user, "system:masters"
    return requests, requests.create(signer, usages, request_pem(node, NODE), sender)


def _approval(requests: Requests, name: str) -> Object:
    eventually(lambda: requests.condition(name, "Approved") is not None, f"{name} is approved")
    result = requests.condition(name, "Approved")
    assert result is not None
    return result


@pytest.mark.parametrize(
    ("sender", "message"), [("system:node:n1", OWN), ("somebody", ANY)], ids=["own", "another"]
)
def test_node_certificate_is_approved_for_users_with_the_right(
    space: Space, sender: str, message: str
) -> None:
    requests, name = _ask(space, sender, "system:node:n1")
    value = _approval(requests, name)
    assert (value["reason"], value["message"]) == ("AutoApproved", message)
    assert value["status"] == "True"
    assert requests.certificate(name)


@pytest.mark.both_dialects
def test_node_certificate_waits_until_the_right_is_granted(space: Space) -> None:
    user = f"system:node:{random_word()}"
    requests = Requests(space.client, space.dialect)
    group = f"group-{random_word()}"
    _let_create(space, group)
    signer = space.dialect.signer_client_node
    waiting = requests.create(signer, CLIENT_USAGES, request_pem(user, NODE), (user, group))
    _ = requests.certificate(_ask(space, "admin", user)[1])  # both had their turn
    assert requests.collection.read(waiting)["status"] == {}
    _allow(space, user, "selfnodeclient")
    assert _approval(requests, waiting)["message"] == OWN


def _let_create(space: Space, group: str) -> None:
    rbac = space.base("rbac.authorization.@")
    name = f"test-{random_word()}"
    rule = {
        "apiGroups": [space.dialect.group_name("certificates.@")],
        "resources": ["certificatesigningrequests"],
        "verbs": ["create"],
    }
    role = {"metadata": {"name": name}, "rules": [rule]}
    assert space.client.post(f"{rbac}/clusterroles", role).status == 201
    domain = space.dialect.group_name("rbac.authorization.@")
    binding = {
        "metadata": {"name": name},
        "roleRef": {"apiGroup": domain, "kind": "ClusterRole", "name": name},
        "subjects": [{"kind": "Group", "name": group}],
    }
    assert space.client.post(f"{rbac}/clusterrolebindings", binding).status == 201


@pytest.mark.both_dialects
def test_the_right_for_ones_own_is_not_that_for_others(space: Space) -> None:
    group, user = f"group-{random_word()}", f"system:node:{random_word()}"
    _let_create(space, group)
    _allow(space, user, "selfnodeclient")
    requests = Requests(space.client, space.dialect)
    signer = space.dialect.signer_client_node
    pem = request_pem("system:node:other", NODE)
    of_other = requests.create(signer, CLIENT_USAGES, pem, (user, group))
    own = requests.create(signer, CLIENT_USAGES, request_pem(user, NODE), (user, group))
    assert _approval(requests, own)["message"] == OWN
    assert requests.condition(of_other, "Approved") is None


@pytest.mark.both_dialects
def test_request_unlike_those_of_nodes_is_not_approved_automatically(space: Space) -> None:
    requests, odd = _ask(space, "somebody", "system:node:n1", [*CLIENT_USAGES, "cert sign"])
    others = [
        requests.create(signer, CLIENT_USAGES, request_pem("system:node:n1", NODE))
        for signer in (space.dialect.signer_client, space.dialect.signer_node_serving)
    ]
    requests.certificate(_ask(space, "somebody", "system:node:n1")[1])  # they had their turn
    assert [requests.collection.read(name)["status"] for name in (odd, *others)] == [{}, {}, {}]


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="needs kubectl")
def test_kubectl_approves_and_denies(kubernetes: Space, tmp_path: Path) -> None:
    kubectl = Kubectl(kubernetes.server, kubernetes.name, tmp_path)
    requests = Requests(kubernetes.client, kubernetes.dialect)
    body = object_of(kubernetes.dialect.signer_client, ["client auth"], request_pem("jane"))
    approved = body["metadata"]["name"]
    assert requests.collection.client.post(requests.collection.path, body).status == 201
    denied = requests.create(kubernetes.dialect.signer_client, ["client auth"], request_pem("jane"))
    kubectl("certificate", "approve", approved)
    kubectl("certificate", "deny", denied)
    requests.certificate(approved)
    output = kubectl("get", "csr", approved, denied, "--no-headers")
    assert [line.split()[-1] for line in output.splitlines()] == ["Approved,Issued", "Denied"]
