"""Making keys and certificates; imported only when some have to be made."""

from __future__ import annotations

import ipaddress
from datetime import timedelta

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

from fairlead.server.certificates import Pair, is_address, valid_from, write_private


def _key() -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(ec.SECP256R1())


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
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey, lifetime: timedelta
) -> x509.CertificateBuilder:
    start = valid_from()
    identifier = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(start)
        .not_valid_after(start + lifetime)
        .add_extension(identifier, critical=False)
    )


def _write(pair: Pair, certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey) -> None:
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    write_private(pair.key, private)
    write_private(pair.certificate, certificate.public_bytes(Encoding.PEM))


def make_authority(pair: Pair, name: str, lifetime: timedelta) -> None:
    key = _key()
    subject = _name(name)
    certificate = (
        _builder(subject, subject, key, lifetime)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(_usage(signs_certificates=True), critical=True)
        .sign(key, hashes.SHA256())
    )
    _write(pair, certificate, key)


def _issue(
    ca: Pair,
    pair: Pair,
    subject: x509.Name,
    lifetime: timedelta,
    purpose: x509.ObjectIdentifier,
    names: list[x509.GeneralName],
) -> None:
    authority = x509.load_pem_x509_certificate(ca.certificate.read_bytes())
    signing = load_pem_private_key(ca.key.read_bytes(), None)
    assert isinstance(signing, ec.EllipticCurvePrivateKey)
    key = _key()
    issuer_id = x509.AuthorityKeyIdentifier.from_issuer_public_key(signing.public_key())
    builder = (
        _builder(subject, authority.subject, key, lifetime)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(signs_certificates=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([purpose]), critical=False)
        .add_extension(issuer_id, critical=False)
    )
    if names:
        builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
    _write(pair, builder.sign(signing, hashes.SHA256()), key)


def issue_serving(ca: Pair, pair: Pair, hosts: list[str], lifetime: timedelta) -> None:
    names: list[x509.GeneralName] = [
        x509.IPAddress(ipaddress.ip_address(host)) if is_address(host) else x509.DNSName(host)
        for host in hosts
    ]
    purpose = ExtendedKeyUsageOID.SERVER_AUTH
    _issue(ca, pair, _name("fairlead-apiserver"), lifetime, purpose, names)


def issue_admin(ca: Pair, pair: Pair, lifetime: timedelta) -> None:
    subject = _name("admin", "system:masters")
    _issue(ca, pair, subject, lifetime, ExtendedKeyUsageOID.CLIENT_AUTH, [])
