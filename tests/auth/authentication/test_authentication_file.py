"""`--authentication-config`: its checks, mappings of claims, anonymous requests, its reload."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import orjson
import pytest
from support.authentication import OidcProvider, make_ca, rsa_key
from support.process import FreshServer, ServerProcess
from support.waiting import eventually

from fairlead.auth.authentication.claim_mappings import ClaimMappings
from fairlead.auth.authentication.configuration import AuthenticationFile
from fairlead.auth.authentication.tokens import BadToken
from fairlead.auth.authentication.user import User
from fairlead.base.dialect import KUBERNETES
from fairlead.base.release import V1_36
from fairlead.codec.configuration_files import ConfigurationError
from fairlead.codec.types.builtin import BuiltinTypes
from fairlead.resources.gates import Gates

HEAD = {"apiVersion": "apiserver.config.k8s.io/v1", "kind": "AuthenticationConfiguration"}
OWN = "https://kubernetes.default.svc"
ISSUER = {"url": "https://a.example.com", "audiences": ["client"]}
USERNAME = {"username": {"claim": "sub", "prefix": "a:"}}
KEY = rsa_key()


def jwt(issuer: Any = None, mappings: Any = None, **others: Any) -> dict[str, Any]:
    return {
        "issuer": {**ISSUER, **(issuer or {})},
        "claimMappings": USERNAME if mappings is None else mappings,
        **others,
    }


def write(directory: Path, **content: Any) -> Path:
    path = directory / "authentication.yaml"
    path.write_bytes(orjson.dumps({**HEAD, **content}))
    return path


def read(path: Path) -> Any:
    types, gates = BuiltinTypes(KUBERNETES, V1_36), Gates(release=V1_36)
    return AuthenticationFile(path, types, gates, [OWN]).read()


def mapper(directory: Path, **changes: Any) -> ClaimMappings:
    mapped: ClaimMappings = read(write(directory, jwt=[jwt(**changes)])).issuers[0].mapper
    return mapped


def user_of(directory: Path, claims: dict[str, Any], **changes: Any) -> User:
    return asyncio.run(mapper(directory, **changes).user(claims))


def test_a_file_may_have_no_issuers(tmp_path: Path) -> None:
    settings = read(write(tmp_path))
    assert settings == ([], None, frozenset())


def test_issuers_and_anonymous_paths_are_read(tmp_path: Path) -> None:
    ca = make_ca(tmp_path).files[0].read_text()
    issuer = {"discoveryURL": "https://b.example.com/x", "certificateAuthority": ca}
    anonymous = {"enabled": True, "conditions": [{"path": "/livez"}, {"path": "/readyz"}]}
    settings = read(write(tmp_path, jwt=[jwt(issuer)], anonymous=anonymous))
    assert settings.issuers[0].discovery_url == "https://b.example.com/x"
    assert settings.issuers[0].authority == ca.encode()
    assert settings.anonymous is True
    assert settings.paths == {"/livez", "/readyz"}


@pytest.mark.parametrize(
    ("issuer", "error"),
    [
        ({"url": ""}, "jwt[0].issuer.url: Required value"),
        ({"url": "http://x"}, "URL scheme must be https"),
        ({"url": "https://u:p@x"}, "URL must not contain a username or password"),
        ({"url": "https://x?a=b"}, "URL must not contain a query"),
        ({"url": "https://x#a"}, "URL must not contain a fragment"),
        ({"url": "https://[x"}, "jwt[0].issuer.url: Invalid value"),
        ({"url": OWN}, "URL must not overlap with disallowed issuers"),
        ({"discoveryURL": ISSUER["url"]}, "discoveryURL must be different from URL"),
        ({"audiences": []}, "jwt[0].issuer.audiences: Required value"),
        ({"audiences": ["a", "a"]}, 'jwt[0].issuer.audiences[1]: Duplicate value: "a"'),
        ({"audiences": ["a", "b"]}, "audienceMatchPolicy must be MatchAny"),
        ({"audienceMatchPolicy": "All"}, "must be empty or MatchAny for single audience"),
        ({"certificateAuthority": "x"}, "unable to parse bytes as PEM block"),
        ({"egressSelectorType": "x"}, "egress selector must be either"),
    ],
)
def test_invalid_issuers_are_named(tmp_path: Path, issuer: Any, error: str) -> None:
    with pytest.raises(ConfigurationError) as raised:
        read(write(tmp_path, jwt=[jwt(issuer)]))
    assert str(raised.value).startswith(f"--authentication-config: {tmp_path}")
    assert error in str(raised.value)


EXTRA = {"key": "acme.io/a", "valueExpression": "claims.a"}


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"mappings": {}}, "claimMappings.username: Required value: claim or expression is"),
        ({"mappings": {"username": {"claim": "sub"}}}, "username.prefix: Required value"),
        (
            {"mappings": {"username": {"claim": "sub", "expression": "'a'"}}},
            "claim and expression can't both be set",
        ),
        (
            {"mappings": {"username": {"expression": "claims.sub", "prefix": ""}}},
            "may not be specified when expression is set",
        ),
        ({"mappings": {"username": {"expression": "sub"}}}, "undeclared reference to 'sub'"),
        (
            {"mappings": {"username": {"expression": "claims.email"}}},
            "claims.email_verified must be used",
        ),
        (
            {"mappings": {"username": {"expression": "claims.?email.orValue('x')"}}},
            "claims.email_verified must be used",
        ),
        (
            {"mappings": {**USERNAME, "extra": [{**EXTRA, "key": "a"}]}},
            "must be a domain-prefixed path",
        ),
        (
            {"mappings": {**USERNAME, "extra": [{**EXTRA, "key": "x.k8s.io/a"}]}},
            "are reserved for Kubernetes use",
        ),
        ({"mappings": {**USERNAME, "extra": [{**EXTRA, "key": "a.io/A"}]}}, "must be lowercase"),
        ({"mappings": {**USERNAME, "extra": [EXTRA, EXTRA]}}, "extra[1].key: Duplicate value"),
        ({"claimValidationRules": [{}]}, "claim or expression is required"),
        ({"claimValidationRules": [{"expression": "1"}]}, "must evaluate to bool"),
        ({"claimValidationRules": [{"expression": "claims.a"}]}, "must evaluate to bool"),
        ({"userValidationRules": [{"expression": "user.no == ''"}]}, "undefined field 'no'"),
        ({"userValidationRules": [{"expression": ""}]}, "[0].expression: Required value"),
    ],
)
def test_invalid_mappings_and_rules_are_named(tmp_path: Path, changes: Any, error: str) -> None:
    with pytest.raises(ConfigurationError) as raised:
        read(write(tmp_path, jwt=[jwt(**changes)]))
    assert error in str(raised.value)


def test_two_issuers_need_two_urls(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="Duplicate value"):
        read(write(tmp_path, jwt=[jwt(), jwt()]))
    with pytest.raises(ConfigurationError, match="Too many: 65"):
        read(write(tmp_path, jwt=[jwt()] * 65))


def test_claims_become_a_user(tmp_path: Path) -> None:
    mappings = {
        "username": {"expression": "claims.sub + '@' + claims.org.name"},
        "groups": {"expression": "claims.roles.map(r, 'r:' + r)"},
        "uid": {"expression": "claims.?id.orValue('none')"},
        "extra": [
            {"key": "acme.io/level", "valueExpression": "string(claims.level)"},
            {"key": "acme.io/none", "valueExpression": "claims.nothing"},
        ],
    }
    claims = {
        "sub": "jane",
        "org": {"name": "x"},
        "roles": ["a", ""],
        "id": "7",
        "level": 3,
        "nothing": None,
        "jti": "t1",
    }
    user = user_of(tmp_path, claims, mappings=mappings)
    extra = {"authentication.kubernetes.io/credential-id": ("JTI=t1",), "acme.io/level": ("3",)}
    assert user == User("jane@x", "7", ("r:a", "r:"), extra)


def test_names_that_are_no_fields_can_be_escaped(tmp_path: Path) -> None:
    claims = {"kubernetes.io": {"pod-name": "p", "a__b": "c", "if": "d"}, "x/y": "z"}
    name = "claims.kubernetes__dot__io"
    parts = (
        f"{name}.pod__dash__name",
        f"{name}.a__underscores__b",
        f"{name}.?__if__.orValue('')",
        "claims.x__slash__y",
        "claims['kubernetes.io']['pod-name']",
    )
    rule = f"has({name}.pod__dash__name) && !has({name}.pod__dot__name)"
    user_rule = "user.extra.acme__dot__io__slash__level == ['1']"
    user = user_of(
        tmp_path,
        claims,
        mappings={
            "username": {"expression": " + ".join(parts)},
            "extra": [{"key": "acme.io/level", "valueExpression": "'1'"}],
        },
        claimValidationRules=[{"expression": rule}],
        userValidationRules=[{"expression": user_rule}],
    )
    assert user.name == "pcdzp"


@pytest.mark.parametrize(
    ("claims", "error"),
    [
        ({"level": 3}, "no such key: sub"),
        ({"sub": 5, "level": 3}, "must return a string"),
        ({"sub": "", "level": 3}, "empty username via CEL expression is not allowed"),
        ({"sub": "x", "level": 1}, "validation expression 'claims.level > 2' failed: too low"),
        ({"sub": "x", "level": "9"}, "no such overload"),
        ({"sub": "system:x", "level": 3}, "failed: reserved"),
        ({"sub": "x", "level": 3, "org": "b"}, "required claim org value does not match"),
        ({"sub": "x", "level": 3, "groups": [1]}, "a string or a list of strings"),
        ({"sub": "x", "level": 3, "groups": {"a": "b"}}, "a string or a list of strings"),
    ],
)
def test_hostile_claims_are_rejected(tmp_path: Path, claims: Any, error: str) -> None:
    rules = [
        {"expression": "claims.level > 2", "message": "too low"},
        {"claim": "org", "requiredValue": "a"},
    ]
    groups = {"expression": "has(claims.groups) ? claims.groups : []"}
    changes = {
        "mappings": {"username": {"expression": "claims.sub"}, "groups": groups},
        "claimValidationRules": rules,
        "userValidationRules": [
            {"expression": "!user.username.startsWith('system:')", "message": "reserved"}
        ],
    }
    with pytest.raises(BadToken) as raised:
        user_of(tmp_path, {"org": "a", **claims}, **changes)
    assert error in str(raised.value)


def test_an_expression_on_huge_claims_ends_at_its_budget(tmp_path: Path) -> None:
    text = "claims.g.all(a, claims.g.all(b, claims.g.all(c, a + b + c != '')))"
    rules = [{"expression": text}]
    claims = {"sub": "x", "g": ["x"] * 2000}
    with pytest.raises(BadToken, match="cost limit exceeded"):
        user_of(tmp_path, claims, claimValidationRules=rules)


@pytest.mark.parametrize("depth", [300, 1000])
def test_deeply_nested_claims_are_rejected(tmp_path: Path, depth: int) -> None:
    deep: Any = []
    for _ in range(depth):
        deep = [deep]
    rules = [{"expression": "claims.deep == [claims.deep]"}]
    with pytest.raises(BadToken):
        user_of(tmp_path, {"sub": "x", "deep": deep}, claimValidationRules=rules)


def name_of(server: ServerProcess, token: str) -> str:
    client = server.client(token)
    review = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    answer = client.post("/apis/authentication.k8s.io/v1/selfsubjectreviews", review)
    client.close()
    if answer.status != 201:
        return str(answer.status)
    return str(answer.body["status"]["userInfo"]["username"])


def test_issuers_are_exchanged_without_a_restart(fresh_server: FreshServer, tmp_path: Path) -> None:
    provider = OidcProvider(tmp_path).start()
    try:
        provider.publish("RS256", one=KEY)
        trusted = {"url": provider.issuer, "certificateAuthority": provider.ca_file.read_text()}
        anonymous = {"enabled": True, "conditions": [{"path": "/livez"}]}
        path = write(tmp_path, jwt=[jwt(trusted)], anonymous=anonymous)
        server = fresh_server("--release=1.36", f"--authentication-config={path}")
        token = provider.token("one")
        eventually(lambda: name_of(server, token) == "a:jane", "the issuer is trusted")
        other_audience = provider.token("one", aud="other")
        assert name_of(server, other_audience) == "401"

        prefix = {"username": {"claim": "sub", "prefix": "b:"}}
        write(tmp_path, jwt=[jwt(trusted, prefix)], anonymous=anonymous)
        eventually(lambda: name_of(server, token) == "b:jane", "the new mapping holds")
        path.write_text(path.read_text()[:-30])
        log = server.log
        eventually(lambda: "stays as it was" in log.read_text(), "the broken file is noticed")
        write(tmp_path, jwt=[])
        changed = "changed from initial configuration file"
        eventually(lambda: changed in log.read_text(), "anonymous requests cannot be changed")
        assert name_of(server, token) == "b:jane"

        nobody = server.client(None)
        assert nobody.get("/livez").status == 200
        assert nobody.get("/readyz").status == 401
        assert nobody.get("/api").status == 401
    finally:
        provider.stop()
