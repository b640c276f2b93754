"""Whether a certificate and a private key belong together, for the warning about a TLS secret."""

from __future__ import annotations

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.types import PublicKeyTypes
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    PublicFormat,
    load_der_private_key,
)
from cryptography.x509 import load_der_x509_certificate

from fairlead.resources.certificates.pem import blocks

_CERTIFICATE, _PRIVATE_KEY = "CERTIFICATE", "PRIVATE KEY"
_UNREADABLE = (ValueError, TypeError, UnsupportedAlgorithm)


def key_pair_problem(certificate: bytes, key: bytes) -> str:
    """What is wrong with a certificate and its private key, both in PEM; empty if they fit."""
    types, der = _first(certificate, _CERTIFICATE)
    if der is None:
        return _no_certificate(types)
    key_types, key_der = _first(key, _PRIVATE_KEY)
    if key_der is None:
        return _no_key(key_types)
    try:
        public = load_der_x509_certificate(der).public_key()
    except _UNREADABLE:
        return "x509: malformed certificate"
    try:
        private = load_der_private_key(key_der, None, unsafe_skip_rsa_key_validation=True)
    except _UNREADABLE:
        return "tls: failed to parse private key"
    if type(private.public_key()) is not type(public):
        return "tls: private key type does not match public key type"
    if _encoded(private.public_key()) != _encoded(public):
        return "tls: private key does not match public key"
    return ""


def _encoded(key: PublicKeyTypes) -> bytes:
    return key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)


def _first(text: bytes, ending: str) -> tuple[list[str], bytes | None]:
    """The types of the blocks that are skipped, and the first block whose type ends so."""
    skipped: list[str] = []
    for block in blocks(text):
        is_named_key = ending == _PRIVATE_KEY and block.kind.endswith(f" {ending}")
        if block.kind == ending or is_named_key:
            return skipped, block.der
        skipped.append(block.kind)
    return skipped, None


def _no_certificate(skipped: list[str]) -> str:
    problem = "tls: failed to find"
    if not skipped:
        return f"{problem} any PEM data in certificate input"
    if len(skipped) == 1 and skipped[0].endswith(_PRIVATE_KEY):
        return (
            f"{problem} certificate PEM data in certificate input, but did find a private key; PEM"
            " inputs may have been switched"
        )
    return (
        f'{problem} "CERTIFICATE" PEM block in certificate input after skipping PEM blocks of the'
        f" following types: [{' '.join(skipped)}]"
    )


def _no_key(skipped: list[str]) -> str:
    if not skipped:
        return "tls: failed to find any PEM data in key input"
    if len(skipped) == 1 and skipped[0] == _CERTIFICATE:
        return "tls: found a certificate rather than a key in the PEM for the private key"
    return (
        'tls: failed to find PEM block with type ending in "PRIVATE KEY" in key input after'
        f" skipping PEM blocks of the following types: [{' '.join(skipped)}]"
    )
