"""Secrets with tokens of service accounts: they are deleted with their account, and removed from
it."""

from __future__ import annotations

from support.namespaces import Space
from support.waiting import eventually


def _token(space: Space, name: str, account: str, **annotations: str) -> None:
    label = space.dialect.label
    named = {label("@/service-account.name"): account}
    given = {label(f"@/{key.replace('_', '.')}"): text for key, text in annotations.items()}
    kind = label("@/service-account-token")
    space.secrets.create(name, metadata={"annotations": {**named, **given}}, type=kind)
    eventually(lambda: "data" in space.secrets.read(name), f"{name} is filled in")


def test_tokens_of_a_deleted_account_go(space: Space) -> None:
    accounts = space.collection("serviceaccounts")
    accounts.create_all("one", "two")
    _token(space, "of-one", "one")
    _token(space, "also-of-one", "one")
    _token(space, "of-two", "two")
    space.secrets.create("other")
    accounts.remove("one")
    eventually(lambda: space.secrets.names() == ["of-two", "other"], "the tokens of one are gone")


def test_tokens_of_an_account_of_the_same_name_before_it_go(space: Space) -> None:
    accounts = space.collection("serviceaccounts")
    accounts.create("one")
    _token(space, "old", "one")
    uid = accounts.read("one")["metadata"]["uid"]
    accounts.remove("one")
    accounts.create("one")
    eventually(lambda: space.secrets.names() == [], "the token of the old account is gone")
    assert accounts.read("one")["metadata"]["uid"] != uid


def test_an_account_does_not_list_tokens_that_went(space: Space) -> None:
    accounts = space.collection("serviceaccounts")
    listed = [{"name": "token"}, {"name": "other"}, {"name": "plain"}]
    accounts.create("one", secrets=listed)
    accounts.create("two", secrets=listed)
    _token(space, "token", "one")
    space.secrets.create("plain")
    space.secrets.remove("plain")
    space.secrets.remove("token")
    left = [{"name": "other"}, {"name": "plain"}]
    eventually(lambda: accounts.read("one")["secrets"] == left, "the token is not listed")
    assert accounts.read("two")["secrets"] == listed
