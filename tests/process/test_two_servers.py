"""Two servers on one etcd are one server to clients, also when one of them stops."""

from __future__ import annotations

import json
import signal
from base64 import b64decode, b64encode
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from support.client import ADMIN_TOKEN
from support.console import SESSION, code_of, enter, is_known, renew
from support.etcd import needs_etcd
from support.namespaces import random_word
from support.process import failed_start
from support.reference_store import put, value_at
from support.two_servers import ADDRESSES, Fleet, Member
from support.waiting import eventually

pytestmark = needs_etcd

VERSION = "/registry/fairlead/version"
SECRETS = "/api/v1/namespaces/kube-system/secrets"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    fleet = Fleet(tmp_path_factory.mktemp("fleet"))
    yield fleet
    fleet.close()


def listed(member: Member) -> list[str]:
    endpoints = member.client.get("/api/v1/namespaces/default/endpoints/kubernetes").body
    return sorted(
        address["ip"] for subset in endpoints["subsets"] for address in subset["addresses"]
    )


def has_controllers(member: Member) -> bool:
    """Whether a new namespace gets its default objects."""
    name = f"n-{random_word()}"
    assert member.client.post("/api/v1/namespaces", {"metadata": {"name": name}}).status == 201
    account = f"/api/v1/namespaces/{name}/serviceaccounts/default"
    eventually(lambda: member.client.get(account).status == 200, "controllers work")
    return True


def lists_both(member: Member) -> bool:
    return listed(member) == list(ADDRESSES)


def test_both_serve_and_are_listed_and_one_leads(fleet: Fleet) -> None:
    leader, other = fleet.leader_and_other()
    for member in (leader, other):
        eventually(partial(lists_both, member), "both are listed")
        assert has_controllers(member)


def test_a_session_of_the_console_is_one_of_both_servers(fleet: Fleet) -> None:
    first, other = (member.client_of for member in fleet.members)
    code = code_of(first(ADMIN_TOKEN))
    session = enter(other(None), code).body["token"]
    assert enter(first(None), code).status == 401  # a code is good once
    assert is_known(first(session))
    assert renew(first(session)).status == 200
    assert first(session).delete(SESSION).status == 200
    eventually(lambda: not is_known(other(session)), "it has ended at the other, too")


def test_one_who_writes_secrets_cannot_forge_a_session(fleet: Fleet) -> None:
    first, other = (member.client_of for member in fleet.members)
    session = enter(other(None), code_of(first(ADMIN_TOKEN))).body["token"]
    admin = first(ADMIN_TOKEN)
    listed = admin.get(f"{SECRETS}?fieldSelector=type=fairlead.dev/console").body["items"]
    (kept,) = [item for item in listed if "-sessions-" in item["metadata"]["name"]]
    content = json.loads(b64decode(b64decode(kept["data"]["content"])))
    content["user"]["name"] = "somebody"
    forged = b64encode(b64encode(json.dumps(content).encode())).decode()
    path = f"{SECRETS}/{kept['metadata']['name']}"
    assert admin.patch(path, {"data": {"content": forged}}).status == 200
    eventually(lambda: not is_known(first(session)), "it is not valid any more")
    eventually(lambda: not is_known(other(session)), "nor at the other")


def test_what_one_gives_out_the_other_takes(fleet: Fleet) -> None:
    first, other = fleet.members
    response = first.client.post(
        "/api/v1/namespaces/default/configmaps", {"metadata": {"name": "c"}}
    )
    reply = other.client.get("/api/v1/namespaces/default/configmaps/c")
    assert reply.body["metadata"] == response.body["metadata"]
    token = first.client.post(
        "/api/v1/namespaces/default/serviceaccounts/default/token",
        {"kind": "TokenRequest", "apiVersion": "authentication.k8s.io/v1", "spec": {}},
    ).body["status"]["token"]
    review = {"spec": {"token": token}}
    answer = other.client.post("/apis/authentication.k8s.io/v1/tokenreviews", review).body
    assert answer["status"]["user"]["username"] == "system:serviceaccount:default:default"


