"""Issuing and checking service account tokens, and the attacks on them."""

from __future__ import annotations

import time
from base64 import b64encode
from pathlib import Path
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from support.authentication import (
    bearer,
    ec_key,
    forged,
    pem_of,
    public_pem_of,
    rsa_key,
    run,
    signed_with_public_key,
    token_of,
    user_of,
)

from fairlead.auth.authentication.account_tokens import IssuerDocuments, TokenIssuer
from fairlead.auth.authentication.bearer import BearerTokens, Grant
from fairlead.auth.authentication.chain import Rejected
from fairlead.auth.authentication.keys import (
    KeyFileError,
    KeyRing,
    load_public_keys,
    load_signing_key,
)
from fairlead.auth.authentication.service_accounts import ServiceAccountTokens
from fairlead.base.dialect import CLUSTER, KUBERNETES, Dialect
from fairlead.base.release import V1_36
from fairlead.resources.gates import Gates

ISSUER, API = "https://issuer.example", ("https://issuer.example",)


class World:
    """The objects that tokens depend on, and an issuer with a checker."""

    def __init__(self, directory: Path, key: Any = None, dialect: Dialect = KUBERNETES) -> None:
        self.key = key or ec_key()
        self.file = directory / "signing.key"
        self.file.write_bytes(pem_of(self.key))
        self.keys = KeyRing(self.file)
        self.objects: dict[tuple[str, str, str], dict[str, Any]] = {}
        self.account = self.add("core/v1/serviceaccounts", "robot", "account-uid")
        self.pod = self.add("core/v1/pods", "pod", "pod-uid")
        self.secret = self.add("core/v1/secrets", "secret", "secret-uid")
        self.issuer = TokenIssuer(dialect, ISSUER, self.keys, API)
        self.checker = self.checker_with(dialect)

    def checker_with(
        self, dialect: Dialect = KUBERNETES, *, lookup: bool = True
    ) -> ServiceAccountTokens:
        return ServiceAccountTokens(
            dialect, [ISSUER, "old-issuer"], self.keys, API, self.lookup, look_up_legacy=lookup
        )

    def lookup(self, key: str, namespace: str, name: str) -> dict[str, Any] | None:
        return self.objects.get((key, namespace, name))

    def add(self, key: str, name: str, uid: str) -> dict[str, Any]:
        value: dict[str, Any] = {"metadata": {"namespace": "ns", "name": name, "uid": uid}}
        self.objects[key, "ns", name] = value
        return value

    def check(self, token: str, audiences: tuple[str, ...] = API) -> Grant | None:
        return run(self.checker.check(token, audiences))

    def rejection(self, token: str, audiences: tuple[str, ...] = API) -> str:
        with pytest.raises(Rejected) as caught:
            self.check(token, audiences)
        assert token not in str(caught.value)
        return str(caught.value)

    def claims(self, **changes: Any) -> dict[str, Any]:
        text = jwt.decode(
            self.issuer.bound(self.account, 600, API), options={"verify_signature": False}
        )
        text |= changes
        return {name: value for name, value in text.items() if value is not None}

    def signed(self, **changes: Any) -> str:
        return token_of(self.claims(**changes), self.key, "ES256")


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


@pytest.mark.parametrize(
    "key",
    [rsa_key(), ec_key(), ec_key(ec.SECP384R1()), ec_key(ec.SECP521R1())],
    ids=["RS256", "ES256", "ES384", "ES512"],
)
@pytest.mark.parametrize("dialect", [KUBERNETES, CLUSTER], ids=lambda dialect: dialect.name)
def test_bound_token(tmp_path: Path, key: Any, dialect: Dialect) -> None:
    world = World(tmp_path, key, dialect)
    grant = world.check(world.issuer.bound(world.account, 600, API, pod=world.pod))
    assert grant is not None
    user = grant.user
    assert user.name == "system:serviceaccount:ns:robot"
    assert user.uid == "account-uid"
    assert user.groups == (
        "system:serviceaccounts",
        "system:serviceaccounts:ns",
        "system:authenticated",
    )
    domain = dialect.label_domain
    assert user.extra == {
        f"authentication.{domain}/pod-name": ("pod",),
        f"authentication.{domain}/pod-uid": ("pod-uid",),
    }
    assert grant.audiences == API
    assert 590 < grant.until - time.time() <= 600


