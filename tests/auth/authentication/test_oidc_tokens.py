"""OpenID Connect against a provider process over TLS."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Coroutine, Iterator
from pathlib import Path
from typing import Any

import pytest
from support.authentication import (
    OidcProvider,
    ec_key,
    forged,
    make_ca,
    rsa_key,
    run,
    signed_with_public_key,
    token_of,
)

from fairlead.auth.authentication import oidc_provider
from fairlead.auth.authentication.bearer import Grant
from fairlead.auth.authentication.chain import Rejected
from fairlead.auth.authentication.oidc import ClaimRules, OidcTokens, username_prefix
from fairlead.auth.authentication.oidc_provider import Provider

FIRST, SECOND, CURVE = rsa_key(), rsa_key(), ec_key()


@pytest.fixture
def provider(tmp_path: Path) -> Iterator[OidcProvider]:
    running = OidcProvider(tmp_path).start()
    running.publish("RS256", "ES256", one=FIRST)
    yield running
    running.stop()


def method(provider: OidcProvider, *algorithms: str, **rules: Any) -> OidcTokens:
    known = Provider(provider.issuer, provider.ca_file, algorithms)
    return OidcTokens(known, ClaimRules(client_id="client", **rules), ("api",))


async def asked_once(tokens: OidcTokens, token: str, wanted: tuple[str, ...]) -> Grant | None:
    try:
        return await tokens.check(token, wanted)
    finally:
        await tokens.close()


async def closing(work: Coroutine[Any, Any, None], tokens: OidcTokens) -> None:
    try:
        await work
    finally:
        await tokens.close()


def check(provider: OidcProvider, token: str, **rules: Any) -> Grant | None:
    return run(asked_once(method(provider, **rules), token, ("api",)))


def rejection(provider: OidcProvider, token: str, **rules: Any) -> str:
    with pytest.raises(Rejected) as caught:
        check(provider, token, **rules)
    return str(caught.value)


def granted(provider: OidcProvider, token: str, **rules: Any) -> Grant:
    grant = check(provider, token, **rules)
    assert grant is not None
    return grant


def test_user(provider: OidcProvider) -> None:
    token = provider.token("one", groups=["dev", "ops"], email="j@x.org")
    assert granted(provider, token).user.groups == ("system:authenticated",)
    user = granted(
        provider,
        token,
        username_prefix="oidc:",
        groups_claim="groups",
        groups_prefix="oidc-",
    ).user
    assert user.name == "oidc:jane"
    assert user.groups == ("oidc-dev", "oidc-ops", "system:authenticated")
    assert granted(provider, token, username_claim="email").user.name == "j@x.org"


@pytest.mark.parametrize(
    ("given", "claim", "prefix"),
    [
        ("", "sub", "https://i#"),
        ("", "name", "https://i#"),
        ("", "email", ""),
        ("-", "sub", ""),
        ("x:", "sub", "x:"),
        ("x:", "email", "x:"),
        ("-", "email", ""),
    ],
)
def test_prefix(given: str, claim: str, prefix: str) -> None:
    assert username_prefix(given, claim, "https://i") == prefix


def test_groups_claim(provider: OidcProvider) -> None:
    single = provider.token("one", groups="dev")
    assert rejection(provider, single, groups_claim="groups").startswith("oidc: parse groups claim")
    user = granted(provider, single, groups_claim="groups", groups_array_only=False).user
    assert user.groups == ("dev", "system:authenticated")
    for wrong in (7, ["dev", 7], {"a": "b"}, None):
        token = token_of({**provider.claims(), "groups": wrong}, FIRST, "RS256", "one")
        assert "parse groups claim" in rejection(provider, token, groups_claim="groups")
    missing = granted(provider, provider.token("one"), groups_claim="groups")
    assert missing.user.groups == ("system:authenticated",)


def test_required_claims(provider: OidcProvider) -> None:
    required = {"hd": "example.com"}
    good = provider.token("one", hd="example.com")
    assert granted(provider, good, required=required).user.name == "jane"
    for wrong in ("other", ["example.com"], True):
        token = provider.token("one", hd=wrong)
        assert "value does not match" in rejection(provider, token, required=required)
    missing = provider.token("one")
    assert rejection(provider, missing, required=required) == (
        "oidc: required claim hd not present in ID token"
    )


def test_mail_address_must_be_verified(provider: OidcProvider) -> None:
    for verified in (False, "false", None):
        claims = {**provider.claims(email="j@x.org"), "email_verified": verified}
        token = token_of(claims, FIRST, "RS256", "one")
        assert rejection(provider, token, username_claim="email") == "oidc: email not verified"
    token = provider.token("one", email="j@x.org", email_verified=True)
    assert granted(provider, token, username_claim="email").user.name == "j@x.org"


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"exp": 1}, "token is expired"),
        ({"exp": None}, "token is expired"),
        ({"nbf": 2**33}, "before the nbf"),
        ({"aud": "other"}, "issued for another client"),
        ({"aud": ["other", "more"]}, "issued for another client"),
        ({"aud": None}, "issued for another client"),
        ({"sub": ""}, "parse username claims"),
        ({"sub": 7}, "parse username claims"),
        ({"sub": None}, "parse username claims"),
    ],
    ids=str,
)
def test_wrong_claims(provider: OidcProvider, changes: dict[str, Any], reason: str) -> None:
    assert reason in rejection(provider, provider.token("one", **changes))


def test_clock_skew(provider: OidcProvider) -> None:
    ahead = provider.token("one", nbf=time.time() + 30)
    assert granted(provider, ahead).user.name == "jane"


def test_several_audiences(provider: OidcProvider) -> None:
    assert granted(provider, provider.token("one", aud=["other", "client"])).audiences == ("api",)


def test_tokens_of_others_are_not_ours(provider: OidcProvider) -> None:
    assert check(provider, provider.token("one", iss="https://evil.example")) is None
    assert check(provider, "opaque") is None


def test_grant_does_not_outlive_the_token(provider: OidcProvider) -> None:
    end = time.time() + 5
    assert granted(provider, provider.token("one", exp=end)).until == pytest.approx(end, abs=0.01)
    assert granted(provider, provider.token("one")).until <= time.time() + 60


class TestSignatures:
    def test_algorithms_that_the_provider_announces(self, provider: OidcProvider) -> None:
        provider.publish("RS256", "ES256", "PS384", one=FIRST, two=CURVE)
        for key_id, algorithm in (("one", "RS256"), ("two", "ES256"), ("one", "PS384")):
            assert granted(provider, provider.token(key_id, algorithm)).user.name == "jane"
        assert "algorithm is not allowed" in rejection(provider, provider.token("one", "RS512"))

    def test_allowed_algorithms(self, provider: OidcProvider) -> None:
        provider.publish("RS256", "ES256", one=FIRST, two=CURVE)
        limited = method(provider, "ES256")
        assert run(asked_once(limited, provider.token("two", "ES256"), ())) is not None
        with pytest.raises(Rejected, match="algorithm is not allowed"):
            run(asked_once(method(provider, "ES256"), provider.token("one", "RS256"), ()))

    def test_unsigned(self, provider: OidcProvider) -> None:
        for algorithm in ("none", "NONE", "", None):
            token = forged({"alg": algorithm, "kid": "one"}, provider.claims())
            assert "algorithm is not allowed" in rejection(provider, token)

    def test_public_key_as_shared_secret(self, provider: OidcProvider) -> None:
        provider.publish("RS256", "HS256", one=FIRST)
        token = signed_with_public_key(provider.claims(), FIRST, "one")
        assert "algorithm is not allowed" in rejection(provider, token)

    def test_other_key(self, provider: OidcProvider) -> None:
        for key_id in ("one", "two", None):
            token = token_of(provider.claims(), SECOND, "RS256", key_id)
            assert "failed to verify signature" in rejection(provider, token)

    def test_key_of_another_type(self, provider: OidcProvider) -> None:
        token = token_of(provider.claims(), CURVE, "ES256", "one")
        assert "failed to verify signature" in rejection(provider, token)

    def test_token_without_key_id(self, provider: OidcProvider) -> None:
        token = token_of(provider.claims(), FIRST, "RS256")
        assert granted(provider, token).user.name == "jane"


class TestProvider:
    def test_rotation(self, provider: OidcProvider, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(oidc_provider, "_REFRESH_APART", 0.0)
        tokens = method(provider)

        async def rotate() -> None:
            assert await tokens.check(provider.token("one"), ()) is not None
            old = provider.token("one")
            provider.publish("RS256", two=SECOND)
            assert await tokens.check(provider.token("two"), ()) is not None
            with pytest.raises(Rejected, match="failed to verify signature"):
                await tokens.check(old, ())
            nameless = rsa_key()
            provider.publish("RS256", three=nameless)
            token = token_of(provider.claims(), nameless, "RS256")
            assert await tokens.check(token, ()) is not None

        run(closing(rotate(), tokens))

    def test_unknown_keys_do_not_flood_it(self, provider: OidcProvider) -> None:
        tokens = method(provider)

        async def flood() -> None:
            assert await tokens.check(provider.token("one"), ()) is not None
            provider.publish("RS256", two=SECOND)
            with pytest.raises(Rejected):  # asked less than a second ago
                await tokens.check(provider.token("two"), ())
            await asyncio.sleep(1.05)
            assert await tokens.check(provider.token("two"), ()) is not None

        run(closing(flood(), tokens))

    def test_down_at_the_start_and_up_later(
        self, provider: OidcProvider, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(oidc_provider, "_RETRY", 0.1)
        token = provider.token("one")
        tokens = method(provider)
        provider.stop()

        async def wait() -> None:
            trying = asyncio.create_task(tokens.provider.keep_trying())
            with pytest.raises(Rejected, match="authenticator not initialized"):
                await tokens.check(token, ())
            await asyncio.to_thread(provider.start)
            await asyncio.wait_for(trying, 10)
            assert await tokens.check(token, ()) is not None

        run(closing(wait(), tokens))

    def test_down_later_keys_stay(self, provider: OidcProvider) -> None:
        tokens = method(provider)

        async def outage() -> None:
            assert await tokens.check(provider.token("one"), ()) is not None
            await asyncio.to_thread(provider.stop)
            assert await tokens.check(provider.token("one"), ()) is not None

        run(closing(outage(), tokens))

    def test_web_certificate_must_be_trusted(self, provider: OidcProvider, tmp_path: Path) -> None:
        other = make_ca(tmp_path, "other")
        tokens = OidcTokens(
            Provider(provider.issuer, other.files[0]), ClaimRules("client"), ("api",)
        )
        with pytest.raises(Rejected, match="not initialized"):
            run(asked_once(tokens, provider.token("one"), ()))

    @pytest.mark.parametrize(
        "document",
        [
            {"issuer": "https://evil.example"},
            {"jwks_uri": "http://127.0.0.1/keys"},
            {"jwks_uri": None},
            {"id_token_signing_alg_values_supported": ["HS256", "none"]},
        ],
        ids=str,
    )
    def test_bad_configuration(self, provider: OidcProvider, document: dict[str, Any]) -> None:
        path = provider.directory / "configuration"
        path.write_text(json.dumps({**json.loads(path.read_text()), **document}))
        assert "not initialized" in rejection(provider, provider.token("one"))

    @pytest.mark.parametrize(
        "keys", ["", "[]", "{}", '{"keys": [{"kty": "oct", "k": "c2VjcmV0"}]}', '{"keys": [7]}']
    )
    def test_bad_keys(self, provider: OidcProvider, keys: str) -> None:
        token = provider.token("one")
        (provider.directory / "keys").write_text(keys)
        assert "not initialized" in rejection(provider, token)


class TestDistributedClaims:
    """Groups that stand in a token of their own, elsewhere."""

    def token(self, provider: OidcProvider, **changes: Any) -> str:
        """An ID token whose groups are elsewhere."""
        source = {"endpoint": f"https://127.0.0.1:{provider.port}/claims", "access_token": "key"}
        claims: dict[str, Any] = {
            "_claim_names": {"groups": "src"},
            "_claim_sources": {"src": source},
            **changes,
        }
        return provider.token("one", **claims)

    def put(self, provider: OidcProvider, text: str) -> None:
        (provider.directory / "claims").write_text(text)

    def test_groups_are_fetched_from_where_the_token_says(self, provider: OidcProvider) -> None:
        self.put(provider, provider.token("one", groups=["dev", "ops"]))
        grant = granted(provider, self.token(provider), groups_claim="groups", groups_prefix="o:")
        assert grant.user.groups == ("o:dev", "o:ops", "system:authenticated")
        assert (provider.directory / "asked").read_text() == "Bearer key"

    def test_the_grant_ends_with_the_fetched_claim(self, provider: OidcProvider) -> None:
        end = time.time() + 5
        self.put(provider, provider.token("one", groups=[], exp=end))
        grant = granted(provider, self.token(provider), groups_claim="groups")
        assert grant.until == pytest.approx(end, abs=0.01)

    def test_groups_in_the_token_come_first(self, provider: OidcProvider) -> None:
        token = self.token(provider, groups=["own"])
        user = granted(provider, token, groups_claim="groups").user
        assert user.groups == ("own", "system:authenticated")
        assert not (provider.directory / "asked").exists()

    def test_other_claims_are_not_fetched(self, provider: OidcProvider) -> None:
        token = self.token(provider, _claim_names={"address": "src"})
        assert granted(provider, token, groups_claim="groups").user.name == "jane"
        assert granted(provider, self.token(provider)).user.name == "jane"
        assert not (provider.directory / "asked").exists()

    @pytest.mark.parametrize(
        "changes",
        [
            {"_claim_names": "src"},
            {"_claim_names": {"groups": "none"}},
            {"_claim_names": {"groups": 7}},
            {"_claim_sources": None},
            {"_claim_sources": []},
            {"_claim_sources": {"src": {}}},
            {"_claim_sources": {"src": {"endpoint": "http://127.0.0.1/x"}}},
            {"_claim_sources": {"src": {"endpoint": "file:///etc/passwd"}}},
            {"_claim_sources": {"src": {"endpoint": "https://127.0.0.1:9/secret"}}},
            {"_claim_sources": {"src": {"endpoint": "https://x", "access_token": "a\nb"}}},
        ],
        ids=str,
    )
    def test_sources_that_cannot_be_used(
        self, provider: OidcProvider, changes: dict[str, Any]
    ) -> None:
        error = rejection(provider, self.token(provider, **changes), groups_claim="groups")
        assert "distributed claim" in error
        assert "secret" not in error

    @pytest.mark.parametrize(
        ("changes", "reason"),
        [
            ({}, "is not where it should be"),
            ({"groups": ["dev"], "exp": 1}, "token is expired"),
            ({"groups": ["dev"], "aud": "other"}, "issued for another client"),
            ({"groups": "dev"}, "parse groups claim"),
            ({"groups": ["dev"], "iss": None}, "not a signed token"),
            ({"groups": ["dev"], "iss": "https://127.0.0.1:9/x"}, "not initialized"),
        ],
        ids=str,
    )
    def test_fetched_tokens_are_checked(
        self, provider: OidcProvider, changes: dict[str, Any], reason: str
    ) -> None:
        self.put(provider, provider.token("one", **changes))
        assert reason in rejection(provider, self.token(provider), groups_claim="groups")

    def test_a_forged_one_is_refused(self, provider: OidcProvider) -> None:
        claims = provider.claims(groups=["system:masters"])
        for token in (
            token_of(claims, SECOND, "RS256", "one"),
            forged({"alg": "none", "kid": "one"}, claims),
            "nonsense",
        ):
            self.put(provider, token)
            with pytest.raises(Rejected):
                check(provider, self.token(provider), groups_claim="groups")
