"""Encrypts values in the reference's layout with the keys of `--encryption-provider-config`."""

from __future__ import annotations

from fairlead.resources.etcd_format.codec import ReferenceCodec
from fairlead.storage.backend import Fault, StorageError
from fairlead.storage.encryption.keyring import Sealed, Sealing

DEFAULT_PREFIX = "/registry"


class EncryptedCodec:
    """A `ReferenceCodec` whose values are encrypted. `prefix` precedes the paths."""

    def __init__(self, codec: ReferenceCodec, sealing: Sealing, prefix: str) -> None:
        self.path = codec.path
        self.location = codec.location
        self._codec = codec
        self.form = sealing.form
        self.current_form = sealing.current_form
        self.prepare = sealing.prepare
        self._sealing = sealing
        self._prefix = prefix

    def encode(self, resource: str, key: str, api_version: str, value: bytes) -> bytes:
        raw = self._codec.encode(resource, key, api_version, value)
        return self._sealing.seal(resource, self._full_key(resource, key), raw)

    def decode(self, resource: str, key: str, raw: bytes) -> tuple[str, bytes]:
        """Also raises Sealed."""
        opened = self._sealing.unseal(resource, self._full_key(resource, key), raw)
        return self._codec.decode(resource, key, opened)

    def _full_key(self, resource: str, key: str) -> str:
        return self._prefix + self.path(resource, key)


class EncryptedRows:
    """Encrypts the values of a store that keeps our own rows. The ciphers get the path that the
    reference would use."""

    def __init__(self, codec: ReferenceCodec, sealing: Sealing) -> None:
        self.form = sealing.form
        self.current_form = sealing.current_form
        self.prepare = sealing.prepare
        self._path = codec.path
        self._sealing = sealing

    def seal(self, resource: str, key: str, value: bytes) -> bytes:
        return self._sealing.seal(resource, self._full_key(resource, key), value)

    def unseal(self, resource: str, key: str, stored: bytes) -> bytes:
        """Raises StorageError if no key decrypts the value."""
        try:
            return self._sealing.unseal(resource, self._full_key(resource, key), stored)
        except Sealed as error:
            raise StorageError(str(error), Fault.PASSING) from None

    def _full_key(self, resource: str, key: str) -> str:
        return DEFAULT_PREFIX + self._path(resource, key)
