"""The encryption keys of each resource."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from fairlead.storage.encryption.ciphers import Cipher, DecryptError

SEALED = b"k8s:enc:"
_WORDS_OF_A_PREFIX = 5  # k8s, enc, the provider, its version and the name of the key


class Sealed(Exception):
    """No configured key decrypts the value; the text has its path and the key named in it."""


class Key(NamedTuple):
    """One key of a provider; without a cipher, values are stored in plain text."""

    prefix: bytes
    cipher: Cipher | None


PLAIN = Key(b"", None)


def named_key(provider: str, name: str, cipher: Cipher) -> Key:
    """Return a key with the value prefix that the reference uses."""
    return Key(b"%b%b:v1:%b:" % (SEALED, provider.encode(), name.encode()), cipher)


class Sealing:
    """The keys by resource as the store names it (`core/secrets`): the first encrypts, any
    decrypts. Resources without keys are stored in plain text. Thread-safe.

    `path` is the full key of a value in etcd, prefix included; other stores use the path it would
    have there under the default prefix.
    """

    def __init__(self, keys: Mapping[str, Sequence[Key]] | None = None) -> None:
        self._keys = dict(keys or {})

    @property
    def resources(self) -> list[str]:
        return list(self._keys)

    def seal(self, resource: str, path: str, value: bytes) -> bytes:
        keys = self._keys.get(resource)
        if keys is None:
            return value
        prefix, cipher = keys[0]
        return value if cipher is None else prefix + cipher.seal(path, value)

    def unseal(self, resource: str, path: str, stored: bytes) -> bytes:
        """Decrypt; raises Sealed."""
        for prefix, cipher in self._keys.get(resource, (PLAIN,)):
            if cipher is None:
                if not stored.startswith(SEALED):
                    return stored
            elif stored.startswith(prefix):
                try:
                    return cipher.open(path, stored[len(prefix) :])
                except DecryptError:
                    break
        raise Sealed(_reason(path, stored))

    def is_stale(self, resource: str, stored: bytes) -> bool:
        """Whether a stored value would be encrypted differently today. Then even a write without
        changes must be done, or an old key could never be removed."""
        keys = self._keys.get(resource)
        if keys is None:
            return False
        prefix, cipher = keys[0]
        return stored.startswith(SEALED) if cipher is None else not stored.startswith(prefix)


def _reason(path: str, stored: bytes) -> str:
    if not stored.startswith(SEALED):
        return f"{path}: is kept plain, and the provider identity is not configured"
    words = stored[:300].split(b":", _WORDS_OF_A_PREFIX)[:_WORDS_OF_A_PREFIX]
    shown_prefix = b":".join(words).decode("ascii", "replace")
    return f"{path}: is encrypted ({shown_prefix}) and no configured key opens it"
