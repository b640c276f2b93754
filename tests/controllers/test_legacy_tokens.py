"""Tokens in Secrets of release 1.36: their last use, and the end of unused ones."""

from __future__ import annotations

from base64 import b64decode
from typing import Any

from support.namespaces import Space
from support.process import MOVABLE_CLOCK, FreshServer
from support.waiting import eventually

USED, INVALID = "kubernetes.io/legacy-token-last-used", "kubernetes.io/legacy-token-invalid-since"
TRACKING = "/api/v1/namespaces/kube-system/configmaps/kube-apiserver-legacy-service-account-token"
SECRETS = "/api/v1/namespaces/default/secrets"
YEAR = 366 * 24 * 3600.0


def token_secret(name: str, account: str = "default") -> dict[str, Any]:
    annotations = {"kubernetes.io/service-account.name": account}
    metadata = {"name": name, "annotations": annotations}
    return {"metadata": metadata, "type": "kubernetes.io/service-account-token"}


def test_the_use_of_a_token_is_noted_in_its_secret(space_1_36: Space) -> None:
    space, secrets = space_1_36, space_1_36.secrets
    space.furnished()
    assert space.client.post(secrets.path, token_secret("t")).status == 201
    eventually(lambda: "token" in secrets.get("t").body.get("data", {}), "the token is there")
    token = b64decode(secrets.get("t").body["data"]["token"]).decode()
    client = space.server.client(token)
    assert client.get("/api").status == 200

    def labels() -> dict[str, str]:
        found: dict[str, str] = secrets.get("t").body["metadata"].get("labels", {})
        return found

    eventually(lambda: USED in labels(), "the day of use is noted")
    day = labels()[USED]
    tracking = space.client.get(f"{TRACKING}-tracking").body
    assert tracking["data"]["since"] == day

    marked = {"metadata": {"labels": {INVALID: day}}}
    assert secrets.patch("t", marked).status == 200
    assert client.get("/api").status == 401
    review = {"spec": {"token": token}}
    answer = space.client.post("/apis/authentication.k8s.io/v1/tokenreviews", review)
    assert "has been marked invalid" in answer.body["status"]["error"]


def test_unused_tokens_of_accounts_end(fresh_server: FreshServer) -> None:
    server = fresh_server("--release=1.36", prelude=MOVABLE_CLOCK)
    client = server.client()
    account = "/api/v1/namespaces/default/serviceaccounts/default"
    eventually(lambda: client.get(account).status == 200, "there is an account")
    for name in ("listed", "manual"):
        assert client.post(SECRETS, token_secret(name)).status == 201
    listed = {"secrets": [{"name": "listed"}]}
    assert client.patch(account, listed).status == 200

    def metadata(name: str) -> dict[str, Any]:
        found: dict[str, Any] = client.get(f"{SECRETS}/{name}").body["metadata"]
        return found

    server.advance(YEAR + 3 * 24 * 3600)
    eventually(lambda: INVALID in metadata("listed").get("labels", {}), "it is marked")
    assert INVALID not in metadata("manual").get("labels", {})
    server.advance(YEAR + 3 * 24 * 3600)
    eventually(lambda: client.get(f"{SECRETS}/listed").status == 404, "it is deleted")
    assert client.get(f"{SECRETS}/manual").status == 200
