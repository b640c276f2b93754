"""Whether a certificate and a private key in PEM belong together."""

from __future__ import annotations

from fairlead.errors import clipped
from fairlead.kinds.pem_text import pem_blocks

_LONGEST_KEY = 64 * 1024  # bytes; a key of 16,384 bits has 13,000
_LONGEST_KINDS = 1024


def key_pair_error(certificate: bytes, key: bytes) -> str:
    """What is wrong with the pair; empty when nothing is."""
    return _certificate_error(certificate) or _key_error(key) or _match_error(certificate, key)


def _kinds(text: bytes) -> list[str]:
    return [kind for kind, _ in pem_blocks(text)]


def _listed(kinds: list[str]) -> str:
    return f"[{clipped(' '.join(kinds), _LONGEST_KINDS)}]"


def _certificate_error(text: bytes) -> str:
    kinds = _kinds(text)
    if not kinds:
        return "tls: failed to find any PEM data in certificate input"
    if "CERTIFICATE" in kinds:
        return ""
    if any(kind.endswith("PRIVATE KEY") for kind in kinds):
        return (
            "tls: failed to find certificate PEM data in certificate input, but did find a private"
            " key; PEM inputs may have been switched"
        )
    return (
        'tls: failed to find "CERTIFICATE" PEM block in certificate input after skipping PEM blocks'
        f" of the following types: {_listed(kinds)}"
    )


def _key_error(text: bytes) -> str:
    kinds = _kinds(text)
    if not kinds:
        return "tls: failed to find any PEM data in key input"
    if any(kind.endswith("PRIVATE KEY") for kind in kinds):
        return ""
    if kinds == ["CERTIFICATE"]:
        return "tls: found a certificate rather than a key in the PEM for the private key"
    return (
        'tls: failed to find PEM block with type ending in "PRIVATE KEY" in key input after'
        f" skipping PEM blocks of the following types: {_listed(kinds)}"
    )


def _match_error(certificate: bytes, key: bytes) -> str:
    from cryptography import x509  # costs 30 ms, and few secrets hold key pairs
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.serialization import (
        Encoding,
        PublicFormat,
        load_pem_private_key,
    )

    try:
        signed = x509.load_pem_x509_certificates(certificate)[0].public_key()
    except (ValueError, UnsupportedAlgorithm, x509.InvalidVersion):
        return "x509: malformed certificate"
    try:
        if len(key) > _LONGEST_KEY:
            raise ValueError
        # Whether its numbers are primes takes seconds to find out and is its owner's matter.
        loaded = load_pem_private_key(key, None, unsafe_skip_rsa_key_validation=True)
        held = loaded.public_key()
    except (ValueError, TypeError, UnsupportedAlgorithm):
        return "tls: failed to parse private key"
    form = Encoding.DER, PublicFormat.SubjectPublicKeyInfo
    if signed.public_bytes(*form) != held.public_bytes(*form):
        return "tls: private key does not match public key"
    return ""
