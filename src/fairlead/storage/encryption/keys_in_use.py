"""Which keys seal and open the values of which resource."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from fairlead.storage.encryption.ciphers import Cipher, NotOpened

SEALED = b"k8s:enc:"
_WORDS_OF_A_PREFIX = 5  # k8s, enc, the provider, its version and the name of the key


class Sealed(Exception):
    """A value that no configured key opens; the text names what is kept and the key it says."""


class Key(NamedTuple):
    """One key of a provider; without a cipher, plain values."""

    prefix: bytes
    cipher: Cipher | None


PLAIN = Key(b"", None)


def named_key(provider: str, name: str, cipher: Cipher) -> Key:
    """A key, its values marked as the reference marks them."""
    return Key(b"%b%b:v1:%b:" % (SEALED, provider.encode(), name.encode()), cipher)


class Sealing:
    """The keys by resource as the store names it (`core/secrets`): the first of them seals, any
    opens. Resources without keys are kept plain. Can be used from any thread.

    `path` is the whole key under which a value is kept in etcd, prefix included; where another
    store keeps it, what it would be there under the default prefix.
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
        """Raises Sealed."""
        for prefix, cipher in self._keys.get(resource, (PLAIN,)):
            if cipher is None:
                if not stored.startswith(SEALED):
                    return stored
            elif stored.startswith(prefix):
                try:
                    return cipher.open(path, stored[len(prefix) :])
                except NotOpened:
                    break
        raise Sealed(_why(path, stored))

    def is_stale(self, resource: str, stored: bytes) -> bool:
        """Whether a stored value would be sealed in another way if it were written now: then a
        write that changes nothing has to be done all the same, or an old key could never be given
        up."""
        keys = self._keys.get(resource)
        if keys is None:
            return False
        prefix, cipher = keys[0]
        return stored.startswith(SEALED) if cipher is None else not stored.startswith(prefix)


def _why(path: str, stored: bytes) -> str:
    if not stored.startswith(SEALED):
        return f"{path}: is kept plain, and the provider identity is not configured"
    words = stored[:300].split(b":", _WORDS_OF_A_PREFIX)[:_WORDS_OF_A_PREFIX]
    said = b":".join(words).decode("ascii", "replace")
    return f"{path}: is encrypted ({said}) and no configured key opens it"
