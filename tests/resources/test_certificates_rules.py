"""Rules of certificate signing requests."""

from __future__ import annotations

from base64 import b64encode
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID
from support.group_rules import (
    DIALECTS,
    Kind,
    changed,
    duplicate,
    forbidden,
    invalid,
    required,
    too_long,
    unsupported,
)

from fairlead.auth.authentication.user import User
from fairlead.codec.types.names import dns_label, dns_subdomain
from fairlead.resources.certificates.pem import blocks, certificate_error, request_error
from fairlead.resources.certificates.signing_requests import USAGES

KEY = "certificates/v1/certificatesigningrequests"
SIGNER = "spec.signerName"
TWO_SEGMENTS = "should be a domain with at least two segments separated by dots"
DATA = '"<certificate data>"'

_PRIVATE = ec.generate_private_key(ec.SECP256R1())
_NAME = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "me")])


SIGNED_BY_SHA1 = (
    """\
-----BEGIN CERTIFICATE REQUEST-----
MIHEMG4CAQAwDDEKMAgGA1UEAwwBYTBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IA
BBacf4MYpeVgtRuSHf0sPzAS4L8jZ6MxUjphXmiotbtoE9Q7lws8lUjIOi2GHI1B
yBvjKFMFSrNBtdACTDtus0igADAJBgcqhkjOPQQBA0cAMEQCIFftdAF2MqYtslVs
h29OGYfffNdwUkGpcGxhuWFUX2syAiAWFFUIGfO7Ssrb0zIzUGEj6JGCyATrP2no
GLmP11Hvpw==
-----END CERTIFICATE REQUEST-----
""",
    """\
-----BEGIN CERTIFICATE REQUEST-----
MIIBSzCBtQIBADAMMQowCAYDVQQDDAFhMIGfMA0GCSqGSIb3DQEBAQUAA4GNADCB
iQKBgQDFdtUD4omBuISduN83VvUWxwuVZbwJ8u1BeTViCg9CwLOXLQSnnS4PdFF8
QrShwYCY183s84AQsfMTL4ns9s0ayReIfIGQDmJZGn+mwfC2jGjpUlYkgW4FXn/l
6mUe+s1E9a88VLOrywcsVGtjo/jRcZLsdSPeAPjWPx1R8G4OJQIDAQABoAAwDQYJ
KoZIhvcNAQEFBQADgYEAevYaIZnRH1XifKtNmwFoy1fNe9BUFJpCvhcmxthEHF3y
cak0FgXxLz4cQxOVvN/344pSli6XaJ7FovRq23jimnyFhl+3VOcfTJ8ljYxiuo5I
SUMPKonAmaPbAiTc0VicSVXsBxquF9DMf8pQIN1zUhpAWfgOQbESRwTCc9EfT5s=
-----END CERTIFICATE REQUEST-----
""",
)


def _request() -> bytes:
    created = x509.CertificateSigningRequestBuilder().subject_name(_NAME)
    return created.sign(_PRIVATE, hashes.SHA256()).public_bytes(Encoding.PEM)


def _certificate() -> bytes:
    now = datetime.now(UTC)
    created = (
        x509.CertificateBuilder()
        .subject_name(_NAME)
        .issuer_name(_NAME)
        .public_key(_PRIVATE.public_key())
        .serial_number(1)
        .not_valid_before(now)
        .not_valid_after(now + timedelta(days=1))
    )
    return created.sign(_PRIVATE, hashes.SHA256()).public_bytes(Encoding.PEM)


def _text(data: bytes) -> str:
    return b64encode(data).decode()


def _pem(kind: str, der: bytes, headers: str = "") -> bytes:
    return f"-----BEGIN {kind}-----\n{headers}{_text(der)}\n-----END {kind}-----\n".encode()


REQUEST: dict[str, Any] = {
    "spec": {
        "request": _text(_request()),
        "signerName": "example.com/s",
        "usages": ["client auth"],
    }
}
CERTIFICATE = _text(_certificate())


