"""The warning about a TLS secret whose certificate and key do not belong together."""

from __future__ import annotations

from base64 import b64encode
from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec, ed25519
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from support.group_rules import Kind

from fairlead.base.dialect import KUBERNETES
from fairlead.base.release import V1_25, V1_36, Release

OWN_KEY = ec.generate_private_key(ec.SECP256R1())


def certificate() -> bytes:
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "x")])
    now = datetime.now(UTC)
    built = x509.CertificateBuilder(name, name, OWN_KEY.public_key(), 1, now, now + timedelta(1))
    return built.sign(OWN_KEY, SHA256()).public_bytes(Encoding.PEM)


def pem(key: ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey) -> bytes:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def warnings(release: Release, crt: bytes, key: bytes) -> list[str]:
    secrets = Kind("core/v1/secrets", KUBERNETES, release)
    data = {"tls.crt": b64encode(crt).decode(), "tls.key": b64encode(key).decode()}
    value = {"metadata": {"name": "x"}, "type": "kubernetes.io/tls", "data": data}
    secrets.behaviour.warnings(secrets.existing(value), None, secrets.context)
    return secrets.context.warnings


@pytest.mark.parametrize(
    ("crt", "key", "problem"),
    [
        (b"x", b"", "tls: failed to find any PEM data in certificate input"),
        (certificate(), b"x", "tls: failed to find any PEM data in key input"),
        (
            pem(OWN_KEY),
            certificate(),
            "tls: failed to find certificate PEM data in certificate input, but did find a private"
            " key; PEM inputs may have been switched",
        ),
        (
            certificate(),
            certificate(),
            "tls: found a certificate rather than a key in the PEM for the private key",
        ),
        (
            certificate(),
            pem(ec.generate_private_key(ec.SECP256R1())),
            "tls: private key does not match public key",
        ),
        (
            certificate(),
            pem(ed25519.Ed25519PrivateKey.generate()),
            "tls: private key type does not match public key type",
        ),
    ],
)
def test_a_pair_that_no_server_can_use_is_warned_of(crt: bytes, key: bytes, problem: str) -> None:
    assert warnings(V1_36, crt, key) == [problem]
    assert warnings(V1_25, crt, key) == []


def test_a_pair_that_belongs_together_is_not_warned_of() -> None:
    assert warnings(V1_36, certificate(), pem(OWN_KEY)) == []