def test_audiences(world: World) -> None:
    token = world.issuer.bound(world.account, 600, ["vault", *API])
    for wanted, result in ((API, API), (("vault",), ("vault",)), (("x", "vault"), ("vault",))):
        grant = world.check(token, wanted)
        assert grant is not None
        assert grant.audiences == result
    foreign = world.issuer.bound(world.account, 600, ["vault"])
    assert world.rejection(foreign) == (
        'token audiences ["vault"] is invalid for the target audiences ["https://issuer.example"]'
    )


def test_further_issuers_are_accepted(world: World) -> None:
    assert world.check(world.signed(iss="old-issuer")) is not None


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"exp": 1}, "service account token has expired"),
        ({"nbf": 2**33}, "service account token is not valid yet"),
        ({"iat": 2**33}, "service account token is not valid yet"),
        ({"exp": "never"}, "the claim exp is not a number"),
        ({"exp": True}, "the claim exp is not a number"),
        ({"aud": ["other"]}, "token audiences"),
        ({"aud": 7}, "the claim aud is neither text nor a list of texts"),
        ({"kubernetes.io": {}}, "service account token claims are incomplete"),
        ({"kubernetes.io": "x"}, "service account token claims are incomplete"),
        (
            {"kubernetes.io": {"namespace": "ns", "serviceaccount": {"name": "x", "uid": "u"}}},
            'serviceaccounts "x" not found',
        ),
    ],
)
def test_wrong_claims(world: World, changes: dict[str, Any], reason: str) -> None:
    assert world.rejection(world.signed(**changes)).startswith(reason)


def test_token_of_another_issuer_is_not_ours(world: World) -> None:
    assert world.check(world.signed(iss="https://evil.example")) is None
    assert world.check(world.signed(iss=None)) is None
    assert world.check(world.signed(iss=["x"])) is None


@pytest.mark.parametrize("token", ["", "x", "a.b", "a.b.c", "a.b.c.d", "e30.e30.", "W10.W10.x"])
def test_what_is_no_token(world: World, token: str) -> None:
    assert world.check(token) is None


def test_expiry_has_no_leeway(world: World) -> None:
    token = world.signed(exp=time.time() + 0.05)
    assert world.check(token) is not None
    time.sleep(0.06)
    assert world.rejection(token) == "service account token has expired"


class TestAttacks:
    BAD = "square/go-jose: error in cryptographic primitive"

    def test_unsigned(self, world: World) -> None:
        for algorithm in ("none", "None", "NONE", ""):
            assert world.rejection(forged({"alg": algorithm}, world.claims())) == self.BAD

    def test_public_key_as_shared_secret(self, tmp_path: Path) -> None:
        world = World(tmp_path, rsa_key())
        key_id = world.keys.signing.public.key_id
        assert world.rejection(signed_with_public_key(world.claims(), world.key, key_id)) == (
            self.BAD
        )

    def test_other_key(self, world: World) -> None:
        key_id = world.keys.signing.public.key_id
        for chosen in (None, key_id, "other"):
            token = token_of(world.claims(), ec_key(), "ES256", chosen)
            assert world.rejection(token) == self.BAD

    def test_key_in_the_token(self, world: World) -> None:
        """A token that brings its own key is still checked with ours."""
        key = ec_key()
        own = jwt.algorithms.ECAlgorithm.to_jwk(key.public_key(), as_dict=True)
        headers = {"jwk": own, "jku": "https://evil.example/keys", "x5u": "https://evil.example"}
        token = jwt.encode(world.claims(), key, algorithm="ES256", headers=headers)
        assert world.rejection(token) == self.BAD

    def test_changed_claims(self, world: World) -> None:
        head, _, signature = world.signed().split(".")
        body = forged({}, world.claims(sub="system:serviceaccount:ns:admin")).split(".")[1]
        assert world.rejection(f"{head}.{body}.{signature}") == self.BAD

    def test_mangled_signature(self, world: World) -> None:
        token = world.signed()
        assert world.rejection(token + "-x") == self.BAD
        assert world.rejection(token.rpartition(".")[0] + ".") == self.BAD
        assert world.check(token + "!") is None
        assert world.check(token + "=") is None
        assert world.check("x" + token) is None

    def test_other_algorithm_of_the_same_key(self, tmp_path: Path) -> None:
        world = World(tmp_path, rsa_key())
        for algorithm in ("RS384", "RS512", "PS256"):
            token = token_of(world.claims(), world.key, algorithm)
            assert world.rejection(token) == self.BAD

    def test_enormous_token(self, world: World) -> None:
        assert world.check(world.signed(padding="x" * 100_000)) is None