@pytest.mark.parametrize(
    ("changes", "causes"),
    [
        ({}, []),
        ({"metadata": {"name": "Any_Name"}}, []),
        (
            {"spec.request": "Zm9v"},
            [
                invalid(
                    "spec.request",
                    "[]byte{0x66, 0x6f, 0x6f}",
                    "PEM block type must be CERTIFICATE REQUEST",
                )
            ],
        ),
        (
            {"spec.request": None},
            [invalid("spec.request", "[]byte(nil)", "PEM block type must be CERTIFICATE REQUEST")],
        ),
        ({"spec.usages": []}, [required("spec.usages", "usages must be provided")]),
        (
            {"spec.usages": ["fly", "any", "any"]},
            [
                unsupported("spec.usages[0]", '"fly"', *USAGES),
                duplicate("spec.usages[2]", '"any"'),
            ],
        ),
        ({SIGNER: ""}, [required(SIGNER, "signerName must be provided")]),
        (
            {SIGNER: "example.com/a/b"},
            [
                invalid(
                    SIGNER,
                    '"example.com/a/b"',
                    "must be a fully qualified domain and path of the form"
                    " 'example.com/signer-name'",
                )
            ],
        ),
        (
            {SIGNER: "Bad_/x"},
            [
                invalid(SIGNER, '"Bad_"', f'validating label "Bad_": {dns_label("Bad_")[0]}'),
                invalid(SIGNER, '"Bad_"', TWO_SEGMENTS),
            ],
        ),
        (
            {SIGNER: "example.com/"},
            [invalid(SIGNER, '""', f'validating label "": {dns_subdomain("")[0]}')],
        ),
        ({SIGNER: f"{'a.' * 127}a/x"}, [too_long(SIGNER, 253)]),
        (
            {"spec.expirationSeconds": 599},
            [
                invalid(
                    "spec.expirationSeconds",
                    "599",
                    "may not specify a duration less than 600 seconds (10 minutes)",
                )
            ],
        ),
        ({"spec.expirationSeconds": 600}, []),
    ],
)
def test_signing_request(changes: dict[str, Any], causes: list[Any]) -> None:
    assert Kind(KEY).wrong(changed(REQUEST, changes)) == causes


@pytest.mark.parametrize("dialect", DIALECTS.values(), ids=DIALECTS)
def test_the_old_signer_is_refused(dialect: Any) -> None:
    causes = Kind(KEY, dialect).wrong(changed(REQUEST, {SIGNER: dialect.signer_legacy}))
    detail = "the legacy signerName is not allowed via this API version"
    assert causes == [invalid(SIGNER, f'"{dialect.signer_legacy}"', detail)]


def test_the_server_writes_down_who_asks() -> None:
    user = User("alice", "uid-1", ("dev", "system:authenticated"), {"scopes": ("a", "b")})
    sent = changed(REQUEST, {"spec.username": "root", "spec.groups": ["system:masters"]})
    value, _ = Kind(KEY).create({**sent, "status": {"certificate": CERTIFICATE}}, user)
    who = {name: value["spec"][name] for name in ("username", "uid", "groups", "extra")}
    assert who == {
        "username": "alice",
        "uid": "uid-1",
        "groups": ["dev", "system:authenticated"],
        "extra": {"scopes": ["a", "b"]},
    }
    assert value["status"] == {}


def test_an_update_changes_metadata_only() -> None:
    kind = Kind(KEY)
    old = kind.existing(REQUEST)
    sent = changed(REQUEST, {SIGNER: "example.com/other", "metadata": {"labels": {"a": "b"}}})
    new, causes = kind.update(old, {**sent, "status": {"certificate": CERTIFICATE}})
    assert causes == []
    assert new["metadata"]["labels"] == {"a": "b"}
    assert (new["spec"], new["status"]) == (old["spec"], old["status"])


def _conditions(*kinds: str, status: str = "True") -> dict[str, Any]:
    conditions = [{"type": kind, "status": status, "reason": "r"} for kind in kinds]
    return {**REQUEST, "status": {"conditions": conditions}}


def test_approval_takes_conditions_and_nothing_else() -> None:
    kind = Kind(KEY)
    sent = changed(_conditions("Approved"), {"status.certificate": CERTIFICATE})
    new, causes = kind.update(kind.existing(REQUEST), sent, "approval")
    assert causes == []
    (condition,) = new["status"]["conditions"]
    assert condition["lastUpdateTime"] == condition["lastTransitionTime"] is not None
    assert "certificate" not in new["status"]


def test_status_takes_the_certificate_and_no_approval() -> None:
    kind = Kind(KEY)
    old = kind.existing(REQUEST)
    _, causes = kind.update(old, _conditions("Approved", "Other"), "status")
    path = "status.conditions"
    assert causes == [forbidden(path, 'updates may not add a condition of type "Approved"')]
    signed, causes = kind.update(old, {**REQUEST, "status": {"certificate": CERTIFICATE}}, "status")
    assert causes == []
    assert signed["status"]["certificate"] == CERTIFICATE
    _, causes = kind.update(signed, REQUEST, "status")
    detail = "updates may not modify existing certificate content"
    assert causes == [forbidden("status.certificate", detail)]


