"""From flags to an authenticator: errors that stop the start."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest
from support.authentication import (
    FakeRequest,
    ec_key,
    make_ca,
    pem_of,
    public_pem_of,
    rsa_key,
    user_of,
)

from fairlead.auth.authentication.factory import Authentication, build_authenticator
from fairlead.auth.authentication.flags import add_authentication_flags
from fairlead.auth.authentication.token_methods import AuthenticationError
from fairlead.auth.authentication.user import ANONYMOUS
from fairlead.base.dialect import CLUSTER, KUBERNETES, Dialect
from fairlead.base.errors import StatusError


class Setup:
    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.ca = make_ca(directory).files[0]
        self.key = directory / "own.key"
        self.key.write_bytes(pem_of(ec_key()))

    def file(self, name: str, content: str | bytes) -> str:
        path = self.directory / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return str(path)

    def build(
        self, *flags: str, dialect: Dialect = KUBERNETES, modes: tuple[str, ...] = ("RBAC",)
    ) -> Authentication:
        parser = argparse.ArgumentParser()
        parser.add_argument("--tls-private-key-file", type=Path)
        add_authentication_flags(parser, float)
        return build_authenticator(
            parser.parse_args(flags),
            dialect,
            lookup=lambda key, namespace, name: None,
            follow=lambda key, listener: None,
            own_ca=self.ca,
            own_key=self.key,
            authorization_modes=modes,
        )


@pytest.fixture
def setup(tmp_path: Path) -> Setup:
    return Setup(tmp_path)


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--client-ca-file", "{none}"], "--client-ca-file: cannot read"),
        (["--client-ca-file", "{text}"], "--client-ca-file: .*no usable PEM certificate"),
        (["--token-auth-file", "{none}"], "--token-auth-file: cannot read the token file"),
        (["--token-auth-file", "{text}"], "--token-auth-file: .*, line 1: expected"),
        (["--service-account-key-file", "{none}"], "service account keys: cannot read"),
        (["--service-account-key-file", "{text}"], "service account keys: .*holds no PEM key"),
        (
            ["--service-account-signing-key-file", "{text}"],
            "service account keys: .*holds no PEM private key",
        ),
        (["--service-account-max-token-expiration", "60"], "between 1 hour and 2\\^32 seconds"),
        (["--service-account-jwks-uri", "http://x"], "--service-account-jwks-uri http://x is not"),
        (["--oidc-issuer-url", "https://x"], "--oidc-client-id go together"),
        (["--oidc-client-id", "x"], "--oidc-client-id go together"),
        (["--oidc-issuer-url", "http://x", "--oidc-client-id", "x"], "is not an https URL"),
        (
            ["--oidc-issuer-url", "https://kubernetes.default.svc", "--oidc-client-id", "x"],
            "must not be the service account issuer",
        ),
        (
            [
                *("--oidc-issuer-url", "https://x", "--oidc-client-id", "x"),
                *("--oidc-ca-file", "{none}"),
            ],
            "--oidc-ca-file .*: No such file",
        ),
        (
            [
                *("--oidc-issuer-url", "https://x", "--oidc-client-id", "x"),
                *("--oidc-ca-file", "{text}"),
            ],
            "--oidc-ca-file .*text: ",
        ),
        (
            [
                *("--oidc-issuer-url", "https://x", "--oidc-client-id", "x"),
                *("--oidc-signing-algs", "HS256"),
            ],
            "HS256 is not supported",
        ),
        (
            ["--authentication-token-webhook-config-file", "{none}"],
            "--authentication-token-webhook-config-file: cannot read",
        ),
        (
            ["--authentication-token-webhook-config-file", "{text}"],
            "--authentication-token-webhook-config-file: ",
        ),
        (["--requestheader-username-headers", "X-U"], "--requestheader-client-ca-file and"),
        (["--requestheader-client-ca-file", "{text}"], "--requestheader-client-ca-file and"),
        (
            [
                *("--requestheader-username-headers", "X-U"),
                *("--requestheader-client-ca-file", "{text}"),
            ],
            "--requestheader-client-ca-file: .*no usable PEM certificate",
        ),
    ],
    ids=lambda value: " ".join(value)[:60] if isinstance(value, list) else "",
)
def test_bad_settings(setup: Setup, flags: list[str], message: str) -> None:
    text = setup.file("text", "top-of-all-things\n")
    filled = [flag.format(text=text, none=setup.directory / "none") for flag in flags]
    with pytest.raises(AuthenticationError, match=message) as caught:
        setup.build(*filled)
    assert "top-of-all" not in str(caught.value)


@pytest.mark.parametrize(
    ("flags", "modes", "anonymous"),
    [
        ([], ("Node", "RBAC"), True),
        (["--anonymous-auth"], ("RBAC",), True),
        (["--anonymous-auth=true"], ("RBAC",), True),
        (["--anonymous-auth=false"], ("RBAC",), False),
        ([], ("AlwaysAllow",), False),
        (["--anonymous-auth"], ("RBAC", "AlwaysAllow"), False),
    ],
)
def test_anonymous(setup: Setup, flags: list[str], modes: tuple[str, ...], anonymous: bool) -> None:
    authenticator = setup.build(*flags, modes=modes).authenticator
    if anonymous:
        assert user_of(authenticator.authenticate(FakeRequest())) is ANONYMOUS
    else:
        with pytest.raises(StatusError):
            user_of(authenticator.authenticate(FakeRequest()))


@pytest.mark.parametrize(
    ("flags", "issuer", "audiences"),
    [
        ([], "https://kubernetes.default.svc", ("https://kubernetes.default.svc",)),
        (["--service-account-issuer", "a"], "a", ("a",)),
        (["--service-account-issuer", "a", "--service-account-issuer", "b"], "a", ("a",)),
        (["--api-audiences", "x,y", "--api-audiences", "z"], None, ("x", "y", "z")),
    ],
)
def test_issuer_and_audiences(
    setup: Setup, flags: list[str], issuer: str | None, audiences: tuple[str, ...]
) -> None:
    authentication = setup.build(*flags)
    assert issuer is None or authentication.issuer.issuer == issuer
    assert authentication.issuer.audiences == authentication.tokens.audiences == audiences


def test_default_issuer_of_the_cluster_dialect(setup: Setup) -> None:
    assert setup.build(dialect=CLUSTER).issuer.issuer == "https://cluster.default.svc"


def test_keys(setup: Setup) -> None:
    first, second, tls = rsa_key(), rsa_key(), rsa_key()
    both = setup.file("both", public_pem_of(first) + public_pem_of(second))
    serving = setup.file("tls", pem_of(tls))
    flags = ["--service-account-key-file", both, "--tls-private-key-file", serving]
    assert len(setup.build(*flags).documents.jwks()["keys"]) == 3
    # Without key files the serving key counts.
    assert len(setup.build("--tls-private-key-file", serving).documents.jwks()["keys"]) == 2
    signing = setup.build("--service-account-signing-key-file", serving)
    assert signing.documents.configuration("x")["id_token_signing_alg_values_supported"] == [
        "RS256"
    ]


def test_authorities_of_the_tls_layer(setup: Setup) -> None:
    other = make_ca(setup.directory, "other")
    proxy = make_ca(setup.directory, "proxy")
    authentication = setup.build(
        *("--client-ca-file", str(other.files[0])),
        *("--requestheader-client-ca-file", str(proxy.files[0])),
        *("--requestheader-username-headers", "X-Remote-User"),
    )
    pems = [authorities.pem for authorities in authentication.authorities]
    assert other.pem in pems[0]
    assert proxy.pem not in pems[0]
    assert proxy.pem in pems[1]
