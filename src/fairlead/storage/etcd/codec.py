"""The mapping between rows and etcd: paths of keys and encoding of values."""

from __future__ import annotations

from typing import Protocol


class Codec(Protocol):
    """Paths begin with a slash and follow the prefix. The path of a key is the path of the empty
    key followed by the key, so the keys of a resource form one range, in order."""

    def path(self, resource: str, key: str) -> str: ...

    def place(self, path: str) -> tuple[str, str] | None:
        """Return the resource and key at a path; None if the resource is not served."""

    def encode(self, resource: str, key: str, api_version: str, value: bytes) -> bytes: ...

    def decode(self, resource: str, key: str, raw: bytes) -> tuple[str, bytes]:
        """Return the apiVersion and the row's value. Raises any exception if the value is
        unreadable, Sealed if a key for it is missing."""

    def is_stale(self, resource: str, raw: bytes) -> bool:
        """Whether the value would be stored differently today."""