def test_what_was_decided_stays() -> None:
    kind = Kind(KEY)
    approved, _ = kind.update(kind.existing(REQUEST), _conditions("Approved"), "approval")
    detail = 'updates may not remove a condition of type "Approved"'
    for subresource in ("approval", "status"):
        _, causes = kind.update(approved, REQUEST, subresource)
        assert causes == [forbidden("status.conditions", detail)]
    other = changed(_conditions("Approved", "Failed"), {"status.conditions[0].reason": "other"})
    new, causes = kind.update(approved, other, "status")
    assert causes == []
    assert new["status"]["conditions"][0] == approved["status"]["conditions"][0]


@pytest.mark.parametrize(
    ("sent", "causes"),
    [
        (_conditions("Other", status="False"), []),
        (
            _conditions("Approved", status="False"),
            [unsupported("status.conditions[0].status", '"False"', "True")],
        ),
        (
            _conditions("", status=""),
            [required("status.conditions[0].type"), required("status.conditions[0].status")],
        ),
        (
            _conditions("Approved", "Denied", "Denied"),
            [
                invalid(
                    f"status.conditions[{index}].type",
                    '"Denied"',
                    "Approved and Denied conditions are mutually exclusive",
                )
                for index in (1, 2)
            ]
            + [duplicate("status.conditions[2].type", '"Denied"')],
        ),
    ],
)
def test_conditions(sent: dict[str, Any], causes: list[Any]) -> None:
    kind = Kind(KEY)
    assert kind.update(kind.existing(REQUEST), sent, "approval")[1] == causes


@pytest.mark.parametrize(
    ("data", "wrong"),
    [
        (_certificate() * 2, ""),
        (b"text\n" + _certificate(), ""),
        (b"x", "must contain at least one CERTIFICATE PEM block"),
        (_request(), 'only CERTIFICATE PEM blocks are allowed, found "CERTIFICATE REQUEST"'),
        (_pem("CERTIFICATE", b"x", "A: b\n\n"), "no PEM block headers are permitted"),
        (_pem("CERTIFICATE", b""), "found CERTIFICATE PEM block containing 0 certificates"),
        (_pem("CERTIFICATE", b"x"), "x509: malformed certificate"),
    ],
)
def test_certificates(data: bytes, wrong: str) -> None:
    assert certificate_error(data) == wrong
    kind = Kind(KEY)
    sent = {**REQUEST, "status": {"certificate": _text(data)}}
    _, causes = kind.update(kind.existing(REQUEST), sent, "status")
    assert causes == ([invalid("status.certificate", DATA, wrong)] if wrong else [])


@pytest.mark.parametrize(
    ("der", "start"),
    [
        (b"", "asn1: syntax error: sequence truncated"),
        (b"\0\0\0", "asn1: structure error: tags don't match (16 vs {class:0 tag:0 length:0 "),
        (b"\x30\x05a", "asn1: syntax error: data truncated"),
        (b"\x30\x00", "asn1: structure error: malformed certificate request"),
    ],
)
def test_broken_requests(der: bytes, start: str) -> None:
    assert request_error(_pem("CERTIFICATE REQUEST", der)).startswith(start)


def test_versions_that_there_are_not() -> None:
    (block,) = blocks(_request())
    odd = block.der.replace(b"\x02\x01\x00", b"\x02\x01\x0e", 1)
    wrong = request_error(_pem("CERTIFICATE REQUEST", odd))
    assert wrong == "asn1: structure error: malformed certificate request"
    (block,) = blocks(_certificate())
    odd = block.der.replace(b"\xa0\x03\x02\x01\x02", b"\xa0\x03\x02\x01\x0e", 1)
    assert certificate_error(_pem("CERTIFICATE", odd)) == "x509: malformed certificate"


@pytest.mark.parametrize("text", SIGNED_BY_SHA1, ids=("elliptic curve", "RSA"))
def test_sha1_is_good_enough_for_a_request(text: str) -> None:
    assert request_error(text.encode()) == ""


def test_a_forged_request() -> None:
    (block,) = blocks(_request())
    forged = block.der.replace(b"me", b"he", 1)  # the name, which comes before the key
    wrong = request_error(_pem("CERTIFICATE REQUEST", forged))
    assert wrong == "x509: signature verification failure"
