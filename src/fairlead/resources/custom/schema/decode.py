"""Decodes objects of custom types: drops unknown fields and insignificant nulls.

Decoding refuses only apiVersion, kind and metadata of the wrong type, also in embedded objects. All
other values of a wrong type are kept for validation to report. A value that needs no change is
returned itself. Arguments are never changed: the paths of unknown fields are looked up in them.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

from fairlead.base import meter
from fairlead.codec.types.decode import MAX_UNKNOWN, Decode, decoder, joined_path, unknown_paths
from fairlead.codec.types.json_numbers import plain, plain_number
from fairlead.codec.types.mismatch import DecodeError
from fairlead.codec.types.model import Object, Struct
from fairlead.resources.custom.schema.embedded_objects import EmbeddedTypes
from fairlead.resources.custom.schema.markers import Markers, Schema, items_schema, values_schema
from fairlead.resources.custom.schema.problems import ReportedCause

_SCALARS = ("string", "boolean", "integer", "number")
_UNCHANGED = frozenset((str, bool, type(None)))  # classes that decoding leaves unchanged
TYPE_META = ("apiVersion", "kind", "metadata")


class _Refusal:
    """Causes that raise at the first error: the object cannot be decoded."""

    def add(self, reason: str, field: str, text: str, detail: str = "") -> None:
        raise DecodeError(f"{field}: {text}")

    def __iter__(self) -> Iterator[ReportedCause]:
        return iter(())


_REFUSAL = _Refusal()


class DecoderBuilder:
    """Makes the decoders of one schema."""

    def __init__(self, markers: Markers, metadata: Struct) -> None:
        self._markers = markers
        self._metadata = metadata

    def root(self, schema: Schema, preserve: bool) -> Decode:
        """The decoder of objects from clients. Checks the types of embedded objects."""
        decode, types = self.stored(schema, preserve), EmbeddedTypes(self._markers, self._metadata)
        check = types.of({**schema, self._markers.embedded: False})
        if check is None:
            return decode

        def decode_checked(value: Any, unknown: list[str]) -> Any:
            check(value, "", _REFUSAL)
            return decode(value, unknown)

        return decode_checked

    def stored(self, schema: Schema, preserve: bool) -> Decode:
        """The decoder of stored objects, which an earlier schema may have accepted."""
        body, metadata = self.content(schema, preserve), decoder(self._metadata)

        def decode(value: Any, unknown: list[str]) -> Any:
            decoded = body(value, unknown)
            if decoded.__class__ is not dict:
                return decoded
            given_metadata = value.get("metadata")
            return {
                **decoded,
                "metadata": metadata({} if given_metadata is None else given_metadata, unknown),
            }

        return decode

    def content(self, schema: Schema, preserve: bool) -> Decode:
        """The decoder of everything but the metadata, which is left unchanged."""
        properties = {
            name: inner
            for name, inner in (schema.get("properties") or {}).items()
            if name not in TYPE_META
        }
        keeps = preserve or bool(schema.get(self._markers.preserve))
        return self._object({**schema, "properties": properties}, keeps, known_names=TYPE_META)

    def of(self, schema: Schema, keeps: bool = False) -> Decode:
        """The decoder of a value. With `keeps` unknown fields are preserved. Lists pass this on to
        their items; named fields and maps do not."""
        markers, kind = self._markers, schema.get("type")
        keeps = keeps or bool(schema.get(markers.preserve))
        if schema.get(markers.int_or_string) or kind in _SCALARS:
            return _leaf
        if kind == "array":
            return self._array(schema, keeps)
        if kind != "object" and not schema.get("properties"):
            return _plain
        if not schema.get("properties") and "additionalProperties" in schema:
            return self._map(schema, keeps)
        if schema.get(markers.embedded):
            return self._embedded(schema, keeps)
        return self._object(schema, keeps)

    def _object(self, schema: Schema, keeps: bool, known_names: tuple[str, ...] = ()) -> Decode:
        properties = schema.get("properties") or {}
        names = {**dict.fromkeys(known_names), **dict.fromkeys(properties)}.keys()
        nullable = {name for name, inner in properties.items() if inner.get("nullable")}
        fields = {name: self.of(inner) for name, inner in properties.items()}

        def decode(value: Any, unknown: list[str]) -> Any:
            if value.__class__ is not dict:
                return value if keeps else _leaf(value, unknown)
            out = value
            if not value.keys() <= names:
                if keeps:
                    out = {key: item if key in names else plain(item) for key, item in out.items()}
                else:
                    unknown.extend(key for key in value if key not in names)
                    out = {key: item for key, item in out.items() if key in names}
            if None in out.values():
                out = {
                    key: item
                    for key, item in out.items()
                    if item is not None or key in nullable or key not in names
                }
            meter.spend(1 + len(out))
            changed: dict[str, Any] = {}
            for name, item in out.items():
                decode_field = fields.get(name)
                if decode_field is not None and item.__class__ not in _UNCHANGED:
                    new = decode_field(item, unknown)
                    if new is not item:
                        changed[name] = new
            return {**out, **changed} if changed else out

        return decode

    def _embedded(self, schema: Schema, keeps: bool) -> Decode:
        """An embedded object; its metadata has the type of object metadata."""
        properties = dict(schema.get("properties") or {})
        drops_null = properties.pop("metadata", None) is not None
        body = self._object({**schema, "properties": properties}, keeps, known_names=TYPE_META)
        metadata = decoder(self._metadata)

        def decode(value: Any, unknown: list[str]) -> Any:
            out = body(value, unknown)
            if out.__class__ is not dict or "metadata" not in value:
                return out
            given_metadata = value["metadata"]
            if given_metadata is None and drops_null:
                return {name: item for name, item in out.items() if name != "metadata"}
            try:
                decoded = metadata({} if given_metadata is None else given_metadata, unknown)
            except DecodeError:
                return out  # objects from clients were checked before
            if decoded.get("creationTimestamp") is None:
                decoded.pop("creationTimestamp", None)
            return {**out, "metadata": decoded}

        return decode

    def _array(self, schema: Schema, keeps: bool) -> Decode:
        items = items_schema(schema)
        element = self.of(items, keeps) if items is not None else _plain

        def decode(value: Any, unknown: list[str]) -> Any:
            if value.__class__ is not list:
                return value if keeps else _leaf(value, unknown)
            decoded = [item if item is None else element(item, unknown) for item in value]
            return decoded if any(map(_differs, decoded, value)) else value

        return decode

    def _map(self, schema: Schema, keeps: bool) -> Decode:
        values = values_schema(schema)
        if values is None:
            element: Decode = _leaf
            keeps_null = True
        else:
            element = self.of(values)
            keeps_null = bool(values.get("nullable")) or values.get("default") is not None

        def decode(value: Any, unknown: list[str]) -> Any:
            if value.__class__ is not dict:
                return value if keeps else _leaf(value, unknown)
            if not keeps_null and None in value.values():
                value = {key: item for key, item in value.items() if item is not None}
            decoded = {
                key: item if item is None else element(item, unknown) for key, item in value.items()
            }
            return decoded if any(map(_differs, decoded.values(), value.values())) else value

        return decode


def _differs(new: Any, old: Any) -> bool:
    return new is not old


def _plain(value: Any, _: list[str]) -> Any:
    return plain(value)


def _leaf(value: Any, unknown: list[str]) -> Any:
    """Decode a scalar, or a value of the wrong type: all fields of an object in it are unknown."""
    if value.__class__ is dict:
        unknown.extend(value)
        return {} if value else value
    if value.__class__ is list:
        return [_leaf(item, unknown) for item in value]
    return plain_number(value)


class _Key(str):
    """A path step to a value of a map; paths into embedded metadata show it in brackets."""


class UnknownFields:
    """Finds the paths of the fields that decoding by a schema drops."""

    def __init__(self, markers: Markers, metadata: Struct) -> None:
        self._markers = markers
        self._metadata = metadata
        self._embedded: list[str] = []

    def paths(self, schema: Schema, preserve: bool, value: Object) -> list[str]:
        """The paths in the order of the message: those in the metadata, in the content, in the
        metadata of embedded objects."""
        embedded_schema = {**schema, self._markers.embedded: True}
        own = unknown_paths(self._metadata, value.get("metadata"))
        self._embedded = []
        content = islice(self._of(embedded_schema, value, [], preserve), MAX_UNKNOWN)
        in_metadata = sorted(f"metadata.{path}" for path in own)
        return [*in_metadata, *sorted(content), *sorted(self._embedded)]

    def _of(self, schema: Schema | None, value: Any, path: list[str], keeps: bool) -> Iterator[str]:
        keeps = keeps or bool(schema and schema.get(self._markers.preserve))
        if value.__class__ is dict:
            yield from self._of_object(schema or {}, value, path, keeps)
        elif value.__class__ is list:
            items = items_schema(schema or {})
            for index, item in enumerate(value if items is not None or not keeps else ()):
                yield from self._below(items, item, path, f"[{index}]", keeps)

    def _of_object(
        self, schema: Schema, value: Object, parent_path: list[str], keeps: bool
    ) -> Iterator[str]:
        properties = schema.get("properties") or {}
        embedded = bool(schema.get(self._markers.embedded))
        for key, item in value.items():
            if embedded and key in TYPE_META:
                if key == "metadata" and parent_path:
                    inner = unknown_paths(self._metadata, item)
                    steps = [
                        f"[{part}]" if isinstance(part, _Key) else part
                        for part in (*parent_path, key)
                    ]
                    self._embedded += [joined_path(steps, path) for path in inner]
            elif key in properties:
                yield from self._below(properties[key], item, parent_path, key, False)
            elif "additionalProperties" in schema:
                yield from self._below(values_schema(schema), item, parent_path, _Key(key), False)
            elif not keeps:
                yield joined_path(parent_path, key)

    def _below(
        self, schema: Schema | None, value: Any, path: list[str], step: str, keeps: bool
    ) -> Iterator[str]:
        path.append(step)
        yield from self._of(schema, value, path, keeps)
        path.pop()