class TestRevocation:
    def test_account_gone_or_made_anew(self, world: World) -> None:
        token = world.issuer.bound(world.account, 600, API)
        world.account["metadata"]["uid"] = "new"
        assert world.rejection(token) == (
            "service account UID (new) does not match claim (account-uid)"
        )
        world.objects.clear()
        assert world.rejection(token) == 'serviceaccounts "robot" not found'

    @pytest.mark.parametrize("kind", ["pod", "secret"])
    def test_bound_object_gone_or_made_anew(self, world: World, kind: str) -> None:
        value = getattr(world, kind)
        token = world.issuer.bound(world.account, 600, API, **{kind: value})
        grant = world.check(token)
        assert grant is not None
        assert (f"core/v1/{kind}s", f"ns/{kind}") in grant.anchors
        value["metadata"]["uid"] = "new"
        assert "does not match service account" in world.rejection(token)
        del world.objects[f"core/v1/{kind}s", "ns", kind]
        assert world.rejection(token) == "service account token has been invalidated"

    def test_pod_that_ends(self, world: World) -> None:
        token = world.issuer.bound(world.account, 600, API, pod=world.pod)
        world.pod["metadata"]["deletionTimestamp"] = "2099-01-01T00:00:00Z"
        assert world.check(token) is not None
        world.pod["metadata"]["deletionTimestamp"] = "2001-01-01T00:00:00Z"
        assert world.rejection(token) == "service account token has been invalidated"

    def test_pod_in_its_grace_period_as_specified(self, tmp_path: Path) -> None:
        world = World(tmp_path, dialect=CLUSTER)
        token = world.issuer.bound(world.account, 600, API, pod=world.pod)
        gone = {"deletionTimestamp": "2001-01-01T00:00:00Z", "deletionGracePeriodSeconds": 10**10}
        world.pod["metadata"].update(gone)
        assert world.check(token) is not None
        world.pod["metadata"]["deletionGracePeriodSeconds"] = 30
        assert world.rejection(token) == "service account token has been invalidated"


