"""`fairlead token create` and `fairlead bootstrap-token`."""

from __future__ import annotations

import json
from base64 import b64decode, urlsafe_b64decode

import pytest
from support.client import Object
from support.commands import Commands
from support.namespaces import random_word


@pytest.fixture
def accounts(fairlead: Commands) -> Commands:
    """A namespace with the service account `default`."""
    fairlead.space.ready_for_pods()
    return fairlead


def claims(token: str) -> Object:
    part = token.strip().split(".")[1]
    parsed: Object = json.loads(urlsafe_b64decode(part + "=" * (-len(part) % 4)))
    return parsed


def test_the_token_of_an_account_is_printed(accounts: Commands) -> None:
    result = claims(accounts("token", "create", "default", "--audience=a", "--audience=b"))
    assert result["sub"] == f"system:serviceaccount:{accounts.space.name}:default"
    assert result["aud"] == ["a", "b"]


def test_it_lasts_as_long_as_was_asked(accounts: Commands) -> None:
    result = claims(accounts("token", "create", "default", "--duration=20m"))
    assert result["exp"] - result["iat"] == 1200


@pytest.mark.both_dialects
def test_it_is_bound_to_an_object(accounts: Commands) -> None:
    created = accounts.space.secrets.create("s")
    bound = ("--bound-object-kind=Secret", "--bound-object-name=s")
    uid = created["metadata"]["uid"]
    result = claims(accounts("token", "create", "default", *bound, f"--bound-object-uid={uid}"))
    own = result[accounts.space.dialect.label("@")]
    assert own["secret"] == {"name": "s", "uid": uid}


def test_the_whole_request_can_be_shown(accounts: Commands) -> None:
    numbers = json.loads(accounts("token", "create", "default", "-o", "json"))
    assert (numbers["kind"], set(numbers["status"])) == (
        "TokenRequest",
        {"token", "expirationTimestamp"},
    )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "give one NAME, not 0"),
        (("nope",), 'failed to create token: serviceaccounts "nope" not found'),
        (("default", "--duration=0"), "--duration must be positive"),
        (("default", "--duration=1500ms"), "--duration takes whole seconds"),
        (("default", "--duration=1s"), "failed to create token: TokenRequest."),
        (
            ("default", "--duration=999999999999999s"),
            'invalid argument "999999999999999s" for "--duration" flag',
        ),
        (("default", "--bound-object-kind=Foo"), "--bound-object-kind takes Pod,"),
        (("default", "--bound-object-kind=Pod"), "--bound-object-kind needs --bound-object-name"),
        (("default", "--bound-object-uid=x"), "--bound-object-uid needs --bound-object-kind"),
        (("default", "-o=wide"), "-o wide is not possible here"),
    ],
)
def test_tokens_that_there_cannot_be(
    fairlead_kubernetes: Commands, words: tuple[str, ...], message: str
) -> None:
    fairlead_kubernetes.space.ready_for_pods()
    ran = fairlead_kubernetes.run("token", "create", *words)
    assert (ran.code, ran.out) == (1, "")
    assert ran.errors.startswith(f"error: {message}")


def secret(fairlead: Commands, id: str) -> Object:
    namespace = fairlead.space.dialect.system_namespace
    answer = fairlead.space.client.get(
        f"/api/v1/namespaces/{namespace}/secrets/bootstrap-token-{id}"
    )
    assert answer.status == 200, answer.text
    document: Object = answer.body
    return document


@pytest.mark.both_dialects
def test_a_bootstrap_token_is_kept_as_the_server_wants_it(fairlead: Commands) -> None:
    groups = "system:bootstrappers:a,system:bootstrappers:b"
    words = ("--description", "for nodes", "--ttl=2h", "--groups", groups)
    token = fairlead("bootstrap-token", "create", *words).strip()
    id, _, private = token.partition(".")
    assert (len(id), len(private)) == (6, 16)
    kept = secret(fairlead, id)
    assert kept["type"] == fairlead.space.dialect.label("bootstrap.@/token")
    data = {name: b64decode(value).decode() for name, value in kept["data"].items()}
    assert data.pop("expiration").endswith("Z")
    assert data == {
        "token-id": id,
        "token-secret": private,
        "description": "for nodes",
        "usage-bootstrap-signing": "true",
        "usage-bootstrap-authentication": "true",
        "auth-extra-groups": groups,
    }


