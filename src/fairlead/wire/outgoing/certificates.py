"""X.509 certificates of other servers, and PEM bundles."""

from __future__ import annotations

import base64
import binascii
import re
import warnings
from collections.abc import Iterator
from contextlib import suppress
from ipaddress import IPv4Address, IPv6Address
from typing import Any

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from cryptography.utils import CryptographyDeprecationWarning
from cryptography.x509.oid import ExtensionOID, NameOID

Address = IPv4Address | IPv6Address

_MAX_RSA_BITS = 8192  # verification time grows with its square
# Supported extensions, which may therefore be critical.
_KNOWN_EXTENSIONS = {
    ExtensionOID.KEY_USAGE,
    ExtensionOID.BASIC_CONSTRAINTS,
    ExtensionOID.SUBJECT_ALTERNATIVE_NAME,
    ExtensionOID.NAME_CONSTRAINTS,
    ExtensionOID.CRL_DISTRIBUTION_POINTS,
    ExtensionOID.AUTHORITY_KEY_IDENTIFIER,
    ExtensionOID.EXTENDED_KEY_USAGE,
    ExtensionOID.SUBJECT_KEY_IDENTIFIER,
    ExtensionOID.CERTIFICATE_POLICIES,
    ExtensionOID.AUTHORITY_INFORMATION_ACCESS,
}
_KNOWN_NAMES = (x509.DNSName, x509.IPAddress, x509.RFC822Name, x509.UniformResourceIdentifier)

# The body excludes "-", so a text with many BEGIN lines and no END takes linear time.
_PEM_BLOCK = re.compile(
    rb"^-----BEGIN ([^-\r\n]*)-----[ \t\r]*\n([A-Za-z0-9+/=\s]*)-----END \1-----", re.MULTILINE
)


class BundleError(ValueError):
    """The bundle has no usable certificate."""


class Certificate:
    """The parts of a certificate that verification needs; raises ValueError if it is malformed."""

    def __init__(self, der: bytes) -> None:
        self.der = der
        try:
            with warnings.catch_warnings(action="ignore", category=CryptographyDeprecationWarning):
                self.parsed = parsed = x509.load_der_x509_certificate(der)
                self.subject = parsed.subject.public_bytes()
                self.issuer = parsed.issuer.public_bytes()
                self.key = parsed.public_key()
                self._read_extensions(list(parsed.extensions))
        except (
            TypeError,
            UnsupportedAlgorithm,
            x509.InvalidVersion,
            x509.DuplicateExtension,
            x509.UnsupportedGeneralNameType,
        ) as error:
            raise ValueError(str(error)) from None
        if isinstance(self.key, RSAPublicKey) and self.key.key_size > _MAX_RSA_BITS:
            raise ValueError(f"RSA key larger than {_MAX_RSA_BITS} bits")

    def _read_extensions(self, extensions: list[x509.Extension[Any]]) -> None:
        values = {extension.oid: extension.value for extension in extensions}
        self.basic: x509.BasicConstraints | None = values.get(ExtensionOID.BASIC_CONSTRAINTS)
        self.key_usage: x509.KeyUsage | None = values.get(ExtensionOID.KEY_USAGE)
        self.usages = frozenset(values.get(ExtensionOID.EXTENDED_KEY_USAGE) or ())
        self.constraints: x509.NameConstraints | None = values.get(ExtensionOID.NAME_CONSTRAINTS)
        names = values.get(ExtensionOID.SUBJECT_ALTERNATIVE_NAME)
        self.has_names = names is not None
        self.names: list[x509.GeneralName] = list(names or ())
        subject_key = values.get(ExtensionOID.SUBJECT_KEY_IDENTIFIER)
        self.key_id: bytes = subject_key.digest if subject_key is not None else b""
        issuer_key = values.get(ExtensionOID.AUTHORITY_KEY_IDENTIFIER)
        self.issuer_key_id: bytes = (issuer_key.key_identifier if issuer_key else None) or b""
        self.has_unhandled_extension = any(
            extension.critical and not self._is_handled(extension) for extension in extensions
        )

    def _is_handled(self, extension: x509.Extension[Any]) -> bool:
        if extension.oid == ExtensionOID.SUBJECT_ALTERNATIVE_NAME:
            return any(isinstance(name, _KNOWN_NAMES) for name in self.names)
        if extension.oid == ExtensionOID.NAME_CONSTRAINTS:
            return all(isinstance(subtree, _KNOWN_NAMES) for subtree in _subtrees(extension.value))
        return extension.oid in _KNOWN_EXTENSIONS

    @property
    def dns_names(self) -> list[str]:
        return [name.value for name in self.names if isinstance(name, x509.DNSName)]

    @property
    def addresses(self) -> list[Address]:
        values = (name.value for name in self.names if isinstance(name, x509.IPAddress))
        return [
            plain_address(address)
            for address in values
            if isinstance(address, IPv4Address | IPv6Address)
        ]

    @property
    def common_name(self) -> str:
        attributes = self.parsed.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
        return str(attributes[-1].value) if attributes else ""

    @property
    def shown_name(self) -> str:
        """The name of an authority in messages."""
        if self.common_name:
            return self.common_name
        attributes = self.parsed.subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)
        return str(attributes[0].value) if attributes else f"serial:{self.parsed.serial_number}"

    def has_same_identity(self, other: Certificate) -> bool:
        """Whether both have the same subject, key and names, as cross-signed certificates do."""
        return (
            self.subject == other.subject
            and _key_bytes(self.key) == _key_bytes(other.key)
            and self.has_names == other.has_names
            and self.names == other.names
        )


def _key_bytes(key: Any) -> bytes:
    encoded: bytes = key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return encoded


def _subtrees(constraints: x509.NameConstraints) -> list[x509.GeneralName]:
    return [*(constraints.permitted_subtrees or ()), *(constraints.excluded_subtrees or ())]


def plain_address(address: Address) -> Address:
    """Convert an IPv4-mapped IPv6 address to IPv4."""
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return mapped or address


def parse_bundle(pem: bytes) -> list[Certificate]:
    """Return the certificates of a bundle, skipping other blocks and malformed ones. Raises
    BundleError if none is left."""
    if not _PEM_BLOCK.search(pem):
        raise BundleError("unable to parse bytes as PEM block")
    certificates: list[Certificate] = []
    problem = "no valid certificate authority data seen"
    for der in certificate_blocks(pem):
        try:
            certificates.append(Certificate(der))
        except ValueError:
            problem = "failed to parse certificate: x509: malformed certificate"
    if not certificates:
        raise BundleError(problem)
    return certificates


def certificate_blocks(pem: bytes) -> Iterator[bytes]:
    for block in _PEM_BLOCK.finditer(pem):
        if block[1] == b"CERTIFICATE":
            with suppress(binascii.Error):
                yield base64.b64decode(block[2])