class TestLegacy:
    @pytest.fixture
    def token(self, world: World) -> str:
        token = world.issuer.legacy(world.account, "secret")
        world.secret["data"] = {"token": b64encode(token.encode()).decode()}
        return token

    def test_good_while_it_stands_in_its_secret(self, world: World, token: str) -> None:
        grant = world.check(token)
        assert grant is not None
        assert grant.user.name == "system:serviceaccount:ns:robot"
        assert grant.anchors == (
            ("core/v1/secrets", "ns/secret"),
            ("core/v1/serviceaccounts", "ns/robot"),
        )
        world.secret["data"] = {"token": b64encode(b"other").decode()}
        assert world.rejection(token) == "service account token does not match server's copy"
        world.secret["metadata"]["deletionTimestamp"] = "2099-01-01T00:00:00Z"
        assert world.rejection(token) == "service account token has been invalidated"

    def test_without_lookup(self, world: World, token: str) -> None:
        world.objects.clear()
        assert world.rejection(token) == "service account token has been invalidated"
        world.checker = world.checker_with(lookup=False)
        assert world.check(token) is not None

    @pytest.mark.parametrize(
        ("claim", "value", "reason"),
        [
            ("sub", None, "sub claim is missing"),
            ("sub", "system:serviceaccount:ns:admin", "sub claim is invalid"),
            ("kubernetes.io/serviceaccount/namespace", None, "namespace claim is missing"),
            ("kubernetes.io/serviceaccount/secret.name", None, "secretName claim is missing"),
        ],
    )
    def test_wrong_claims(
        self, world: World, token: str, claim: str, value: str | None, reason: str
    ) -> None:
        claims = jwt.decode(token, options={"verify_signature": False})
        claims[claim] = value
        assert world.rejection(token_of(claims, world.key, "ES256")) == reason


def test_transition_token_lasts_a_year(world: World) -> None:
    token = world.issuer.bound(world.account, 3607, API, pod=world.pod)
    claims = jwt.decode(token, options={"verify_signature": False})
    assert claims["exp"] - claims["iat"] == 365 * 24 * 3600
    assert claims["kubernetes.io"]["warnafter"] - claims["iat"] == 3607
    for audiences, pod in ((["vault"], world.pod), (API, None)):
        token = world.issuer.bound(world.account, 3607, audiences, pod=pod)
        claims = jwt.decode(token, options={"verify_signature": False})
        assert claims["exp"] - claims["iat"] == 3607


def noted(world: World, token: str, times: int = 1) -> dict[str, str]:
    """Return the audit annotations of the last of several uses of a token."""
    tokens = BearerTokens([world.checker], API)
    for _ in range(times):
        request = bearer(token)
        assert user_of(tokens.authenticate(request)) is not None
    return request.notes


@pytest.mark.parametrize("times", [1, 2])
def test_a_token_that_should_have_been_renewed_is_noted(world: World, times: int) -> None:
    own = world.claims()["kubernetes.io"] | {"warnafter": int(time.time()) - 100}
    [(name, text)] = noted(world, world.signed(**{"kubernetes.io": own}), times).items()
    assert name == "authentication.k8s.io/stale-token"
    message = "subject: system:serviceaccount:ns:robot, seconds after warning threshold: "
    assert text.startswith(message)
    assert 100 <= int(text.removeprefix(message)) < 200


def test_a_token_is_not_noted_before_it_should_be_renewed(world: World) -> None:
    assert noted(world, world.issuer.bound(world.account, 3607, API, pod=world.pod)) == {}
    assert noted(world, world.issuer.bound(world.account, 600, API)) == {}


def test_a_time_to_renew_that_is_none_is_refused(world: World) -> None:
    own = world.claims()["kubernetes.io"] | {"warnafter": "soon"}
    reason = world.rejection(world.signed(**{"kubernetes.io": own}))
    assert reason == "the claim warnafter is not a number"


def test_documents_let_others_check_tokens(world: World) -> None:
    documents = IssuerDocuments(ISSUER, world.keys)
    assert documents.available
    assert documents.configuration("host:6443") == {
        "issuer": ISSUER,
        "jwks_uri": "https://host:6443/openid/v1/jwks",
        "response_types_supported": ["id_token"],
        "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": ["ES256"],
    }
    keys = jwt.PyJWKSet.from_dict(documents.jwks())
    token = world.issuer.bound(world.account, 600, API)
    key = keys[jwt.get_unverified_header(token)["kid"]]
    assert jwt.decode(token, key, audience=API[0], issuer=ISSUER)["sub"]
    assert not IssuerDocuments("just-a-name", world.keys).available
    assert not IssuerDocuments("http://x", world.keys).available


