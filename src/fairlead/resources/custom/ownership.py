"""Converts objects for field owners that use other versions of a custom kind."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from hashlib import blake2b

import orjson

from fairlead.base.caches import BoundedCache
from fairlead.base.errors import internal
from fairlead.codec.types.model import Object, Struct
from fairlead.resources.custom.definition import Converter, CustomKind

_LONGEST = 2 * 1024 * 1024
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

    def __init__(self, kind: CustomKind) -> None:
        self._kind = kind
        self._known: BoundedCache[_Key, bytes] = BoundedCache(64, longest=_LONGEST, per_byte=1)

    def struct(self, api_version: str) -> Struct | None:
        found = self._kind.definition.kinds.get(api_version)
        return found.struct if found is not None and found.served else None

    def convert(self, value: Object, api_version: str) -> Object:
        """Objects without an apiVersion are in the version of the request. Raises Unconverted."""
        given = value.get("apiVersion") or self._kind.api_version
        if api_version == given:
            return value
        made = self._converted(value, given, api_version)
        if "apiVersion" in value:
            return made
        return {name: item for name, item in made.items() if name not in ("kind", "apiVersion")}

    def _converted(self, value: Object, given: str, api_version: str) -> Object:
        whole = {**value, "apiVersion": given, "kind": self._kind.definition.kind}
        converter = self._kind.definition.converter
        if converter is None:
            return {**whole, "apiVersion": api_version}
        encoded = orjson.dumps(whole, option=orjson.OPT_SORT_KEYS)
        key = (blake2b(encoded, digest_size=16).digest(), api_version)
        known = self._known.get(key)
        if known is None:
            raise Unconverted(lambda: self._learn(converter, whole, key))
        found: Object = orjson.loads(known)
        return found

    async def _learn(self, converter: Converter, whole: Object, key: _Key) -> None:
        [made] = await converter.convert([whole], key[1])
        encoded = orjson.dumps(made)
        if len(encoded) > _LONGEST:
            raise internal(f"an object of {len(encoded)} bytes is too large to be converted")
        self._known.keep(key, encoded, len(encoded))
