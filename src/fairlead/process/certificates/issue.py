"""Generates keys and certificates. A lazy module: needed when one is missing or expires."""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

_CLOCK_SKEW = timedelta(minutes=5)  # tolerated for clients whose clocks are behind


@dataclass(frozen=True, slots=True, repr=False)
class Issued:
    """A certificate and its key, both PEM."""

    certificate: bytes
    key: bytes


def new_key() -> bytes:
    """Generate an ECDSA key as PEM: fast to generate and to use."""
    return _key_pem(ec.generate_private_key(ec.SECP256R1()))


def _key_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def _load_key(pem: bytes) -> ec.EllipticCurvePrivateKey:
    key = load_pem_private_key(pem, None)
    assert isinstance(key, ec.EllipticCurvePrivateKey)
    return key


def _name(common_name: str, *organizations: str) -> x509.Name:
    parts = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, name) for name in organizations]
    return x509.Name([*parts, x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


def _usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=not signs_certificates,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        encipher_only=False,
        decipher_only=False,
    )


def _builder(
    subject: x509.Name,
    issuer: x509.Name,
    key: ec.EllipticCurvePrivateKey,
    now: datetime,
    lifetime: timedelta,
) -> x509.CertificateBuilder:
    identifier = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _CLOCK_SKEW)
        .not_valid_after(now + lifetime)
        .add_extension(identifier, critical=False)
    )


def make_authority(name: str, now: datetime, lifetime: timedelta) -> Issued:
    return _authority(_name(name), _load_key(new_key()), now, lifetime)


def renew_authority(old: Issued, now: datetime, lifetime: timedelta) -> Issued:
    """Issue a CA certificate with the same name and key, so that certificates issued before stay
    valid."""
    subject = x509.load_pem_x509_certificate(old.certificate).subject
    return _authority(subject, _load_key(old.key), now, lifetime)


def _authority(
    subject: x509.Name, key: ec.EllipticCurvePrivateKey, now: datetime, lifetime: timedelta
) -> Issued:
    certificate = (
        _builder(subject, subject, key, now, lifetime)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(_usage(signs_certificates=True), critical=True)
        .sign(key, hashes.SHA256())
    )
    return Issued(certificate.public_bytes(Encoding.PEM), _key_pem(key))


def _issue(
    ca: Issued,
    subject: x509.Name,
    now: datetime,
    lifetime: timedelta,
    purpose: x509.ObjectIdentifier,
    names: list[x509.GeneralName],
) -> Issued:
    authority = x509.load_pem_x509_certificate(ca.certificate)
    signing = _load_key(ca.key)
    key = ec.generate_private_key(ec.SECP256R1())
    issuer_id = x509.AuthorityKeyIdentifier.from_issuer_public_key(signing.public_key())
    builder = (
        _builder(subject, authority.subject, key, now, lifetime)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(signs_certificates=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([purpose]), critical=False)
        .add_extension(issuer_id, critical=False)
    )
    if names:
        builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
    certificate = builder.sign(signing, hashes.SHA256())
    return Issued(certificate.public_bytes(Encoding.PEM), _key_pem(key))


def issue_serving(ca: Issued, hosts: list[str], now: datetime, lifetime: timedelta) -> Issued:
    names = [_general_name(host) for host in hosts]
    purpose = ExtendedKeyUsageOID.SERVER_AUTH
    return _issue(ca, _name("fairlead-apiserver"), now, lifetime, purpose, names)


def _general_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def issue_admin(ca: Issued, now: datetime, lifetime: timedelta) -> Issued:
    return issue_client(ca, "admin", ["system:masters"], now, lifetime)


def issue_client(
    ca: Issued, name: str, groups: Sequence[str], now: datetime, lifetime: timedelta
) -> Issued:
    """Issue a client certificate for a user with these groups."""
    subject = _name(name, *groups)
    return _issue(ca, subject, now, lifetime, ExtendedKeyUsageOID.CLIENT_AUTH, [])