class TestKeyFiles:
    def test_several_keys_of_every_form(self, tmp_path: Path) -> None:
        first, second = rsa_key(), ec_key()
        path = tmp_path / "keys"
        path.write_bytes(b"# a comment\n" + public_pem_of(first) + pem_of(second))
        assert [key.algorithm for key in load_public_keys(path)] == ["RS256", "ES256"]

    def test_keys_of_others_are_checked_with(self, tmp_path: Path) -> None:
        world = World(tmp_path)
        other = ec_key()
        path = tmp_path / "other"
        path.write_bytes(public_pem_of(other))
        world.keys = KeyRing(world.file, [path])
        world.checker = world.checker_with()
        assert world.check(world.signed()) is not None
        assert world.check(token_of(world.claims(), other, "ES256")) is not None

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            (b"", "holds no PEM key"),
            (b"c2VjcmV0", "holds no PEM key"),
            (
                b"-----BEGIN PUBLIC KEY-----\nc2VjcmV0\n-----END PUBLIC KEY-----\n",
                "holds a malformed key",
            ),
            (
                b"-----BEGIN PRIVATE KEY-----\nc2VjcmV0\n-----END PRIVATE KEY-----\n",
                "holds a malformed private key",
            ),
            (pem_of(rsa.generate_private_key(65537, 1024)), "1024 bits is too small"),
            (pem_of(ec_key(ec.SECP256K1())), "the curve secp256k1 is not supported"),
        ],
        ids=["empty", "text", "public", "private", "small", "curve"],
    )
    def test_bad_files(self, tmp_path: Path, content: bytes, message: str) -> None:
        path = tmp_path / "keys"
        path.write_bytes(content)
        with pytest.raises(KeyFileError, match=message) as caught:
            load_public_keys(path)
        assert "c2Vj" not in str(caught.value)

    def test_unreadable(self, tmp_path: Path) -> None:
        with pytest.raises(KeyFileError, match="cannot read"):
            load_signing_key(tmp_path / "none")

    def test_public_key_cannot_sign(self, tmp_path: Path) -> None:
        path = tmp_path / "keys"
        path.write_bytes(public_pem_of(rsa_key()))
        with pytest.raises(KeyFileError, match="holds no PEM private key"):
            load_signing_key(path)

    def test_keys_are_not_shown(self, tmp_path: Path) -> None:
        path = tmp_path / "key"
        path.write_bytes(pem_of(ec_key()))
        assert repr(load_signing_key(path)).startswith(
            "<fairlead.auth.authentication.keys.SigningKey"
        )


# Release 1.36


def test_later_tokens_show_their_id_and_node(tmp_path: Path) -> None:
    world = World(tmp_path)
    node = {"metadata": {"name": "n1", "uid": "node-uid"}}
    gates = Gates(release=V1_36)
    checker = ServiceAccountTokens(KUBERNETES, [ISSUER], world.keys, API, world.lookup, gates=gates)
    domain = "authentication.kubernetes.io"
    expected = {
        f"{domain}/credential-id": ("JTI=t1",),
        f"{domain}/node-name": ("n1",),
        f"{domain}/node-uid": ("node-uid",),
    }
    token = world.issuer.bound(world.account, 600, API, node=node, token_id="t1")
    with pytest.raises(Rejected, match="has been invalidated"):
        run(checker.check(token, API))
    world.objects["core/v1/nodes", "", "n1"] = node
    grant = run(checker.check(token, API))
    assert grant is not None
    assert grant.user.extra == expected
    assert ("core/v1/nodes", "n1") in grant.anchors

    of_pod = world.issuer.bound(world.account, 600, API, pod=world.pod, node=node, token_id="t1")
    del world.objects["core/v1/nodes", "", "n1"]  # the pod decides, not the node
    grant = run(checker.check(of_pod, API))
    assert grant is not None
    pod = {f"{domain}/pod-name": ("pod",), f"{domain}/pod-uid": ("pod-uid",)}
    assert grant.user.extra == {**pod, **expected}
