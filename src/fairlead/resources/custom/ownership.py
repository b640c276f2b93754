"""Converts objects for field owners that use other versions of a custom kind."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from hashlib import blake2b

import orjson

from fairlead.base.caches import BoundedCache
from fairlead.base.errors import internal
from fairlead.codec.types.model import Object, Struct
from fairlead.resources.custom.definition import Converter, CustomKind

_MAX_BYTES = 2 * 1024 * 1024
_Key = tuple[bytes, str]


class Unconverted(Exception):
    """An object is needed in a version into which it has not been converted yet. Await `convert`,
    then retry."""

    def __init__(self, convert: Callable[[], Awaitable[None]]) -> None:
        super().__init__("an object has to be converted")
        self.convert = convert


class CustomVersions:
    """The versions of a custom kind, relative to the version of a request. Caches the results of
    the conversion webhook by the digest of the object."""

    are_fixed = False

    def __init__(self, kind: CustomKind) -> None:
        self._kind = kind
        self._cache: BoundedCache[_Key, bytes] = BoundedCache(64, longest=_MAX_BYTES, per_byte=1)

    def struct(self, api_version: str) -> Struct | None:
        kind = self._kind.definition.kinds.get(api_version)
        return kind.struct if kind is not None and kind.served else None

    def convert(self, value: Object, api_version: str) -> Object:
        """Objects without an apiVersion are in the version of the request. Raises Unconverted."""
        from_version = value.get("apiVersion") or self._kind.api_version
        if api_version == from_version:
            return value
        converted = self._convert_cached(value, from_version, api_version)
        if "apiVersion" in value:
            return converted
        return {
            name: item for name, item in converted.items() if name not in ("kind", "apiVersion")
        }

    def _convert_cached(self, value: Object, from_version: str, api_version: str) -> Object:
        obj = {**value, "apiVersion": from_version, "kind": self._kind.definition.kind}
        converter = self._kind.definition.converter
        if converter is None:
            return {**obj, "apiVersion": api_version}
        encoded = orjson.dumps(obj, option=orjson.OPT_SORT_KEYS)
        key = (blake2b(encoded, digest_size=16).digest(), api_version)
        cached = self._cache.get(key)
        if cached is None:
            raise Unconverted(lambda: self._convert_and_cache(converter, obj, key))
        metadata: Object = orjson.loads(cached)
        return metadata

    async def _convert_and_cache(self, converter: Converter, obj: Object, key: _Key) -> None:
        [converted] = await converter.convert([obj], key[1])
        encoded = orjson.dumps(converted)
        if len(encoded) > _MAX_BYTES:
            raise internal(f"an object of {len(encoded)} bytes is too large to be converted")
        self._cache.keep(key, encoded, len(encoded))
