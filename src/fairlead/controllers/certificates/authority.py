"""A signing CA, loaded from two files that are reloaded when they change."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed448, ed25519, rsa
from cryptography.hazmat.primitives.asymmetric.types import CertificateIssuerPrivateKeyTypes
from cryptography.hazmat.primitives.serialization import Encoding, load_pem_private_key
from cryptography.x509 import (
    AuthorityKeyIdentifier,
    Certificate,
    CertificateBuilder,
    InvalidVersion,
    KeyUsage,
    load_pem_x509_certificates,
)

from fairlead.base import clock
from fairlead.base.files import stamp
from fairlead.base.logs import Logger

if TYPE_CHECKING:
    from fairlead.controllers.certificates.request_content import RequestContent

logger = Logger("fairlead.controllers")

_BACK_DATED = timedelta(minutes=5)  # tolerance for clients with slow clocks
_SHORT_LIFETIME = timedelta(hours=8)  # shorter lifetimes are not reduced by the back-dating
_MAX_BYTES = 1024 * 1024

_KEY_USAGES = {
    "signing": "digital_signature",
    "digital signature": "digital_signature",
    "content commitment": "content_commitment",
    "key encipherment": "key_encipherment",
    "key agreement": "key_agreement",
    "data encipherment": "data_encipherment",
    "cert sign": "key_cert_sign",
    "crl sign": "crl_sign",
    "encipher only": "encipher_only",
    "decipher only": "decipher_only",
}
_PURPOSES = {
    "any": "2.5.29.37.0",
    "server auth": "1.3.6.1.5.5.7.3.1",
    "client auth": "1.3.6.1.5.5.7.3.2",
    "code signing": "1.3.6.1.5.5.7.3.3",
    "email protection": "1.3.6.1.5.5.7.3.4",
    "s/mime": "1.3.6.1.5.5.7.3.4",
    "ipsec end system": "1.3.6.1.5.5.7.3.5",
    "ipsec tunnel": "1.3.6.1.5.5.7.3.6",
    "ipsec user": "1.3.6.1.5.5.7.3.7",
    "timestamping": "1.3.6.1.5.5.7.3.8",
    "ocsp signing": "1.3.6.1.5.5.7.3.9",
    "microsoft sgc": "1.3.6.1.4.1.311.10.3.3",
    "netscape sgc": "2.16.840.1.113730.4.1",
}


class SigningFileError(ValueError):
    """The CA files cannot be used; the text names them."""


class Expired(Exception):
    """The CA certificate has expired."""


class _Loaded(NamedTuple):
    certificate: Certificate
    key: CertificateIssuerPrivateKeyTypes


class SigningAuthority:
    """If changed files cannot be loaded, the previous CA stays in use: the two files may be
    replaced one after the other."""

    def __init__(self, certificate: Path, key: Path) -> None:
        self._files = certificate, key
        self._stamps: list[object] = []
        self._loaded: _Loaded | None = None

    def load(self) -> None:
        """Load the files; raises SigningFileError."""
        stamps = [stamp(path) for path in self._files]
        self._loaded = _load(*self._files)
        self._stamps = stamps

    def sign(self, content: RequestContent, usages: Iterable[str], lifetime: timedelta) -> bytes:
        """Sign a certificate; returns PEM. Raises Expired, and SigningFileError if no CA is
        loaded."""
        current = self._current()
        certificate = _builder(content, list(usages), lifetime, current.certificate)
        return certificate.sign(current.key, _hash_for(current.key)).public_bytes(Encoding.PEM)

    def _current(self) -> _Loaded:
        if self._loaded is None or self._stamps != [stamp(path) for path in self._files]:
            try:
                self.load()
            except SigningFileError as error:
                if self._loaded is None:
                    raise
                logger.warning("the server keeps using the signing CA that it has", err=error)
        assert self._loaded is not None
        return self._loaded


def _read(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(_MAX_BYTES)
    except OSError as error:
        raise SigningFileError(f"cannot read {path}: {error.strerror}") from None


def _load(certificate_file: Path, key_file: Path) -> _Loaded:
    try:
        certificates = load_pem_x509_certificates(_read(certificate_file))
    except (ValueError, InvalidVersion) as error:
        if isinstance(error, SigningFileError):
            raise
        raise SigningFileError(f"{certificate_file} holds no certificate") from None
    if len(certificates) != 1:
        count = len(certificates)
        raise SigningFileError(f"{certificate_file} holds {count} certificates; one is needed")
    content = _read(key_file)
    try:
        key = load_pem_private_key(content, None)
    except TypeError:
        raise SigningFileError(f"{key_file}: the key is encrypted") from None
    except (ValueError, UnsupportedAlgorithm):
        raise SigningFileError(f"{key_file} holds no private key") from None
    kinds = (rsa.RSAPrivateKey, ec.EllipticCurvePrivateKey)
    if not isinstance(key, (*kinds, ed25519.Ed25519PrivateKey, ed448.Ed448PrivateKey)):
        raise SigningFileError(f"{key_file} holds no key that certificates are signed with")
    if key.public_key() != certificates[0].public_key():
        raise SigningFileError(f"{key_file} is not the key of {certificate_file}")
    return _Loaded(certificates[0], key)


def _hash_for(
    key: CertificateIssuerPrivateKeyTypes,
) -> hashes.SHA256 | hashes.SHA384 | hashes.SHA512 | None:
    if isinstance(key, ec.EllipticCurvePrivateKey) and key.key_size > 256:
        return hashes.SHA384() if key.key_size <= 384 else hashes.SHA512()
    return (
        hashes.SHA256() if isinstance(key, ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey) else None
    )


def _period(lifetime: timedelta, last: datetime) -> tuple[datetime, datetime]:
    """Return notBefore and notAfter of a new certificate. notAfter is at most `last`, that of
    the CA; raises Expired if the CA has expired."""
    now = clock.now().replace(microsecond=0)
    if now >= last:
        raise Expired(f"the signer has expired: NotAfter={last:%Y-%m-%d %H:%M:%S} UTC")
    end = now + lifetime if lifetime < _SHORT_LIFETIME else now + lifetime - _BACK_DATED
    return now - _BACK_DATED, min(end, last)


def _builder(
    content: RequestContent, usages: list[str], lifetime: timedelta, issuer: Certificate
) -> CertificateBuilder:
    """Of the request's extensions only the subject alternative names are used."""
    start, end = _period(lifetime, issuer.not_valid_after_utc.astimezone(UTC))
    builder = (
        x509.CertificateBuilder()
        .subject_name(content.subject)
        .issuer_name(issuer.subject)
        .public_key(content.public_key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(start)
        .not_valid_after(end)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
    )
    bits = {_KEY_USAGES[usage] for usage in usages if usage in _KEY_USAGES}
    if bits:
        builder = builder.add_extension(_key_usage(bits), critical=True)
    purposes = [x509.ObjectIdentifier(oid) for oid in _purposes(usages)]
    if purposes:
        builder = builder.add_extension(x509.ExtendedKeyUsage(purposes), critical=False)
    if content.names:
        names = x509.SubjectAlternativeName(content.names)
        builder = builder.add_extension(names, critical=not list(content.subject))
    return builder.add_extension(_issuer_identifier(issuer), critical=False)


def _key_usage(bits: set[str]) -> KeyUsage:
    if "key_agreement" not in bits:
        # Only defined together with key agreement (RFC 5280).
        bits = bits - {"encipher_only", "decipher_only"}
    return KeyUsage(**{bit: bit in bits for bit in _KEY_USAGES.values()})


def _purposes(usages: list[str]) -> list[str]:
    """OIDs without duplicates, in the order of the table."""
    return list(dict.fromkeys(oid for usage, oid in _PURPOSES.items() if usage in usages))


def _issuer_identifier(issuer: Certificate) -> AuthorityKeyIdentifier:
    try:
        own = issuer.extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value
    except x509.ExtensionNotFound:
        return x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer.public_key())  # type: ignore[arg-type]
    return x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(own)
