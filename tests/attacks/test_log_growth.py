"""Unauthenticated clients cannot make the log grow, forge its lines or put secrets into it."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable

import pytest
from support.client import Client
from support.process import ServerProcess

from fairlead.base.dialect import DIALECTS


def jwt(**claims: object) -> str:
    parts = [json.dumps(part).encode() for part in ({"alg": "RS256", "kid": "x"}, claims)]
    return ".".join([*(base64.urlsafe_b64encode(p).rstrip(b"=").decode() for p in parts), "c2ln"])


@pytest.mark.parametrize("dialect", ["kubernetes", "cluster"])
def test_a_thousand_failed_attempts_are_a_few_lines(
    fresh_server: Callable[..., ServerProcess], dialect: str
) -> None:
    server = fresh_server(dialect=dialect)
    issuer = f"https://{DIALECTS[dialect].own_service}.default.svc"
    client = Client(server.address, server.ca, token=None)
    for number in range(250):
        for token in (
            f"secret-{number}",
            jwt(iss=issuer, sub=f"secret-{number}"),
            jwt(iss=issuer, aud=[f"secret-{number}\n2026 INFO forged"]),
            f"secret-\x9b31m\xff{number}",
        ):
            answer = client.get("/api", headers={"Authorization": f"Bearer {token}"})
            assert answer.status == 401
    client.close()
    text = server.log.read_text()
    assert 0 < text.count("\n") <= 6, text
    assert "secret" not in text
    assert "forged" not in text


def test_a_provider_that_is_down_is_mentioned_once(
    fresh_server: Callable[..., ServerProcess],
) -> None:
    server = fresh_server(
        *("--oidc-issuer-url", "https://127.0.0.1:9/realm", "--oidc-client-id", "c")
    )
    client = Client(server.address, server.ca, token=None)
    for number in range(100):
        token = jwt(iss="https://127.0.0.1:9/realm", sub=f"secret-{number}", aud="c")
        assert client.get("/api", headers={"Authorization": f"Bearer {token}"}).status == 401
    client.close()
    text = server.log.read_text()
    assert text.count("the OIDC provider cannot be used") == 1
    assert text.count("\n") <= 4, text
    assert "secret" not in text
