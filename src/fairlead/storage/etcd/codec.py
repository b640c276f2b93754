"""Between rows and what lies in etcd: where a key is, and how its value is written."""

from __future__ import annotations

from typing import Protocol


class Codec(Protocol):
    """Paths begin with a slash and follow the prefix. The path of a key is that of the empty key
    and then the key, so that the keys of a resource are one range in their order."""

    def path(self, resource: str, key: str) -> str: ...

    def place(self, path: str) -> tuple[str, str] | None:
        """The resource and key at a path; None if what is there is not served."""

    def encode(self, resource: str, key: str, api_version: str, value: bytes) -> bytes: ...

    def decode(self, resource: str, key: str, raw: bytes) -> tuple[str, bytes]:
        """The apiVersion and the row's value; raises whatever it likes if it cannot be read,
        Sealed if it could be with a key."""

    def is_stale(self, resource: str, raw: bytes) -> bool:
        """Whether a value would be kept in another way if it were written now."""
