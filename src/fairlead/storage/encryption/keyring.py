"""The encryption keys of each resource."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol, runtime_checkable

from fairlead.storage.encryption.ciphers import Cipher, DecryptError

SEALED = b"k8s:enc:"
_WORDS_OF_A_PREFIX = 5  # k8s, enc, the provider, its version and the name of the key


class Sealed(Exception):
    """No configured key decrypts the value; the text has its path and the key named in it."""


@runtime_checkable
class Plugged(Protocol):
    """A cipher whose key a plugin holds."""

    def start(self) -> None:
        """Get a key from the plugin, and start checking the plugin periodically."""

    @property
    def plugin(self) -> object:
        """Its configuration."""

    def check(self) -> None:
        """Raise StorageError if the last check of the plugin failed."""

    def close(self) -> None: ...


class Key(NamedTuple):
    """One key of a provider; without a cipher, values are stored in plain text."""

    prefix: bytes
    cipher: Cipher | None


PLAIN = Key(b"", None)


def named_key(provider: str, name: str, cipher: Cipher, version: str = "v1") -> Key:
    """Return a key with the value prefix that the reference uses."""
    words = (provider.encode(), version.encode(), name.encode())
    return Key(b"%b%b:%b:%b:" % (SEALED, *words), cipher)


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

    def form(self, resource: str, stored: bytes) -> bytes | None:
        """Return what identifies the key of a stored value; None for resources that are not
        configured. If it is not `current_form`, even a write without changes must be done, or an
        old key could never be removed."""
        keys = self._keys.get(resource)
        if keys is None:
            return None
        for prefix, cipher in keys:
            if cipher is not None and stored.startswith(prefix):
                return prefix + cipher.form(stored[len(prefix) :])
        return _name_of(stored) if stored.startswith(SEALED) else b""

    def current_form(self, resource: str) -> bytes | None:
        """Return the form of values of a resource that are encrypted now."""
        keys = self._keys.get(resource)
        if keys is None:
            return None
        prefix, cipher = keys[0]
        return b"" if cipher is None else prefix + cipher.current_form()

    def is_stale(self, resource: str, stored: bytes) -> bool:
        """Whether a stored value would be encrypted differently today."""
        return self.form(resource, stored) != self.current_form(resource)

    async def prepare(self, resource: str, stored: Sequence[bytes]) -> None:
        """Get the keys of values that only others can decrypt, so that `unseal` does not wait.
        Raises StorageError."""
        for prefix, cipher in self._keys.get(resource, ()):
            if cipher is not None:
                own = [value[len(prefix) :] for value in stored if value.startswith(prefix)]
                if own:
                    await cipher.prepare(own)

    def replace(self, keys: Mapping[str, Sequence[Key]]) -> None:
        """Use other keys from now on."""
        self._keys = dict(keys)

    def all_keys(self) -> Iterator[Key]:
        for keys in self._keys.values():
            yield from keys

    def start(self) -> None:
        """Ask the plugins of all kms providers for keys; later their answers are there."""
        for cipher in self.plugins():
            cipher.start()

    def plugins(self) -> list[Plugged]:
        """Return the kms providers, each once, in the order of the configuration."""
        found: dict[Plugged, None] = {}
        for key in self.all_keys():
            if isinstance(key.cipher, Plugged):
                found[key.cipher] = None
        return list(found)


def _reason(path: str, stored: bytes) -> str:
    if not stored.startswith(SEALED):
        return f"{path}: is kept plain, and the provider identity is not configured"
    shown_prefix = _name_of(stored).decode("ascii", "replace")
    return f"{path}: is encrypted ({shown_prefix}) and no configured key opens it"


def _name_of(stored: bytes) -> bytes:
    """Return the name of the key that encrypted a value."""
    return b":".join(stored[:300].split(b":", _WORDS_OF_A_PREFIX)[:_WORDS_OF_A_PREFIX])