def test_they_are_listed(fairlead: Commands) -> None:
    first, second = (f"{random_word(6)}.{random_word(16)}" for _ in range(2))
    fairlead("bootstrap-token", "create", first, "--ttl=0", "--usages=signing")
    group = "system:bootstrappers:x"
    fairlead("bootstrap-token", "create", second, "--groups", group, "--description=a\x1b[31m")
    head, *rows = fairlead("bootstrap-token", "list").splitlines()
    assert head.split() == ["TOKEN", "TTL", "EXPIRES", "USAGES", "DESCRIPTION", "EXTRA", "GROUPS"]
    cells = {row.split()[0]: row.split()[1:] for row in rows}
    assert cells[first] == ["<forever>", "<never>", "signing", "<none>", "<none>"]
    assert cells[second][0] == "23h"
    assert cells[second][2:] == ["authentication,signing", "a^[[31m", group]
    numbers = json.loads(fairlead("bootstrap-token", "list", "-o", "json"))
    assert {"token": first, "usages": ["signing"]} in numbers


@pytest.mark.both_dialects
def test_what_is_no_bootstrap_token_is_not_listed(fairlead: Commands) -> None:
    namespace = fairlead.space.dialect.system_namespace
    name = f"bootstrap-token-{random_word(6)}"
    body = {"metadata": {"name": name}, "stringData": {"token-id": "x", "token-secret": "y"}}
    answer = fairlead.space.client.post(f"/api/v1/namespaces/{namespace}/secrets", body)
    assert answer.status == 201
    assert name[-6:] not in fairlead("bootstrap-token", "list")


def test_they_are_deleted_by_id_or_as_a_whole(fairlead: Commands) -> None:
    first, second = (fairlead("bootstrap-token", "create").strip() for _ in range(2))
    ran = fairlead.run("bootstrap-token", "delete", first, "zzzzzz", second[:6])
    assert ran.code == 1
    assert ran.out.splitlines() == [
        f'bootstrap token "{token[:6]}" deleted' for token in (first, second)
    ]
    assert ran.errors == 'error: there is no bootstrap token "zzzzzz"\n'


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("create", "foo"), "the bootstrap token is not of the form"),
        (("create", "ABCDEF.0123456789abcdef"), "the bootstrap token is not of the form"),
        (("create", "--groups=system:masters"), "--groups: system:masters is not like"),
        (("create", "--groups=system:bootstrappers:"), "--groups: system:bootstrappers: is"),
        (("create", "--usages=frob"), '--usages: unknown usage "frob"'),
        (("create", "--usages="), "--usages: one is needed"),
        (
            ("create", "--usages=signing", "--groups=system:bootstrappers:a"),
            "--groups cannot be used without the usage authentication",
        ),
        (("create", "--ttl=-1s"), "--ttl must be at least a second"),
        (("create", "--ttl=100ms"), "--ttl must be at least a second"),
        (("create", "a", "b"), "at most one token can be given"),
        (("delete",), "at least one token id or token is needed"),
        (("delete", "foo"), "the bootstrap token is not of the form"),
    ],
)
def test_bootstrap_tokens_that_there_cannot_be(
    fairlead_kubernetes: Commands, words: tuple[str, ...], message: str
) -> None:
    ran = fairlead_kubernetes.run("bootstrap-token", *words)
    assert (ran.code, ran.out) == (1, "")
    assert ran.errors.startswith(f"error: {message}")


def test_the_same_id_is_not_given_twice(fairlead: Commands) -> None:
    token = fairlead("bootstrap-token", "create").strip()
    ran = fairlead.run("bootstrap-token", "create", f"{token[:6]}.{'0' * 16}")
    assert (ran.code, ran.errors) == (1, f"error: there is a token {token[:6]} already\n")
