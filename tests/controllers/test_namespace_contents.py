"""The objects of every namespace, and token Secrets, on a server."""

from __future__ import annotations

import time
from base64 import b64decode
from collections.abc import Callable
from typing import Any

import pytest
from support.client import MERGE_PATCH, Client
from support.namespaces import random_word
from support.pace import in_time
from support.process import ServerProcess
from support.waiting import await_value


def exists(client: Client, path: str) -> Callable[[], bool]:
    return lambda: client.get(path).status == 200


def is_gone(client: Client, path: str) -> Callable[[], bool]:
    return lambda: client.get(path).status == 404


class Place:
    """A namespace of its own."""

    def __init__(self, server: ServerProcess, client: Client) -> None:
        self.client = client
        self.dialect = server.dialect
        self.name = f"ns-{random_word()}"
        self.path = f"/api/v1/namespaces/{self.name}"
        self.accounts = f"{self.path}/serviceaccounts"
        self.secrets = f"{self.path}/secrets"
        self.ca = f"{self.path}/configmaps/{self.dialect.ca_config_map}"
        self.made = time.monotonic()
        answer = client.post("/api/v1/namespaces", {"metadata": {"name": self.name}})
        assert answer.status == 201, answer.text

    def token_secret(self, name: str, account: str, **annotations: str) -> None:
        own = {self.dialect.label("@/service-account.name"): account, **annotations}
        secret = {
            "metadata": {"name": name, "annotations": own},
            "type": self.dialect.label("@/service-account-token"),
            "stringData": {"extra": "kept"},
        }
        answer = self.client.post(self.secrets, secret)
        assert answer.status == 201, answer.text


@pytest.fixture
def place(any_server: ServerProcess, client: Client) -> Place:
    return Place(any_server, client)


def test_new_namespace_has_its_service_account_and_ca_at_once(place: Place) -> None:
    await_value(exists(place.client, f"{place.accounts}/default"))
    await_value(exists(place.client, place.ca))
    # 100 ms on a machine of its own; tests share theirs.
    assert in_time(time.monotonic() - place.made, 1.0)


@pytest.mark.both_dialects
def test_ca_config_map(place: Place, any_server: ServerProcess) -> None:
    await_value(exists(place.client, place.ca))
    value = place.client.get(place.ca).body
    assert value["data"] == {"ca.crt": any_server.ca.read_text()}
    assert value["metadata"]["annotations"][place.dialect.label("@/description")]


def test_default_contents_of_a_namespace_are_made_again_when_deleted(place: Place) -> None:
    for path in (f"{place.accounts}/default", place.ca):
        await_value(exists(place.client, path))
        old = place.client.get(path).body["metadata"]["uid"]
        assert place.client.request("DELETE", path).status == 200
        await_value(exists(place.client, path))
        assert place.client.get(path).body["metadata"]["uid"] != old


def test_ca_is_put_right(place: Place) -> None:
    await_value(exists(place.client, place.ca))
    good = place.client.get(place.ca).body["data"]
    change = {"data": {"ca.crt": "forged", "more": "x"}, "metadata": {"labels": {"a": "b"}}}
    headers = {"Content-Type": MERGE_PATCH}
    assert place.client.request("PATCH", place.ca, change, headers=headers).status == 200
    await_value(lambda: place.client.get(place.ca).body["data"] == good)
    assert place.client.get(place.ca).body["metadata"]["labels"] == {"a": "b"}


def test_nothing_is_made_in_a_namespace_that_ends(place: Place) -> None:
    await_value(exists(place.client, f"{place.accounts}/default"))
    value = place.client.get(place.path).body
    assert value["metadata"]["name"] == place.name
    place.client.request("DELETE", place.path)
    account = f"{place.accounts}/default"
    place.client.request("DELETE", account)
    time.sleep(0.3)
    assert place.client.get(account).status == 404


class TestTokenSecrets:
    @pytest.mark.both_dialects
    def test_filled_and_removed_with_the_account(self, place: Place) -> None:
        client = place.client
        client.post(place.accounts, {"metadata": {"name": "robot"}})
        place.token_secret("token", "robot")
        path = f"{place.secrets}/token"
        data = await_value(lambda: client.get(path).body["data"].get("token") and client.get(path))
        value = data.body
        assert b64decode(value["data"]["namespace"]).decode() == place.name
        assert b64decode(value["data"]["extra"]) == b"kept"
        assert b"BEGIN CERTIFICATE" in b64decode(value["data"]["ca.crt"])
        uid = client.get(f"{place.accounts}/robot").body["metadata"]["uid"]
        annotation = place.dialect.label("@/service-account.uid")
        assert value["metadata"]["annotations"][annotation] == uid
        client.request("DELETE", f"{place.accounts}/robot")
        await_value(is_gone(client, path))

    def test_secret_without_an_account_is_removed(self, place: Place) -> None:
        place.token_secret("token", "nobody")
        await_value(is_gone(place.client, f"{place.secrets}/token"))

    @pytest.mark.both_dialects
    def test_secret_of_an_account_that_was_made_anew_is_removed(self, place: Place) -> None:
        place.client.post(place.accounts, {"metadata": {"name": "robot"}})
        uid = place.dialect.label("@/service-account.uid")
        place.token_secret("token", "robot", **{uid: "11111111-2222-3333-4444-555555555555"})
        await_value(is_gone(place.client, f"{place.secrets}/token"))

    def test_token_that_is_taken_out_is_put_back(self, place: Place) -> None:
        client, path = place.client, f"{place.secrets}/token"
        client.post(place.accounts, {"metadata": {"name": "robot"}})
        place.token_secret("token", "robot")
        await_value(lambda: client.get(path).body["data"].get("token"))
        headers = {"Content-Type": MERGE_PATCH}
        client.request("PATCH", path, {"data": {"token": None}}, headers=headers)
        await_value(lambda: client.get(path).body["data"].get("token"))


def test_existing_namespaces_are_completed_at_the_start(fresh_server: Any) -> None:
    server = fresh_server()
    for namespace in ("default", "kube-system", "kube-public", "kube-node-lease"):
        path = f"/api/v1/namespaces/{namespace}/serviceaccounts/default"
        await_value(exists(server.client(), path))