def test_extension_servers_are_told_to_trust_both(fleet: Fleet) -> None:
    path = "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication"
    reported = fleet.members[0].client.get(path).body["data"]["requestheader-client-ca-file"]
    authorities = {
        (member.server.data / "pki" / "front-proxy-ca.crt").read_text() for member in fleet.members
    }
    assert len(authorities) == 2
    assert all(authority in reported for authority in authorities)


def test_a_store_that_does_not_answer_holds_nobody_longer_than_they_say(fleet: Fleet) -> None:
    client = fleet.members[0].client
    fleet.etcd.pause()
    try:
        for answer in (
            client.get("/api/v1/namespaces", timeout="300ms"),
            client.delete("/api/v1/namespaces/default/configmaps/none", timeout="300ms"),
        ):
            assert (answer.status, answer.body["reason"]) == (504, "Timeout")
    finally:
        fleet.etcd.resume()
    eventually(lambda: client.get("/api/v1/namespaces").status == 200, "it goes on")


def test_a_leader_that_is_stopped_hands_over_at_once(fleet: Fleet) -> None:
    leader, other = fleet.leader_and_other()
    assert leader.server.stop() == 0
    eventually(lambda: other.leads, "the other one leads")
    assert listed(other) == [other.address]
    assert has_controllers(other)
    leader.start()
    eventually(lambda: len(listed(other)) == 2, "it is back")
    assert has_controllers(leader)


def test_a_leader_that_is_killed_is_followed_when_its_lease_ends(fleet: Fleet) -> None:
    leader, other = fleet.leader_and_other()
    transitions = other.client.get(f"{LEASES}/kube-controller-manager").body["spec"]
    leader.server.kill()
    for _ in range(5):
        other.server.advance(5)
        other.client.get("/livez")
    eventually(lambda: other.leads, "the other one leads")
    eventually(lambda: listed(other) == [other.address], "it is listed alone")
    spec = other.client.get(f"{LEASES}/kube-controller-manager").body["spec"]
    assert spec["leaseTransitions"] == transitions["leaseTransitions"] + 1
    assert has_controllers(other)
    leader.start()


def test_a_leader_that_stood_still_does_not_go_on(fleet: Fleet) -> None:
    leader, other = fleet.leader_and_other()
    leader.server.signal(signal.SIGSTOP)
    leader.server.advance(30)  # as long as it seems to the other one
    for _ in range(5):
        other.server.advance(5)
        other.client.get("/livez")
    eventually(lambda: other.leads, "the other one leads")
    leader.server.signal(signal.SIGCONT)
    eventually(lambda: not leader.leads, "it has noticed")
    assert other.leads
    assert has_controllers(leader)


def test_a_server_of_another_ca_does_not_join(fleet: Fleet, tmp_path: Path) -> None:
    flags = ("--storage", "etcd", "--etcd-servers", fleet.etcd.url)
    ended = failed_start(tmp_path, *flags)
    assert ended.returncode == 1
    assert ended.stderr.startswith("fairlead: the store belongs to servers of another CA")


def test_a_server_of_another_dialect_does_not_join(fleet: Fleet, tmp_path: Path) -> None:
    flags = ("--storage", "etcd", "--etcd-servers", fleet.etcd.url)
    ended = failed_start(tmp_path, *flags, dialect="cluster")
    assert ended.returncode == 1
    message = "fairlead: the store holds objects of the kubernetes dialect: start with --dialect"
    assert message in ended.stderr
    item = fleet.members[0].client
    assert "cluster-system" not in item.get("/api/v1/namespaces").names


def test_a_server_does_not_join_servers_of_a_newer_format(fleet: Fleet, tmp_path: Path) -> None:
    current = value_at(fleet.etcd, VERSION)
    put(fleet.etcd, VERSION, b'{"format":9,"release":"9.0.0"}')
    flags = ("--storage", "etcd", "--etcd-servers", fleet.etcd.url)
    ended = failed_start(tmp_path, *flags)
    put(fleet.etcd, VERSION, current)
    assert (ended.returncode, ended.stdout) == (1, "")
    assert "has format 9, written by a newer release, 9.0.0" in ended.stderr
    assert ended.stderr.count("\n") == 1
