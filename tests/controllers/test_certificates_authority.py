"""The files of a signing CA, and the certificates that it signs."""

from __future__ import annotations

import argparse
from base64 import b64encode
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
)
from cryptography.x509.oid import NameOID
from support.signing_requests import KEY, name_of, request_pem, write_authority

from fairlead.base import clock
from fairlead.base.dialect import CLUSTER
from fairlead.cli.parser import Parser
from fairlead.controllers.certificates.authority import Expired, SigningAuthority, SigningFileError
from fairlead.controllers.certificates.flags import (
    SigningFlagError,
    add_signing_flags,
    check_signing_flags,
    signing_authorities,
)
from fairlead.controllers.certificates.request_content import (
    RequestContent,
    Unreadable,
    read_content,
)
from fairlead.process.flags.values import duration

DAY = timedelta(days=1)


def _asked(pem: bytes) -> RequestContent:
    return read_content({"spec": {"request": b64encode(pem).decode()}})


def _signed(paths: tuple[Path, Path], *usages: str, pem: bytes = b"") -> x509.Certificate:
    content = _asked(pem or request_pem("jane"))
    return x509.load_pem_x509_certificate(SigningAuthority(*paths).sign(content, usages, DAY))


def _authority_with(key: Any, directory: Path) -> tuple[Path, Path]:
    paths = directory / "ca.crt", directory / "ca.key"
    digest = None if isinstance(key, ed25519.Ed25519PrivateKey) else hashes.SHA256()
    name = name_of("ca")
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), 1)
        .not_valid_before(clock.now() - DAY)
        .not_valid_after(clock.now() + 2 * DAY)
        .sign(key, digest)
    )
    paths[0].write_bytes(certificate.public_bytes(Encoding.PEM))
    paths[1].write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    return paths


@pytest.mark.parametrize(
    "key",
    [
        rsa.generate_private_key(65537, 2048),
        ec.generate_private_key(ec.SECP384R1()),
        ec.generate_private_key(ec.SECP521R1()),
        ed25519.Ed25519PrivateKey.generate(),
    ],
    ids=["rsa", "p384", "p521", "ed25519"],
)
def test_keys_of_every_usual_kind_sign(key: Any, tmp_path: Path) -> None:
    paths = _authority_with(key, tmp_path)
    ca = x509.load_pem_x509_certificate(paths[0].read_bytes())
    _signed(paths, "client auth").verify_directly_issued_by(ca)


def test_usages_become_those_of_the_certificate(tmp_path: Path) -> None:
    usages = ("signing", "cert sign", "s/mime", "email protection", "any", "encipher only")
    result = _signed(write_authority(tmp_path, "ca"), *usages).extensions
    bits = result.get_extension_for_class(x509.KeyUsage).value
    assert bits.digital_signature
    assert bits.key_cert_sign
    assert not bits.key_agreement
    purposes = result.get_extension_for_class(x509.ExtendedKeyUsage).value
    assert [purpose.dotted_string for purpose in purposes] == ["2.5.29.37.0", "1.3.6.1.5.5.7.3.4"]


def test_parts_of_names_that_certificates_do_not_have_are_dropped(tmp_path: Path) -> None:
    parts = [
        x509.NameAttribute(NameOID.DOMAIN_COMPONENT, "example"),
        x509.NameAttribute(NameOID.COMMON_NAME, "jane"),
        x509.NameAttribute(NameOID.LOCALITY_NAME, "Riga"),
    ]
    request = x509.CertificateSigningRequestBuilder(x509.Name(parts)).sign(KEY, hashes.SHA256())
    pem = request.public_bytes(Encoding.PEM)
    certificate = _signed(write_authority(tmp_path, "ca"), "client auth", pem=pem)
    assert certificate.subject.rfc4514_string() == "CN=jane,L=Riga"


def test_malformed_names_make_a_request_unreadable() -> None:
    broken = x509.UnrecognizedExtension(x509.oid.ExtensionOID.SUBJECT_ALTERNATIVE_NAME, b"\1\2")
    with pytest.raises(Unreadable, match="malformed certificate request"):
        _asked(request_pem("jane", extensions=(broken,)))


def test_a_ca_that_has_ended_signs_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = write_authority(tmp_path, "ca", timedelta(hours=1))
    monkeypatch.setattr(clock, "_ahead", 3601.0)
    with pytest.raises(Expired, match="the signer has expired: NotAfter="):
        _signed(paths, "client auth")


def test_an_encrypted_key_is_refused(tmp_path: Path) -> None:
    paths = _authority_with(KEY, tmp_path)
    encryption = BestAvailableEncryption(b"secret")
    paths[1].write_bytes(KEY.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, encryption))
    with pytest.raises(SigningFileError, match="the key is encrypted"):
        SigningAuthority(*paths).load()


@pytest.mark.parametrize(
    ("which", "content", "message"),
    [
        (0, b"no certificate", "{0} holds no certificate"),
        (0, None, "cannot read {0}: No such file or directory"),
        (1, b"", "{1} holds no private key"),
        (1, None, "cannot read {1}: No such file or directory"),
    ],
)
def test_files_that_hold_nothing_are_named(
    tmp_path: Path, which: int, content: bytes | None, message: str
) -> None:
    paths = write_authority(tmp_path, "ca")
    paths[which].unlink()
    if content is not None:
        paths[which].write_bytes(content)
    with pytest.raises(SigningFileError) as caught:
        SigningAuthority(*paths).load()
    assert str(caught.value) == message.format(*paths)


def test_files_that_do_not_belong_together_are_named(tmp_path: Path) -> None:
    certificate, key = write_authority(tmp_path, "ca")
    (tmp_path / "other").mkdir()
    other = write_authority(tmp_path / "other", "other")[1]
    with pytest.raises(SigningFileError, match=f"{other} is not the key of {certificate}"):
        SigningAuthority(certificate, other).load()
    certificate.write_bytes(certificate.read_bytes() * 2)
    with pytest.raises(SigningFileError, match="holds 2 certificates; one is needed"):
        SigningAuthority(certificate, key).load()


def _options(*flags: str) -> argparse.Namespace:
    parser = Parser(prog="serve")
    add_signing_flags(parser, duration)
    return parser.parse_args([f"--cluster-signing-{flag}" for flag in flags])


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["cert-file=a"], "--cluster-signing-cert-file and --cluster-signing-key-file go together"),
        (
            ["node-agent-client-key-file=a"],
            "--cluster-signing-kubelet-client-cert-file and"
            " --cluster-signing-kubelet-client-key-file go together",
        ),
        (
            [
                "cert-file=a",
                "key-file=b",
                "legacy-unknown-cert-file=a",
                "legacy-unknown-key-file=b",
            ],
            "--cluster-signing-cert-file and --cluster-signing-legacy-unknown-cert-file exclude"
            " each other",
        ),
    ],
)
def test_flags_that_do_not_go_together_are_named(flags: list[str], message: str) -> None:
    with pytest.raises(SigningFlagError) as caught:
        check_signing_flags(_options(*flags))
    assert str(caught.value) == message


@pytest.mark.parametrize("text", ["0", "1ms", "9999999h", "soon"])
def test_a_life_of_certificates_must_be_one(text: str) -> None:
    with pytest.raises(SystemExit):
        _options(f"duration={text}")


def test_signers_without_files_of_their_own_share_a_ca(tmp_path: Path) -> None:
    own = write_authority(tmp_path, "own")
    mapping = signing_authorities(_options(), CLUSTER, own)
    assert len(mapping) == 4
    assert len({id(authority) for authority in mapping.values()}) == 1
