"""Checks that a private key belongs to a certificate, and says what is wrong in the reference's
words."""

from __future__ import annotations

import binascii
from base64 import b64decode
from collections.abc import Callable, Iterator

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import load_der_private_key

_BEGIN, _END, _DASHES = b"\n-----BEGIN ", b"\n-----END ", b"-----"  # at the start of a line
_MAX_BLOCKS = 1000  # that are looked at
_CERTIFICATE, _KEY = "CERTIFICATE", "PRIVATE KEY"
_SWITCHED = (
    "tls: failed to find certificate PEM data in certificate input, but did find a private key; PEM"
    " inputs may have been switched"
)
_KINDS = (
    (rsa.RSAPublicKey, rsa.RSAPrivateKey),
    (ec.EllipticCurvePublicKey, ec.EllipticCurvePrivateKey),
    (ed25519.Ed25519PublicKey, ed25519.Ed25519PrivateKey),
)


def pair_error(certificate: bytes, key: bytes) -> str:
    """What is wrong with a certificate and its private key, both in PEM; empty if they match."""
    leaf, skipped = _first(certificate, _is_certificate)
    if leaf is None:
        return _no_certificate(skipped)
    secret, skipped = _first(key, _is_key)
    if secret is None:
        return _no_key(skipped)
    try:
        public = x509.load_der_x509_certificate(leaf).public_key()
    except UnsupportedAlgorithm:
        return "tls: unknown public key algorithm"
    except ValueError:
        return "x509: malformed certificate"
    try:
        private = load_der_private_key(secret, None, unsafe_skip_rsa_key_validation=True)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        return "tls: failed to parse private key"
    return _mismatch(public, private)


def _mismatch(public: object, private: object) -> str:
    for of_public, of_private in _KINDS:
        if isinstance(public, of_public):
            if not isinstance(private, of_private):
                return "tls: private key type does not match public key type"
            is_same = private.public_key() == public
            return "" if is_same else "tls: private key does not match public key"
    return "tls: unknown public key algorithm"


def _is_certificate(kind: str) -> bool:
    return kind == _CERTIFICATE


def _is_key(kind: str) -> bool:
    return kind == _KEY or kind.endswith(f" {_KEY}")


def _no_certificate(skipped: list[str]) -> str:
    if not skipped:
        return "tls: failed to find any PEM data in certificate input"
    if len(skipped) == 1 and skipped[0].endswith(_KEY):
        return _SWITCHED
    return (
        f'tls: failed to find "{_CERTIFICATE}" PEM block in certificate input after skipping PEM'
        f" blocks of the following types: [{' '.join(skipped)}]"
    )


def _no_key(skipped: list[str]) -> str:
    if not skipped:
        return "tls: failed to find any PEM data in key input"
    if skipped == [_CERTIFICATE]:
        return "tls: found a certificate rather than a key in the PEM for the private key"
    return (
        f'tls: failed to find PEM block with type ending in "{_KEY}" in key input after skipping'
        f" PEM blocks of the following types: [{' '.join(skipped)}]"
    )


def _first(pem: bytes, wanted: Callable[[str], bool]) -> tuple[bytes | None, list[str]]:
    """The content of the first block of a kind, and the kinds of the blocks before it."""
    skipped = []
    for kind, content in _blocks(pem):
        if wanted(kind):
            return content, skipped
        skipped.append(kind)
    return None, skipped


def _blocks(pem: bytes) -> Iterator[tuple[str, bytes]]:
    """The kinds and contents of the blocks; what is no block is skipped. Decodes every part at most
    once, whatever is missing."""
    for part in (b"\n" + pem).split(_BEGIN, _MAX_BLOCKS)[1:]:
        label = part.partition(b"\n")[0].rstrip()
        content, end, rest = part[len(label) :].partition(_END)
        if not end or not label.endswith(_DASHES) or not rest.startswith(label):
            continue
        try:
            decoded = b64decode(b"".join(content.split()), validate=True)
        except binascii.Error:
            continue
        yield label.removesuffix(_DASHES).decode("utf-8", "replace"), decoded
