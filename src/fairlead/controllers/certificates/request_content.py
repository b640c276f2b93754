"""Parses the PKCS#10 part of a signing request."""

from __future__ import annotations

from base64 import b64decode
from typing import NamedTuple

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.types import CertificatePublicKeyTypes
from cryptography.x509 import (
    CertificateSigningRequest,
    DuplicateExtension,
    GeneralName,
    InvalidVersion,
    Name,
    NameAttribute,
    ObjectIdentifier,
    load_der_x509_csr,
)
from cryptography.x509 import UnsupportedGeneralNameType as UnknownName
from cryptography.x509.oid import NameOID

from fairlead.codec.types.model import Object
from fairlead.resources.certificates import pem

REQUESTS = "certificates/v1/certificatesigningrequests"


class Unreadable(ValueError):
    """The request cannot be parsed; the text says why."""


class RequestContent(NamedTuple):
    """The content of a request. `subject` has the name attributes that this API's certificates use,
    with at most one common name (the last). `dns`, `emails`, `addresses` and `uris` are the subject
    alternative names; other types are dropped."""

    subject: Name
    common_name: str
    organizations: tuple[str, ...]
    dns: tuple[GeneralName, ...]
    emails: tuple[GeneralName, ...]
    addresses: tuple[GeneralName, ...]
    uris: tuple[GeneralName, ...]
    public_key: CertificatePublicKeyTypes

    @property
    def names(self) -> tuple[GeneralName, ...]:
        return (*self.dns, *self.emails, *self.addresses, *self.uris)


def read_content(value: Object) -> RequestContent:
    """Parse a stored signing request; raises Unreadable."""
    block = next(pem.blocks(b64decode(value["spec"].get("request") or "")), None)
    if block is None:
        raise Unreadable("PEM block type must be CERTIFICATE REQUEST")
    try:
        return _read(load_der_x509_csr(block.der))
    except UnsupportedAlgorithm:
        raise Unreadable("unable to parse csr: the kind of its key is not known") from None
    except (ValueError, TypeError, InvalidVersion, DuplicateExtension, UnknownName):
        raise Unreadable("unable to parse csr: malformed certificate request") from None


def _read(request: CertificateSigningRequest) -> RequestContent:
    sections = (
        NameOID.COUNTRY_NAME,
        NameOID.ORGANIZATION_NAME,
        NameOID.ORGANIZATIONAL_UNIT_NAME,
        NameOID.LOCALITY_NAME,
        NameOID.STATE_OR_PROVINCE_NAME,
        NameOID.STREET_ADDRESS,
        NameOID.POSTAL_CODE,
        NameOID.COMMON_NAME,
        NameOID.SERIAL_NUMBER,
    )
    parts: dict[ObjectIdentifier, list[NameAttribute[str | bytes]]] = {oid: [] for oid in sections}
    for part in request.subject:  # parsed anew on each access, so read it once
        if part.oid in parts:
            parts[part.oid].append(part)
    parts[NameOID.COMMON_NAME] = parts[NameOID.COMMON_NAME][-1:]
    try:
        kind = x509.SubjectAlternativeName
        names = list(request.extensions.get_extension_for_class(kind).value)
    except x509.ExtensionNotFound:
        names = []

    def of_kind(kind: type[GeneralName]) -> tuple[GeneralName, ...]:
        return tuple(name for name in names if isinstance(name, kind))

    return RequestContent(
        subject=x509.Name([part for oid in sections for part in parts[oid]]),
        common_name="".join(str(part.value) for part in parts[NameOID.COMMON_NAME]),
        organizations=tuple(str(part.value) for part in parts[NameOID.ORGANIZATION_NAME]),
        dns=of_kind(x509.DNSName),
        emails=of_kind(x509.RFC822Name),
        addresses=of_kind(x509.IPAddress),
        uris=of_kind(x509.UniformResourceIdentifier),
        public_key=request.public_key(),
    )
