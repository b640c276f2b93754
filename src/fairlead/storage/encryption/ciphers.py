"""The ciphers that encrypt a value with one key. `path` is the key under which it is stored."""

from __future__ import annotations

from collections.abc import Iterable
from os import urandom
from typing import Protocol

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers import Cipher as BlockCipher
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import CBC
from nacl.exceptions import CryptoError
from nacl.secret import SecretBox as Box

AES_SIZES = (16, 24, 32)
SECRETBOX_SIZES = (32,)
_BLOCK = 16
_NONCE = 12
_TAG = 16


class DecryptError(Exception):
    """The value was not encrypted with this key, or was modified."""


class Cipher(Protocol):
    def seal(self, path: str, value: bytes) -> bytes:
        """Encrypt; raises StorageError if that is not possible for now."""

    def open(self, path: str, sealed: bytes) -> bytes:
        """Decrypt; raises DecryptError."""

    def form(self, sealed: bytes) -> bytes:
        """Return what identifies the key of a value beyond the name of this one."""

    def current_form(self) -> bytes:
        """Return the form of values that are encrypted now."""

    async def prepare(self, stored: Iterable[bytes]) -> None:
        """Get what `open` needs for these values, so that it does not wait for others. Raises
        StorageError."""


class _LocalKey:
    """A key in the configuration: its name says which it is."""

    def form(self, sealed: bytes) -> bytes:
        return b""

    def current_form(self) -> bytes:
        return b""

    async def prepare(self, stored: Iterable[bytes]) -> None:
        pass


class AesCbc(_LocalKey):
    """AES-CBC: a random IV, then the blocks with PKCS#7 padding. Unauthenticated: a modified or
    moved value is not detected."""

    def __init__(self, key: bytes) -> None:
        self._key = AES(key)

    def seal(self, path: str, value: bytes) -> bytes:
        iv = urandom(_BLOCK)
        padding = _BLOCK - len(value) % _BLOCK
        encryptor = BlockCipher(self._key, CBC(iv)).encryptor()
        return iv + encryptor.update(value + bytes([padding]) * padding) + encryptor.finalize()

    def open(self, path: str, sealed: bytes) -> bytes:
        if len(sealed) < 2 * _BLOCK or len(sealed) % _BLOCK:
            raise DecryptError
        decryptor = BlockCipher(self._key, CBC(sealed[:_BLOCK])).decryptor()
        value = decryptor.update(sealed[_BLOCK:]) + decryptor.finalize()
        padding = value[-1]
        if not 1 <= padding <= _BLOCK or value[-padding:] != bytes([padding]) * padding:
            raise DecryptError
        return value[:-padding]


class AesGcm(_LocalKey):
    """AES-GCM: a random nonce, then ciphertext and tag. The path is associated data, so a value
    moved to another path is rejected."""

    def __init__(self, key: bytes) -> None:
        self._aead = AESGCM(key)

    def seal(self, path: str, value: bytes) -> bytes:
        nonce = urandom(_NONCE)
        return nonce + self._aead.encrypt(nonce, value, path.encode())

    def open(self, path: str, sealed: bytes) -> bytes:
        if len(sealed) < _NONCE + _TAG:
            raise DecryptError
        try:
            return self._aead.decrypt(sealed[:_NONCE], sealed[_NONCE:], path.encode())
        except InvalidTag:
            raise DecryptError from None


class SecretBox(_LocalKey):
    """XSalsa20 and Poly1305: a random nonce, then ciphertext and tag."""

    def __init__(self, key: bytes) -> None:
        self._box = Box(key)
        self._failure = CryptoError

    def seal(self, path: str, value: bytes) -> bytes:
        return bytes(self._box.encrypt(value))

    def open(self, path: str, sealed: bytes) -> bytes:
        try:
            return self._box.decrypt(sealed)
        except (self._failure, ValueError):
            raise DecryptError from None
