"""Keys that sign and verify JSON Web Tokens, and loading them from files."""

from __future__ import annotations

import hashlib
import hmac
import re
from base64 import urlsafe_b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
    load_pem_public_key,
)

PublicKeyObject = rsa.RSAPublicKey | ec.EllipticCurvePublicKey
PrivateKeyObject = rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey

_BLOCK = re.compile(rb"-----BEGIN ([A-Z0-9 ]+)-----\r?\n.+?\r?\n-----END \1-----", re.DOTALL)
_CURVE_ALGORITHMS = {"secp256r1": "ES256", "secp384r1": "ES384", "secp521r1": "ES512"}
_MIN_RSA_BITS = 2048


class KeyFileError(ValueError):
    """An unusable key file; the text never contains any of its content."""


class PublicKey(NamedTuple):
    """A key that verifies signatures, and the single algorithm it is used with."""

    key: PublicKeyObject
    algorithm: str
    key_id: str

    def jwk(self) -> dict[str, str]:
        """The key in the format of a JSON Web Key set."""
        head = {"use": "sig", "kid": self.key_id, "alg": self.algorithm}
        numbers: Any = self.key.public_numbers()
        if self.algorithm == "RS256":
            return {**head, "kty": "RSA", "n": _number(numbers.n), "e": _number(numbers.e)}
        size = (self.key.key_size + 7) // 8
        curve = {"ES256": "P-256", "ES384": "P-384", "ES512": "P-521"}[self.algorithm]
        x, y = _number(numbers.x, size), _number(numbers.y, size)
        return {**head, "kty": "EC", "crv": curve, "x": x, "y": y}


@dataclass(frozen=True, slots=True, repr=False)
class SigningKey:
    """A private key with its public key."""

    key: PrivateKeyObject
    public: PublicKey


def _number(value: int, size: int = 0) -> str:
    return encode(value.to_bytes(size or (value.bit_length() + 7) // 8, "big"))


def encode(data: bytes) -> str:
    """base64url without padding."""
    return urlsafe_b64encode(data).rstrip(b"=").decode()


def public_key(key: object) -> PublicKey:
    """Wrap a public key of the cryptography library; raises KeyFileError."""
    if isinstance(key, rsa.RSAPublicKey):
        if key.key_size < _MIN_RSA_BITS:
            raise KeyFileError(f"an RSA key of {key.key_size} bits is too small")
        algorithm = "RS256"
    elif isinstance(key, ec.EllipticCurvePublicKey):
        algorithm = _CURVE_ALGORITHMS.get(key.curve.name, "")
        if not algorithm:
            raise KeyFileError(f"the curve {key.curve.name} is not supported")
    else:
        raise KeyFileError("the key is neither RSA nor ECDSA")
    encoded = key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return PublicKey(key, algorithm, encode(hashlib.sha256(encoded).digest()))


def load_public_keys(path: Path) -> list[PublicKey]:
    """Load the public keys from a PEM file of public keys, private keys or certificates."""
    keys = []
    for label, block in _blocks(path):
        if label != b"EC PARAMETERS":
            keys.append(_from_block(label, block, path))
    if not keys:
        raise KeyFileError(f"{path} holds no PEM key")
    return keys


def load_signing_key(path: Path) -> SigningKey:
    """Load the first private key of a PEM file."""
    for label, block in _blocks(path):
        if label.endswith(b"PRIVATE KEY"):
            key = _private(block, path)
            return SigningKey(key, _check_key(key.public_key(), path))
    raise KeyFileError(f"{path} holds no PEM private key")


class KeyRing:
    """The signing key and all verification keys, the signing key's first. Files are read on first
    use, or by `load`; both raise KeyFileError."""

    def __init__(self, signing: Path, others: Sequence[Path] = ()) -> None:
        self._signing_file = signing
        self._other_files = tuple(others)
        self._signing: SigningKey | None = None
        self._public: tuple[PublicKey, ...] = ()
        self._derived: dict[str, bytes] = {}

    def load(self) -> None:
        signing = load_signing_key(self._signing_file)
        keys = {signing.public.key_id: signing.public}
        for path in self._other_files:
            keys |= {key.key_id: key for key in load_public_keys(path)}
        self._public = tuple(keys.values())
        self._signing = signing

    @property
    def signing(self) -> SigningKey:
        if self._signing is None:
            self.load()
        assert self._signing is not None
        return self._signing

    def derived(self, purpose: str) -> bytes:
        """Derive a secret key for another purpose. Servers with the same signing key get the same
        one."""
        known = self._derived.get(purpose)
        if known is None:
            private = self.signing.key.private_bytes(
                Encoding.DER, PrivateFormat.PKCS8, NoEncryption()
            )
            known = self._derived[purpose] = hmac.digest(private, purpose.encode(), "sha256")
        return known

    @property
    def public(self) -> tuple[PublicKey, ...]:
        if self._signing is None:
            self.load()
        return self._public


def _blocks(path: Path) -> list[tuple[bytes, bytes]]:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise KeyFileError(f"cannot read {path}: {error.strerror}") from None
    return [(match[1], match[0] + b"\n") for match in _BLOCK.finditer(content)]


def _from_block(label: bytes, block: bytes, path: Path) -> PublicKey:
    if label.endswith(b"PRIVATE KEY"):
        return _check_key(_private(block, path).public_key(), path)
    try:
        if label == b"CERTIFICATE":
            return _check_key(x509.load_pem_x509_certificate(block).public_key(), path)
        return _check_key(load_pem_public_key(block), path)
    except KeyFileError:
        raise
    except Exception:  # the library raises various exceptions
        raise KeyFileError(f"{path} holds a malformed key") from None


def _private(block: bytes, path: Path) -> PrivateKeyObject:
    try:
        key: Any = load_pem_private_key(block, None)
    except TypeError:
        raise KeyFileError(f"{path} holds an encrypted key") from None
    except Exception:
        raise KeyFileError(f"{path} holds a malformed private key") from None
    _check_key(key.public_key(), path)
    private: PrivateKeyObject = key
    return private


def _check_key(key: object, path: Path) -> PublicKey:
    try:
        return public_key(key)
    except KeyFileError as error:
        raise KeyFileError(f"{path}: {error}") from None
