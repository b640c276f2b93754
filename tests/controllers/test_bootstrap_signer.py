"""The public configuration of a server, signed with bootstrap tokens."""

from __future__ import annotations

import hmac
import json
from base64 import b64decode, urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable
from datetime import timedelta
from hashlib import sha256
from typing import Any

import pytest
import yaml
from support.namespaces import Collection
from support.process import MOVABLE_CLOCK, FreshServer, ServerProcess
from support.waiting import eventually

from fairlead.base import clock
from fairlead.codec.types.times import format_time

SECRET = "0123456789abcdef"
ENABLED = "--controllers=*,bootstrapsigner"


class Bootstrap:
    """The tokens of a server and what they sign."""

    def __init__(self, server: ServerProcess) -> None:
        self.server = server
        client = server.client()
        dialect = server.dialect
        self._type = dialect.label("bootstrap.@/token")
        self.secrets = Collection(client, f"/api/v1/namespaces/{dialect.system_namespace}/secrets")
        self.public = Collection(
            client, f"/api/v1/namespaces/{dialect.public_namespace}/configmaps"
        )

    def token(self, name: str, **data: Any) -> None:
        value = {"token-id": name, "token-secret": SECRET, "usage-bootstrap-signing": "true"}
        value |= {key.replace("_", "-"): text for key, text in data.items()}
        content = {key: text for key, text in value.items() if text is not None}
        self.secrets.create(f"bootstrap-token-{name}", type=self._type, stringData=content)

    def data(self) -> dict[str, str]:
        answer = self.public.get("cluster-info")
        result: dict[str, str] = answer.body.get("data", {}) if answer.status == 200 else {}
        return result

    def signatures(self) -> set[str]:
        prefix = "jws-kubeconfig-"
        return {name.removeprefix(prefix) for name in self.data() if name.startswith(prefix)}

    def await_signatures(self, *token_ids: str) -> None:
        eventually(lambda: self.signatures() == {*token_ids}, f"signed with {token_ids}")


def _verified(signature: str, content: str, key: str) -> dict[str, str]:
    """The header of a detached signature that is good."""
    header, payload, digest = signature.split(".")
    assert payload == ""
    body = urlsafe_b64encode(content.encode()).decode().rstrip("=")
    wanted = hmac.new(key.encode(), f"{header}.{body}".encode(), sha256).digest()
    assert urlsafe_b64decode(digest + "==") == wanted
    result: dict[str, str] = json.loads(urlsafe_b64decode(header + "=="))
    return result


@pytest.mark.parametrize(
    ("dialect", "key"), [("kubernetes", SECRET), ("cluster", f"abcdef.{SECRET}")]
)
def test_the_configuration_is_public_and_signed(
    fresh_server: FreshServer, dialect: str, key: str
) -> None:
    server = fresh_server(ENABLED, dialect=dialect)
    bootstrap = Bootstrap(server)
    eventually(lambda: "kubeconfig" in bootstrap.data(), "it is there at start")
    text = bootstrap.data()["kubeconfig"]
    (cluster,) = yaml.safe_load(text)["clusters"]
    assert cluster["cluster"]["server"] == server.address
    assert b64decode(cluster["cluster"]["certificate-authority-data"]) == server.ca.read_bytes()
    bootstrap.token("abcdef")
    bootstrap.await_signatures("abcdef")
    header = _verified(bootstrap.data()["jws-kubeconfig-abcdef"], text, key)
    assert header == {"alg": "HS256", "kid": "abcdef"}


def test_signatures_follow_tokens_and_content(fresh_server: FreshServer) -> None:
    server = fresh_server(ENABLED, prelude=MOVABLE_CLOCK)
    bootstrap = Bootstrap(server)
    in_an_hour = format_time(clock.now() + timedelta(hours=1))
    bootstrap.token("aaaaaa")
    bootstrap.token("bbbbbb", expiration=in_an_hour)
    bootstrap.token("cccccc", usage_bootstrap_signing="yes")
    bootstrap.token("dddddd", expiration="2001-01-01T00:00:00Z")
    bootstrap.token("eeeeee", token_id="ffffff")
    bootstrap.token("gggggg", token_secret=None)
    bootstrap.await_signatures("aaaaaa", "bbbbbb")

    def changed(what: str, change: Callable[[], Any], holds: Callable[[], bool]) -> None:
        change()
        eventually(holds, what)

    mine = {"data": {"kubeconfig": "my own", "other": "kept"}}
    changed(
        "other content is signed, not replaced",
        lambda: bootstrap.public.patch("cluster-info", mine),
        lambda: _is_signed(bootstrap, "aaaaaa", "my own"),
    )
    forged = {"data": {"jws-kubeconfig-aaaaaa": "x..y", "jws-kubeconfig-zzzzzz": "x..y"}}
    changed(
        "forged signatures go",
        lambda: bootstrap.public.patch("cluster-info", forged),
        lambda: (
            _is_signed(bootstrap, "aaaaaa", "my own")
            and bootstrap.signatures() == {"aaaaaa", "bbbbbb"}
        ),
    )
    changed(
        "a token that expires signs no more",
        lambda: server.advance(3605),
        lambda: bootstrap.signatures() == {"aaaaaa"},
    )
    changed(
        "nor one that goes",
        lambda: bootstrap.secrets.remove("bootstrap-token-aaaaaa"),
        lambda: bootstrap.signatures() == set(),
    )
    assert bootstrap.data() == {"kubeconfig": "my own", "other": "kept"}
    changed(
        "a lost config map comes back",
        lambda: bootstrap.public.remove("cluster-info"),
        lambda: "certificate-authority-data" in bootstrap.data().get("kubeconfig", ""),
    )


def _is_signed(bootstrap: Bootstrap, token_id: str, content: str) -> bool:
    data = bootstrap.data()
    if data.get("kubeconfig") != content:
        return False
    try:
        _verified(data[f"jws-kubeconfig-{token_id}"], content, SECRET)
    except (AssertionError, KeyError, ValueError):
        return False
    return True


def test_what_the_server_said_of_itself_is_kept_true(fresh_server: FreshServer) -> None:
    server = fresh_server(ENABLED)
    bootstrap = Bootstrap(server)
    bootstrap.token("abcdef")
    bootstrap.await_signatures("abcdef")
    before = server.address
    server.stop()
    server.start()  # on another port
    assert server.address != before
    bootstrap = Bootstrap(server)
    eventually(
        lambda: server.address in bootstrap.data()["kubeconfig"], "the address is the new one"
    )
    text = bootstrap.data()["kubeconfig"]
    eventually(lambda: _is_signed(bootstrap, "abcdef", text), "and signed again")


def test_it_is_off_by_default(server: ServerProcess) -> None:
    assert Bootstrap(server).public.get("cluster-info").status == 404
