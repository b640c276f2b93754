"""Sessions that a user created as another user."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from support.audited import Audited
from support.client import Client
from support.console import ask_link, code_of, enter, renew
from support.namespaces import Space, random_word
from support.process import ServerProcess

RBAC = "rbac.authorization.@"


@dataclass(slots=True)
class Right:
    """That alice, who has no other, may act as somebody else."""

    space: Space
    alice: Client
    name: str

    def revoke(self) -> None:
        self.space.everywhere("clusterrolebindings", RBAC).delete(self.name)

    def session(self, user: str) -> Client:
        headers = {"Impersonate-User": user}
        return session_of(self.space.server, code_of(self.alice, **headers))


def session_of(server: ServerProcess, code: str) -> Client:
    answer = enter(server.client(None), code)
    assert answer.status == 201, answer.text
    return server.client(answer.body["token"])


def grant(space: Space, name: str, rules: list[dict[str, list[str]]], user: str) -> None:
    group = space.dialect.group_name(RBAC)
    space.everywhere("clusterroles", RBAC).create(name, rules=rules)
    space.everywhere("clusterrolebindings", RBAC).create(
        name,
        roleRef={"apiGroup": group, "kind": "ClusterRole", "name": name},
        subjects=[{"apiGroup": group, "kind": "User", "name": user}],
    )


@pytest.fixture
def right(space: Space) -> Iterator[Right]:
    name = f"right-{random_word()}"
    resources = ["users", "serviceaccounts"]
    rules = [{"apiGroups": [""], "resources": resources, "verbs": ["impersonate"]}]
    grant(space, name, rules, "alice")
    right = Right(space, space.server.client("alice-token"), name)
    yield right
    right.revoke()  # others share the server, and alice


def test_a_session_as_another_user_ends_with_the_right_to_it(right: Right) -> None:
    page = right.session("carol")
    assert page.get("/api/v1/secrets").status == 403
    right.revoke()
    assert page.get("/api/v1/secrets").status == 401
    assert renew(page).status == 401


def test_a_session_as_a_service_account_ends_with_the_account(right: Right) -> None:
    accounts = right.space.collection("serviceaccounts")
    accounts.create("robot")
    user = f"system:serviceaccount:{right.space.name}:robot"
    page = right.session(user)
    assert page.get("/api/v1/secrets").status == 403
    accounts.remove("robot")
    assert page.get("/api/v1/secrets").status == 401
    accounts.create("robot")
    assert page.get("/api/v1/secrets").status == 401


def test_there_is_no_session_as_a_service_account_that_is_not_there(right: Right) -> None:
    user = f"system:serviceaccount:{right.space.name}:missing"
    answer = ask_link(right.alice, **{"Impersonate-User": user})
    assert (answer.status, answer.body["reason"]) == (403, "Forbidden")


def test_the_history_of_what_it_wrote_names_both_users(right: Right) -> None:
    name = f"write-{random_word()}"
    rules = [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["create"]}]
    grant(right.space, name, rules, name)
    maps = right.space.collection("configmaps")
    page = right.session(name)
    assert page.post(maps.path, {"metadata": {"name": "a"}}).status == 201
    [item] = right.space.client.get(f"/history{maps.item('a')}").body["items"]
    assert (item["user"], item["impersonator"]) == (name, "alice")


def test_who_acts_as_another_in_a_session_cannot_act_as_a_third(right: Right) -> None:
    page = right.session("carol")
    answer = page.get("/api/v1/secrets", headers={"Impersonate-User": "dave"})
    assert (answer.status, answer.body["reason"]) == (403, "Forbidden")
    assert answer.message == "an impersonated session cannot impersonate another user"


def test_a_review_does_not_vouch_for_its_token(right: Right) -> None:
    token = right.session("carol").token
    reviews = right.space.everywhere("tokenreviews", "authentication.@")
    answer = right.space.client.post(reviews.path, {"spec": {"token": token}})
    assert not answer.body["status"].get("authenticated")


def test_the_audit_log_names_both_users(audited: Audited) -> None:
    link = ask_link(audited.client, **{"Impersonate-User": "carol"})
    opened = enter(audited.server.client(None), link.body["code"])
    notes = audited.last(opened)["annotations"]
    assert notes["console.fairlead.dev/user"] == "carol"
    assert notes["console.fairlead.dev/impersonator"] == "admin"
    assert opened.body["impersonator"] == "admin"
    page = audited.server.client(opened.body["token"])
    for answer in (page.get("/api/v1/secrets"), renew(page)):
        event = audited.last(answer)
        assert event["user"]["username"] == "admin"
        assert event["impersonatedUser"]["username"] == "carol"
