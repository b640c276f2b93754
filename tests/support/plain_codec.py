"""Readable values in etcd, for tests."""

from __future__ import annotations

from collections.abc import Sequence


class PlainCodec:
    """Stores values unchanged: the resource is the path, the apiVersion is put before the value."""

    def path(self, resource: str, key: str) -> str:
        return f"/{resource}/{key}"

    def location(self, path: str) -> tuple[str, str] | None:
        group, _, rest = path[1:].partition("/")
        name, _, key = rest.partition("/")
        return (f"{group}/{name}", key) if key else None

    def encode(self, resource: str, key: str, api_version: str, value: bytes) -> bytes:
        return api_version.encode() + b"\n" + value

    def decode(self, resource: str, key: str, raw: bytes) -> tuple[str, bytes]:
        api_version, separator, value = raw.partition(b"\n")
        if not separator:
            raise ValueError("no apiVersion")
        return api_version.decode(), value

    def form(self, resource: str, raw: bytes) -> bytes | None:
        return None

    def current_form(self, resource: str) -> bytes | None:
        return None

    async def prepare(self, resource: str, values: Sequence[bytes]) -> None:
        pass
